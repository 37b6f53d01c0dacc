"""Spans as lines of text: a tree for a terminal, and a diagram in Mermaid's language."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from core.base.text import one_line, shorten
from modules.trace.spans import Span

STATES: Final = {
    "ok": "",
    "failed": "failed",
    "kept": "kept from before",
    "refused": "refused",
    "open": "did not end",
}

MERMAID_NAME_CHARACTERS: Final = 60

_MERMAID_SIGNS: Final = re.compile(r"[:;#,%{}\[\]\"`<>]")
"""What means something in Mermaid's Gantt charts, or in the page that shows one."""


def tree_text(runs: Sequence[Span], width: int | None = None) -> str:
    """The runs as trees, a line a span, cut to `width` characters where it is given."""
    lines: list[str] = []
    for run in runs:
        lines += [_line(run), *_branches(run.children, ""), ""]
    return "\n".join(line if width is None else shorten(line, width) for line in lines[:-1])


def mermaid_text(runs: Sequence[Span]) -> str:
    """A Gantt chart of the runs, from 0 on, for https://mermaid.js.org; bars are milliseconds."""
    begin = runs[0].started_at if runs else 0.0
    lines = ["gantt", "  dateFormat x", "  axisFormat %M:%S.%L"]
    for number, run in enumerate(runs, start=1):
        lines.append(f"  section {number} {_mermaid_name(run.name)}")
        lines += (_bar(span, begin) for span in _flat(run))
    return "\n".join(lines)


def time_text(seconds: float) -> str:
    """`6 ms`, `0.25 s`, `12.3 s`, `3 min 20 s`."""
    if seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def _branches(spans: Sequence[Span], indent: str) -> Iterator[str]:
    for place, span in enumerate(spans, start=1):
        is_last = place == len(spans)
        yield f"{indent}{'└─ ' if is_last else '├─ '}{_line(span)}"
        yield from _branches(span.children, f"{indent}{'   ' if is_last else '│  '}")


def _line(span: Span) -> str:
    parts = [one_line(span.name, 200), time_text(span.seconds), STATES[span.state]]
    if span.kind == "run" and span.tokens:
        parts.append(f"{span.tokens:,} tokens" + (f", ${span.cost:.4f}" if span.cost else ""))
    return "  ".join(filter(None, [*parts, span.note]))


def _flat(span: Span) -> Iterator[Span]:
    yield span
    for child in span.children:
        yield from _flat(child)


def _bar(span: Span, begin: float) -> str:
    tag = "" if span.state == "ok" else "crit, " if span.state == "failed" else "done, "
    start = round((span.started_at - begin) * 1000)
    return f"  {_mermaid_name(span.name)} :{tag}{start}, {start + round(span.seconds * 1000)}"


def _mermaid_name(name: str) -> str:
    return one_line(_MERMAID_SIGNS.sub(" ", name), MERMAID_NAME_CHARACTERS) or "a span"
