"""A request in parts while it goes on: a row a subtask, and one line for each that has ended."""

import pytest

from core.events import (
    Event,
    GraphPlanned,
    ModelAnswered,
    ModelAsked,
    ModelRetried,
    ModelWriting,
    PlanWritten,
    Replanned,
    RoleChosen,
    RunFinished,
    StepFinished,
    SubtaskChanged,
    SubtaskEvent,
    ToolCallFinished,
    ToolCallStarted,
)
from core.team.graph import GraphOutcome, Subtask, TaskGraph
from core.turn import FinalAnswer, PerceptionResult, Plan, RunOutcome, Step, ToolCall, Usage
from modules.terminal.display.graph_view import PART_ROWS, GraphView
from modules.terminal.display.region import Row
from modules.terminal.progress import Loudness
from tests.doubles import HandClock
from tests.modules.terminal.test_waits import MARK, Screen, term
from tests.screens import screen_lines

__all__ = ["term"]

FIRST, OTHER = Subtask("first", "find A"), Subtask("other", "find B")
BOTH, LAST = Subtask("both", "join {{first}} and {{other}}"), Subtask("last", "say {{both}}")
GRAPH = TaskGraph("compare", (FIRST, OTHER, BOTH, LAST))
CALL = ToolCall("web.read", {"url": "x"}, True, "y", 0.5)
STEP = Step(1, 1, PerceptionResult(), Plan("p"), FinalAnswer("3"), 0.25)
USED = Usage(1, 1_000, 200)


def of(id_: str, event: Event) -> Event:
    return SubtaskEvent(id_, 1, event)


class View:
    """What a view shows of these events, of which each takes a second."""

    def __init__(self, *events: Event) -> None:
        self.clock = HandClock(100.0)
        self.view = GraphView(lambda text: text.replace("sk-1", "[redacted]"), self.clock)
        self.follow(*events)

    def follow(self, *events: Event) -> None:
        for event in events:
            self.view.follow(event)
            self.clock.seconds += 1

    def rows(self, columns: int = 97, most: int = 20) -> list[str]:
        rows = self.view.rows(self.clock.seconds, columns, most)
        return [MARK.sub("* ", text_of(row)) for row in rows]


def text_of(row: Row) -> str:
    return "".join(text for text, _ in row.pieces) + row.end


def test_each_subtask_has_a_row_below_the_last_that_it_waits_for() -> None:
    view = View(GraphPlanned(GRAPH), SubtaskChanged(FIRST, "running"))
    assert view.rows() == [
        "[graph] 0 of 4 subtasks done · 2 s",
        "  * first · 1 s",
        "  · other",
        "  └ · both after first, other",
        "    └ · last after both",
    ]
    view.follow(SubtaskChanged(OTHER, "completed", 1, "B", 0.5))
    assert view.rows() == [
        "[graph] 1 of 4 subtasks done · 3 s",
        "  * first · 2 s",
        "  └ · both after first",
        "    └ · last after both",
    ]


@pytest.mark.parametrize(
    ("events", "doing"),
    [
        ([ModelAsked("m", "decision")], " waits for m · 2 s"),
        ([ModelRetried("m", "503", 1, 0.5)], " waits for m · 2 s"),
        ([ModelWriting("m", 1_204, 0)], " m writes: 1,204 characters · 2 s"),
        ([ModelAsked("m", "decision"), ModelAnswered("m", "decision", USED, 1, None)],
         " · 1,200 tokens · 3 s"),
        ([PlanWritten(1, 1, Plan("p"), "p")], " runs its plan · 2 s"),
        ([PlanWritten(1, 1, Plan("p"), "p"), StepFinished(STEP)], " · 3 s"),
        ([ToolCallStarted(1, "web.read", {"url": "x"})], ' web.read(url="x") · 2 s'),
        ([ToolCallStarted(1, "a.b", {}), ToolCallStarted(2, "a.c", {})],
         " a.c() and 1 more call · 3 s"),
        ([PlanWritten(1, 1, Plan("p"), "p"), ToolCallStarted(1, "a.b", {}),
          ToolCallFinished(1, CALL)], " runs its plan · 4 s"),
        ([SubtaskEvent("deeper", 1, ToolCallStarted(1, "a.b", {}))], " a.b() · 2 s"),
    ],
)  # fmt: skip
def test_a_row_says_what_its_subtask_does_now(events: list[Event], doing: str) -> None:
    view = View(GraphPlanned(TaskGraph("x", (FIRST,))), SubtaskChanged(FIRST, "running"))
    view.follow(*(of("first", event) for event in events))
    assert view.rows()[1] == f"  * first{doing}"


