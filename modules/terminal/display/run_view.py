"""A run while it goes on, as rows: what is planned, the plan, its calls, what a model writes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from core.base.text import counted, one_line, seconds_text
from core.events import (
    Event,
    ModelAnswered,
    ModelAsked,
    ModelRetried,
    ModelWriting,
    Perceived,
    PlanWritten,
    RunFinished,
    RunStarted,
    StepFinished,
    ToolCallFinished,
    ToolCallProgress,
    ToolCallStarted,
)
from core.turn import ToolCall
from modules.planning.reply.closing import answer_so_far
from modules.terminal.answer import LABEL
from modules.terminal.display.region import (
    CYAN,
    DIM,
    GREEN,
    RED,
    Row,
    columns_of,
    cut,
    row,
)
from modules.terminal.streams import printable, shown_name
from modules.terminal.waits import SHOWN_AFTER_SECONDS, mark_at
from modules.terminal.wording import VALUE_CHARACTERS, arguments_text, result_text, took_text

if TYPE_CHECKING:
    from modules.terminal.display.markdown import Draft

PLAN_ROWS: Final = 4
"""So much of a plan is shown while it runs, or is written."""

DRAFT_SHARE: Final = 0.1
"""At most so much of the time goes into laying out an answer while it is written."""

REPLY_CHARACTERS_MAX: Final = 40_000
"""A longer reply is not shown while it is written."""

CALL_ROWS: Final = 10
"""So many calls are shown at a time; what has ended goes first."""

LINE_CHARACTERS_MAX: Final = 300
"""How much of one line of a plan is looked at."""

UNKNOWN_INTENT: Final = "unknown"
"""What perception says that asked no model."""

ARGUMENTS_FROM: Final = 40
"""With less room, the arguments of a call that has ended give way to its result altogether."""

BAR_COLUMNS: Final = 12

ESTIMATED_AFTER_SECONDS: Final = 2.0
"""Before that, nobody knows how long the rest will take."""

_TELLS_NOTHING: Final = ("async def solve", "import ", "from ", "```", "#")


@dataclass
class _Call:
    """A call that is shown until all that run beside it have ended."""

    tool: str
    arguments: str
    began: float
    progress: ToolCallProgress | None = None
    done: ToolCall | None = None


@dataclass
class _State:
    """What a run has come to."""

    perception: str = ""
    plan: str = ""
    plan_began: float = 0.0
    written: str = ""
    characters: int = 0
    calls: dict[int, _Call] = field(default_factory=dict[int, _Call])


class RunView:
    """Follows one run after the other; all that it shows is printable and without secrets."""

    def __init__(self, harmless: Callable[[str], str], clock: Callable[[], float]) -> None:
        """`harmless` takes secrets and control characters out of a text, and leaves its lines."""
        self._harmless = harmless
        self._clock = clock
        self._state = _State()
        self._coloured: tuple[str, Sequence[Row]] = ("", ())
        self._draft: _DraftRows | None = None

    def follow(self, event: Event) -> None:
        """Know what has happened."""
        state = self._state
        match event:
            case RunStarted() | RunFinished():
                self._state = _State()
            case Perceived(_, perception):
                servers = ", ".join(perception.selected_servers) or "none"
                intent = perception.intent if perception.intent != UNKNOWN_INTENT else ""
                text = f"{intent} · servers {servers}".removeprefix(" · ")
                state.perception = self._harmless(one_line(text, VALUE_CHARACTERS))
            case PlanWritten(_, _, plan):
                state.plan, state.plan_began = plan.source, self._clock()
            case StepFinished():
                state.plan = ""
            case ModelAsked() | ModelRetried() | ModelAnswered():
                state.written, state.characters, self._draft = "", 0, None
            case ModelWriting(characters=characters, text=text):
                new = characters - state.characters
                is_end = 0 <= new <= len(text) < characters <= REPLY_CHARACTERS_MAX
                state.written = state.written + text[len(text) - new :] if is_end else text
                state.characters = characters
            case _:
                self._follow_call(event)

    def _follow_call(self, event: Event) -> None:
        calls = self._state.calls
        match event:
            case ToolCallStarted(call_id, tool, arguments):
                shown = self._harmless(arguments_text(arguments))
                calls[call_id] = _Call(self._harmless(shown_name(tool)), shown, self._clock())
            case ToolCallProgress(call_id) if call_id in calls:
                calls[call_id].progress = event
            case ToolCallFinished(call_id, done) if call_id in calls:
                calls[call_id].done = done
            case _:
                pass

    @property
    def is_calling(self) -> bool:
        """Whether a call is on its way."""
        return any(call.done is None for call in self._state.calls.values())

    def settled(self) -> list[ToolCall]:
        """The calls that have ended, in the order in which they began; they are shown no more."""
        calls = self._state.calls
        done = {call_id: call.done for call_id, call in calls.items() if call.done is not None}
        self._state.calls = {key: call for key, call in calls.items() if key not in done}
        return [*done.values()]

    def rows(self, now: float, columns: int, most: int) -> Sequence[Row]:
        """What there is to see of the run; `columns` is what a row has room for.

        An answer that is being written gets `most` rows at most.
        """
        state = self._state
        rows: list[Row] = []
        if state.written:
            return self._written_rows(now, columns, most)
        if state.perception and state.plan:
            rows.append(row(("[perception]", DIM), f" {state.perception}"))
        if state.plan:
            rows += self._plan_rows(now)
        calls = [*state.calls.values()]
        hidden = sorted(calls, key=lambda call: call.done is None)[: max(len(calls) - CALL_ROWS, 0)]
        rows += [self._call_row(call, now, columns) for call in calls if call not in hidden]
        if hidden:
            rows.append(row(("[tool]", DIM), f" and {counted(len(hidden), 'more call')}"))
        return rows

    def _plan_rows(self, now: float) -> list[Row]:
        state = self._state
        lines = [*_told_lines(state.plan)]
        rows = [*self._code_rows(lines[:PLAN_ROWS])]
        elapsed = now - state.plan_began
        if rows and elapsed >= SHOWN_AFTER_SECONDS and not state.calls:
            first, rows = rows[0], rows[1:]
            rows.insert(0, Row(first.pieces, f" · {seconds_text(elapsed)}"))
        if (more := len(lines) - PLAN_ROWS) > 0:
            rows.append(row((f"       … {counted(more, 'more line')}", DIM)))
        return rows

    def _written_rows(self, now: float, columns: int, most: int) -> Sequence[Row]:
        """The end of what a model has written: of its answer, or of its plan."""
        text = self._state.written
        if self._draft is None or self._draft.columns != columns:
            self._draft = _DraftRows(columns, self._harmless, self._clock)
        if rows := self._draft.rows(text, now):
            return rows[-max(most, 1) :]
        if "def solve" not in text:
            return []
        return [*self._code_rows([*_told_lines(text)][-PLAN_ROWS:])]

    def _code_rows(self, lines: Sequence[str]) -> Sequence[Row]:
        """Lines of a plan with their colours, kept as long as they are the same."""
        code = self._harmless("\n".join(lines))
        if not code.strip():
            return ()
        if self._coloured[0] != code:
            from modules.terminal.display.code import coloured_pieces  # late: rich takes 0.06 s

            shown = coloured_pieces(code, "python")
            tags = ["[plan] ", *["       "] * len(shown)]
            self._coloured = (
                code,
                [Row(((tag, DIM), *line)) for tag, line in zip(tags, shown, strict=False)],
            )
        return self._coloured[1]

    def _call_row(self, call: _Call, now: float, columns: int) -> Row:
        if call.done is not None:
            return ended_row(call.done, self._harmless, columns)
        tag, name = ("[tool]", DIM), (call.tool, CYAN)
        elapsed = now - call.began
        end = self._progress_text(call, elapsed)
        end += f" · {seconds_text(elapsed)}" if elapsed >= SHOWN_AFTER_SECONDS else ""
        return row(tag, f" {mark_at(elapsed)} ", name, f"({call.arguments})", end=end)

    def _progress_text(self, call: _Call, elapsed: float) -> str:
        """How far a call has come, as its server says, and when it may be done."""
        if (told := call.progress) is None:
            return ""
        message = self._harmless(one_line(told.message or "", 60))
        if not told.total or told.total <= 0:
            return f" · {message or f'{told.progress:g}'}"
        part = min(max(told.progress / told.total, 0.0), 1.0)
        full = round(part * BAR_COLUMNS)
        text = f" {'━' * full}{'╌' * (BAR_COLUMNS - full)} {told.progress:g}/{told.total:g}"
        text += f" {message}" if message else ""
        if elapsed >= ESTIMATED_AFTER_SECONDS and 0 < part < 1:
            rate = f"{told.progress / elapsed:.3g}/s"
            text += f" · {rate}, {seconds_text(elapsed / part - elapsed)} left"
        return text


class _DraftRows:
    """An answer while it is written, laid out as it will be."""

    def __init__(
        self, columns: int, harmless: Callable[[str], str], clock: Callable[[], float]
    ) -> None:
        self.columns = columns
        self._harmless = harmless
        self._clock = clock
        self._draft: Draft | None = None
        self._reply = ""
        self._rows: Sequence[Row] = ()
        self._due = 0.0

    def rows(self, reply: str, now: float) -> Sequence[Row]:
        """The rows of the answer in a reply, none where it has none so far.

        They are those of a moment ago where new ones would take too much of the time.
        """
        if reply == self._reply or now < self._due:
            return self._rows
        began = self._clock()
        self._reply = reply
        answer = self._harmless(answer_so_far(reply))
        self._rows = self._laid_out(answer) if answer else ()
        ended = self._clock()
        self._due = ended + (ended - began) / DRAFT_SHARE
        return self._rows

    def _laid_out(self, answer: str) -> Sequence[Row]:
        # Late: rich and markdown-it take 0.1 s.
        from modules.terminal.display.code import pieces_of
        from modules.terminal.display.markdown import Draft, Layout

        if self._draft is None:
            self._draft = Draft(Layout(self.columns, has_links=False), LABEL)
        return [row(*pieces_of(line)) for line in self._draft.lines(answer)]


def ended_row(call: ToolCall, harmless: Callable[[str], str], columns: int) -> Row:
    """A call that has ended, in one row: its arguments give way to its result."""
    name, arguments = harmless(shown_name(call.tool)), harmless(arguments_text(call.arguments))
    result, took = harmless(result_text(call, with_reason=True)), f" ({took_text(call)})"
    room = columns - columns_of(f"[tool] ✓ {name}() {took}")
    if columns_of(arguments) + columns_of(result) > room:
        least = room // 2 if room >= ARGUMENTS_FROM else 1
        arguments = cut(arguments, max(least, room - columns_of(result)))
        result = cut(result, room - columns_of(arguments))
    mark = ("✓", GREEN) if call.ok else ("✗", RED)
    return row(("[tool]", DIM), " ", mark, f" {name}({arguments}) {result}", (took, DIM))


def _told_lines(source: str) -> Iterator[str]:
    """The lines of a plan that tell something, without the indent of `solve()`."""
    for line in source.splitlines():
        shown = line[:LINE_CHARACTERS_MAX].rstrip()
        if shown and not shown.lstrip().startswith(_TELLS_NOTHING):
            yield printable(shown.removeprefix("    ").expandtabs(4))
