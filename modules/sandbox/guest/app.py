"""The program inside the sandbox: CPython runs one plan, and halts where it needs the host.

It becomes a WebAssembly component together with CPython (`modules.sandbox.component`), and each
plan gets an instance of its own. Nothing here is a wall: what a plan does to this program it does
to itself, and the host checks every message (`modules.sandbox.session`).

Where a plan can't go on, all calls that it has made go out at once, with the time to the nearest
timer, and the host waits. So `gather`, tasks, timeouts and queues are asyncio's own.
"""

import ast
import asyncio
import contextlib
import dataclasses
import datetime
import decimal
import enum
import errno
import gc
import importlib
import inspect
import io
import json
import os
import pkgutil
import random
import sys
import time
import traceback
import warnings
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import TypedDict, cast

import wit_world
from local_time import be_in_zone, keep_zones

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

TOO_DEEP = (RecursionError, MemoryError)
"""What CPython says to a source that is nested too deeply."""

LONGEST_WAIT_SECONDS = 24 * 3600
"""Longer waits are made in parts, as asyncio does."""

OWN_DEPTH = 60
"""Calls within calls that asyncio and this program need themselves."""

MOST_QUOTED = 100
"""Characters of a name that an error quotes."""

BUFFERED = 4096
"""Characters of a line that are kept before the host is told."""

POLLS = 1000
"""Turns of a busy event loop after which calls are seen to."""

LEFT_CHARACTERS = 4_000_000
"""Characters of the working memory that are told; the host keeps fewer."""

DEPTH_MAX = 101
"""Levels of a value in the working memory, itself included; the host takes one fewer."""

LEVEL_MAX = 150_000
"""Values in one level of it."""

NAMES_MAX = 1000
"""Names of the working memory that are told; the host keeps fewer."""


class ToolError(RuntimeError):
    """A call of a tool gave no result; the text says why. A plan knows it as RuntimeError.

    Attributes:
        line: The plan's line with the call.
    """

    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.line = line


ToolError.__name__ = ToolError.__qualname__ = "RuntimeError"


class TooLargeError(Exception):
    """A value is too large for the host to look at; the text says in what."""


class NoEntryPoint(Exception):
    """The plan defines no `solve`."""


class Host:
    """The way to the host: calls go out together where the plan can't go on, outcomes come back."""

    def __init__(self) -> None:
        self._made = 0
        self._calls: list[str] = []
        self._open: dict[int, tuple[asyncio.Future[object], int]] = {}
        self._polled = 0

    def make_call(
        self, kind: str, name: str, args: Sequence[object], kwargs: Mapping[str, object], line: int
    ) -> asyncio.Future[object]:
        """Have the host make a call.

        Raises:
            ToolError: an argument can't be given, or they are too large.
        """
        written = _arguments(name, args, kwargs, line)
        self._made += 1
        future = asyncio.get_running_loop().create_future()
        self._open[self._made] = future, line
        self._calls.append(f"[{self._made},{_json(kind)},{_json(name)},{written},{line}]")
        return future

    def wait(self, seconds: float | None) -> None:
        """Send the calls and wait for outcomes, at most so long; None is for ever."""
        calls, self._calls, self._polled = self._calls, [], 0
        output.flush()
        message = f'{{"calls":[{",".join(calls)}],"timer":{_json(seconds)}}}'
        while (told := json.loads(wit_world.wait(message))) is None:  # the host ends the plan
            message = f'{{"memory":{_json(plan.left())}}}'
        for number, value, error in told:
            future, line = self._open.pop(number)
            if future.done():  # the plan has given it up
                continue
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(ToolError(error, line))

    def poll(self) -> None:
        """See to the calls now and then, for a plan that keeps looking whether they have ended."""
        self._polled += 1
        if self._polled > POLLS and self._open:
            self.wait(0)

    def sleep(self, seconds: float, /) -> None:
        """`time.sleep`."""
        if not seconds >= 0:
            raise ValueError("sleep length must be non-negative")
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.wait(min(left, LONGEST_WAIT_SECONDS))


class Loop(asyncio.BaseEventLoop):
    """An event loop that has the host wait for it, which it takes for its files."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self
        self.set_exception_handler(lambda loop, context: None)

    def select(self, timeout: float | None) -> list[object]:
        """What has happened to files: nothing."""
        if timeout == 0:
            host.poll()
        else:
            host.wait(timeout)
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


class Policy(asyncio.events._BaseDefaultEventLoopPolicy):  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUntypedBaseClass] - no stub tells of it
    """Gives our loop to whoever wants one, as `asyncio.run` does."""

    _loop_factory = Loop


class Door:
    """`tools`, a server in it, or a tool: every name leads further, and the host knows which are.

    A plan that calls what isn't there hears so from the host.
    """

    def __init__(self, path: str = "") -> None:
        self._path = path

    def __getattr__(self, name: str) -> "Door":
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
    return await host.make_call(kind, name, args, kwargs, line)


def _plan_line() -> int:
    """The line of the plan that runs; 0 where none does."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename != PLAN:
        frame = frame.f_back
    return 0 if frame is None else frame.f_lineno


