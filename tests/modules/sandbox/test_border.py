"""The border of WebAssembly: what an instance may import, and a guest that lies to the host."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from core.values import Json
from modules.sandbox import Sandbox, SandboxLimits, SandboxResult
from modules.sandbox.limits import Finished, Waiting
from modules.sandbox.session import PlanSession
from modules.sandbox.values import MAX_VALUES
from modules.sandbox.walls.launcher import worker_command
from modules.sandbox.worker import MESSAGE_BYTES_MAX, Worker, WorkerLost
from tests.modules.sandbox.kills import survive
from tests.modules.sandbox.sandbox_tools import CATALOG, TEST_TIMEOUT_SECONDS, Tools, solve

LIMITS = SandboxLimits(cpu_seconds=1, wall_seconds=3)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(LIMITS) as sandbox:
        yield sandbox


async def ran(sandbox: Sandbox, *lines: str, tools: Tools | None = None) -> SandboxResult:
    """What became of a plan; the sandbox then still serves another as if nothing had been."""
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        plan = "import json, sys, os, wit_world\n" + solve(*lines)
        result = await sandbox.run(plan, CATALOG, tools or Tools())
        after = await sandbox.run(solve("return await tools.add(20, 22)"), CATALOG, Tools())
    assert after.value == 42, after.failure
    return result


BOUND = {"printed", "wait"}
"""Our own imports."""

ANSWERED = {
    "wasi:cli/environment@0.2.9",
    "wasi:clocks/monotonic-clock@0.2.9",
    "wasi:clocks/wall-clock@0.2.9",
    "wasi:filesystem/preopens@0.2.9",
    "wasi:random/random@0.2.9",
}
"""Interfaces of which something is answered: clocks, random numbers, and that there is nothing."""

TRAPS = {
    "wasi:cli/exit@0.2.9",
    "wasi:cli/stderr@0.2.9",
    "wasi:cli/stdin@0.2.9",
    "wasi:cli/stdout@0.2.9",
    "wasi:cli/terminal-input@0.2.9",
    "wasi:cli/terminal-output@0.2.9",
    "wasi:cli/terminal-stderr@0.2.9",
    "wasi:cli/terminal-stdin@0.2.9",
    "wasi:cli/terminal-stdout@0.2.9",
    "wasi:filesystem/types@0.2.9",
    "wasi:io/error@0.2.9",
    "wasi:io/poll@0.2.9",
    "wasi:io/streams@0.2.9",
    "wasi:random/insecure-seed@0.2.9",
    "wasi:random/insecure@0.2.9",
    "wasi:sockets/instance-network@0.2.9",
    "wasi:sockets/ip-name-lookup@0.2.9",
    "wasi:sockets/network@0.2.9",
    "wasi:sockets/tcp-create-socket@0.2.9",
    "wasi:sockets/tcp@0.2.9",
    "wasi:sockets/udp-create-socket@0.2.9",
    "wasi:sockets/udp@0.2.9",
}
"""Interfaces of which every function ends the plan that calls it."""


IMPORTS = """
import json, sys
sys.argv = ["worker_program.py", *sys.argv[1:]]
sys.path[:0] = [sys.argv[1], sys.argv[3]]
import worker_program
from wasmtime.component import Component
engine = worker_program.engine()
component = Component.deserialize_file(engine, sys.argv[2])
bound = {f"wasi:{name}@0.2.9": [*functions] for name, functions in worker_program.WASI.items()}
print(json.dumps([[*component.type.imports(engine)], bound]))
"""


async def test_each_import_of_the_component_is_known_and_what_it_is_bound_to() -> None:
    _, _, _, program, packages, compiled, _ = worker_command(SandboxLimits())
    folder = os.path.dirname(program)  # noqa: PTH120 - nothing is looked at
    words = ["-I", "-S", "-c", IMPORTS, packages, compiled, folder]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        told, _ = await process.communicate()
    imports, bound = json.loads(told)
    assert {*imports} <= BOUND | ANSWERED | TRAPS
    assert {*imports} >= BOUND | ANSWERED
    assert bound == {
        "wasi:clocks/monotonic-clock@0.2.9": ["now", "resolution"],
        "wasi:clocks/wall-clock@0.2.9": ["now", "resolution"],
        "wasi:random/random@0.2.9": ["get-random-bytes"],
        "wasi:cli/environment@0.2.9": ["get-environment", "get-arguments"],
        "wasi:filesystem/preopens@0.2.9": ["get-directories"],
    }


NOTHING = {
    "the environment": "[*os.environ.items()]",
    "arguments": "sys.argv[1:] + sys.orig_argv[1:]",
    "standard input": "[*sys.stdin]",
}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("what", NOTHING)
async def test_there_is_nothing_in(what: str, sandbox: Sandbox) -> None:
    assert (await ran(sandbox, f"return {NOTHING[what]}")).value == []


OUTWARDS = (
    "os.open('/', os.O_RDONLY)",
    "os.open('/etc/passwd', os.O_RDONLY)",
    "os.open('x', os.O_WRONLY | os.O_CREAT)",
    "os.listdir('/')",
    "os.listdir('.')",
    "os.stat('/')",
    "os.mkdir('/x')",
    "os.rename('/a', '/b')",
    "os.symlink('/etc', '/x')",
    "os.unlink('/etc/passwd')",
    "os.pipe()",
    "os.fork()",
    "os.execve('/bin/sh', ['sh'], {})",
    "os.kill(1, 9)",
    "os.system('id')",
    "os._exit(0)",
    "os.abort()",
    "__import__('posix').open('/etc/passwd', 0)",
    "__import__('subprocess').run(['id'])",
    "__import__('multiprocessing').Process().start()",
    "__import__('threading').Thread(target=print).start()",
    "__import__('signal').raise_signal(9)",
    "__import__('socket').socket()",
    "__import__('socket').getaddrinfo('localhost', 80)",
    "__import__('_socket').socket()",
    "__import__('ctypes').CDLL(None)",
    "__import__('mmap').mmap(-1, 4096)",
    "__import__('select').select([], [], [], 1)",
    "__import__('urllib.request').request.urlopen('http://127.0.0.1/')",
    "__import__('tempfile').NamedTemporaryFile()",
    "__import__('faulthandler')._sigsegv()",
    "__import__('faulthandler')._stack_overflow()",
)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("attempt", OUTWARDS)
async def test_a_way_out_ends_the_plan_or_fails_in_it(attempt: str, sandbox: Sandbox) -> None:
    result = await ran(sandbox, f"{attempt}", "return 'went on'")
    assert result.value is None
    assert result.failure is not None


@pytest.mark.asyncio(loop_scope="module")
async def test_no_descriptor_can_be_written_to_or_read(sandbox: Sandbox) -> None:
    for use in ("os.write(fd, b'G{\"value\": 7}')", "os.read(fd, 9)", "os.dup(fd)", "os.fstat(fd)"):
        for descriptors in ("range(0, 3)", "range(3, 300)"):
            lines = [
                "for fd in " + descriptors + ":",
                f"    try: {use}",
                "    except OSError: pass",
            ]
            result = await ran(sandbox, *lines, "return 1")
            assert result.printed == ""
            assert result.value in (None, 1)


WILD = (
    "wit_world.printed('x' * 10**8)",
    "wit_world.printed('\\ud800')",
    "wit_world.printed(7)",
    "wit_world.printed(None)",
    "[wit_world.printed('') for _ in range(10**9)]",
    "[wit_world.printed('é') for _ in range(10**9)]",
    "wit_world.printed('\\0' * 10**5)",
    "wit_world.wait('x' * 10**8)",
    "wit_world.wait('\\ud800')",
    "wit_world.wait(7)",
    "wit_world.wait('')",
    "wit_world.wait('\\0')",
    "os.urandom(2**31 - 1)",
    "os.urandom(2**27)",
    "[os.urandom(256) for _ in range(10**9)]",
    "[__import__('time').time_ns() for _ in range(10**9)]",
)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("call", WILD)
async def test_an_import_that_is_called_wildly_ends_the_plan_alone(
    call: str, sandbox: Sandbox
) -> None:
    result = await ran(sandbox, f"{call}")
    assert result.failure is not None
    assert len(result.printed.encode()) <= LIMITS.printed_bytes


def call(number: Json = 1, kind: Json = "tool", name: Json = "add", *rest: Json) -> list[Json]:
    """A call as the guest tells it."""
    return [number, kind, name, *(rest or ([1, 2], {}, 1))]


def halted(*calls: Json, timer: Json = None) -> str:
    return json.dumps({"calls": [*calls], "timer": timer})


BRACKETS = "[" * 100_000 + "]" * 100_000
DENSE = "[" + "[]," * 2_000_000 + "[]]"

FORGED = {
    "no JSON": '{"calls":',
    "no object": "[1]",
    "null": "null",
    "another form": '{"calls":7,"timer":1}',
    "calls and an end": '{"calls":0,"value":1}',
    "an end, then calls": '{"value":"forged","calls":[]}',
    "a result of another": '{"value":{"a":[1,2]},"memory":[true,["x","1",null]]}',
    "keys twice": '{"calls":[],"calls":[[1,"tool","echo",[1],{},1]],"timer":-1,"timer":"x"}',
    "nothing to wait for": halted(),
    "a timer that is no number": '{"calls":[],"timer":NaN}',
    "a timer without end": '{"calls":[],"timer":Infinity}',
    "a timer before now": '{"calls":[],"timer":-1e308}',
    "a timer of 4,000 digits": '{"calls":[],"timer":' + "9" * 4000 + "}",
    "a timer of 100,000 digits": '{"calls":[],"timer":' + "9" * 100_000 + "}",
    "a timer that is true": '{"calls":[],"timer":true}',
    "a call that is none": halted([1]),
    "a call of number 0": halted(call(0)),
    "a call of a negative number": halted(call(-1)),
    "a call of a number ahead": halted(call(2)),
    "a call of a number that is text": halted(call("1")),
    "a call of a number that is a float": halted(call(1.0)),
    "two calls of one number": halted(call(1), call(1)),
    "a call of another kind": halted(call(1, "admin")),
    "a call of a kind that is a list": halted(call(1, ["tool"])),
    "a call of a tool that is not offered": halted(call(1, "tool", "delete")),
    "a call of no name": halted(call(1, "tool", "")),
    "a call of a name of megabytes": halted(call(1, "tool", "x.y" * 2_000_000)),
    "a call of half a character": '{"calls":[[1,"tool","\\ud800",[],{},1]],"timer":1}',
    "a search for half a character": '{"calls":[[1,"search","","\\udfff",{},1]],"timer":1}',
    "a search for a list": halted(call(1, "search", "", [[1]], {}, 1)),
    "a raw call of a list": halted(call(1, "raw", "", [["add"], {}], {}, 1)),
    "a raw call of itself": halted(call(1, "raw", "mcp.call_tool", ["mcp.call_tool", {}], {}, 1)),
    "arguments that don't fit": halted(call(1, "tool", "add", [1, 2, 3, 4], {"c": 1}, 1)),
    "arguments that are no list": halted(call(1, "tool", "add", {"a": 1}, [], 1)),
    "names that are half characters": '{"calls":[[1,"tool","add",[],{"\\udc00":1},1]],"timer":1}',
    "numbers of 10,000 digits": '{"calls":[[1,"tool","echo",[' + "9" * 10_000 + "],{},1]]}",
    "infinite arguments": '{"calls":[[1,"tool","echo",[1e999],{},1]],"timer":null}',
    "a line that lies": halted(call(1, "tool", "nope", [], {}, 10**30)),
    "a line that is text": halted(call(1, "tool", "nope", [], {}, "1")),
    "100,000 calls": halted(*([call(1, "tool", "x", [], {}, 1)] * 100_000)),
    "nested without end": '{"calls":' + BRACKETS + ',"timer":1}',
    "a nested argument": '{"calls":[[1,"tool","echo",[' + BRACKETS + '],{},1]],"timer":1}',
    "brackets without number": '{"calls":' + DENSE + ',"timer":1}',
    "a value of brackets": '{"value":' + DENSE + "}",
    "a value that is half a character": '{"value":"\\ud800"}',
    "a value that is no number": '{"value":NaN}',
    "a value of 4,000 digits": '{"value":' + "9" * 4000 + "}",
    "an error without a type": '{"error":{"text":"x"}}',
    "an error of megabytes": json.dumps(
        {"error": {"type": "E" * 10**6, "text": "x" * 10**6, "line": -1, "origin": "x" * 10**6}}
    ),
    "an error of half a character": '{"error":{"type":"\\ud800","text":"","line":1,"origin":""}}',
    "an error whose origin is no text": (
        '{"error":{"type":"E","text":"","line":true,"origin":' + "[" * 900 + "]" * 900 + "}}"
    ),
    "memory that lies": '{"value":1,"memory":[1,[[],"[",7],["x","NaN",null],["y","[[",null],3]}',
    "memory of another form": '{"value":1,"memory":"all"}',
}
"""What a guest may say that is not ours, by `wait` or by how its program ends."""

DOORS = {
    "wait": "wit_world.wait(forged)",
    "end": "app = sys.modules['app']\n    app.plan._written = lambda value: forged[1:-1]",
    "program": "sys.modules['app'].plan.run = 7\n    [wit_world.wait(forged) for _ in 'ab']",
}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("lie", FORGED)
async def test_a_forged_message_harms_its_own_plan_at_most(
    lie: str, door: str, sandbox: Sandbox
) -> None:
    tools = Tools()
    forged = f"forged = FORGED.replace('@', '\\\\')\n    memory['before'] = 1\n    {DOORS[door]}"
    text = FORGED[lie].replace("\\", "@")
    if len(text) > 8000:
        forged = forged.replace("FORGED", compressed(text))
    else:
        forged = forged.replace("FORGED", repr(text))
    began = asyncio.get_running_loop().time()
    result = await ran(sandbox, *forged.splitlines()[:1], *unindented(forged), tools=tools)
    assert asyncio.get_running_loop().time() - began < LIMITS.wall_seconds + 2
    assert [name for name, _ in tools.sent if name not in ("math.add", "math.echo")] == []
    assert len(tools.sent) == len(result.calls) <= LIMITS.tool_calls
    json.dumps([result.value, result.printed, result.found], ensure_ascii=False).encode()
    if result.failure is not None:
        assert len(result.failure.message.encode()) < 5000
        assert result.value is None
    if result.memory is not None:
        json.dumps(result.memory.values, ensure_ascii=False, allow_nan=False).encode()
        assert len("".join(result.memory.lost).encode()) < 100_000


def compressed(text: str) -> str:
    """An expression of a plan for a text that is longer than plans may be."""
    import base64
    import zlib

    packed = base64.b85encode(zlib.compress(text.encode(), 9))
    assert len(packed) < 11_000
    unpacked = f"__import__('zlib').decompress(__import__('base64').b85decode({packed!r}))"
    return f"{unpacked}.decode()"


def unindented(text: str) -> list[str]:
    return [line.removeprefix("    ") for line in text.splitlines()[1:]]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_call_that_was_settled_can_not_be_settled_again(sandbox: Sandbox) -> None:
    tools = Tools()
    again = halted(timer=0.01)
    lines = [f"told = [wit_world.wait({halted(call(), timer=1)!r})]",
             f"told += [wit_world.wait({again!r}) for _ in range(3)]",
             f"told += [wit_world.wait({halted(call(2), timer=1)!r})]", "return told"]  # fmt: skip
    result = await ran(sandbox, *lines, tools=tools)
    first, *empty, second = result.value if isinstance(result.value, list) else []
    assert [json.loads(f"{first}"), json.loads(f"{second}")] == [[[1, 3, None]], [[2, 3, None]]]
    assert empty == ["[]"] * 3
    assert len(tools.sent) == len(result.calls) == 2


@pytest.mark.asyncio(loop_scope="module")
async def test_calls_are_counted_by_the_host(sandbox: Sandbox) -> None:
    tools = Tools()
    lines = ["n = 0", "while True:", "    n += 1",
             "    wit_world.wait(json.dumps({'calls': [[n, 'tool', 'add', [1, 2], {}, 1]], "
             "'timer': None}))"]  # fmt: skip
    result = await ran(sandbox, *lines, tools=tools)
    assert result.failure is not None
    assert "more than 5 tool calls" in result.failure.message
    assert len(tools.sent) == len(result.calls) == 5


LEAVES = (
    "import builtins; builtins.len = lambda x: 'mine'",
    "import json; json.dumps = json.loads = lambda *a, **k: 'mine'",
    "sys.modules['app'].plan.run = lambda request: '{\"value\": \"mine\"}'",
    "sys.modules['app'].kept = 'mine'",
    "wit_world.kept = 'mine'",
    "import random; random.seed(1)",
    "sys.setrecursionlimit(50)",
    "import asyncio; asyncio.get_running_loop().call_soon = None",
    "import decimal; decimal.getcontext().prec = 2",
    "os.environ['KEPT'] = 'mine'",
    "import gc; gc.disable(); kept = [0] * 10**6; kept.append(kept)",
    "sys.stdout = sys.stderr = None",
    "import math; del math.sqrt",
    "globals()['kept'] = 'mine'; os._exit(1)",
)

LOOK = (
    "import asyncio, builtins, decimal, gc, math, random",
    "app = sys.modules['app']",
    "return [len('abc'), json.dumps([1]), hasattr(app, 'kept'), hasattr(wit_world, 'kept'),"
    " sys.getrecursionlimit() > 500, decimal.getcontext().prec, [*os.environ], gc.isenabled(),"
    " math.sqrt(4), 'kept' in globals(), asyncio.get_running_loop().call_soon is not None,"
    " sys.stdout is not None]",
)


@pytest.mark.asyncio(loop_scope="module")
async def test_nothing_of_a_plan_is_left_for_the_next(sandbox: Sandbox) -> None:
    fresh = (await ran(sandbox, *LOOK)).value
    assert fresh == [3, "[1]", False, False, True, 28, [], True, 2.0, False, True, True]
    numbers: set[Json] = set()
    for leaving in LEAVES:
        await ran(sandbox, leaving, "return 1")
        assert (await ran(sandbox, *LOOK)).value == fresh, leaving
        drawn = (await ran(sandbox, "import random", "return str(random.random())")).value
        assert isinstance(drawn, str)
        numbers.add(drawn)
    assert len(numbers) == len(LEAVES)


async def test_a_clock_that_strikes_as_a_plan_ends_does_not_end_the_next() -> None:
    limits = SandboxLimits(cpu_seconds=0.25, wall_seconds=5)
    ends: set[str] = set()
    async with Sandbox(limits) as sandbox:
        for step in range(24):
            seconds = 0.236 + step * 0.0008  # on both sides of where the clock strikes
            spin = f"until = time.monotonic() + {seconds}"
            lines = [spin, "while time.monotonic() < until: pass", "return 1"]
            ended = await sandbox.run("import time\n" + solve(*lines), CATALOG, Tools())
            ends.add("value" if ended.failure is None else ended.failure.kind)
            follows = await sandbox.run(solve("return 2"), CATALOG, Tools())
            assert follows.value == 2, (step, follows.failure)
    assert ends <= {"value", "limit"}


PLANS = 120
KILLED_EVERY = 6
SEED = 31


async def test_a_worker_that_is_killed_at_any_moment_loses_its_own_plan_at_most() -> None:
    counted = await survive(PLANS, SEED, KILLED_EVERY)
    assert counted.lost <= PLANS // KILLED_EVERY <= counted.kills


FAKE = """
import os, struct, sys, time
def frame(text, size=None):
    return struct.pack("<I", len(text) if size is None else size) + text
