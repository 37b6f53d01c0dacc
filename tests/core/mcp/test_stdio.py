"""The stdio transport: what arrives, back pressure, and how a session is lost."""

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from config.servers import ServerSpec
from core.base.json_text import MESSAGE_PARTS_MAX
from core.mcp.peer import TransportDown
from core.mcp.stdio import UNSENT_BYTES_CAP, StdioTransport
from core.mcp.wire import MESSAGE_BYTES_MAX, SLICE_SECONDS, ReadingBudget
from core.process.server import ExitWatch, has_exited, spawn
from core.process.watchdog import StopGrace
from core.values import JsonObject

QUICK = StopGrace(stdin_seconds=0.3, term_seconds=0.3, kill_seconds=5.0, lost_seconds=0.3)
PING: JsonObject = {"jsonrpc": "2.0", "method": "ping"}


class Arrived:
    """The messages that a transport has delivered, in order."""

    def __init__(self) -> None:
        self.messages: list[JsonObject] = []
        self._more = asyncio.Event()

    def __call__(self, message: JsonObject) -> None:
        self.messages.append(message)
        self._more.set()

    async def first(self, count: int) -> list[JsonObject]:
        while len(self.messages) < count:
            self._more.clear()
            await self._more.wait()
        return self.messages[:count]


@asynccontextmanager
async def open_transport(
    script: str, message_bytes_max: int = 1_000_000, budget: ReadingBudget | None = None
) -> AsyncGenerator[tuple[StdioTransport, Arrived]]:
    """A transport to a shell script, and what it says."""
    spawned = spawn(ServerSpec("shell", ("sh", "-c", script), Path.cwd()), None)
    transport, arrived = StdioTransport(spawned, QUICK, message_bytes_max, budget), Arrived()
    async with asyncio.timeout(10):
        await transport.open(arrived)
        try:
            yield transport, arrived
        finally:
            await transport.aclose()


