"""Progress on stderr: a listener that says what the run is doing, a line a stage."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from textwrap import indent
from typing import Final, Literal, TypeAlias

from core.base.clock import Clock
from core.base.redaction import Redactor
from core.base.text import clause, counted, lazy_pattern, one_line, seconds_text
from core.events import (
    Clarified,
    Event,
    GraphPlanned,
    ModelAnswered,
    ModelAsked,
    ModelReplaced,
    ModelRetried,
    ModelWriting,
    Notice,
    Observed,
    Perceived,
    PlanWritten,
    Retrying,
    RunFinished,
    RunStarted,
    ServerLogged,
    StepFinished,
    SubtaskChanged,
    SubtaskEvent,
    ToolCallFinished,
    ToolCallProgress,
    ToolCallRefused,
    ToolCallStarted,
)
from core.tools.content import ImageBlock
from core.turn import ModelPurpose, ToolCall
from modules.terminal.display.graph_view import GraphView
from modules.terminal.display.pictures import Pictures
from modules.terminal.display.region import DIM, RED, Region, Row, columns_of
from modules.terminal.display.run_view import RunView, ended_row
from modules.terminal.streams import TextSink, printable, shown_name
from modules.terminal.waits import Schedule, Waits, scheduled
from modules.terminal.wording import (
    VALUE_CHARACTERS,
    Lines,
    call_line,
    normal_lines,
    part_lines,
    progress_line,
    retry_line,
    run_line,
    server_log_line,
    verbose_lines,
    writing_line,
)

CALLED_AFTER_SECONDS: Final = 10.0
"""Who waits longer for a run may be looking elsewhere when it ends."""

PICTURES_SHOWN: Final = 4
"""So many pictures of one call are shown."""

_PURPOSES: Final[Mapping[ModelPurpose, str]] = {
    "perception": "perception",
    "decision": "a plan",
    "summary": "a summary",
    "text": "a text",
}
"""What a model is asked for, in words."""

Loudness: TypeAlias = Literal["quiet", "normal", "verbose"]

SERVER_LOG_LINES: Final = 50
"""How many log lines of one server are shown between two requests, unless all is asked for."""

CALL_PROGRESS_LINES: Final = 20
"""How many lines of progress are shown of one call, unless all is asked for."""

REASON_RECOGNISED_CHARACTERS: Final = 60
"""So much of a failed call's reason, found in the message that ends a run, is the same reason."""

_BEGINNING: Final = lazy_pattern(r" +|(?=- )")
"""What an entry of a list begins with: what goes on of it stands further in."""

_NAME: Final = lazy_pattern(r" +\S(?:.*?\S)?  +(?=\S)")
"""The first of two columns: what goes on of the second stands below that, where there is room."""

CODE_LINES: Final = 200
"""So much of a plan is shown."""

_MILD_LEVELS: Final = frozenset({"debug", "info", "notice"})
"""Log levels of servers that only "verbose" shows; what is not of RFC 5424 counts as a warning."""

_TOLD_OF_PARTS: Final = (
    *(Notice, ServerLogged, ToolCallRefused, ModelRetried, ModelReplaced, Clarified, Retrying),
    SubtaskEvent,
)
"""What is told of a subtask's own run, unless all is asked for: its troubles."""


