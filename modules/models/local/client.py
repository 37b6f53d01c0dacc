"""Weights on this machine: a GGUF file, run by llama.cpp in a child process.

The child (`worker.py`) is started at the first request and kept: it holds the weights and
what it has read of the last prompt. A crash of native code, or weights that don't fit into memory,
end the child and not the agent; it ends when its stdin closes, so with the agent in any case. It
gets no key: its environment is that of a server.
"""

import asyncio
import contextlib
import importlib.util
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import cast

from config.models_file import ModelEntry
from core.errors import ModelUnavailable
from core.ports import ModelRequest, ModelTraits, ReplyDelta, ReplyEnd
from core.process.server import server_environment
from core.turn import Usage
from modules.models.serving.budget import output_limit
from modules.models.thinking import ThinkingSplitter

DEFAULT_CONTEXT_TOKENS = 8192
"""Prompt and reply together, unless the entry says: room for our prompts, and memory is dear."""

DEFAULT_OUTPUT_TOKENS = 1024
"""Longest reply, unless the request or the entry says: small models may go on for ever."""

SEED = 1
"""Of sampling above temperature 0, where none is asked for: the same request, the same reply."""

LOAD_TIMEOUT_SECONDS = 180.0
"""Bound on loading the weights, from a slow disk too."""

LINE_BYTES_MAX = 1024 * 1024
"""Longest line that the child may write; its pieces have some bytes."""

END_TIMEOUT_SECONDS = 2.0
"""How long the child may take to end by itself, and to be gone once it was ended."""

STOP_TIMEOUT_SECONDS = 10.0
"""How long the child may take to stop a request, before another takes its place."""

DRAINED_BYTES = 64 * 1024

WORKER = Path(__file__).parent / "worker.py"

INSTALL = "pip install 'cortex-r[local]' (it compiles for some minutes)"

INSTALL_PORTABLE = (
    "llama-cpp-python was built for another, or for features that a virtual machine hides; build "
    "it again with CMAKE_ARGS=-DGGML_NATIVE=OFF pip install --force-reinstall --no-cache-dir "
    "llama-cpp-python"
)


