"""The program inside the sandbox: CPython runs one plan, and halts where it needs the host.

It becomes a WebAssembly component together with CPython (`modules.sandbox.component`), and each
plan gets an instance of its own. Nothing here is a wall: what a plan does to this program it does
to itself, and the host checks every message (`modules.sandbox.session`).

Where a plan can't go on, all calls that it has made go out at once, with the time to the nearest
timer. So `gather`, tasks, timeouts and queues are asyncio's own.
"""

import ast
import asyncio
import contextlib
import dataclasses
import decimal
import enum
import gc
import importlib
import inspect
import io
import json
import pkgutil
import random
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType, ModuleType
from typing import TypedDict, cast

import wit_world
from local_time import be_in_zone, have_zones

PLAN = "<plan>"
"""The file name of a plan's code."""

MODULE = "plan"
"""The module that a plan is: no `__main__`, whose tail would run `solve()` a second time."""

ENTRY_POINT = "solve"

UNUSED = frozenset(
    {"__phello__", "antigravity", "ensurepip", "idlelib", "test", "this", "tkinter", "turtle"}
    | {"turtledemo", "venv", "_pyrepl"}
)
"""What of the standard library no plan has a use for: windows, programs, jokes and tests."""

OWN_DEPTH = 60
"""Calls within calls that asyncio and this program need themselves."""

NAMES_MAX = 1000
"""Names of the working memory that are told; the host keeps fewer."""


class ToolError(RuntimeError):
    """A call of a tool gave no result; the text says why. A plan knows it as RuntimeError."""


ToolError.__name__ = ToolError.__qualname__ = "RuntimeError"


class TooLargeError(Exception):
    """The plan's result is too large for the host to look at."""


class NoEntryPoint(Exception):
    """The plan defines no `solve`."""


class Loop(asyncio.BaseEventLoop):
    """An event loop that never waits: where nothing is ready it stops, to be run again later.

    It is its own selector, which asyncio asks when it would wait.

    Attributes:
        calls: The calls since the last halt, each as JSON.
        timer: Seconds to the nearest timer at the last halt; None without one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._selector = self
        self.calls: list[str] = []
        self.timer: float | None = None
        self._made = 0
        self._open: dict[int, asyncio.Future[object]] = {}
        self.set_exception_handler(lambda loop, context: None)

    def make_call(
        self, kind: str, name: str, args: Sequence[object], kwargs: Mapping[str, object], line: int
    ) -> asyncio.Future[object]:
        """Have the host make a call.

        Raises:
            ToolError: an argument can't be given, or they are too large.
        """
        written = [_argument(name, str(place), value) for place, value in enumerate(args, 1)]
        named = [f"{_json(key)}:{_argument(name, key, kwargs[key])}" for key in kwargs]
        size = sum(map(len, written)) + sum(map(len, named))
        if size > plan.argument_characters:  # the host counts anew, in bytes
            raise ToolError(f"{name}() can't be called with {size:,} characters of arguments")
        self._made += 1
        future = self._open[self._made] = self.create_future()
        given = f"[{','.join(written)}],{{{','.join(named)}}}"
        self.calls.append(f"[{self._made},{_json(kind)},{_json(name)},{given},{line}]")
        return future

    def settle(self, outcomes: Iterable[tuple[int, object, str | None]]) -> None:
        """Give calls their results, or errors."""
        for number, value, error in outcomes:
            future = self._open.pop(number)
            if future.done():  # the plan has given it up
                continue
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(ToolError(error))

    def select(self, timeout: float | None) -> list[object]:
        """What has happened to files: nothing; asked to wait, the loop stops."""
        if timeout != 0:
            self.timer = timeout
            self.stop()
        return []

    def _process_events(self, event_list: list[object]) -> None:
        """There are no files to watch."""

    def _write_to_self(self) -> None:
        """There are no other threads to wake it from."""

    def run_in_executor(
        self, executor: object, func: Callable[..., object], *args: object
    ) -> asyncio.Future[object]:
        """There are no threads: `func` runs here and now."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - it is the caller's, as from a thread
            future.set_exception(error)
        return future


