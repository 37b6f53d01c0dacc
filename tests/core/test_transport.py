"""The wire and our stdio transport: lines, odd bytes, back pressure, and how a session is lost."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from config.servers import ServerSpec
from core.pipe_streams import UNREAD_MESSAGES_MAX, UNSENT_BYTES_CAP, Inbox, Outbox
from core.shutdown import ExitWatch
from core.spawn import StopGrace, has_exited, spawn
from core.transport import StdioTransport
from core.wire import (
    MESSAGE_BYTES_MAX,
    MESSAGE_CONTAINERS_MAX,
    LineSplitter,
    MessageTooLong,
    encode,
    parse_line,
)

QUICK = StopGrace(stdin_seconds=0.3, term_seconds=0.3, kill_seconds=5.0, lost_seconds=0.3)
PING = JSONRPCNotification(jsonrpc="2.0", method="ping")


@asynccontextmanager
async def open_transport(
    script: str, message_bytes_max: int = 1_000_000
) -> AsyncGenerator[tuple[StdioTransport, Inbox, Outbox]]:
    """A transport to a shell script, with its two streams."""
    spawned = spawn(ServerSpec("shell", ("sh", "-c", script), Path.cwd()), None)
    transport = StdioTransport(spawned, QUICK, message_bytes_max)
    async with asyncio.timeout(10), transport as (inbox, outbox):
        assert isinstance(inbox, Inbox)
        assert isinstance(outbox, Outbox)
        yield transport, inbox, outbox


def request(size: int = 1) -> SessionMessage:
    return SessionMessage(
        JSONRPCRequest(jsonrpc="2.0", id=1, method="m", params={"text": "x" * size})
    )


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


def answer(message: JSONRPCMessage | None) -> object:
    assert isinstance(message, JSONRPCResponse)
    return message.result["a"]


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (b"1", 1),
        ("1  ".encode("utf-8-sig")[3:], 1),
        (b'"\xff"', "\ufffd"),
        (b'"\\ud83d"', "?"),
        ('"né 🎉"'.encode(), "né 🎉"),
        (b"1" * 5000, "1" * 5000),
    ],
    ids=["plain", "spaces", "invalid UTF-8", "half a surrogate pair", "Unicode", "huge integer"],
)
def test_a_reply_with_odd_bytes_is_read(value: bytes, read: object) -> None:
    line = b'{"jsonrpc":"2.0","id":1,"result":{"a":' + value + b"}}"
    assert answer(parse_line(line)) == read
    assert answer(parse_line(line + b"\r")) == read
    assert answer(parse_line(b"\xef\xbb\xbf" + line)) == read


@pytest.mark.parametrize(
    "line", [b"", b"\r", b"hello", b"[]", b"{", b"null", b"[" * 100_000, b'{"id": true}', b"{}"]
)
def test_a_line_without_a_message_is_none(line: bytes) -> None:
    assert parse_line(line) is None


@pytest.mark.parametrize("result", [b"[1]", b"null", b'{"a":' + b"[" * 500 + b"]" * 500 + b"}"])
def test_a_broken_reply_fails_its_own_call(result: bytes) -> None:
    message = parse_line(b'{"jsonrpc":"2.0","id":7,"result":' + result + b"}")
    assert isinstance(message, JSONRPCError)
    assert message.id == 7


@given(st.binary(max_size=200))
def test_no_line_breaks_the_parser(line: bytes) -> None:
    parse_line(line)


def test_a_message_is_one_line_and_text_that_is_no_unicode_is_refused() -> None:
    line = encode(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="a\nb")))
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"jsonrpc": "2.0", "method": "a\nb"}
    with pytest.raises(ValueError, match="surrogates"):
        encode(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="\ud800")))


async def test_what_is_sent_comes_back_from_an_echo() -> None:
    async with open_transport("cat") as (_, inbox, outbox):
        sent = [request(), request(500_000), SessionMessage(PING)]
        for message in sent:
            await outbox.send(message)
        assert [(await inbox.receive()).message for _ in sent] == [m.message for m in sent]


async def test_more_messages_than_are_held_arrive_in_order() -> None:
    count = UNREAD_MESSAGES_MAX * 3
    script = f"""i=0; while [ $i -lt {count} ]; do i=$((i+1));
        echo '{{"jsonrpc":"2.0","method":"n'$i'"}}'; done"""
    async with open_transport(script) as (transport, inbox, _):
        await asyncio.wait_for(_until_full(inbox), 5)
        assert not transport.lost.is_set()
        methods = [getattr(m.message, "method", "") async for m in inbox]
    assert methods == [f"n{i}" for i in range(1, count + 1)]


async def _until_full(inbox: Inbox) -> None:
    while inbox.waiting < UNREAD_MESSAGES_MAX:  # noqa: ASYNC110 - the pipe is what sets it
        await asyncio.sleep(0)


async def test_a_request_waits_for_room_and_a_notification_does_not() -> None:
    async with open_transport("exec sleep 60") as (_, _, outbox):
        stuck = asyncio.create_task(outbox.send(request(1_000_000)))
        await asyncio.sleep(0)
        await outbox.send(SessionMessage(PING))
        assert not stuck.done()
        await outbox.aclose()
        with pytest.raises(anyio.BrokenResourceError):
            await stuck
        with pytest.raises(anyio.ClosedResourceError):
            await outbox.send(request())


async def test_room_that_comes_lets_a_waiting_request_go(tmp_path: Path) -> None:
    go = tmp_path / "go"
    script = f"while ! [ -e {go} ]; do sleep 0.01; done; exec cat"
    async with open_transport(script) as (_, inbox, outbox):
        stuck = asyncio.create_task(outbox.send(request(500_000)))
        await asyncio.sleep(0)
        assert not stuck.done()
        go.touch()
        await stuck
        assert (await inbox.receive()).message == request(500_000).message


async def test_the_end_of_the_process_ends_the_stream_and_is_told() -> None:
    async with open_transport("exit 3") as (transport, inbox, outbox):
        with pytest.raises(anyio.EndOfStream):
            await inbox.receive()
        assert transport.is_down
        with pytest.raises(anyio.BrokenResourceError):
            await outbox.send(request())
    assert transport.loss == "exited with code 3"


async def test_a_server_that_stops_reading_for_good_is_lost_at_the_next_write() -> None:
    script = """exec 0<&-; echo '{"jsonrpc":"2.0","method":"ready"}'; exec sleep 60"""
    async with open_transport(script) as (transport, inbox, outbox):
        await inbox.receive()
        with pytest.raises(anyio.BrokenResourceError):
            await outbox.send(request())
        assert transport.is_down
    assert transport.loss == "closed its input"


async def test_a_child_that_holds_the_pipe_does_not_hide_the_end_of_its_parent() -> None:
    async with open_transport("sleep 60 & exit 4") as (transport, inbox, _):
        with pytest.raises(anyio.EndOfStream):
            await inbox.receive()
    assert transport.loss == "exited with code 4"


async def test_a_message_over_the_cap_loses_this_session_with_a_clear_reason() -> None:
    async with open_transport("head -c 200000 /dev/zero; exec cat", 100_000) as (
        transport,
        inbox,
        _,
    ):
        with pytest.raises(anyio.EndOfStream):
            await inbox.receive()
    assert transport.loss == "sent a message of more than 100,000 bytes"


async def test_stray_text_is_counted_and_its_beginning_kept() -> None:
    script = f"echo 'hello, user'; echo; echo {'x' * 500}; exec cat"
    async with open_transport(script) as (transport, inbox, outbox):
        await outbox.send(SessionMessage(PING))
        assert (await inbox.receive()).message == PING
    assert transport.stray_lines == 2
    assert transport.stray_text == "hello, user"


async def test_a_server_that_cannot_stop_writing_is_drained_while_it_ends() -> None:
    script = "while read line; do :; done; head -c 3000000 /dev/zero; exit 5"
    async with open_transport(script) as (transport, _, _):
        pass
    assert transport.spawned.process.returncode == 5


async def test_an_exit_is_seen_without_a_pidfd_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> int:
        raise OSError

    monkeypatch.setattr("os.pidfd_open", refuse)
    async with open_transport("exec cat") as (transport, _, _):
        assert not has_exited(transport.spawned.process)
    assert transport.spawned.process.returncode == 0


async def test_a_process_that_has_ended_already_is_seen_at_once() -> None:
    spawned = spawn(ServerSpec("true", ("true",), Path.cwd()), None)
    assert spawned.stdout.read() == b""
    spawned.process.wait(5)
    async with ExitWatch(spawned) as watch:
        assert await watch.exits_within(0)
    spawned.stdin.close()
    spawned.stdout.close()


def test_a_line_of_too_many_lists_is_refused_before_it_fills_our_memory() -> None:
    with pytest.raises(MessageTooLong, match="lists and objects"):
        parse_line(b"[" * (MESSAGE_CONTAINERS_MAX + 1))


async def test_a_line_of_too_many_lists_loses_the_session_with_a_clear_reason() -> None:
    script = f"head -c {MESSAGE_CONTAINERS_MAX + 1} /dev/zero | tr '\\0' '['; echo; exec sleep 60"
    async with open_transport(script, MESSAGE_BYTES_MAX) as (transport, inbox, _):
        with pytest.raises(anyio.EndOfStream):
            await inbox.receive()
    assert transport.loss == "sent a message of more than 1,000,000 lists and objects"


async def test_answers_to_a_server_that_never_reads_do_not_pile_up_for_ever() -> None:
    answer = SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="x" * 1_000_000))
    async with open_transport("exec sleep 60") as (transport, _, outbox):
        for _ in range(UNSENT_BYTES_CAP // 1_000_000 + 1):
            await outbox.send(answer)
        with pytest.raises(anyio.BrokenResourceError):
            await outbox.send(answer)
        assert transport.is_down
    assert transport.loss == "stopped reading what it is sent"