class Progress:
    """Writes events to `stream`; "quiet" keeps notices, "verbose" adds plans and stages.

    Secrets are taken out of every line, for stderr often ends in a log.

    A `stream` of None, which `sys.stderr` is when a program starts with stderr closed, is told
    nothing.
    """

    def __init__(
        self,
        stream: TextSink | None,
        loudness: Loudness,
        redactor: Redactor | None = None,
        *,
        is_held: Callable[[], bool] = lambda: False,
        clock: Clock = time.monotonic,
        schedule: Schedule = scheduled,
        call: Callable[[str], str] | None = None,
        pictures: Pictures | None = None,
    ) -> None:
        """Write nothing yet; without `redactor`, no secrets are known.

        While `is_held`, somebody else has the terminal: nothing is written over there. `clock`
        gives seconds, and `schedule` calls back, for what is waited for. `call` gives what makes
        a terminal tell a text to a person who looks elsewhere. `pictures` keeps those of tools.
        """
        self._stream = stream
        self._loudness = loudness
        self._redactor = redactor if redactor is not None else Redactor({})
        self._told: Counter[str | int] = Counter()
        self._failed: ToolCall | None = None
        self._retried_for = ("", "")
        self._call = call
        self._pictures = pictures
        self._clock = clock
        self._run_began = math.inf
        self._is_answered = False
        self.reword: Callable[[str, str], str] = lambda stage, text: text
        """Goes over what is said under a stage, for a reader who types other commands."""
        self._waits = Waits(
            stream,
            self.say,
            verbose=loudness == "verbose",
            quiet=loudness == "quiet",
            is_held=is_held,
            clock=clock,
            schedule=schedule,
            rows=self._rows,
        )
        is_live = self._waits.live.is_live
        self._view = RunView(self._harmless_lines, clock) if is_live else None
        self._graph: GraphView | None = None

    async def __call__(self, event: Event) -> None:
        """Tell one event, and show the pictures that came with it."""
        self.tell(event)
        while isinstance(event, SubtaskEvent):
            event = event.event
        if isinstance(event, ToolCallFinished) and self._loudness != "quiet":
            for block in event.images[:PICTURES_SHOWN]:
                await self._show_picture(shown_name(event.call.tool), block)

    async def _show_picture(self, tool: str, block: ImageBlock) -> None:
        if self._pictures is None:
            return
        columns = self._waits.live.columns
        if (kept := await asyncio.to_thread(self._pictures.keep, block, columns)) is None:
            self.say("tool", f"{tool} gave a picture that can't be read")
            return
        path, drawing = kept
        told, live = f"picture of {tool}: {path}", self._waits.live
        if not live.is_live:
            self.say("tool", told)
            return
        # Not broken into lines, so that the path can be copied.
        drawing = f"{drawing}\n" if drawing else ""
        self._write(f"{live.styled('[tool]', DIM)} {self._harmless_lines(told)}\n{drawing}")

    def tell(self, event: Event) -> None:
        """Tell one event, from where nothing can be awaited."""
        with self._waits.lock, self._waits.live.frame():
            if self._view is not None:
                if self._has_trail:
                    self._tell_ended_calls(event, self._view)
                self._view.follow(event)
                self._follow_parts(event)
            for stage, text in self._lines(event):
                self.say(stage, text)
            self._follow(event)

    @property
    def _has_trail(self) -> bool:
        """Whether calls are shown while they run, and told when all beside them have ended."""
        return self._waits.live.is_live and self._loudness == "normal"

    def _rows(self, now: float) -> Sequence[Row]:
        live = self._waits.live
        rows = () if self._view is None else self._view.rows(now, live.columns, live.rows - 1)
        return (
            rows
            if self._graph is None
            else [*rows, *self._graph.rows(now, live.columns, live.rows - len(rows))]
        )

    def _follow_parts(self, event: Event) -> None:
        """Show a request's parts, and tell those that have ended."""
        if isinstance(event, RunStarted | RunFinished):
            self._graph = None
        elif self._graph is None and isinstance(event, GraphPlanned):
            self._graph = GraphView(self._harmless, self._clock)
        if self._graph is None:
            return
        self._graph.follow(event)
        if self._has_trail and isinstance(event, SubtaskChanged):
            ended = self._graph.ended_row(event, self._waits.live.columns)
            if ended is not None:
                self._write_row(ended)

    def _tell_ended_calls(self, event: Event, view: RunView) -> None:
        """Tell calls that have ended, before what comes after them; a reason is told once."""
        match event:
            case ToolCallStarted() if not view.is_calling:
                following = ""
            case Retrying(failure=failure):
                following = str(failure)
            case RunFinished(outcome):
                following = outcome.message
            case Observed() | Clarified() | RunStarted():
                following = ""
            case _:
                return
        self._tell_settled(view, following)

    def tell_calls(self, following: str) -> None:
        """Tell calls that have ended where no run does; `following` is what is said after them."""
        if self._view is not None and self._has_trail:
            self._tell_settled(self._view, following)

    def _tell_settled(self, view: RunView, following: str) -> None:
        for call in view.settled():
            if call.ok:
                columns = self._waits.live.columns
                self._write_row(ended_row(call, self._harmless_lines, columns))
            else:
                line = call_line(call, with_reason=not _is_told(call, following))
                self.say("tool", f"✗ {line}")

    def _follow(self, event: Event) -> None:
        """Name what is waited for from now on, and no more what has come."""
        match event:
            case RunStarted():
                self._is_answered = False
                self._run_began = self._clock()
                self._waits.begin_run()
                self._waits.end("request")
            case PlanWritten():
                self._wait("plan", "sandbox", "the plan to run", has_row=False)
            case StepFinished():
                self._waits.end("plan")
            case ToolCallStarted(call_id, tool):
                self._wait(("tool", call_id), "tool", shown_name(tool), has_row=False)
            case ToolCallFinished(call_id):
                self._waits.end(("tool", call_id))
            case SubtaskChanged(subtask, "running"):
                self._wait(("part", subtask.id), "graph", f"subtask {subtask.id}", has_row=False)
            case SubtaskChanged(subtask):
                self._waits.end(("part", subtask.id))
            case RunFinished(outcome):
                self._is_answered = True
                self._waits.end_all()
                took = self._clock() - self._run_began
                if took > CALLED_AFTER_SECONDS and outcome.status != "interrupted":
                    ended = "done" if outcome.answer is not None else "no answer"
                    self.call_user(f"Cortex-R: {ended} after {seconds_text(took)}")
            case _:
                self._follow_model(event)

    def _follow_model(self, event: Event) -> None:
        match event:
            case ModelAsked(model, purpose):
                self._wait("model", "model", f"{model} ({_PURPOSES[purpose]})")
            case ModelWriting():
                self._wait("model", "model", writing_line(event), at_once=True, in_pieces=True)
            case ModelRetried():
                self._wait("model", "model", retry_line(event), at_once=True)
            case ModelReplaced(_, successor):
                self._wait("model", "model", successor)
            case ModelAnswered():
                self._waits.end("model")
            case _:
                pass

    def _wait(
        self,
        key: Hashable,
        stage: str,
        text: str,
        *,
        at_once: bool = False,
        has_row: bool = True,
        in_pieces: bool = False,
    ) -> None:
        shown = self._harmless(text)
        self._waits.begin(key, stage, shown, at_once=at_once, has_row=has_row, in_pieces=in_pieces)

    def _harmless(self, text: str) -> str:
        """For a row that is written over, whoever wrote it."""
        return printable(self._redactor.text(one_line(text, VALUE_CHARACTERS)))

    def _harmless_lines(self, text: str) -> str:
        return printable(self._redactor.text(text))

    def during(self, stage: str, text: str) -> AbstractContextManager[None]:
        """Name the wait inside."""
        return self._waits.during(stage, self._harmless(text))

    def begin_request(self) -> None:
        """Name what is done for a request before its run begins."""
        self._is_answered = False
        self._wait("request", "loop", "what the request needs")

    def end_waits(self) -> None:
        """Leave the terminal's line empty: somebody else writes, or the run is over."""
        self._waits.end_all()

    def call_user(self, text: str) -> None:
        """Have the terminal tell who looks elsewhere, by a notification or a bell."""
        is_watched = self._stream is not None and self._stream.isatty()
        if self._call is not None and is_watched and self._loudness != "quiet":
            self._write(self._call(text))

    def make_room(self) -> None:
        """Empty the terminal's line for somebody else, who has the terminal next."""
        self._waits.make_room()

    async def notice(self, text: str) -> None:
        """Tell something that did not come up in a run, such as a server that can't start."""
        await self(Notice("loop", text))

    async def waiting(self, text: str) -> None:
        """Tell what is being waited for, unless quiet is wanted, or the answer has been given."""
        if self._loudness != "quiet" and not self._is_answered:
            self.say("loop", text)

    def say(self, stage: str, text: str) -> None:
        """Write one line, control characters made visible; a closed stderr is no reason to fail.

        On a terminal it is broken at words, and its stage is dim.
        """
        line = f"[{stage}] {printable(self._redactor.text(self.reword(stage, text)))}"
        live = self._waits.live
        if live.is_live:
            line = "\n".join(_said(line, live))
        self._write(f"{line}\n")

    def say_beside_answer(self, text: str) -> None:
        """Write a line that belongs to the answer above it; on a terminal all of it is dim."""
        line, live = f"({printable(text)})", self._waits.live
        self._write(f"{live.styled(line, DIM) if live.is_live else line}\n")

    def show_code(self, stage: str, code: str) -> None:
        """Write Python below its stage: indented, on a terminal with its colours."""
        lines = self._harmless_lines(code).splitlines()
        shown = "\n".join(lines[:CODE_LINES])
        self.say(stage, counted(len(lines), "line"))
        if self._waits.live.is_live:
            from modules.terminal.display.code import coloured_pieces  # late: rich takes 0.06 s

            for pieces in coloured_pieces(shown, "python"):
                self._write_row(Row((("  ", ""), *pieces)))
        else:
            self._write(f"{indent(shown, '  ')}\n")
        if (more := len(lines) - CODE_LINES) > 0:
            self.say(stage, f"and {counted(more, 'more line')}")

    def _write_row(self, told: Row) -> None:
        live = self._waits.live
        self._write("".join(live.styled(text, style) for text, style in told.pieces) + "\n")

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        live = self._waits.live
        with self._waits.lock, live.frame():
            try:
                if live.is_live:
                    was_shown = live.is_shown
                    live.write_above(text)
                    if was_shown:
                        self._waits.redraw()
                else:
                    self._stream.write(text)
                    self._stream.flush()
            except (OSError, ValueError):
                self._loudness = "quiet"

    def _lines(self, event: Event) -> Lines:
        """The (stage, text) pairs that an event is worth at this loudness."""
        if isinstance(event, Notice):
            return [(event.source, event.text)]
        if isinstance(event, SubtaskEvent):
            is_told = self._loudness == "verbose" or isinstance(event.event, _TOLD_OF_PARTS)
            return part_lines(event.subtask, self._lines(event.event)) if is_told else []
        if self._loudness == "quiet":
            return []
        if isinstance(event, ModelRetried):
            return self._retry_lines(event)
        if self._loudness == "verbose":
            return verbose_lines(event)
        if isinstance(event, RunStarted):
            self._told.clear()
        if not self._has_trail:
            return [*self._failed_call(event), *self._limited(event)]
        match event:
            case ToolCallFinished() | ToolCallProgress() | SubtaskChanged():
                return []  # in rows, and told when they have ended
            case RunFinished(outcome):
                return [("loop", run_line(outcome))] if outcome.steps or outcome.graph else []
            case _:
                return self._limited(event)

    def _retry_lines(self, event: ModelRetried) -> Lines:
        """A reason is told once; where rows are shown, one of them has it as long as it counts."""
        before, self._retried_for = self._retried_for, (event.model, event.reason)
        if self._has_trail and self._graph is None:
            return []
        is_known = event.attempt > 1 and before == self._retried_for
        return [("model", retry_line(event, is_known=is_known))]

    def _failed_call(self, event: Event) -> Lines:
        """The line of a call that failed, once it is known whether the next line has its reason."""
        call = self._failed
        if isinstance(event, StepFinished | ModelAsked | ModelAnswered | Perceived):
            return []
        self._failed = None
        if isinstance(event, ToolCallFinished) and not event.call.ok:
            self._failed = event.call
        if call is None:
            return []
        match event:
            case RunFinished(outcome):
                following = outcome.message
            case Retrying(failure=failure):
                following = str(failure)
            case _:
                following = ""
        return [("tool", call_line(call, with_reason=not _is_told(call, following)))]

    def _limited(self, event: Event) -> Lines:
        """What an event is worth, until one server's log, or one call, has told too much."""
        match event:
            case ServerLogged(server, level):
                if level in _MILD_LEVELS:
                    return []
                who, does, most = server, "logs", SERVER_LOG_LINES
                stage, line, key = "mcp", server_log_line(event), server
            case ToolCallProgress(call_id, tool):
                who, does, most = shown_name(tool), "reports", CALL_PROGRESS_LINES
                stage, line, key = "tool", progress_line(event), call_id
            case _:
                return normal_lines(event)
        self._told[key] += 1
        if self._told[key] > most:
            return []
        more = [(stage, f"{who} {does} more than is shown; --verbose shows all")]
        return [(stage, line), *(more if self._told[key] == most else [])]