class Door:
    """`tools`, a server in it, or a tool: every name leads further, and the host knows which are.

    A plan that calls what isn't there hears so from the host.
    """

    def __init__(self, path: str = "") -> None:
        self._path = path

    def __getattr__(self, name: str) -> Door:
        """The server or tool of that name."""
        if name.startswith("__"):  # what Python asks of any object
            raise AttributeError(name)
        return Door(f"{self._path}.{name}" if self._path else name)

    __getitem__ = __getattr__

    def __call__(self, *args: object, **kwargs: object) -> Awaitable[object]:
        """Call the tool."""
        return _called("tool", self._path, args, kwargs, _plan_line())

    def __repr__(self) -> str:
        """Its name."""
        return f"<tool {self._path}>"


class Given(TypedDict):
    """What the host gives for `mcp.call_tool`."""

    content: list[dict[str, object]]
    structured_content: object


class Content:
    """A block of what a tool gave."""

    def __init__(self, block: Mapping[str, object]) -> None:
        self.type = block["type"]
        self.text = block["text"]
        self.data = block["data"]
        self.mime_type = block["mime_type"]
        self.uri = block["uri"]


class Result:
    """What a tool gave, as `mcp.call_tool` has it."""

    def __init__(self, content: Iterable[Mapping[str, object]], structured: object) -> None:
        self.content = [Content(block) for block in content]
        self.structured_content = structured
        self.is_error = False

    def __str__(self) -> str:
        """Its text."""
        return "\n".join(str(block.text) for block in self.content if block.text is not None)


class Client:
    """`mcp`, as the client of an MCP server."""

    async def call_tool(self, *args: object, **kwargs: object) -> Result:
        """A tool's result with its content blocks."""
        given = cast("Given", await _called("raw", "mcp.call_tool", args, kwargs, _plan_line()))
        return Result(given["content"], given["structured_content"])

    def search_tools(self, *args: object, **kwargs: object) -> Awaitable[object]:
        """The tools that fit some words."""
        return search_tools(*args, **kwargs)


def search_tools(*args: object, **kwargs: object) -> Awaitable[object]:
    """The tools that fit some words."""
    return _called("search", "search_tools", args, kwargs, _plan_line())


async def _called(
    kind: str, name: str, args: Sequence[object], kwargs: Mapping[str, object], line: int
) -> object:
    return await loop.make_call(kind, name, args, kwargs, line)


def _plan_line() -> int:
    """The line of the plan that runs; 0 where none does."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename != PLAN:
        frame = frame.f_back
    return 0 if frame is None else frame.f_lineno


class Output(io.TextIOBase):
    """Where a plan prints to: whole lines go to the host, the rest at the next halt."""

    def __init__(self) -> None:
        self._line = ""

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, text: str, /) -> int:
        """Keep the text until its line is whole."""
        self._line += text
        if "\n" in text:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Give the host what is kept."""
        text, self._line = self._line, ""
        if text:
            wit_world.printed(text.encode("utf-8", "replace").decode())


def _json(value: object, default: Callable[[object], object] | None = None) -> str:
    try:
        text = json.dumps(value, default=default, ensure_ascii=False, separators=(",", ":"))
    except ValueError:
        raise TypeError("a list or dict that holds itself") from None
    return text.encode("utf-8", "replace").decode()  # half a surrogate pair can't leave


