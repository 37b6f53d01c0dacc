"""Spans of a session's runs, from its items: what lies in what, when, and how it went."""

import json
import math
import re
from dataclasses import asdict

from core.team.graph import Subtask, TaskGraph
from core.turn import MemoryItem
from core.values import Json, JsonObject
from modules.trace.spans import Span, runs_of
from modules.trace.text import graph_mermaid, mermaid_text, time_text, tree_text
from tests.modules.trace.session_items import call, in_parts, item, model_call, plan

SESSION = [
    item(0, "run_metadata", metadata={"title": "before all"}),
    item(100, "run_metadata", user_query="add things", metadata={"start_time": "x"}),
    *call(101.5, 1, 0.5),
    *call(101.6, 2, 0.2, ok=False),
    plan(101, 1.5, 1, ok=False, model_calls=[model_call(101.1, 0.3, prompt="asked", reply="said")]),
    item(102.6, "tool_output", tool_name="add", success=True, metadata={"kept": True}),
    item(102.7, "tool_output", tool_name="add", success=False, metadata={"refused": True}),
    plan(102.5, 0.5, 2, ok=True),
    item(103, "final_answer", final_answer="12", user_query="add things"),
    item(200, "run_metadata", user_query="hang", metadata={"start_time": "x"}),
    call(201, 7, 0.1)[0],
    item(203, "run_metadata", metadata={"question": "which?", "reply": None}),
    item(9_999, "run_metadata", metadata={"title": "added much later"}),
]


def shape(span: Span) -> Json:
    return [span.kind, span.name, span.state, [shape(child) for child in span.children]]


def test_plans_hold_the_calls_of_models_and_tools_that_they_made() -> None:
    first, second = runs_of(SESSION)
    assert shape(first) == [
        "run", "add things", "ok", [
            ["plan", "plan 1.1", "failed", [
                ["model", "m: decision", "ok", []],
                ["call", "math.add", "ok", []],
                ["call", "math.add", "failed", []],
            ]],
            ["plan", "plan 1.2, retry", "ok", [
                ["call", "add", "kept", []],
                ["call", "add", "refused", []],
            ]],
        ],
    ]  # fmt: skip
    assert (first.seconds, first.tokens, first.cost, first.note) == (3, 1_000, 0.25, "12")
    assert second.state == "open"
    assert second.seconds == 3, "a title of a later day is no part of it"
    assert [child.state for child in second.children] == ["open", "open"]


def test_what_was_said_stands_in_the_details() -> None:
    plans = runs_of(SESSION)[0].children
    assert dict(plans[0].details)["plan"] == "async def solve(): ..."
    assert dict(plans[0].children[0].details) == {"prompt": "asked", "reply": "said"}
    assert json.loads(dict(plans[0].children[1].details)["arguments"]) == {"a": 1}


def test_perception_holds_what_it_asked_models_and_retries_stand_where_they_were() -> None:
    seen: JsonObject = {"intent": "sum", "servers": "math", "at": 100.1, "seconds": 0.5}
    trouble: JsonObject = {"model": "m", "purpose": "tried again", "at": 101.2, "seconds": 0.2}
    calls: list[Json] = [
        model_call(100.2, 0.3, purpose="perception"),
        {**trouble, "trouble": "503\nslow down"},
        model_call(101.4, 0.1),
    ]
    items = [SESSION[1], plan(101, 1.5, 1, ok=True, perception=seen, model_calls=calls)]
    (run,) = runs_of(items)
    perception, planned = run.children
    assert shape(perception) == [
        "perception", "perception", "ok", [["model", "m: perception", "ok", []]],
    ]  # fmt: skip
    assert (perception.started_at, perception.seconds, perception.note) == (100.1, 0.5, "sum")
    assert dict(perception.details) == {"intent": "sum", "servers": "math"}
    retry, decided = planned.children
    assert (retry.kind, retry.name, retry.state) == ("retry", "m: tried again", "failed")
    assert (retry.note, dict(retry.details)["reason"]) == ("503 slow down", "503\nslow down")
    assert decided.note == "900 tokens read, 100 written, $0.2500"
    assert (run.tokens, run.cost) == (2_000, 0.5)