def _is_told(call: ToolCall, following: str) -> bool:
    """Whether the reason why a call failed stands in what is told next."""
    reason = clause(" ".join(call.error_text.split()))[:REASON_RECOGNISED_CHARACTERS]
    return reason in " ".join(following.split())


def _said(line: str, live: Region) -> Iterator[str]:
    """A line broken at words, behind the width of its stage."""
    stage, _, _ = line.partition("] ")
    indent = " " * (len(stage) + 2)
    for number, written in enumerate(line.split("\n")):
        begins = _BEGINNING.match(written)
        hanging = indent if not number else " " * (len(begins[0]) + 2) if begins else ""
        for piece in _laid_out(written, live.columns, hanging):
            has_stage = not number and piece.startswith(f"{stage}] ")
            tag = piece[: len(indent) - 1] if has_stage else ""
            mark = "✗" if piece[len(indent) :].startswith("✗") and has_stage else ""
            rest = piece[len(tag) :].removeprefix(f" {mark}") if mark else piece[len(tag) :]
            yield live.styled(tag, DIM) + (f" {live.styled(mark, RED)}" if mark else "") + rest


def _laid_out(line: str, columns: int, indent: str) -> list[str]:
    """The lines of an entry, of which some have two columns."""
    name = _NAME.match(line) if indent and columns_of(line) > columns else None
    if name is None:
        return _broken(line, columns, indent)
    is_beside = len(name[0]) <= columns // 2
    first = [name[0]] if is_beside else [*_broken(name[0].rstrip(), columns, indent), indent]
    further = " " * len(first[-1])
    told = _broken(line[name.end() :], columns - len(further), "")
    return [*first[:-1], *(f"{further if n else first[-1]}{each}" for n, each in enumerate(told))]


def _broken(line: str, columns: int, indent: str) -> list[str]:
    if columns_of(line) <= columns and "\t" not in line:
        return [line]
    from modules.terminal.screen import wrapped  # late: rich takes 0.06 s

    return wrapped(line, columns, indent)