def plain(value: object) -> object:
    """What stands in JSON for a value that json itself doesn't know.

    Raises:
        TypeError: nothing does; the message is its kind, as in "a function".
    """
    kind = type(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError("bytes (decode them, or write them as base64)")
    if inspect.isawaitable(value):
        raise TypeError("a call that was not awaited (write await before it)")
    if isinstance(value, (set, frozenset)):
        return sorted(cast("Iterable[object]", value), key=_order)
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Result) and value.structured_content is not None:
        return value.structured_content
    if kind.__str__ is not object.__str__ and not isinstance(value, type):
        return str(value)  # dates, decimals, errors: what says in words what it is
    if isinstance(value, Iterable) and not isinstance(value, type):
        return [*cast("Iterable[object]", value)]
    if kind.__module__ == MODULE:
        raise TypeError(f"an object of class {kind.__name__}")
    raise TypeError(f"{'an' if kind.__name__[0] in 'aeiou' else 'a'} {kind.__name__}")


def _as_argument(value: object) -> object:
    """As `plain`; a decimal is a number to a tool, and a text to a reader."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return plain(value)


def _order(item: object) -> tuple[str, float, str]:
    """Sort key of a set's items: numbers by size, then the rest by kind and text."""
    if isinstance(item, (int, float)):
        return ("", item, "")
    return (type(item).__name__, 0, str(item))


def _argument(tool: str, name: str, value: object) -> str:
    try:
        return _json(value, _as_argument)
    except TypeError as error:
        given = f"{tool.rpartition('.')[2]}() argument '{name}' is {error}"
        raise ToolError(f"{given}; give text, numbers, booleans, lists, dicts or None") from None