def test_values_of_wrong_types_are_passed_over() -> None:
    odd: JsonObject = {"seconds": "long", "step": [], "model_calls": [3, {"at": "x", "usage": 1}]}
    odd |= {"perception": {"at": [], "seconds": "x", "intent": 7}}
    items = [
        item(1, "run_metadata", user_query="x", metadata={"start_time": 3}),
        item(2, "tool_output", tool_name="solve_sandbox", metadata=odd),
        item(3, "tool_output", metadata={"seconds": 1e300, "call_id": {"a": []}}),
    ]
    (run,) = runs_of(items)
    assert run.state == "open"
    assert tree_text([run])
    assert mermaid_text([run])


def test_times_that_are_none_give_spans_that_every_form_can_tell() -> None:
    for odd in (math.nan, math.inf, -math.inf, 1e300, -1e308):
        begun = item(odd, "run_metadata", user_query="\x00\u202e", metadata={"start_time": 3})
        seen: JsonObject = {"at": odd, "seconds": odd}
        planned = plan(odd, 1, 1, ok=True, perception=seen, model_calls=[model_call(odd, odd)])
        runs = runs_of([begun, *call(odd, 1, 0.5), planned, call(odd, 2, 1)[0]])
        assert json.dumps([asdict(run) for run in runs], allow_nan=False)
        assert "math.add" in tree_text(runs)
        assert "  tool math.add :" in mermaid_text(runs)
        assert not re.search(r":\D*-", mermaid_text(runs)), "no bar begins before the chart"


def test_a_tree_has_a_line_a_span_cut_to_the_width() -> None:
    lines = tree_text(runs_of(SESSION), 60).splitlines()
    assert lines[0].startswith("add things  3.00 s  1,000 tokens, $0.2500  12")
    assert lines[1].startswith("├─ plan 1.1  1.50 s  failed")
    assert lines[2].startswith("│  ├─ m: decision  0.30 s")
    assert max(map(len, lines)) <= 60


def test_a_tree_tells_of_prompts_in_a_line_and_of_all_there_is_on_demand() -> None:
    asked = model_call(101.1, 0.3, prompt="be brief\n\x1b[31mnow", reply="said " * 99)
    told = plan(101, 1.5, 1, ok=True, model_calls=[asked])
    short = tree_text(runs_of([SESSION[1], told]), 60).splitlines()
    assert short[3] == "        prompt: be brief \N{REPLACEMENT CHARACTER}[31mnow"
    assert short[4].startswith("        reply: said said")
    assert (len(short[4]), short[4][-1]) == (60, "…")
    assert "async def" not in "".join(short)
    whole = tree_text(runs_of([SESSION[1], told]), 60, is_whole=True)
    assert "\n   │ plan:\n   │   async def solve(): ...\n" in whole
    assert "        prompt:\n          be brief\n          \\x1b[31mnow\n" in whole
    assert "said " * 98 + "said" in whole, "only a span's own line is cut"


def test_wide_characters_take_two_columns_of_a_tree() -> None:
    wide = item(100, "run_metadata", user_query="鷺" * 50, metadata={"start_time": 1})
    assert tree_text(runs_of([wide]), 20) == "鷺" * 9 + "…"


def test_no_line_of_a_chart_begins_with_a_word_of_mermaids() -> None:
    odd = ["title of it", "call me", "section 2", "dateFormat %%{init}%%", "accTitle\nclick x"]
    items = [
        each
        for name in odd
        for each in (
            item(100, "run_metadata", user_query=name, metadata={"start_time": 1}),
            item(101, "tool_output", tool_name=name, metadata={"seconds": 0.5}),
        )
    ]
    bars = [line for line in mermaid_text(runs_of(items)).splitlines()[3:] if " :" in line]
    assert [bar.split()[0] for bar in bars] == ["run", "tool"] * 5
    assert all(bar.count(":") == 1 and "%" not in bar for bar in bars)


def test_a_gantt_chart_begins_at_0_and_holds_no_sign_of_its_language() -> None:
    hostile = item(100, "run_metadata", user_query="a: b; {c} <script>", metadata={"start_time": 1})
    chart = mermaid_text(runs_of([hostile, *SESSION[2:]]))
    assert "  section 1 a b c script" in chart
    assert "  plan 1.1 :crit, 1000, 2500" in chart


def test_times_are_told_as_people_say_them() -> None:
    assert [time_text(s) for s in (0.0064, 0.25, 9.999, 12.34, 200, 90_180)] == [
        *("6 ms", "0.25 s", "10.00 s", "12.3 s", "3 min 20 s", "25 h 3 min")
    ]


