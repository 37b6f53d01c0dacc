"""Requests with parts: one plan against a graph of subtasks, on requests of our own.

Each request is answered once with `strategy.graph: never`, once with `always`, and once with
`auto`, in a session of its own each time. All three are compared on the same requests.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final, TypeAlias

from config.schema import GraphMode
from tests.evals import report
from tests.evals.judging import Judge
from tests.evals.plans_way import PlansWay
from tests.evals.questions import FOLDER, Question
from tests.evals.records import Record
from tests.evals.retrieval.metrics import bootstrap
from tests.evals.stage import Manner, ServerName, Stage

REQUESTS: Final = FOLDER / "team"
SERVERS: Final[tuple[ServerName, ...]] = ("math", "documents")
MODES: Final[tuple[GraphMode, ...]] = ("never", "always", "auto")

KINDS: Final[dict[str, str]] = {
    "independent": "Requests with independent parts (team)",
    "sequential": "Requests whose steps build on each other (team)",
}
"""The files of requests, and how their tables are called."""

OWN: Final = "the requests are our own (tests/evals/requests/team), not a public set"

ByMode: TypeAlias = Mapping[GraphMode, Mapping[str, Record]]

_HEAD: Final = (
    *("graph:", "right", "95%", "wrong", "no answer", "in parts", "calls", "95%"),
    *("tokens", "95%", "seconds", "95%", "median"),
)


async def asked_in_each_mode(
    stage: Stage, judge: Judge, questions: Sequence[Question], servers: Sequence[ServerName]
) -> dict[GraphMode, dict[str, Record]]:
    """The records of all questions, for each way of choosing between a plan and a graph.

    Raises:
        Outage: the model or the servers are down.
    """
    found: dict[GraphMode, dict[str, Record]] = {}
    for mode in MODES:
        async with stage.conversation(Manner(graph=mode), servers) as conversation:
            way = PlansWay(f"team-{mode}", conversation)
            found[mode] = await judge.ask_all(way, questions)
    return found


def compared(by_mode: ByMode, kind: str) -> list[str]:
    """The table of one kind of requests, the modes in pairs, and every answer that is wrong."""
    mine: dict[GraphMode, dict[str, Record]] = {
        mode: {key: r for key, r in records.items() if key.startswith(f"{kind}/")}
        for mode, records in by_mode.items()
    }
    lines = report.columns([_HEAD, *(_line(mode, [*mine[mode].values()]) for mode in mine)])
    pairs: tuple[tuple[GraphMode, GraphMode], ...] = (
        ("never", "always"),
        ("never", "auto"),
        ("always", "auto"),
    )
    for one, other in pairs:
        lines += report.paired(one, other, mine[one], mine[other], lambda r: r.is_right)
    parts = {key: r.parts for key, r in mine["auto"].items()}
    lines.append(f"auto chose a graph for {_listed([k for k, n in parts.items() if n])}")
    lines.append(f"auto chose one plan for {_listed([k for k, n in parts.items() if not n])}")
    return [*lines, *_wrong(mine)]


def _line(mode: GraphMode, records: Sequence[Record]) -> tuple[str, ...]:
    right, total = sum(r.is_right for r in records), len(records)
    verdicts = Counter(r.verdict for r in records)
    tokens = [r.input_tokens + r.output_tokens for r in records]
    return (
        mode,
        report.share(right, total),
        report.interval(right, total),
        str(verdicts["wrong"]),
        str(verdicts["none"]),
        str(sum(r.parts > 0 for r in records)),
        *_mean([r.model_calls for r in records], 2),
        *_mean(tokens, 0),
        *_mean([r.seconds for r in records], 2),
        f"{median(r.seconds for r in records):.2f}" if records else "",
    )


def _mean(values: Sequence[float], places: int) -> tuple[str, str]:
    """A mean, and its interval by bootstrap."""
    found = bootstrap(values)
    return f"{found.mean:,.{places}f}", f"{found.low:,.{places}f}–{found.high:,.{places}f}"


def _wrong(by_mode: ByMode) -> list[str]:
    return [
        f"  wrong, {mode}: {key}: {r.why}; said {r.answer[: report.ANSWER_CHARACTERS_SHOWN]!r}"
        for mode, records in by_mode.items()
        for key, r in records.items()
        if r.verdict == "wrong"
    ]


def _listed(keys: Sequence[str]) -> str:
    names = ", ".join(key.partition("/")[2] for key in keys)
    return f"{len(keys)}: {names}" if keys else "none"