def request(size: int = 1) -> JsonObject:
    return {"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"text": "x" * size}}


async def test_what_is_sent_comes_back_from_an_echo() -> None:
    async with open_transport("cat") as (transport, arrived):
        sent = [request(), request(500_000), PING]
        for message in sent:
            await transport.send(message)
        assert await arrived.first(3) == sent


async def test_many_messages_arrive_in_order_those_of_batches_too() -> None:
    script = """i=0; while [ $i -lt 2000 ]; do i=$((i+1));
        echo '[{"method":"a'$i'"},5,{"method":"b'$i'"}]'; echo '{"method":"c'$i'"}'; done;
        exec cat"""
    async with open_transport(script) as (transport, arrived):
        methods = [message["method"] for message in await arrived.first(6000)]
    assert methods == [f"{letter}{i}" for i in range(1, 2001) for letter in "abc"]
    assert transport.stray_lines == 0


async def test_a_request_waits_for_room_and_a_notification_does_not() -> None:
    async with open_transport("exec sleep 60") as (transport, _):
        stuck = asyncio.create_task(transport.send(request(1_000_000)))
        await asyncio.sleep(0)
        await transport.send(PING)
        assert not stuck.done()
        await transport.aclose()
        await stuck  # it was taken; that no answer comes is told by the session
        with pytest.raises(TransportDown, match="was closed"):
            await transport.send(request())


async def test_room_that_comes_lets_a_waiting_request_go(tmp_path: Path) -> None:
    go = tmp_path / "go"
    script = f"while ! [ -e {go} ]; do sleep 0.01; done; exec cat"
    async with open_transport(script) as (transport, arrived):
        stuck = asyncio.create_task(transport.send(request(500_000)))
        await asyncio.sleep(0)
        assert not stuck.done()
        go.touch()
        await stuck
        assert await arrived.first(1) == [request(500_000)]


@pytest.mark.parametrize("script", ["exit 3", "sleep 60 & exit 3"], ids=["alone", "child holds"])
async def test_the_end_of_the_process_is_seen_and_told(script: str) -> None:
    async with open_transport(script) as (transport, _):
        await transport.lost.wait()
        assert transport.is_down
        with pytest.raises(TransportDown):
            await transport.send(request())
    assert transport.loss == "exited with code 3"


async def test_a_server_that_stops_reading_for_good_is_lost_at_the_next_write() -> None:
    script = """exec 0<&-; echo '{"jsonrpc":"2.0","method":"ready"}'; exec sleep 60"""
    async with open_transport(script) as (transport, arrived):
        await arrived.first(1)
        with pytest.raises(TransportDown):
            await transport.send(request())
        assert transport.is_down
    assert transport.loss == "closed its input"


async def test_a_message_over_the_cap_loses_this_session_with_a_clear_reason() -> None:
    async with open_transport("head -c 200000 /dev/zero; exec cat", 100_000) as (transport, _):
        await transport.lost.wait()
    assert transport.loss == "sent a message of more than 100,000 bytes"


async def test_a_line_of_too_many_lists_loses_the_session_with_a_clear_reason() -> None:
    script = f"head -c {MESSAGE_PARTS_MAX + 1} /dev/zero | tr '\\0' '['; echo; exec sleep 60"
    async with open_transport(script, MESSAGE_BYTES_MAX) as (transport, _):
        await transport.lost.wait()
    assert transport.loss == "sent a message that holds more than 200,000 values and keys"


async def test_stray_text_is_counted_and_its_beginning_kept() -> None:
    script = f"echo 'hello, user'; echo; echo {'x' * 500}; exec cat"
    async with open_transport(script) as (transport, arrived):
        await transport.send(PING)
        assert await arrived.first(1) == [PING]
    assert transport.stray_lines == 2
    assert transport.stray_text == "hello, user"


async def test_a_server_that_cannot_stop_writing_is_drained_while_it_ends() -> None:
    script = "while read line; do :; done; head -c 3000000 /dev/zero; exit 5"
    async with open_transport(script) as (transport, _):
        pass
    assert transport.spawned.process.returncode == 5


async def test_nothing_is_delivered_once_the_transport_is_closed() -> None:
    script = """while read line; do :; done; echo '{"jsonrpc":"2.0","method":"late"}'"""
    async with open_transport(script) as (transport, arrived):
        await transport.aclose()
        await transport.aclose()
    assert arrived.messages == []


async def test_an_exit_is_seen_without_a_pidfd_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> int:
        raise OSError

    monkeypatch.setattr("os.pidfd_open", refuse)
    async with open_transport("exec cat") as (transport, _):
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


async def test_answers_to_a_server_that_never_reads_do_not_pile_up_for_ever() -> None:
    answer: JsonObject = {"jsonrpc": "2.0", "method": "x" * 1_000_000}
    async with open_transport("exec sleep 60") as (transport, _):
        for _ in range(UNSENT_BYTES_CAP // 1_000_000 + 1):
            await transport.send(answer)
        with pytest.raises(TransportDown):
            await transport.send(answer)
        assert transport.is_down
    assert transport.loss == "stopped reading what it is sent"


async def test_a_flood_of_lines_leaves_the_event_loop_to_others() -> None:
    turns = 0
    turns_when_delivered: list[int] = []
    everything = asyncio.Event()

    def deliver(message: JsonObject) -> None:
        turns_when_delivered.append(turns)
        end = time.thread_time() + SLICE_SECONDS
        while time.thread_time() <= end:
            pass
        if message["method"] == "n2":
            everything.set()

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    script = """printf '{"method":"n0"}\\n{"method":"n1"}\\n{"method":"n2"}\\n'; exec cat"""
    spawned = spawn(ServerSpec("shell", ("sh", "-c", script), Path.cwd()), None)
    transport = StdioTransport(spawned, QUICK)
    other = asyncio.create_task(take_turns())
    async with asyncio.timeout(10):
        await transport.open(deliver)
        await everything.wait()
        other.cancel()
        await transport.aclose()
    assert len(set(turns_when_delivered)) == 3


async def test_a_server_is_closed_in_the_middle_of_a_flood() -> None:
    async with open_transport("while :; do echo x; echo '{'; done") as (transport, _):
        while not transport.stray_lines:  # noqa: ASYNC110 - no event tells of stray lines
            await asyncio.sleep(0)
    assert has_exited(transport.spawned.process)


async def test_a_server_that_has_used_up_its_share_waits_and_can_be_closed_meanwhile() -> None:
    spent = asyncio.Event()
    hours = itertools.count(step=3600)

    def cpu_clock() -> float:
        spent.set()
        return next(hours)

    budget = ReadingBudget(lambda: 0.0, cpu_clock)
    async with open_transport(
        """printf '{"method":"a"}\\n{"method":"b"}\\n'; exec cat""", budget=budget
    ) as (
        transport,
        arrived,
    ):
        await spent.wait()
        await asyncio.sleep(0)
    assert arrived.messages == [{"method": "a"}]
    assert has_exited(transport.spawned.process)