class Output(io.TextIOBase):
    """Where a plan prints to: whole lines go to the host, and what is long; the rest at a halt."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, text: str, /) -> int:
        """Keep the text until its line is whole."""
        self._pieces.append(text)
        self._size += len(text) + 1  # nothing is something too
        if "\n" in text or self._size > BUFFERED:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Give the host what is kept."""
        text = "".join(self._pieces)
        self._pieces, self._size = [], 0
        if text:
            wit_world.printed(text.encode("utf-8", "replace").decode())


def _json(value: object, default: Callable[[object], object] | None = None) -> str:
    try:
        text = json.dumps(value, default=default, ensure_ascii=False, separators=(",", ":"))
    except ValueError as error:
        if "Circular" in str(error):
            raise TypeError("a value in itself") from None
        if "digits" not in str(error):
            raise
        most = sys.get_int_max_str_digits()
        raise TooLargeError(f"it holds an integer of more than {most} digits") from None
    except TypeError as error:
        if "keys must" in str(error):
            raise TypeError(f"a dict whose {error}") from None
        raise
    return text.encode("utf-8", "replace").decode()  # half a surrogate pair can't leave


def _refuse(value: object) -> None:
    """Raise TypeError for what is no value, though it may say in words what it is."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError("bytes (decode them, or write them as base64)")
    if inspect.isawaitable(value):
        raise TypeError("a call that was not awaited (write await before it)")
    if isinstance(value, Door):
        raise TypeError("a tool (call it, with await)")


def plain(value: object) -> object:
    """What stands in JSON for a value that json itself doesn't know.

    Raises:
        TypeError: nothing does; the message is its kind, as in "a function".
    """
    kind = type(value)
    _refuse(value)
    if isinstance(value, (set, frozenset)):
        return sorted(cast("Iterable[object]", value), key=_order)
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Result) and value.structured_content is not None:
        return value.structured_content
    if isinstance(value, complex) or (
        kind.__str__ is not object.__str__ and not isinstance(value, type)
    ):
        return str(value)  # dates, decimals, errors: what says in words what it is
    if isinstance(value, Iterable) and not isinstance(value, type):
        return [*cast("Iterable[object]", value)]
    if kind.__module__ == MODULE:
        raise TypeError(f"an object of class {kind.__name__}")
    raise TypeError(f"{'an' if kind.__name__[0] in 'aeiou' else 'a'} {kind.__name__}")


def _as_argument(value: object) -> object:
    """As `plain`; to a tool a decimal is a number, and a moment has its form in JSON Schema."""
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return plain(value)


def _order(item: object) -> tuple[str, float, str]:
    """Sort key of a set's items: numbers by size, then the rest by kind and text."""
    if isinstance(item, (int, float)):
        return ("", item, "")
    return (type(item).__name__, 0, str(item))


def _arguments(tool: str, args: Sequence[object], kwargs: Mapping[str, object], line: int) -> str:
    """The arguments of a call as JSON: a list and an object."""
    written: list[list[str]] = [[], []]
    left = plan.argument_characters  # the host counts anew, in bytes
    for is_named, (name, value) in [
        *((False, (str(place), value)) for place, value in enumerate(args, 1)),
        *((True, item) for item in kwargs.items()),
    ]:
        given = f"{tool.rpartition('.')[2]}() argument '{name[:MOST_QUOTED]}'"
        try:
            text = _json(value, _as_argument)
            written[is_named].append(f"{_json(name)}:{text}" if is_named else text)
            left -= len(written[is_named][-1])
            if left < 0:
                most = f"{plan.argument_characters:,} bytes of JSON"
                raise TooLargeError(f"it is larger than {most}")
        except TooLargeError as error:
            raise ToolError(f"{given} can't be sent: {error}", line) from None
        except TypeError as error:
            forms = "give text, numbers, booleans, lists, dicts or None"
            raise ToolError(f"{given} is {error}; {forms}", line) from None
    return f"[{','.join(written[0])}],{{{','.join(written[1])}}}"