class LocalModel:
    """One GGUF file, run by one child process, one request after the other."""

    def __init__(
        self,
        entry: ModelEntry,
        state_folder: Path | None = None,
        worker: Path = WORKER,
        *,
        is_rendered: bool = False,
        stop_timeout_seconds: float = STOP_TIMEOUT_SECONDS,
    ) -> None:
        """Keep the settings; nothing is loaded before the first request.

        `entry.path` is the file. In `state_folder` the child keeps what it made of the beginning
        of prompts, so that a later process need not read them again. `worker` is the child's
        program. With `is_rendered`, prompts hold the marks of the chat template themselves, which
        is for measuring only: text from elsewhere could pose as a message. The child has
        `stop_timeout_seconds` to stop a request.
        """
        self._entry = entry
        self._worker = worker
        self._is_rendered = is_rendered
        self._path = Path(entry.path or "").expanduser()
        self._state_folder = state_folder
        self._context_tokens = entry.context_tokens or DEFAULT_CONTEXT_TOKENS
        self.name = f"local:{entry.model or self._path.stem}"
        self.traits = ModelTraits(context_tokens=self._context_tokens, takes_seed=True)
        self._process: asyncio.subprocess.Process | None = None
        self._stop_timeout_seconds = stop_timeout_seconds
        self._turn = asyncio.Lock()
        self._next_id = 1
        self._stopped_id: int | None = None  # told to stop, and not yet known to have

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply, piece by piece; closing the generator stops the computing at once.

        Raises:
            ModelUnavailable: llama-cpp-python is not installed, the file can't be loaded, the
                prompt is longer than the context, or the child died.
        """
        async with self._turn:
            process = await self._idle()
            request_id, self._next_id = self._next_id, self._next_id + 1
            splitter = ThinkingSplitter()
            finished = False
            try:
                await self._send(process, self._message(request_id, request))
                while not finished:
                    message = await self._receive(process)
                    if message.get("id") != request_id:
                        continue
                    match message:
                        case {"text": str(text)}:
                            for delta in splitter.feed(text):
                                yield delta
                        case {"end": dict()}:
                            finished = True
                            for delta in splitter.end():
                                yield delta
                            yield _end(cast("dict[str, object]", message["end"]))
                        case _:
                            finished = True
                            raise self._unavailable(str(message.get("error", "failed")))
            finally:
                if not finished and process.returncode is None:
                    self._stop(process, request_id)

    async def aclose(self) -> None:
        """End the child; safe to call twice."""
        await self._end_child(END_TIMEOUT_SECONDS)

    async def _end_child(self, patience_seconds: float) -> None:
        """End the child: it may do so by itself for a while, and is killed then, or if cancelled.

        One that loads weights hears nothing, and is given no time.
        """
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            async with asyncio.timeout(patience_seconds):
                await process.wait()
        except TimeoutError:
            pass
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_TIMEOUT_SECONDS):
                await _gone(process)

    async def _idle(self) -> asyncio.subprocess.Process:
        """A child that has nothing to do; in place of one that doesn't stop, a new one."""
        process = await self._started()
        try:
            async with asyncio.timeout(self._stop_timeout_seconds):
                while self._stopped_id is not None:
                    message = await self._receive(process)
                    if message.get("id") == self._stopped_id and "text" not in message:
                        self._stopped_id = None
        except TimeoutError:
            await self._end_child(0)
            return await self._started()
        return process

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is not None and self._process.returncode is None:
            return self._process
        if not self._path.is_file():
            raise self._unavailable(
                f"has no file {self._path}; give --model local:FILE a GGUF file, or set path in "
                "models.json"
            )
        if self._worker == WORKER and importlib.util.find_spec("llama_cpp") is None:
            raise self._unavailable(f"needs llama-cpp-python: {INSTALL}")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            str(self._worker),
            json.dumps(self._settings()),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=server_environment({"OMP_WAIT_POLICY": "passive"}),
            limit=LINE_BYTES_MAX,
            start_new_session=True,  # Ctrl-C is ours to deal with
        )
        self._process, self._stopped_id = process, None
        try:
            async with asyncio.timeout(LOAD_TIMEOUT_SECONDS):
                message = await self._receive(process)
        except BaseException as error:  # half a start is none, whatever ended it
            await self._end_child(0)
            if isinstance(error, TimeoutError):
                raise self._unavailable(
                    f"was not loaded within {LOAD_TIMEOUT_SECONDS:g} s; take a smaller one"
                ) from None
            raise
        if "error" in message:
            await self.aclose()
            raise self._unavailable(f"can't be loaded: {message['error']} ({self._path})")
        return process

    def _settings(self) -> dict[str, object]:
        thinking = self._entry.thinking
        return {
            "path": str(self._path.absolute()),
            "context_tokens": self._context_tokens,
            "threads": _usable_cores(),
            "state_folder": str(self._state_folder) if self._state_folder is not None else None,
            "is_rendered": self._is_rendered,
            "thinking": None if thinking is None else thinking != "off",
        }

    def _message(self, request_id: int, request: ModelRequest) -> dict[str, object]:
        limit = self._entry.max_output_tokens or DEFAULT_OUTPUT_TOKENS
        return {
            "id": request_id,
            "system": request.system,
            "user": request.user,
            "temperature": request.temperature,
            "seed": SEED if request.seed is None else request.seed,
            "max_tokens": output_limit(request, limit),
            "schema": request.schema,
        }

    async def _send(self, process: asyncio.subprocess.Process, message: dict[str, object]) -> None:
        if process.stdin is None:
            raise RuntimeError("the child was started with pipes")
        try:
            process.stdin.write(f"{json.dumps(message)}\n".encode())
            await process.stdin.drain()
        except OSError:
            raise await self._died(process) from None

    async def _receive(self, process: asyncio.subprocess.Process) -> dict[str, object]:
        """The child's next message."""
        if process.stdout is None:
            raise RuntimeError("the child was started with pipes")
        try:
            line = await process.stdout.readline()
            if not line.endswith(b"\n"):
                raise await self._died(process)
            message: object = json.loads(line)
        except (ValueError, RecursionError):  # no JSON, or longer than LINE_BYTES_MAX
            message = None
        if not isinstance(message, dict):
            await self._end_child(0)
            raise self._unavailable("wrote what is no message; try again", transient=True)
        return cast("dict[str, object]", message)

    async def _died(self, process: asyncio.subprocess.Process) -> ModelUnavailable:
        await self.aclose()
        if process.returncode == -signal.SIGILL:
            return self._unavailable(f"can't run on this processor: {INSTALL_PORTABLE}")
        return self._unavailable(
            f"stopped running (exit status {process.returncode}); if memory is short, take a "
            "smaller file, or set a smaller context_tokens in models.json",
            transient=True,
        )

    def _stop(self, process: asyncio.subprocess.Process, request_id: int) -> None:
        """Let the child stop computing; what it still writes is skipped before the next request."""
        self._stopped_id = request_id
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.write(f"{json.dumps({'stop': request_id})}\n".encode())

    def _unavailable(self, what: str, *, transient: bool = False) -> ModelUnavailable:
        return ModelUnavailable(f"model {self.name} {what}", transient=transient)


async def _gone(process: asyncio.subprocess.Process) -> None:
    """Wait for a child that ends, and read what it left: a full pipe would be held open."""
    if process.stdout is not None:
        with contextlib.suppress(RuntimeError):  # a request that is under way reads it already
            while await process.stdout.read(DRAINED_BYTES):
                pass
    await process.wait()


def _end(end: dict[str, object]) -> ReplyEnd:
    counts = map(end.get, ("input_tokens", "output_tokens", "cached_tokens"))
    usage = Usage(1, *(count if isinstance(count, int) else 0 for count in counts))
    return ReplyEnd(usage, "length" if end.get("finish") == "length" else "stop")


def _usable_cores() -> int:
    """The cores that this process may use, which is fewer than there are in a container."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
