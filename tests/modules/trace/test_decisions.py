"""Decisions: who took which, on which evidence, read from a session's items."""

from hypothesis import given
from hypothesis import strategies as st

from core.team.board import BoardEntry
from core.team.whiteboard import board_text
from core.turn import MemoryItem
from core.values import Json, JsonObject
from modules.trace.decisions import Decision, board_of, decisions_of, paragraphs, whole_text
from tests.modules.trace.session_items import call, item, model_call, plan

LEAVE: JsonObject = {
    "tool": "files.write_file", "values": "", "holds": "session",
    "for": "/srv/x", "words": "",
}  # fmt: skip

ONE_PLAN = [
    item(0, "run_metadata", metadata={"title": "before all"}),
    item(100, "run_metadata", user_query="add things", metadata={"model": "m"}),
    plan(101, 1, 1, ok=False, model_calls=[
        {**model_call(100, 1), "model": "m", "purpose": "n takes over", "trouble": "HTTP 500"},
        model_call(100, 1),
    ]),
    *call(102, 2, 0.2),
    item(103, "run_metadata", metadata={"leave": LEAVE}),
    item(104, "tool_output", tool_name="fetch", success=False,
         tool_result={"result": "the address is not known"},
         metadata={"refused": True, "server": "web"}),
    item(105, "run_metadata", metadata={"question": "which?", "reply": "the first"}),
    plan(106, 1, 2, ok=True, repairs=["awaited add"]),
    item(108, "final_answer", final_answer="12", user_query="add things"),
]  # fmt: skip


def team(event: str, /, **fields: Json) -> MemoryItem:
    return item(100, "run_metadata", metadata={"team": event, **fields})


def entry(topic: str, key: str, value: str, who: str, version: int = 1) -> MemoryItem:
    more: JsonObject = {"version": version, "time": 1.0, "source": "docs.search"}
    return team("BoardChanged", topic=topic, key=key, value=value, who=who, **more)


IN_PARTS = [
    item(100, "run_metadata", user_query="compare", metadata={"model": "m"}),
    team("ActionChosen", action="graph", reason="two parts"),
    team("GraphPlanned", graph={"goal": "compare", "subtasks": [{}, {}]}, notes=["sum joined"]),
    team("RoleChosen", subtask="ours", role="analyst", reason="reads documents"),
    plan(100, 0, 1, ok=True, subtask="ours"),
    team("SubtaskChanged", subtask="ours", state="completed", text="3"),
    team("SubtaskChanged", subtask="theirs", state="failed", text="no page"),
    team("Replanned", failed="theirs", reason="no page", graph={}),
    entry("facts", "months", "3", "writer"),
    entry("facts", "months", "12", "analyst", 2),
    entry("decisions", "facts.months", "«12», not «3»: a source beats a memory", "coordinator"),
    entry("blockers", "facts.price", "nobody can say which is right", "coordinator"),
    entry("blockers", "facts.months", "", "coordinator"),
    entry("decisions", "1", "planned anew", "coordinator"),
    team("Judged", verdict="need_more", reason="no price"),
    item(108, "final_answer", final_answer="12 beats 3", user_query="compare"),
]


def told(items: list[MemoryItem]) -> list[str]:
    (run,) = decisions_of(items)
    return [decision.told for decision in run.decisions]


def test_what_one_plan_takes_is_decided_by_models_guards_and_people() -> None:
    assert told(ONE_PLAN) == [
        "Cortex-R gave up m; n takes over: HTTP 500.",
        "m chose plan 1.1.",
        "The user allowed files.write_file (session).",
        "The guard refused web.fetch: the address is not known.",
        "The user answered «the first»: asked was «which?».",
        "m chose plan 1.2: the one before failed: error: ZeroDivisionError.",
        "Cortex-R repaired plan 1.2: awaited add.",
        "m answered: 12.",
    ]


def test_what_was_decided_while_a_plan_ran_comes_behind_it() -> None:
    asked, failed, call_, output, leave, *_ = ONE_PLAN[1:]
    ran = plan(101.5, 9, 2, ok=True)
    assert told([asked, failed, call_, output, leave, ran])[-2:] == [
        "m chose plan 1.2: the one before failed: error: ZeroDivisionError.",
        "The user allowed files.write_file (session).",
    ]


def of_kind(items: list[MemoryItem], kind: str) -> Decision:
    (run,) = decisions_of(items)
    return next(each for each in reversed(run.decisions) if each.kind == kind)


def test_evidence_is_cited_by_the_number_of_its_item() -> None:
    def cited(kind: str) -> list[int]:
        return [citation.item for citation in of_kind(ONE_PLAN, kind).evidence]

    assert cited("plan") == [3, 9]
    assert cited("refusal") == [7]
    assert cited("answer") == [9, 5, 10], "the plan, and what its call gave"
    assert dict(of_kind(ONE_PLAN, "plan").details)["plan"] == "async def solve(): ..."
    assert dict(of_kind(ONE_PLAN, "approval").details) == {"for": "/srv/x"}


