"""A worker process of the sandbox as the host sees it: frames go out, frames come back.

The process is `modules.sandbox.worker_program`. Whatever it says may be said by a plan that has
taken it over: frames are bounded, waits too, and a worker that keeps to neither is killed.
"""

import asyncio
import os
import signal
import struct
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Self

from modules.sandbox.limits import MIB

FRAME = struct.Struct("<I")

MESSAGE_BYTES_MAX = 8 * MIB
"""Largest frame of a worker: what a plan calls tools with at once, or its result and memory."""

READ_BYTES = 256 * 1024
"""What the pipe may hold ready."""

FRAMES_AT_ONCE = 200
"""Printed lines that are taken before others have their turn."""

START_SECONDS = 20.0
"""Bound on the start of a worker; 0.1 s is usual."""

END_SECONDS = 5.0
"""Bound on the end of a worker that was killed."""

REPLY_GRACE_SECONDS = 1.0
"""How long beyond a plan's own time any reply may take, before the worker is killed."""


class WorkerLost(Exception):
    """The worker has ended, or was killed for what it did; the text says why.

    Attributes:
        has_died: Whether it ended by itself.
    """

    def __init__(self, reason: str, *, has_died: bool = False) -> None:
        super().__init__(reason)
        self.has_died = has_died


class NotLoaded(WorkerLost):
    """wasmtime refuses the machine code: it is damaged, or made with other settings."""


class Worker:
    """One process, which serves one plan at a time.

    Attributes:
        walls: The parts of the second wall that stand around it.
        plans: How many plans it was given.
    """

    def __init__(self, process: asyncio.subprocess.Process, reply_seconds: float) -> None:
        self.walls: frozenset[str] = frozenset()
        self.plans = 0
        self._process = process
        self._reply_seconds = reply_seconds

    @classmethod
    async def started(cls, command: Sequence[str], reply_seconds: float) -> Self:
        """A worker that has said that it is ready.

        Raises:
            NotLoaded: its machine code has to be made anew.
            WorkerLost: it did not start.
            OSError: there is no such program, or no process to be had.
        """
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
            limit=READ_BYTES,
        )
        worker = cls(process, reply_seconds)
        try:
            said = await worker._within(START_SECONDS, worker._frame())
            if said.startswith("N"):
                raise NotLoaded(said[1:])
            if not said.startswith("W"):
                raise WorkerLost("it says what no worker says")
        except BaseException:
            await worker.end()
            raise
        worker.walls = frozenset(filter(None, said[1:].split(",")))
        return worker

    @property
    def is_alive(self) -> bool:
        """Whether it can be given another plan."""
        return self._process.returncode is None

    async def ask(self, letter: str, text: str, on_printed: Callable[[str], None]) -> str:
        """Send a frame; the answer's letter and text. What is printed meanwhile goes elsewhere.

        Raises:
            WorkerLost: it gave none in time, or one that is too large.
        """
        encoded = letter.encode() + text.encode("utf-8", "replace")
        pipe = self._process.stdin
        if pipe is None:
            raise WorkerLost("its pipe is closed")
        try:
            pipe.write(FRAME.pack(len(encoded)) + encoded)
            return await self._within(
                self._reply_seconds + REPLY_GRACE_SECONDS, self._answer(on_printed)
            )
        except OSError as error:
            raise WorkerLost(f"its worker has ended: {error}", has_died=True) from error

    def kill(self) -> None:
        """End it at once."""
        if self.is_alive:
            # Not by the process's own method: that would take its end from asyncio, which warns.
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    async def end(self) -> None:
        """End it, and wait until it is gone."""
        self.kill()
        with suppress(TimeoutError, RuntimeError):  # RuntimeError: somebody else reads
            async with asyncio.timeout(END_SECONDS):
                if self._process.stdout is not None:
                    await self._process.stdout.read()  # asyncio waits for what nobody has read
                await self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def _within(self, seconds: float, answer: Awaitable[str]) -> str:
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            self.kill()
            raise WorkerLost("time") from None

    async def _answer(self, on_printed: Callable[[str], None]) -> str:
        if self._process.stdin is not None:
            await self._process.stdin.drain()
        told = 0
        while (frame := await self._frame()).startswith("P"):
            on_printed(frame[1:])
            told += 1
            if told % FRAMES_AT_ONCE == 0:  # what has arrived already waits for nothing
                await asyncio.sleep(0)
        return frame

    async def _frame(self) -> str:
        pipe = self._process.stdout
        if pipe is None:
            raise WorkerLost("its pipe is closed")
        try:
            (size,) = FRAME.unpack(await pipe.readexactly(FRAME.size))
            if size > MESSAGE_BYTES_MAX:
                self.kill()
                raise WorkerLost("large")
            return (await pipe.readexactly(size)).decode()
        except asyncio.IncompleteReadError:
            raise WorkerLost("its worker has ended", has_died=True) from None
        except UnicodeDecodeError as error:
            raise WorkerLost(f"its worker says what is no text: {error}") from None