os.write(1, frame(b"W"))
size, = struct.unpack("<I", os.read(0, 4))
while size > 0:
    size -= len(os.read(0, size))
"""

FAKES = {
    "garbage": "os.write(1, b'garbage' * 1000)",
    "a frame that is too long": f"os.write(1, frame(b'', {MESSAGE_BYTES_MAX + 1}))",
    "a frame of four gigabytes": "os.write(1, frame(b'x' * 9000, 2**32 - 1))",
    "half a frame": "os.write(1, frame(b'G{', 9))\ntime.sleep(60)",
    "half a frame and its end": "os.write(1, frame(b'G{', 9))",
    "nothing": "time.sleep(60)",
    "its end": "",
    "an empty frame": "os.write(1, frame(b''))",
    "no text": "os.write(1, frame(b'G\\xff\\xfe'))",
    "another letter": "os.write(1, frame(b'Q{}'))",
    "a long reason": "os.write(1, frame(b'T' + b'x' * 10**6))",
    "an import of a long name": (
        "os.write(1, frame(b'Tunknown import: `wasi:' + b'x' * 10**6 + b'/'))"
    ),
    "prints without end": "while True: os.write(1, frame(b'P' + b'x' * 9000))",
    "empty prints without end": "while True: os.write(1, frame(b'P') * 1000)",
    "a call that was not checked": (
        'os.write(1, frame(b\'G{"calls":[[1,"tool","delete",[],{},1]],"timer":null}\'))'
        "\ntime.sleep(60)"
    ),
}


@pytest.mark.parametrize("fake", FAKES)
async def test_a_worker_in_other_hands_is_a_failure_within_bounds(fake: str) -> None:
    worker = await Worker.started([sys.executable, "-c", FAKE + FAKES[fake]], 0.5)
    session = PlanSession(CATALOG, LIMITS)
    try:
        async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
            state = await session.start(worker, solve("return 1"))
    finally:
        await worker.end()
    if fake.startswith("a call"):
        assert isinstance(state, Waiting)
        assert state.calls == ()
        assert "there is no tool 'delete'" in str(state.settled[1].error)
    else:
        assert isinstance(state, Finished)
        assert state.failure is not None
        assert len(state.failure.message) < 5000
        assert len(session.printed) <= LIMITS.printed_bytes


async def test_a_worker_that_has_died_by_itself_is_cleared_away_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for _ in range(5):
        worker = await Worker.started([sys.executable, "-c", FAKE], 0.5)
        with pytest.raises(WorkerLost):
            await worker.ask("S", "{}", print)
        await worker.end()
    assert caplog.text == ""


@pytest.mark.asyncio(loop_scope="module")
async def test_a_text_full_of_commas_and_brackets_is_no_dense_message(sandbox: Sandbox) -> None:
    result = await ran(sandbox, f"return ',[{{' * {MAX_VALUES} + '\"\\\\'")
    assert result.value == ",[{" * MAX_VALUES + '"\\'
