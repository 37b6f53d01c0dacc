"""How every bundled server starts and ends: quickly, and quietly on stdout.

Light to import; the server's tools, and with them the MCP SDK, are imported while the garbage
collector rests (importing makes hundreds of thousands of objects that all stay: walking them again
and again costs a tenth of the start-up, and tearing them down most of the exit).
"""

import argparse
import gc
import importlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn, Protocol

from core.base.redaction import Redactor

EXIT_ENDED = 0
"""The client closed stdin, or went away."""

EXIT_UNUSABLE = 2
"""The server can't run here: no MCP SDK, or no stdin and stdout."""

INSPECTOR_COMMAND = "npx @modelcontextprotocol/inspector"
"""Opens a page in the browser from which the tools of a stdio server can be called."""


class StdioServer(Protocol):
    """The part of the SDK's `MCPServer` that is needed here."""

    async def run_stdio_async(self) -> None:
        """Serve over stdin and stdout until stdin ends."""
        ...


def run_alone(name: str, arguments: Sequence[str]) -> NoReturn:
    """Serve over stdio until stdin closes, then end the process.

    `name` says which server this is: that of `servers.math_tools` is `math`. `arguments` are the
    command line's, without the program.
    """
    # Ctrl-C ends the process as it ends `cat`: no traceback, also while importing. Python's own
    # handler would wait for the thread that reads stdin.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    module = f"servers.{name}_server"
    options = _parser(name, module).parse_args(arguments)
    if sys.stdin is None or sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        _end(EXIT_UNUSABLE, f"{name} server: needs stdin and stdout, and one of them is closed")
    if options.mode == "dev" or sys.stdin.isatty():
        _say(_how_to_use(name, module))
    # Before the SDK sets up its own: the first one stays.
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter(f"{name} server: %(message)s", Redactor(os.environ)))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    _serve(_built(name))
    _end(EXIT_ENDED)


class LogFormatter(logging.Formatter):
    """Formats records without secrets, tracebacks too; those of a call begin with its trace."""

    def __init__(self, form: str, redactor: Redactor) -> None:
        super().__init__(form)
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """The record's text; the trace is what the SDK has read from `_meta` of the call."""
        text = self._redactor.text(super().format(record))
        api = sys.modules.get("opentelemetry.trace")  # which comes with the SDK
        about = None if api is None else api.get_current_span().get_span_context()
        return (
            f"trace {about.trace_id:032x} {text}" if about is not None and about.is_valid else text
        )


def _parser(name: str, module: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=f"The {name} server of Cortex-R: MCP over stdin and stdout, for an MCP client "
        "to start. Ends when stdin closes.",
    )
    parser.add_argument(
        "mode",
        nargs="?",
        choices=["dev"],
        help="the same, and say on stderr how to try the tools by hand",
    )
    return parser


def _how_to_use(name: str, module: str) -> str:
    return (
        f"{name} server: speaks MCP, one JSON-RPC message a line, on stdin and stdout; "
        "Ctrl-D ends it.\n"
        f"To try its tools in a browser: {INSPECTOR_COMMAND} python -m {module}"
    )


def _built(name: str) -> StdioServer:
    gc.disable()
    try:
        build: Callable[[], StdioServer] = importlib.import_module(
            f"servers.{name}_tools"
        ).build_server
        return build()
    except ModuleNotFoundError as error:
        _end(
            EXIT_UNUSABLE,
            f"{name} server: {sys.executable} has no module {error.name}; use the Python that "
            "Cortex-R is installed for (.venv/bin/python in a checkout, after `make`)",
        )
    finally:
        gc.freeze()
        gc.enable()


def _serve(server: StdioServer) -> None:
    import anyio

    try:
        anyio.run(server.run_stdio_async)
    except* BrokenPipeError:
        pass  # The client went away without closing stdin first: the same end.


def _end(code: int, message: str = "") -> NoReturn:
    """End at once.

    `os._exit` skips the teardown of every imported module and the wait for worker threads whose
    answer nobody will read. Nothing is lost: the servers hold no files, and the SDK flushes
    stdout after each message.
    """
    if message:
        _say(message)
    logging.shutdown()
    os._exit(code)


def _say(message: str) -> None:
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()
