"""What Ctrl-C and SIGTERM do while something is waited for, and afterwards."""

import asyncio
import os
import signal
from collections.abc import Callable
from types import FrameType

import pytest

from modules.terminal.waits import interrupting, is_cut_by_interrupt

BOUND_SECONDS = 5
BOTH = (signal.SIGINT, signal.SIGTERM)
Handler = Callable[[int, FrameType | None], object] | int | None


def handlers() -> list[Handler]:
    return [signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)]


class TestInterrupting:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    async def test_inside_a_signal_calls_the_action(self, number: signal.Signals) -> None:
        called = asyncio.Event()
        with interrupting(called.set, *BOTH):
            os.kill(os.getpid(), number)
            async with asyncio.timeout(BOUND_SECONDS):
                await called.wait()

    async def test_every_signal_calls_it_again(self) -> None:
        calls: list[int] = []
        twice = asyncio.Event()

        def count() -> None:
            calls.append(1)
            if len(calls) == 2:
                twice.set()

        with interrupting(count, *BOTH):
            for number in (signal.SIGINT, signal.SIGTERM):
                os.kill(os.getpid(), number)
            async with asyncio.timeout(BOUND_SECONDS):
                await twice.wait()

    @pytest.mark.parametrize("error", [None, ValueError("inside")])
    async def test_afterwards_signals_do_what_they_did_before(
        self, error: ValueError | None
    ) -> None:
        def mine(number: int, frame: FrameType | None) -> None:
            """A handler that is neither Python's nor asyncio's."""

        before = handlers()
        signal.signal(signal.SIGINT, mine)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            if error is None:
                with interrupting(lambda: None, *BOTH):
                    assert handlers() != [mine, signal.SIG_IGN]
            else:
                with pytest.raises(ValueError, match="inside"), interrupting(lambda: None, *BOTH):
                    raise error
            assert handlers() == [mine, signal.SIG_IGN]
        finally:
            for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
                signal.signal(number, handler)

    def test_asyncio_run_still_ends_on_ctrl_c_when_a_request_has_been_answered(self) -> None:
        """`asyncio.run` cancels its main task on SIGINT; that must work between two requests."""
        cleaned: list[str] = []

        async def main() -> None:
            with interrupting(lambda: None, *BOTH):
                pass
            try:
                os.kill(os.getpid(), signal.SIGINT)
                async with asyncio.timeout(BOUND_SECONDS):
                    await asyncio.Event().wait()
            except asyncio.CancelledError:
                cleaned.append("servers ended")
                raise

        # A process that a shell started in the background ignores SIGINT from birth.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                asyncio.run(main())
        finally:
            signal.signal(signal.SIGINT, before)
        assert cleaned == ["servers ended"]


class TestCutting:
    async def test_the_first_ctrl_c_cuts_what_blocks_the_loop_and_the_next_is_the_loops(
        self,
    ) -> None:
        called, written = asyncio.Event(), list[str]()

        def write() -> None:
            try:
                os.kill(os.getpid(), signal.SIGINT)
                written.append("never")
            finally:
                os.kill(os.getpid(), signal.SIGINT)
                written.append("cleaned")

        with interrupting(called.set, signal.SIGINT):
            assert is_cut_by_interrupt(write)
            async with asyncio.timeout(BOUND_SECONDS):
                await called.wait()
        assert written == ["cleaned"]

    async def test_what_is_not_cut_is_done_and_ctrl_c_is_the_loops_again(self) -> None:
        called, written = asyncio.Event(), list[str]()
        with interrupting(called.set, signal.SIGINT):
            assert not is_cut_by_interrupt(lambda: written.append("all"))
            os.kill(os.getpid(), signal.SIGINT)
            async with asyncio.timeout(BOUND_SECONDS):
                await called.wait()
        assert written == ["all"]