def test_what_side_by_side_ones_do_does_not_mix() -> None:
    view = View(GraphPlanned(GRAPH), RoleChosen("other", "writer", "fits"))
    view.follow(SubtaskChanged(FIRST, "running"), SubtaskChanged(OTHER, "running"))
    view.follow(of("first", ToolCallStarted(1, "a.b", {})))
    view.follow(of("other", ToolCallStarted(1, "c.d", {})), of("first", ToolCallFinished(1, CALL)))
    assert view.rows()[1:3] == ["  * first · 5 s", "  * other writer c.d() · 4 s"]


def test_more_subtasks_than_rows_are_counted_and_those_that_run_stay() -> None:
    many = tuple(Subtask(f"t{n}", "x") for n in range(50))
    view = View(GraphPlanned(TaskGraph("x", many)), SubtaskChanged(many[40], "running"))
    rows = view.rows(most=6)
    assert len(rows) == 6
    assert rows[1:] == ["  · t0", "  · t1", "  · t2", "  * t40 · 1 s", "  … 46 more"]
    assert len(view.rows(most=100)) == PART_ROWS + 1
    for part in many:
        view.follow(SubtaskChanged(part, "running"))
    assert view.rows(most=6)[-1] == "  … 46 more, 46 running"
    assert len(view.rows(most=0)) == 2, "a terminal of one row shows that it goes on"


def test_a_narrow_terminal_has_no_room_for_roles_and_tokens() -> None:
    view = View(GraphPlanned(GRAPH), RoleChosen("first", "writer", "fits"))
    view.follow(SubtaskChanged(FIRST, "running"))
    view.follow(of("first", ModelAnswered("m", "decision", USED, 1, None)))
    assert view.rows(97)[1] == "  * first writer · 1,200 tokens · 2 s"
    assert view.rows(37)[1] == "  * first · 2 s"


def test_one_that_is_tried_again_begins_anew() -> None:
    view = View(GraphPlanned(GRAPH), SubtaskChanged(FIRST, "running"))
    view.follow(of("first", ToolCallStarted(1, "a.b", {})), SubtaskChanged(FIRST, "running", 2))
    assert view.rows()[1] == "  * first · 3 s"


