"""A session's file as requests and answers, also where the file is damaged."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.files import FileTooLarge
from core.base.memory.exchanges import DatedExchange, read_session, session_text
from core.values import Json
from tests.modules.session.json_values import JSON_VALUES

ASKED: Json = {
    "timestamp": 10.5,
    "type": "run_metadata",
    "text": "…",
    "user_query": "is the roof red?",
    "session_id": "2026/11/24/session-1-abcdef",
}
CALLED: Json = {"timestamp": 11, "type": "tool_call", "text": "…", "tool_name": "search"}
PLANNED: Json = {"timestamp": 11, "type": "tool_output", "text": "", "tool_name": "solve_sandbox"}
ANSWERED: Json = {
    "timestamp": 12,
    "type": "final_answer",
    "text": "…",
    "final_answer": "yes",
    "user_query": "is the roof red?",
}
TITLED: Json = {"timestamp": 13, "type": "run_metadata", "text": "", "metadata": {"title": "Roofs"}}
ROOF = DatedExchange(10.5, "is the roof red?", "yes", ("search",))


def data(*items: Json) -> bytes:
    return json.dumps(items, indent=2).encode()


def test_a_file_tells_its_session_with_title_and_tools(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_bytes(data(ASKED, CALLED, CALLED, PLANNED, ANSWERED, TITLED))
    session = read_session(path)
    assert session.session_id == "2026/11/24/session-1-abcdef"
    assert session.title == "Roofs"
    assert session.exchanges == (ROOF,)
    with pytest.raises(FileTooLarge):
        read_session(path, bytes_max=100)
    with pytest.raises(OSError, match=r"not a regular file|Is a directory"):
        read_session(tmp_path)


def test_calls_belong_to_the_last_request_before_them() -> None:
    second: Json = {"timestamp": 14, "type": "run_metadata", "text": "", "user_query": "and blue?"}
    other: Json = {"timestamp": 15, "type": "tool_call", "text": "", "tool_name": "look"}
    session = session_text(data(CALLED, ASKED, CALLED, ANSWERED, second, other))
    assert session.exchanges == (ROOF, DatedExchange(14, "and blue?", None, ("look",)))


def output(tool: str, arguments: Json, *, success: bool = True, server: str = "math") -> Json:
    """What a call gave, as a file has it; without a server that of a plan."""
    told: Json = {"server": server} if server else {}
    base: dict[str, Json] = {"timestamp": 11, "type": "tool_output", "text": "", "tool_name": tool}
    return {**base, "tool_args": arguments, "success": success, "metadata": told}


def test_calls_that_succeeded_are_named_as_a_plan_would_write_them() -> None:
    outputs = [
        output("factorial", {"input": {"a": 6}}),
        output("factorial", {"a": 6}),
        output("read", {"url": "x" * 100}),
        output("broken", {}, success=False),
        output("solve_sandbox", {"plan": "…"}, server=""),
        output("many", {str(n): n for n in range(9)}),
    ]
    (exchange,) = session_text(data(ASKED, *outputs, ANSWERED)).exchanges
    assert exchange.calls == (
        "factorial(a=6)",
        f'read(url="{"x" * 59}…)',
        "many(0=0, 1=1, 2=2, 3=3, 4=4, 5=5, …)",
    )
    often = [output("add", {"a": n}) for n in range(9)]
    (exchange,) = session_text(data(ASKED, *often)).exchanges
    assert exchange.calls == ("add(a=5)", "add(a=6)", "add(a=7)", "add(a=8)")


def test_what_was_taken_back_counts_no_more_in_a_file_either() -> None:
    second: Json = {"timestamp": 14, "type": "run_metadata", "text": "", "user_query": "and blue?"}
    undo: Json = {"timestamp": 15, "type": "run_metadata", "text": "", "metadata": {"undone": 14}}
    assert session_text(data(ASKED, CALLED, ANSWERED, second, undo)).exchanges == (ROOF,)
    assert session_text(data(ASKED, ANSWERED, undo)).exchanges[0].request == "is the roof red?"


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({**ASKED, "timestamp": "soon"}, DatedExchange(0.0, "is the roof red?", None)),
        ({**ASKED, "timestamp": 10**400}, DatedExchange(0.0, "is the roof red?", None)),
        ({**ASKED, "timestamp": True}, DatedExchange(0.0, "is the roof red?", None)),
        ({**ASKED, "metadata": [1]}, DatedExchange(10.5, "is the roof red?", None)),
        ({**ASKED, "user_query": "a\ud800b"}, DatedExchange(10.5, "a?b", None)),
        ({**ASKED, "user_query": 5}, None),
        ({**ASKED, "type": ["run_metadata"]}, None),
        ("an item", None),
        (None, None),
    ],
)
def test_fields_of_wrong_types_count_as_missing(item: Json, expected: DatedExchange | None) -> None:
    assert session_text(data(item)).exchanges == (() if expected is None else (expected,))


def test_a_file_that_is_cut_off_or_spoilt_gives_what_can_be_read() -> None:
    whole = data(ASKED, CALLED, ANSWERED)
    assert session_text(whole[:-20]).exchanges == (
        DatedExchange(10.5, ROOF.request, None, ROOF.tools),
    )
    assert session_text(whole.replace(b'"tool_call"', b"tool_call")).exchanges == (
        DatedExchange(10.5, ROOF.request, "yes"),
    )
    for nothing in (b"", b"{}", b"7", b"\xff\xfe\x00", b"[" * 100_000, b'"text"'):
        assert session_text(nothing).exchanges == ()


@settings(deadline=None)
@given(st.lists(JSON_VALUES), st.integers(0, 2_000))
def test_nothing_in_a_file_is_an_error(items: list[Json], cut: int) -> None:
    text = json.dumps(items, indent=2).encode()
    session_text(text)
    session_text(text[:cut])
