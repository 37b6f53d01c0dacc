"""Messages as bytes: lines however they are cut, odd bytes, broken replies, caps, turns."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.json_text import MESSAGE_PARTS_MAX
from core.mcp.wire import (
    BATCH_MESSAGES_MAX,
    BURST_SECONDS,
    CUT_OFF,
    REPAIRED_BYTES_MAX,
    SHARE,
    SLICE_SECONDS,
    LineSplitter,
    MessageTooLong,
    ReadingBudget,
    encode,
    error_reply,
    messages_in,
    read_messages,
)
from core.values import Json, JsonObject


@given(st.lists(st.binary(max_size=20)), st.lists(st.integers(1, 7)))
def test_lines_are_the_same_however_the_stream_is_cut(parts: list[bytes], cuts: list[int]) -> None:
    stream = b"\n".join(parts) + b"\n"
    splitter = LineSplitter()
    found: list[bytes] = []
    rest = stream
    for cut in cuts:
        found += splitter.feed(rest[:cut])
        rest = rest[cut:]
    found += splitter.feed(rest)
    assert found == stream.split(b"\n")[:-1]


@pytest.mark.parametrize(
    ("before", "last"), [(b"", b"12345\n"), (b"", b"12345"), (b"12", b"345"), (b"12", b"345\n")]
)
def test_a_line_over_the_cap_is_refused_as_soon_as_it_is_known(before: bytes, last: bytes) -> None:
    splitter = LineSplitter(4)
    assert splitter.feed(b"1234\n") == [b"1234"]
    assert splitter.feed(before) == []
    with pytest.raises(MessageTooLong):
        splitter.feed(last)


def message_in(line: bytes) -> JsonObject:
    (message,) = messages_in(line)
    return message


def answer(message: JsonObject) -> Json:
    result = message["result"]
    assert isinstance(result, dict)
    return result["a"]


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (b"1", 1),
        ("1  ".encode("utf-8-sig")[3:], 1),
        (b'"\xff"', "\ufffd"),
        (b'"\\ud83d"', "?"),
        ('"né 🎉"'.encode(), "né 🎉"),
    ],
    ids=["plain", "spaces", "invalid UTF-8", "half a surrogate pair", "Unicode"],
)
def test_a_reply_with_odd_bytes_is_read(value: bytes, read: object) -> None:
    line = b'{"jsonrpc":"2.0","id":1,"result":{"a":' + value + b"}}"
    assert answer(message_in(line)) == read
    assert answer(message_in(line + b"\r")) == read
    assert answer(message_in(b"\xef\xbb\xbf" + line)) == read


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\r",
        b"hello",
        b"[]",
        b"{",
        b"null",
        b"[" * 100_000,
        b'{"id": true}',
        b"{}",
        b" " * 2_000 + b"{}",
        b'{"jsonrpc": "2.0", "id": 3, "method": "elicitation/create", "params": ',
        b'{"method": 1}',
        b'{"id": [], "method": "m"}',
    ],
)
def test_a_line_without_a_message_holds_none(line: bytes) -> None:
    assert messages_in(line) == []


@pytest.mark.parametrize(
    "result", [b"[1]", b"null", b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}", b'{"a":']
)
def test_a_broken_reply_fails_its_own_call(result: bytes) -> None:
    message = message_in(b'{"jsonrpc":"2.0","id":7,"result":' + result + b"}")
    assert message == error_reply(7, "the server's answer is malformed")


@pytest.mark.parametrize(
    "before", [b"Loading model... ", b"[info] sent: ", b"{brace} ", b"\x1b[0m"]
)
def test_an_answer_behind_stray_text_is_recovered(before: bytes) -> None:
    line = b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}'
    assert messages_in(before + line) == [json.loads(line)]
    assert messages_in(before + b'{"id": 1, "error": {"code": 1}}') == [
        {"id": 1, "error": {"code": 1}}
    ]


@pytest.mark.parametrize(
    "line",
    [
        b'got: {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}',
        b'sent: {"jsonrpc":"2.0","id":1,"result":{"a":1',
        b'sent: {"jsonrpc":"2.0","id":1,"result":{}} in 3 ms',
        b'sent: {"jsonrpc":"2.0","id":1}',
        b"x" * 100_000 + b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'sent: {"jsonrpc":"2.0","id":1,"result":{"a":[' + b"0," * MESSAGE_PARTS_MAX + b"0]}}",
    ],
    ids=["a request", "half", "more text", "no result", "far behind", "too much"],
)
def test_what_else_stands_behind_text_is_a_log(line: bytes) -> None:
    assert messages_in(line) == []


@pytest.mark.parametrize("levels", [196, 197, 400])
def test_what_is_nested_too_deeply_is_cut_off_and_the_rest_is_read(levels: int) -> None:
    deep = b'{"a":' * levels + b"1" + b"}" * levels
    message = message_in(b'{"jsonrpc":"2.0","id":1,"result":{"a":7,"deep":%s}}' % deep)
    assert answer(message) == 7
    assert (CUT_OFF in json.dumps(message)) is (levels == 400)


@given(st.binary(max_size=200))
def test_no_line_breaks_the_parser(line: bytes) -> None:
    messages_in(line)


def test_a_message_is_one_line_and_text_that_is_no_unicode_is_refused() -> None:
    line = encode({"jsonrpc": "2.0", "method": "a\nb"})
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"jsonrpc": "2.0", "method": "a\nb"}
    with pytest.raises(ValueError, match="surrogates"):
        encode({"method": "\ud800"})
    with pytest.raises(ValueError, match="infinite"):
        encode({"number": float("inf")})


TOO_DENSE = [b"0," * MESSAGE_PARTS_MAX + b"0", b"1" * 4_301]


@pytest.mark.parametrize("values", TOO_DENSE, ids=["values", "digits"])
def test_a_line_that_holds_too_much_and_is_none_of_ours_is_refused(values: bytes) -> None:
    with pytest.raises(MessageTooLong, match="that holds "):
        messages_in(b'{"no":"message","a":[' + values + b"]}")


@pytest.mark.parametrize("values", TOO_DENSE, ids=["values", "digits"])
@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":7,"result":{"a":[%s]}}',
        b'{"result":{"a":[%s]},"jsonrpc":"2.0","id":7}',
    ],
)
def test_a_reply_that_holds_too_much_costs_its_own_call_only(line: bytes, values: bytes) -> None:
    message = message_in(line % values)
    what = (
        "more than 200,000 values and keys" if b"," in values else "an integer of more than 4,300"
    )
    assert message["id"] == 7
    assert what in str(message["error"])


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":[%s]}}',
        b'{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":[%s]}}',
        b'{"method":"elicitation/create","params":{"message":[%s]},"jsonrpc":"2.0","id":7}',
    ],
)
def test_what_a_server_says_of_its_own_accord_is_left_out_if_too_much_and_that_is_told(
    line: bytes,
) -> None:
    message = message_in(line % TOO_DENSE[0])
    assert message["method"] == "notifications/message"
    assert message["params"] == {
        "level": "warning",
        "data": "a message was left out: it holds more than 200,000 values and keys",
    }


@pytest.mark.parametrize(
    ("line", "reply_to"),
    [
        (b'{"jsonrpc":"2.0","id":12,"result":nonsense', 12),
        (b'{"result":{"a":[[' + b"x" * 1000 + b'},"jsonrpc":"2.0","id": 13 }\r', 13),
        (b'log: {"id": 3}', None),
    ],
)
def test_a_line_that_cannot_be_read_fails_the_call_whose_id_stands_in_sight(
    line: bytes, reply_to: int | None
) -> None:
    assert [message["id"] for message in messages_in(line)] == (
        [] if reply_to is None else [reply_to]
    )


def test_a_bad_byte_is_mended_in_a_line_of_any_length() -> None:
    text = b"x" * REPAIRED_BYTES_MAX
    message = message_in(b'{"id":1,"result":{"text":"' + text + b'\xff"}}')
    assert message == {"id": 1, "result": {"text": text.decode() + "\N{REPLACEMENT CHARACTER}"}}


def test_half_a_surrogate_pair_is_mended_in_short_lines_only() -> None:
    start = b'{"id":1,"result":{"text":"\\ud800'
    assert message_in(start + b'"}}') == {"id": 1, "result": {"text": "?"}}
    message = message_in(start + b"x" * REPAIRED_BYTES_MAX + b'"}}')
    assert "error" in message


def test_a_batch_gives_its_messages_and_may_not_have_too_many() -> None:
    assert messages_in(b'[{"method":"a"},5,{"id":[]},{"id":1,"result":{}}]') == [
        {"method": "a"},
        {"id": 1, "result": {}},
    ]
    assert messages_in(b'[{"method":"\xff"}]') == [{"method": "\N{REPLACEMENT CHARACTER}"}]
    assert messages_in(b"[nonsense") == []
    with pytest.raises(MessageTooLong, match="1,000 parts"):
        messages_in(b"[" + b"1," * BATCH_MESSAGES_MAX + b"1]")


def test_a_long_message_that_must_be_repaired_is_read_in_turns() -> None:
    line = b'{"id":1,"result":{"a":"\\ud800","b":[' + b"0," * 10_000 + b"0]}}"
    assert sum(1 for _ in read_messages(line)) > 5
    assert "result" in message_in(line)


class Clocks:
    """Time that passes when it is told to; work takes of both clocks."""

    def __init__(self) -> None:
        self.now = 100.0
        self.cpu = 5.0

    def budget(self) -> ReadingBudget:
        return ReadingBudget(lambda: self.now, lambda: self.cpu)

    def work(self, budget: ReadingBudget, seconds: float) -> None:
        with budget:
            self.now += seconds
            self.cpu += seconds


def test_others_have_their_turn_after_a_slice_of_work() -> None:
    clocks = Clocks()
    budget = clocks.budget()
    clocks.work(budget, SLICE_SECONDS / 2)
    assert not budget.is_turn_over
    clocks.work(budget, SLICE_SECONDS)
    assert budget.is_turn_over
    assert budget.end_turn() == 0
    assert not budget.is_turn_over


def test_a_server_may_take_a_burst_and_then_only_its_share_of_the_time() -> None:
    clocks = Clocks()
    budget = clocks.budget()
    began_at, began_cpu = clocks.now, clocks.cpu
    while clocks.now < began_at + 60:
        clocks.work(budget, 0.05)
        clocks.now += budget.end_turn()
    took, passed = clocks.cpu - began_cpu, clocks.now - began_at
    assert SHARE * passed <= took <= SHARE * passed + BURST_SECONDS + 0.05


def test_time_without_messages_gives_the_burst_back_but_no_more() -> None:
    clocks = Clocks()
    budget = clocks.budget()
    clocks.work(budget, 3 * BURST_SECONDS)
    assert budget.end_turn() > 0
    clocks.now += 3600
    assert budget.end_turn() == 0
    clocks.work(budget, 3 * BURST_SECONDS)
    assert budget.end_turn() > 0


def test_one_who_waits_for_the_processor_is_not_counted() -> None:
    clocks = Clocks()
    budget = clocks.budget()
    with budget:
        clocks.now += 60
    assert not budget.is_turn_over
    assert budget.end_turn() == 0