def test_a_graph_planned_anew_shows_its_own_parts_and_what_runs_goes_on() -> None:
    view = View(GraphPlanned(GRAPH), SubtaskChanged(FIRST, "running"))
    view.follow(SubtaskChanged(OTHER, "running"), SubtaskChanged(OTHER, "failed", 3, "no", 1.0))
    view.follow(Replanned("other", "no", TaskGraph("x", (FIRST, Subtask("third", "find C")))))
    assert view.rows() == [
        "[graph] 0 of 2 subtasks done · 5 s", "  * first · 4 s", "  · third",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ended", "columns", "told"),
    [
        (SubtaskChanged(FIRST, "completed", 1, "The\nprice", 12.0), 97,
         "[graph] ✓ first → The price (1,200 tokens, 12 s)"),
        (SubtaskChanged(FIRST, "completed", 1, "The price is what it is", 12.0), 37,
         "[graph] ✓ first → The price i… (12 s)"),
        (SubtaskChanged(FIRST, "failed", 3, "no sk-1 \x1b[2J", 2.0), 97,
         "[graph] ✗ first failed: no [redacted] \N{REPLACEMENT CHARACTER}[2J (1,200 tokens, 2 s)"),
        (SubtaskChanged(FIRST, "cancelled"), 97, "[graph] ✗ first cancelled (1,200 tokens, 3 s)"),
        (SubtaskChanged(FIRST, "running", 2), 97, None),
        (SubtaskChanged(BOTH, "blocked", 1, "it needs first, which failed"), 97, None),
    ],
)  # fmt: skip
def test_one_that_has_ended_is_a_line_with_the_first_words_of_its_result(
    ended: SubtaskChanged, columns: int, told: str | None
) -> None:
    view = View(GraphPlanned(GRAPH), SubtaskChanged(FIRST, "running"))
    view.follow(of("first", ModelAnswered("m", "decision", USED, 1, None)))
    view.follow(ended)
    row = view.view.ended_row(ended, columns)
    assert (None if row is None else text_of(row)) == told


class TestAtATerminal:
    def test_the_tree_stands_at_the_foot_and_what_has_ended_above_it_until_the_run_ends(
        self,
    ) -> None:
        screen = Screen()
        screen.tell(GraphPlanned(GRAPH))
        screen.tell(SubtaskChanged(FIRST, "running"))
        screen.tell(SubtaskChanged(OTHER, "running"))
        screen.time.go_on(1)
        assert shown(screen)[1:] == [
            "[graph] 0 of 4 subtasks done · 1 s", "  * first · 1 s", "  * other · 1 s",
            "  └ · both after first, other", "    └ · last after both",
        ]  # fmt: skip
        screen.tell(SubtaskChanged(FIRST, "completed", 1, "A", 1.0))
        assert shown(screen)[1:5] == [
            "[graph] ✓ first → A (1 s)", "[graph] 1 of 4 subtasks done · 1 s", "  * other · 1 s",
            "  └ · both after other",
        ], "in the same frame, it stands above and no more in the tree"  # fmt: skip
        screen.tell(SubtaskChanged(OTHER, "cancelled"))
        for part in (BOTH, LAST):
            screen.tell(SubtaskChanged(part, "cancelled"))
        ended = GraphOutcome(
            GRAPH, {"first": "completed", "other": "cancelled", "both": "cancelled"}
        )
        screen.tell(RunFinished(RunOutcome("interrupted", None, "interrupted", graph=ended)))
        assert shown(screen)[1:] == [
            "[graph] ✓ first → A (1 s)",
            "[graph] ✗ other cancelled (1 s)",
            "[loop] 1 of 3 subtasks done; cancelled: other, both; 0 tool calls, 0.0 s",
        ], "what never began is counted alone"

    def test_the_next_request_begins_without_a_tree(self) -> None:
        screen = Screen()
        for event in (GraphPlanned(GRAPH), SubtaskChanged(FIRST, "running")):
            screen.tell(event)
        screen.tell(RunFinished(RunOutcome("failed", None, "no")))
        screen.tell(ModelAsked("m", "decision"))
        screen.time.go_on(1)
        assert not any("[graph] 0 of" in line for line in shown(screen))

    def test_inner_steps_are_told_with_their_subtask_where_all_is_asked_for(self) -> None:
        called = of("first", ToolCallFinished(1, CALL))
        loud: list[tuple[Loudness, bool]] = [("normal", False), ("verbose", True)]
        for loudness, told in loud:
            screen = Screen(loudness=loudness)
            screen.tell(GraphPlanned(GRAPH))
            screen.tell(called)
            assert ('[tool] first: web.read(url="x") → "y" (500 ms)' in shown(screen)) is told


def shown(screen: Screen) -> list[str]:
    return [MARK.sub("* ", line) for line in screen_lines(screen.stream.getvalue())]