def test_a_team_s_decisions_are_told_with_what_they_rest_on() -> None:
    assert told(IN_PARTS) == [
        "Cortex-R chose to answer by: graph: two parts.",
        "The coordinator took a graph of 2 subtasks: sum joined.",
        "The coordinator gave ours to the analyst: reads documents.",
        "m chose plan 1.1 (in ours).",
        "The coordinator planned anew, as theirs failed: no page.",
        "The coordinator settled facts.months: «12», not «3»: a source beats a memory.",
        "The coordinator could not settle facts.price: nobody can say which is right.",
        "The reviewer judged: need more: no price.",
        "The coordinator answered: 12 beats 3.",
    ]
    assert [c.item for c in of_kind(IN_PARTS, "replanning").evidence] == [7, 8]
    (run,) = decisions_of(IN_PARTS)
    settled = next(each for each in run.decisions if each.kind == "contradiction")
    assert [c.item for c in settled.evidence] == [9, 10, 11]
    assert [c.item for c in of_kind(IN_PARTS, "judgement").evidence] == [6, 7, 15]


def test_a_run_without_an_answer_says_so_and_one_that_nobody_answered() -> None:
    items = [
        item(1, "run_metadata", user_query="x"),
        item(2, "run_metadata", metadata={"question": "which?", "reply": None}),
        item(3, "run_metadata", metadata={"status": "no_answer", "message": "no lifeline left"}),
    ]
    assert told(items) == [
        "Nobody answered a question: asked was «which?».",
        "Cortex-R gave no answer (no_answer): no lifeline left.",
    ]


def test_what_a_subtask_needed_of_a_person_is_told_with_the_question() -> None:
    def message(kind: str, sender: str, text: str) -> MemoryItem:
        return team("MessageSent", kind=kind, sender=sender, text=text, correlation="city")

    asked = [IN_PARTS[0], message("question", "coordinator", "Which city?")]
    said, left = message("answer", "user", "Berlin"), message("answer", "default", "Bonn")
    assert told([*asked, said]) == ["The user answered «Berlin» for city: asked was «Which city?»."]
    assert told([*asked, left]) == [
        "Nobody answered for city, so that «Bonn» stands: asked was «Which city?»."
    ]
    assert [c.item for c in of_kind([*asked, said], "clarification").evidence] == [2, 3]


def test_a_committee_s_members_read_nothing_of_each_other_and_its_verdict_is_told() -> None:
    text = "coordinator decides: 2 of 3 agree; writer says: 4"
    more: JsonObject = {"sender": "coordinator", "correlation": "ours", "text": text}
    members = [plan(100, 0, 1, ok=True, subtask="ours") for _ in range(2)]
    items = [IN_PARTS[0], *members, team("MessageSent", kind="verdict", **more)]
    assert told(items) == [
        "m chose plan 1.1 (in ours).",
        "m chose plan 1.1 (in ours).",
        "The coordinator decided about ours: 2 of 3 agree; writer says: 4.",
    ]


def test_a_paragraph_is_short_and_the_whole_holds_every_text() -> None:
    runs = decisions_of([*ONE_PLAN, item(200, "run_metadata", user_query="hang\x1b[2J")])
    first, second = paragraphs(runs).split("\n\n")
    assert first.startswith("add things\nCortex-R gave up m")
    assert second.endswith("Nothing was decided.")
    whole = whole_text(runs)
    assert "  item 3: \n" in whole
    assert "  plan:\n    async def solve(): ..." in whole
    assert "\x1b" not in whole + second
    narrow = paragraphs(runs, 40)
    assert max(map(len, narrow.splitlines())) <= 40
    assert narrow.split() == paragraphs(runs).split()


def test_the_board_is_what_was_written_last_under_each_key() -> None:
    entries = board_of(IN_PARTS)
    assert board_text(entries).splitlines() == [
        "progress",
        "  ours: completed (coordinator)",
        "  theirs: failed (coordinator)",
        "blockers",
        "  facts.price: nobody can say which is right (coordinator, from docs.search)",
        "decisions",
        "  facts.months: «12», not «3»: a source beats a memory (coordinator, from docs.search)",
        "  1: planned anew (coordinator, from docs.search)",
        "facts",
        "  months: 12 (analyst, from docs.search, version 2)",
    ]
    assert board_of(ONE_PLAN) == ()
    assert board_of([entry("odd", "a", "b", "c")]) == ()
    assert isinstance(entries[0], BoardEntry)


ODD = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
FIELDS = st.sampled_from(
    ["team", "leave", "question", "reply", "status", "refused", "model_calls", "repairs", "subtask",
     "graph", "topic", "key", "value", "who", "version", "failed", "reason", "state", "step"]
)  # fmt: skip
KINDS = st.sampled_from(["Replanned", "Judged", "BoardChanged", "GraphPlanned", "SubtaskChanged"])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["run_metadata", "tool_output", "final_answer", "tool_call"]),
            st.dictionaries(FIELDS, ODD | KINDS, max_size=6),
            st.floats() | st.floats(0, 1e13),
        ),
        max_size=6,
    )
)
def test_no_session_file_is_too_odd(found: list[tuple[str, dict[str, Json], float]]) -> None:
    items = [item(1, "run_metadata", user_query="x")]
    items += [item(at, kind, metadata=metadata) for kind, metadata, at in found]
    runs = decisions_of(items)
    whole_text(runs)
    paragraphs(runs)
    board_text(board_of(items))
    assert len(runs) == 1
