"""Spans of a session's runs, from its items: what lies in what, when, and how it went."""

import base64
import hashlib
import json
import re

from core.turn import MemoryItem
from core.values import Json, JsonObject
from modules.trace.page import trace_page
from modules.trace.spans import Span, runs_of
from modules.trace.text import mermaid_text, time_text, tree_text

HOSTILE = "</script><script>alert(1)</script><!-- é"


def item(at: float, kind: str, **more: Json) -> MemoryItem:
    return MemoryItem.model_validate({"timestamp": at, "type": kind, "text": "", **more})


def call(at: float, number: int, seconds: float, *, ok: bool = True) -> list[MemoryItem]:
    metadata: JsonObject = {"server": "math", "call_id": number}
    fields: JsonObject = {"tool_name": "add", "tool_args": {"a": number}}
    ended: JsonObject = {"success": ok, "tool_result": {"result": "12" if ok else "boom"}}
    return [
        item(at, "tool_call", metadata={**metadata}, **fields),
        item(
            at + seconds,
            "tool_output",
            metadata={**metadata, "seconds": seconds},
            **fields,
            **ended,
        ),
    ]


def plan(at: float, seconds: float, attempt: int, *, ok: bool, **more: Json) -> MemoryItem:
    return item(
        at + seconds,
        "tool_output",
        tool_name="solve_sandbox",
        tool_args={"plan": "async def solve(): ..."},
        tool_result={"result": "FINAL_ANSWER: 12" if ok else "error: ZeroDivisionError"},
        success=ok,
        metadata={"step": 1, "attempt": attempt, "seconds": seconds, **more},
    )


def model_call(at: float, seconds: float, **more: Json) -> JsonObject:
    usage: Json = {"input_tokens": 900, "output_tokens": 100, "cost": 0.25}
    told: JsonObject = {"model": "m", "purpose": "decision", "at": at, "seconds": seconds}
    return {**told, "usage": usage, **more}


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
            ["plan", "plan 1.2", "ok", [
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


def test_values_of_wrong_types_are_passed_over() -> None:
    odd: JsonObject = {"seconds": "long", "step": [], "model_calls": [3, {"at": "x", "usage": 1}]}
    items = [
        item(1, "run_metadata", user_query="x", metadata={"start_time": 3}),
        item(2, "tool_output", tool_name="solve_sandbox", metadata=odd),
        item(3, "tool_output", metadata={"seconds": 1e300, "call_id": {"a": []}}),
    ]
    (run,) = runs_of(items)
    assert run.state == "open"
    assert tree_text([run])
    assert mermaid_text([run])


def test_a_tree_has_a_line_a_span_cut_to_the_width() -> None:
    lines = tree_text(runs_of(SESSION), 60).splitlines()
    assert lines[0].startswith("add things  3.00 s  1,000 tokens, $0.2500  12")
    assert lines[1].startswith("├─ plan 1.1  1.50 s  failed")
    assert lines[2].startswith("│  ├─ m: decision  0.30 s")
    assert max(map(len, lines)) <= 60


def test_a_gantt_chart_begins_at_0_and_holds_no_sign_of_its_language() -> None:
    hostile = item(100, "run_metadata", user_query="a: b; {c} <script>", metadata={"start_time": 1})
    chart = mermaid_text(runs_of([hostile, *SESSION[2:]]))
    assert "  section 1 a b c script" in chart
    assert "  plan 1.1 :crit, 1000, 2500" in chart


def test_times_are_told_as_people_say_them() -> None:
    assert [time_text(s) for s in (0.0064, 0.25, 9.999, 12.34, 200)] == [
        *("6 ms", "0.25 s", "10.00 s", "12.3 s", "3 min 20 s")
    ]


def test_a_page_runs_its_own_script_alone_and_holds_what_it_shows_as_data() -> None:
    page = trace_page([{"name": HOSTILE}], HOSTILE)
    assert "<script>alert" not in page
    assert page.count("<script") == page.count("</script>") == 2
    data = page.split('id="data">')[1].split("</script>")[0]
    assert json.loads(data) == {"title": HOSTILE, "runs": [{"name": HOSTILE}]}
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    for tag in ("style", "script"):
        text = page.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src &#x27;sha256-{digest}&#x27;" in policy[1]
    assert "http" not in re.sub(r"http-equiv", "", page), "no address to load from"
