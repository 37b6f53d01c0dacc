"""Records as tables: shares with their intervals, pairs with their test, and what went wrong."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, median

from tests.evals.questions import PARTS
from tests.evals.records import Record
from tests.evals.significance import Pairs, mcnemar_exact, wilson_interval
from tests.evals.tools_in_front import InFront

Records = Mapping[str, Record]

ANSWER_CHARACTERS_SHOWN = 110
PAIRS_SHOWN = 40

_HEAD: tuple[str, ...] = (
    "",
    "right",
    "95%",
    "first try",
    "no answer",
    "retries",
    "calls",
    "read",
    "of it cached",
    "written",
    "seconds",
)


def share(right: int, total: int) -> str:
    """`53 of 58, 91.4%`."""
    return f"{right} of {total}, {right / total:.1%}" if total else "0 of 0"


def interval(right: int, total: int) -> str:
    """Wilson's 95% interval, `81.4–96.3`."""
    low, high = wilson_interval(right, total)
    return f"{100 * low:.1f}–{100 * high:.1f}"


def aim(right: int, total: int, least: float) -> str:
    """Whether a share is what it should be at least."""
    met = total > 0 and right / total >= least
    return f"aim: at least {least:.0%}: {'met' if met else 'MISSED'}"


def way_table(records: Records) -> list[str]:
    """A line for each part and one for all: means of retries, calls and tokens, median seconds."""
    lines = [_HEAD]
    parts = [part for part in PARTS if any(r.part == part for r in records.values())]
    if len(parts) > 1:
        lines += [_way_line(p, [r for r in records.values() if r.part == p]) for p in parts]
    lines.append(_way_line("all", list(records.values())))
    return columns(lines)


def failures(records: Records) -> list[str]:
    """The kinds of failures on the way, and each request that did not end well."""
    kinds = Counter(kind for record in records.values() for kind in record.failures)
    shown = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) or "none"
    lines = [f"failures on the way: {shown}"]
    for key, record in records.items():
        if not record.is_right:
            said = record.answer[:ANSWER_CHARACTERS_SHOWN]
            lines.append(f"  {record.verdict:5} {key}: {record.why}; said {said!r}")
    return lines


def paired(
    first: str, second: str, one: Records, other: Records, good: Callable[[Record], bool]
) -> list[str]:
    """Two ways on the requests that both have answered, `good` being what is counted."""
    keys = [key for key in one if key in other]
    counted = Counter((good(one[key]), good(other[key])) for key in keys)
    pairs = Pairs(
        counted[True, True], counted[True, False], counted[False, True], counted[False, False]
    )
    p = mcnemar_exact(pairs.only_first, pairs.only_second)
    lines = [
        f"{first} {share(pairs.both + pairs.only_first, pairs.total)}; "
        f"{second} {share(pairs.both + pairs.only_second, pairs.total)}",
        f"both {pairs.both}, only {first} {pairs.only_first}, "
        f"only {second} {pairs.only_second}, neither {pairs.neither}; "
        f"McNemar, exact, two-sided: p = {p:.3g}",
    ]
    differing = {
        f"only {first}": [k for k in keys if good(one[k]) and not good(other[k])],
        f"only {second}": [k for k in keys if good(other[k]) and not good(one[k])],
    }
    lines += [f"  {who}: {_listed(them)}" for who, them in differing.items() if them]
    return lines


def in_front(found: Sequence[InFront]) -> list[str]:
    """How often all right tools stand in the prompt, and where they don't."""
    there = sum(not each.missing for each in found)
    offered = median(each.offered for each in found) if found else 0
    lines = [
        f"{share(there, len(found))} ({interval(there, len(found))}); {offered:.0f} tools in the "
        f"prompt (median); {aim(there, len(found), 0.99)}"
    ]
    return lines + [
        f"  {each.question.key} misses {', '.join(each.missing)}" for each in found if each.missing
    ]


def columns(lines: Sequence[Sequence[str]]) -> list[str]:
    """Cells under each other, the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def show(title: str, lines: Iterable[str]) -> None:
    """Print one section."""
    body = "".join(f"  {line}\n" for line in lines)
    print(f"\n{title}\n{body}", end="", flush=True)  # noqa: T201 — the table is the output


def _way_line(what: str, records: Sequence[Record]) -> tuple[str, ...]:
    if not records:
        return (what, *[""] * (len(_HEAD) - 1))
    right, total = sum(r.is_right for r in records), len(records)
    return (
        what,
        share(right, total),
        interval(right, total),
        str(sum(r.first_try for r in records)),
        str(sum(r.verdict == "none" for r in records)),
        f"{fmean(r.retries for r in records):.2f}",
        f"{fmean(r.model_calls for r in records):.2f}",
        f"{fmean(r.input_tokens for r in records):,.0f}",
        f"{fmean(r.cached_tokens for r in records):,.0f}",
        f"{fmean(r.output_tokens for r in records):,.0f}",
        f"{median(r.seconds for r in records):.1f}",
    )


def _listed(keys: Sequence[str]) -> str:
    more = len(keys) - PAIRS_SHOWN
    return ", ".join(keys[:PAIRS_SHOWN]) + (f" and {more} more" if more > 0 else "")
