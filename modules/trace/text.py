"""Spans as lines of text: a tree for a terminal, and diagrams in Mermaid's language."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from core.base.text import one_line
from core.team.graph import SubtaskState, TaskGraph
from modules.terminal.screen import fitting
from modules.terminal.streams import printable
from modules.trace.spans import TRACE_HEAD, Span

STATES: Final = {
    "ok": "",
    "failed": "failed",
    "kept": "kept from before",
    "refused": "refused",
    "open": "did not end",
    "skipped": "did not begin",
}

SHOWN_SHORT: Final = (TRACE_HEAD, "prompt", "reply")
"""Of these details a line is shown where nothing more is wanted."""

SHORT_CHARACTERS: Final = 200

MERMAID_NAME_CHARACTERS: Final = 60

_MERMAID_KINDS: Final = {
    "run": "run",
    "subtask": "subtask",
    "call": "tool",
    "model": "model",
    "retry": "model",
}

_MERMAID_SIGNS: Final = re.compile(r"[:;#,%{}\[\]\"`<>]")
"""What means something in Mermaid's diagrams, or in the page that shows one."""

_MERMAID_STYLES: Final[Mapping[SubtaskState, str]] = {
    "running": "stroke:#1f6feb,stroke-width:3px",
    "completed": "stroke:#2e7d54,stroke-width:3px",
    "failed": "stroke:#b3261e,stroke-width:3px",
    "blocked": "stroke:#b3261e,stroke-dasharray:4",
    "cancelled": "stroke:#6d7683,stroke-dasharray:4",
}
"""States that show; the border alone is coloured, for light and dark."""


def tree_text(runs: Sequence[Span], width: int | None = None, *, is_whole: bool = False) -> str:
    """The runs as trees, a line a span, cut to `width` columns where it is given.

    What models were asked and replied, where it was kept, has a line each. With `is_whole` all
    that is known of a span stands below it in full, and only its own line is cut.
    """
    lines: list[str] = []
    for run in runs:
        lines += [*_tree(run, "", "", width, is_whole=is_whole), ""]
    return "\n".join(lines[:-1])


def mermaid_text(runs: Sequence[Span]) -> str:
    """A Gantt chart of the runs, from 0 on, for https://mermaid.js.org; bars are milliseconds."""
    begin = runs[0].started_at if runs else 0.0
    lines = ["gantt", "  dateFormat x", "  axisFormat %M:%S.%L"]
    for number, run in enumerate(runs, start=1):
        lines.append(f"  section {number} {_mermaid_name(run.name)}")
        lines += (_bar(span, begin) for span in _flat(run))
    return "\n".join(lines)


def graph_mermaid(graph: TaskGraph, states: Mapping[str, SubtaskState] | None = None) -> str:
    """A flow chart of the subtasks, each behind those that it needs, for https://mermaid.js.org.

    What is in `states` has that state written beside its id. Nodes are numbered: an id could be a
    word of Mermaid's, such as "end". A dependency that is not there is left out.
    """
    known = states or {}
    nodes = {id_: f"t{number}" for number, id_ in enumerate(graph.ids, start=1)}
    lines = ["flowchart TD"]
    for subtask in graph.subtasks:
        node, state = nodes[subtask.id], known.get(subtask.id)
        told = f"{subtask.id} ({state})" if state in _MERMAID_STYLES else subtask.id
        label = f"{_mermaid_name(told)} · {_mermaid_label(subtask.description)}"
        lines.append(f'  {node}["{label}"]{f":::{state}" if state in _MERMAID_STYLES else ""}')
        lines += (f"  {nodes[id_]} --> {node}" for id_ in subtask.dependencies if id_ in nodes)
    shown = {state for id_, state in known.items() if id_ in nodes}
    lines += (f"  classDef {state} {_MERMAID_STYLES[state]}" for state in _MERMAID_STYLES
              if state in shown)  # fmt: skip
    return "\n".join(lines)


def time_text(seconds: float) -> str:
    """`6 ms`, `0.25 s`, `12.3 s`, `3 min 20 s`, `25 h 3 min`."""
    if seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 120:
        return f"{minutes // 60:,} h {minutes % 60} min"
    return f"{minutes} min {rest} s"


def _tree(
    span: Span, before: str, indent: str, width: int | None, *, is_whole: bool
) -> Iterator[str]:
    """The lines of a span; `before` stands in front of its own, `indent` of those below it."""
    yield _cut(f"{before}{_line(span)}", width)
    rail = f"{indent}{'│' if span.children else ' '} "
    for head, text in span.details:
        if is_whole:
            yield f"{rail}{head}:"
            yield from (f"{rail}  {line}" for line in printable(text).splitlines())
        elif head in SHOWN_SHORT:
            yield _cut(f"{rail}{head}: {one_line(text, SHORT_CHARACTERS)}", width)
    for place, child in enumerate(span.children, start=1):
        branch, below = ("└─ ", "   ") if place == len(span.children) else ("├─ ", "│  ")
        yield from _tree(child, indent + branch, indent + below, width, is_whole=is_whole)


def _cut(line: str, width: int | None) -> str:
    if width is None or fitting(line, width) == line:
        return line
    return f"{fitting(line, width - 1)}…"


def _line(span: Span) -> str:
    parts = [one_line(span.name, 200), time_text(span.seconds), STATES[span.state]]
    if span.kind in ("run", "subtask") and span.tokens:
        parts.append(f"{span.tokens:,} tokens" + (f", ${span.cost:.4f}" if span.cost else ""))
    return "  ".join(filter(None, [*parts, span.note]))


def _flat(span: Span) -> Iterator[Span]:
    yield span
    for child in span.children:
        yield from _flat(child)


def _bar(span: Span, begin: float) -> str:
    tag = "" if span.state == "ok" else "crit, " if span.state == "failed" else "done, "
    start = max(0, round((span.started_at - begin) * 1000))
    # A line that begins with a word of Mermaid's, such as "title" or "call", would be taken for it.
    name = _mermaid_name(f"{_MERMAID_KINDS.get(span.kind, '')} {span.name}")
    return f"  {name} :{tag}{start}, {start + round(span.seconds * 1000)}"


def _mermaid_label(text: str) -> str:
    """A text between quotes; a percent sign, which a sum may need, is written as its code."""
    parts = (_MERMAID_SIGNS.sub(" ", part) for part in text.split("%"))
    return one_line("%".join(parts), MERMAID_NAME_CHARACTERS).replace("%", "#37;") or "a subtask"


def _mermaid_name(name: str) -> str:
    return one_line(_MERMAID_SIGNS.sub(" ", name), MERMAID_NAME_CHARACTERS) or "a span"