def test_a_graph_is_a_flow_chart_with_states_whose_nodes_are_no_words_of_mermaids() -> None:
    graph = TaskGraph(
        "compare",
        (
            Subtask("end", 'find "A"] --> x; <b>'),
            Subtask("click", "15% of %% B", after=("nowhere",)),
            Subtask("both", "join {{end.name}} and {{click}}"),
        ),
    )
    assert graph_mermaid(graph).splitlines() == [
        "flowchart TD",
        '  t1["end · find A -- x b"]',
        '  t2["click · 15#37; of #37;#37; B"]',
        '  t3["both · join end.name and click"]',
        "  t1 --> t3",
        "  t2 --> t3",
    ]
    told = graph_mermaid(graph, {"end": "completed", "click": "failed", "both": "blocked"})
    assert '  t1["end (completed) · find A -- x b"]:::completed' in told
    assert '  t3["both (blocked) · join end.name and click"]:::blocked' in told
    assert [line.split()[1] for line in told.splitlines()[-3:]] == [
        "completed",
        "failed",
        "blocked",
    ]
    pending = graph_mermaid(graph, {"end": "pending"})
    assert pending == graph_mermaid(graph), "what has not begun has no state that shows"


def test_a_part_holds_what_its_runs_did_and_parts_overlap_as_they_ran() -> None:
    (run,) = runs_of(in_parts(100))
    assert shape(run) == [
        "run", "compare", "failed", [
            ["decision", "planned", "ok", []],
            ["subtask", "first · writer", "ok", [
                ["plan", "plan 1.1", "ok", [
                    ["model", "m: decision", "ok", []],
                    ["call", "math.add", "ok", []],
                ]],
            ]],
            ["subtask", "other · reader", "failed", [
                ["plan", "plan 1.1", "failed", [["call", "math.add", "ok", []]]],
            ]],
            ["subtask", "both", "skipped", []],
            ["decision", "judged", "ok", []],
        ],
    ]  # fmt: skip
    _, first, other, both, judged = run.children
    assert (first.started_at, first.seconds, first.note) == (101, 2, "alpha")
    assert (other.started_at, other.seconds, other.note) == (101, 3, "no B")
    assert (both.seconds, both.note, judged.note) == (
        0,
        "blocked",
        "Judged as blocked: B is missing",
    )
    assert (first.tokens, other.tokens, run.tokens) == (1_000, 0, 1_000), "each counts once"
    assert dict(first.details) == {
        "asked": "find A", "why this role": "it fits", "result": "alpha",
    }  # fmt: skip
    assert dict(other.details)["why it has none"] == "no B"


def test_a_part_that_the_session_tells_no_end_of_is_open() -> None:
    items = [each for each in in_parts(100) if each.metadata.get("team") != "SubtaskChanged"]
    (run,) = runs_of(items[:4])
    (first,) = [child for child in run.children if child.kind == "subtask"]
    assert (first.state, [child.state for child in first.children]) == ("open", ["open"])


def test_calls_of_two_runs_of_a_part_do_not_end_each_other() -> None:
    def of(attempt: int, items: list[MemoryItem]) -> list[MemoryItem]:
        part: JsonObject = {"subtask": "first", "subtask_attempt": attempt}
        return [each.model_copy(update={"metadata": each.metadata | part}) for each in items]

    items = [in_parts(100)[0], *of(1, call(101, 1, 0.5)[:1]), *of(2, call(102, 1, 0.5))]
    (part,) = runs_of(items)[0].children
    assert [child.state for child in part.children] == ["open", "ok"]


def test_parts_stand_in_a_tree_and_a_chart() -> None:
    runs = runs_of(in_parts(100))
    lines = tree_text(runs).splitlines()
    assert "├─ first · writer  2.00 s  1,000 tokens, $0.2500  alpha" in lines
    assert "├─ both  0 ms  did not begin  blocked" in lines
    chart = mermaid_text(runs)
    assert "  subtask first · writer :1000, 3000" in chart
    assert "  subtask other · reader :crit, 1000, 4000" in chart


def test_a_run_names_its_trace() -> None:
    told: JsonObject = {"start_time": "x", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}
    (run,) = runs_of([item(1, "run_metadata", user_query="add", metadata=told)])
    assert run.trace_id == told["trace_id"]
    assert "\n  trace: 4bf92f3577b34da6a3ce929d0e0e4736" in tree_text((run,))
    odd: JsonObject = {**told, "trace_id": 7}
    (run,) = runs_of([item(1, "run_metadata", user_query="add", metadata=odd)])
    assert run.trace_id == ""