class Plan:
    """The plan of this instance."""

    def __init__(self) -> None:
        self._names = ModuleType(MODULE).__dict__
        self._memory: dict[object, object] | None = None  # a plan may use any keys
        self._result_characters = 0
        self.argument_characters = 0

    def rehearse(self) -> None:
        """Run a plan of no consequence: the memory that any plan touches is at hand then."""
        random.seed()  # else each instance has the numbers of the one that was built
        json.loads(_json({"value": Plan()._value("async def solve():\n    return 1\n")}))

    def run(self, request: str) -> str:
        """Run a plan, and tell how it ended.

        `request` has `source`, the `names` that lead to tools, `texts` by name, `zone_seconds`
        ahead of UTC, `recursion_depth`, the bounds `result_bytes` and `argument_bytes`, and
        `memory` for a plan that may use it.
        """
        given = json.loads(request)
        sys.stdout = sys.stderr = output
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
            value = self._value(given["source"])
        except BaseException as error:  # noqa: BLE001 - whatever ended the plan
            ended = f'"error":{_json(_told(error))}'
        else:
            ended = self._written(value)
        output.flush()
        return f'{{{ended},"memory":{_json(self.left())}}}'

    def _value(self, source: str) -> object:
        """What `solve` gives. Code that awaits nothing runs outside of a loop, and may run one."""
        try:
            code = compile(source, PLAN, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except TOO_DEEP:
            raise SyntaxError("the plan is nested too deeply") from None
        with asyncio.Runner() as runner:
            asyncio.set_event_loop(runner.get_loop())
            around = eval(code, self._names)  # noqa: S307 - the plan: this is its sandbox
            if inspect.iscoroutine(around):
                runner.run(around)
            if not callable(solve := self._names.get(ENTRY_POINT)):
                raise NoEntryPoint
            value = solve()
            return runner.run(_awaited(value)) if inspect.isawaitable(value) else value

    def _written(self, value: object) -> str:
        try:
            written = _json(value, plain)
            if len(written) > self._result_characters:
                raise TooLargeError(f"it is larger than {self._result_characters:,} bytes of JSON")
        except BaseException as error:  # noqa: BLE001 - a plan's object may raise anything
            return f'"error":{_json(_told(error, is_result=isinstance(error, TypeError)))}'
        return f'"value":{written}'

    def left(self) -> list[object] | None:
        """What the plan leaves in its memory: whether that is ours, and each value or its fault."""
        if self._memory is None:
            return None
        named = self._names.get("memory")
        entries: list[object] = [named is self._memory or not isinstance(named, dict)]
        room = LEFT_CHARACTERS
        for name, value in [*self._memory.items()][:NAMES_MAX]:
            text, fault = None, None
            try:
                _check_depth(value)
                text = json.dumps(value, ensure_ascii=False, allow_nan=False)
                room -= len(text)
                if room < 0:
                    text, fault = None, "there is no room for it"
            except Exception as error:  # noqa: BLE001 - a plan's object may raise anything
                fault = f"{error}"
            is_name = isinstance(name, str) and len(name) <= MOST_QUOTED
            entries.append([name if is_name else None, text, fault])
        return entries


def _check_depth(value: object) -> None:
    """See that lists and dicts don't nest deeper than the host takes, nor than the stack allows."""
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [
            inner
            for item in level
            if isinstance(item, (dict, list, tuple))
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
        if len(level) > LEVEL_MAX:
            raise TooLargeError(f"it holds more than {LEVEL_MAX:,} values")
    raise TooLargeError(f"it is nested deeper than {DEPTH_MAX} levels")


async def _awaited(value: object) -> object:
    while inspect.isawaitable(value):
        value = await value
    return value


host = Host()
output = Output()
plan = Plan()


class WitWorld(wit_world.WitWorld):
    """The way in."""

    def run(self, request: str) -> str:
        """See `Plan.run`; without a request, make ready for one that comes later."""
        if not request:
            plan.rehearse()
            return ""
        try:
            return plan.run(request)
        except BaseException as error:  # noqa: BLE001 - no memory was left to tell more
            told = {"type": type(error).__name__, "text": "", "line": None, "origin": "plan"}
            return f'{{"error":{_json(told)}}}'


def _told(error: BaseException, *, is_result: bool = False) -> dict[str, object]:
    """An exception for the host: its type, text, line of the plan, and whose it is."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    line = error.lineno if isinstance(error, SyntaxError) else _plan_line_of(error)
    if line is None and isinstance(error, ToolError):
        line = error.line
    elif line is None and error.__cause__ is not None:  # a StopIteration that left a coroutine
        line = _plan_line_of(error.__cause__)
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


def _plan_line_of(error: BaseException) -> int | None:
    """The innermost line of the plan that an error came through."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == PLAN:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _text(error: BaseException) -> str:
    """What it says; with Python's own guess at what was meant by a name."""
    if isinstance(error, SyntaxError):
        return error.msg or "invalid syntax"
    if isinstance(error, (NameError, AttributeError, ImportError)):
        whole = traceback.TracebackException.from_exception(error, limit=0)
        return [*whole.format_exception_only()][-1].partition(": ")[2].strip()
    return str(error)


def _import_ahead() -> None:
    """Import the standard library: an instance has no files to import from."""
    for name in sorted(sys.stdlib_module_names - UNUSED):
        for module in _with_submodules(name):
            with contextlib.suppress(BaseException):  # what this platform lacks
                importlib.import_module(module)


def _with_submodules(name: str) -> Iterator[str]:
    yield name
    with contextlib.suppress(BaseException):
        path = importlib.import_module(name).__path__
        for found in pkgutil.walk_packages(path, f"{name}.", onerror=lambda name: None):
            if not found.name.endswith(("__main__", ".tests", ".test")):
                yield found.name


def _no_folder() -> str:
    raise FileNotFoundError(errno.ENOENT, "a plan has no working folder")


_import_ahead()
keep_zones()
time.sleep = host.sleep
os.getcwd = _no_folder
asyncio.events._set_event_loop_policy(Policy())  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - no stub tells of it
warnings.simplefilter("ignore")
gc.collect()
gc.freeze()