class Plan:
    """The plan of this instance."""

    def __init__(self) -> None:
        self._main: asyncio.Task[object] | None = None
        self._names = ModuleType(MODULE).__dict__
        self._memory: dict[object, object] | None = None  # a plan may use any keys
        self._result_characters = 0
        self.argument_characters = 0

    def start(self, request: str) -> str:
        """Begin a plan, and run it to where it halts.

        `request` has `source`, the `names` that lead to tools, `texts` by name, `zone_seconds`
        ahead of UTC, `recursion_depth`, the bounds `result_bytes` and `argument_bytes`, and
        `memory` for a plan that may use it.
        """
        given = json.loads(request)
        random.seed()  # else each instance has the numbers of the one that was built
        sys.stdout = sys.stderr = Output()
        sys.stdin = io.StringIO()
        sys.setrecursionlimit(given["recursion_depth"] + OWN_DEPTH)
        if given["zone_seconds"]:
            be_in_zone(given["zone_seconds"])
        module = sys.modules[MODULE] = ModuleType(MODULE)
        self._names = vars(module)
        self._names |= {name: Door(name) for name in given["names"]}
        self._names |= {"tools": Door(), "mcp": Client(), "search_tools": search_tools}
        self._names |= given["texts"]
        self._result_characters = given["result_bytes"]
        self.argument_characters = given["argument_bytes"]
        if "memory" in given:
            self._memory = self._names["memory"] = given["memory"]
        try:
            code = compile(given["source"], PLAN, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return _json({"error": _told(error)})
        self._main = loop.create_task(self._solve(code))
        self._main.add_done_callback(lambda task: loop.stop())
        return self._run()

    def resume(self, outcomes: str) -> str:
        """Give a plan the outcomes of calls, and run it to where it halts; null ends it."""
        given = json.loads(outcomes)
        if given is None:
            return f'{{"memory":{_json(self._left())}}}'
        loop.settle(given)
        return self._run()

    async def _solve(self, code: CodeType) -> object:
        around = eval(code, self._names)  # noqa: S307 - the plan: this is its sandbox
        if inspect.iscoroutine(around):
            await around
        if not callable(solve := self._names.get(ENTRY_POINT)):
            raise NoEntryPoint
        value = solve()
        while inspect.isawaitable(value):  # again for what a plain `solve` has from asyncio.run
            value = await value
        return value

    def _run(self) -> str:
        with contextlib.suppress(SystemExit, KeyboardInterrupt):  # they end the plan, not the loop
            loop.run_forever()
        sys.stdout.flush()
        if self._main is None or not self._main.done():
            calls, loop.calls = loop.calls, []
            return f'{{"calls":[{",".join(calls)}],"timer":{_json(loop.timer)}}}'
        try:
            written = _json(self._main.result(), plain)
            if len(written) > self._result_characters:
                raise TooLargeError(f"it is larger than {self._result_characters:,} bytes of JSON")
            ended = f'"value":{written}'
        except BaseException as error:  # noqa: BLE001 - whatever ended the plan
            ended = f'"error":{_json(_told(error, is_result=self._is_result(error)))}'
        return f'{{{ended},"memory":{_json(self._left())}}}'

    def _is_result(self, error: BaseException) -> bool:
        """Whether the plan itself came to its end, and its result can't be written as JSON."""
        return self._main is not None and error is not self._main.exception()

    def _left(self) -> list[object] | None:
        """What the plan leaves in its memory: whether that is ours, and each value or its fault."""
        if self._memory is None:
            return None
        named = self._names.get("memory")
        entries: list[object] = [named is self._memory or not isinstance(named, dict)]
        for name, value in [*self._memory.items()][:NAMES_MAX]:
            text, fault = None, None
            try:
                text = json.dumps(value, ensure_ascii=False, allow_nan=False)
            except Exception as error:  # noqa: BLE001 - a plan's object may raise anything
                fault = f"{error}"
            entries.append([name if isinstance(name, str) else None, text, fault])
        return entries


loop = Loop()
plan = Plan()


class WitWorld(wit_world.WitWorld):
    """The two ways in; an object of its own for each call."""

    def start(self, request: str) -> str:
        """See `Plan.start`."""
        return plan.start(request)

    def resume(self, outcomes: str) -> str:
        """See `Plan.resume`."""
        return plan.resume(outcomes)


def _told(error: BaseException, *, is_result: bool = False) -> dict[str, object]:
    """An exception for the host: its type, text, line of the plan, and whose it is."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == PLAN
    ]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    kind = type(error).__name__
    origin = (
        "size"
        if isinstance(error, TooLargeError)
        else "result"
        if is_result
        else "tool"
        if isinstance(error, ToolError)
        else "entry"
        if isinstance(error, NoEntryPoint)
        else "plan"
    )
    with contextlib.suppress(Exception):  # a plan's own exception may fail to tell itself
        return {"type": kind, "text": _text(error), "line": line, "origin": origin}
    return {"type": kind, "text": "", "line": line, "origin": origin}


def _text(error: BaseException) -> str:
    """What it says; with Python's own guess at what was meant by a name."""
    if isinstance(error, SyntaxError):
        return error.msg or "invalid syntax"
    if isinstance(error, (NameError, AttributeError, ImportError)):
        whole = traceback.TracebackException.from_exception(error)
        return [*whole.format_exception_only()][-1].partition(": ")[2].strip()
    return str(error)


def _import_ahead() -> None:
    """Import the standard library: an instance has no files to import from."""
    for name in sorted(sys.stdlib_module_names - UNUSED):
        for module in _with_submodules(name):
            with contextlib.suppress(BaseException):  # what this platform lacks
                importlib.import_module(module)
    have_zones()


def _with_submodules(name: str) -> Iterator[str]:
    yield name
    with contextlib.suppress(BaseException):
        path = importlib.import_module(name).__path__
        for found in pkgutil.walk_packages(path, f"{name}.", onerror=lambda name: None):
            if not found.name.endswith(("__main__", ".tests", ".test")):
                yield found.name


def _awaited_by_its_caller(main: Awaitable[object], **options: object) -> Awaitable[object]:
    """`asyncio.run`, where a loop runs already: `solve` returns what is to be awaited."""
    return main


_import_ahead()
time.sleep = wit_world.pause
asyncio.run = _awaited_by_its_caller  # pyright: ignore[reportAttributeAccessIssue] - gives no result
gc.collect()
gc.freeze()
