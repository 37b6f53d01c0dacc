"""What plans can do in the sandbox: the three styles, parallel calls, records, failures."""

import asyncio

import pytest

from core.errors import CallRefused
from core.tools.catalog import ToolCatalog
from core.tools.content import TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.turn import PlanFailure
from core.values import Json, JsonObject
from modules.sandbox import Sandbox, SandboxLimits
from modules.sandbox.calls import PlanCalls
from modules.sandbox.limits import RequestedCall
from tests.modules.sandbox.sandbox_tools import (
    CATALOG,
    TEST_TIMEOUT_SECONDS,
    Tools,
    failed,
    run,
    solve,
    spec,
)


@pytest.mark.parametrize(
    ("plan", "value"),
    [
        (solve("return await tools.add(a=1, b=2)"), 3),
        (solve("return await tools.add(1, b=2)"), 3),
        (solve("return await tools.math.add(1, 2)"), 3),
        (solve("return await tools.web.find(query='x')"), 'web.find: {"query": "x"}'),
        (solve("return await tools.get_page('u')"), 'web.get-page: {"url": "u"}'),
        (solve("return await add(a=1, b=2)"), 3),
        (solve("call = add", "return await call(1, 2)"), 3),
        (solve("call = tools.add", "return await call(1, 2)"), 3),
        ("import json\n" + solve("r = await mcp.call_tool('add', {'input': {'a': 1, 'b': 2}})",
               "return json.loads(r.content[0].text)['result']"), 3),
        (solve("r = await mcp.call_tool('math.add', {'a': 1, 'b': 2})",
               "return r.structured_content['result'], r.is_error, r.content[0].type"),
         [3, False, "text"]),
        (solve("r = await mcp.call_tool(tool_name='add', arguments={'a': 1, 'b': 2})",
               "return r.content[0].text"), '{"result": 3}'),
        (solve("r = await mcp.call_tool('add', a=1, b=2)", "return r.content[0].text"),
         '{"result": 3}'),
        ("def solve():\n    return tools.add(1, 2)", 3),
        ("import asyncio\ndef solve():\n    return asyncio.gather(add(1, 2), tools.add(3, 4))",
         [3, 7]),
        ("def solve():\n    return 'sync'", "sync"),
        ("total = await tools.add(1, 2)\ndef solve():\n    return total", 3),
        ("import asyncio\nasync def main():\n    return await add(1, 2)\n"
         "def solve():\n    return asyncio.run(main())", 3),
        ("import asyncio\nasync def main():\n    return await add(1, 2)\n"
         "def solve():\n    return f'{asyncio.run(main())} {asyncio.run(main())}'", "3 3"),
        ("import asyncio\nasync def main():\n    return await add(1, 2)\n"
         "total = asyncio.run(main())\ndef solve():\n    return total", 3),
        ("import asyncio\ndef solve():\n    loop = asyncio.new_event_loop()\n"
         "    return [loop.run_until_complete(add(1, 2))]", [3]),
        (solve("return sum([await tools.add(i, 1) for i in range(3)])"), 6),
        (solve("return [x async for x in (await tools.add(i, 1) for i in range(3))]"), [1, 2, 3]),
    ],
)  # fmt: skip
async def test_every_style_of_plan_reaches_the_tools(plan: str, value: Json) -> None:
    result = await run(plan)
    assert result.failure is None
    assert result.value == value


async def test_gathered_calls_are_open_at_the_same_time() -> None:
    calls = "tools.meet('a'), meet('b'), tools.math.meet('c')"
    plan = "import asyncio\n" + solve(f"return await asyncio.gather({calls})")
    result = await run(plan, Tools(meeting=3))
    assert result.value == ["a", "b", "c"]
    assert [call.ok for call in result.calls] == [True, True, True]


async def test_a_plan_goes_on_as_soon_as_the_call_it_waits_for_is_done() -> None:
    """`first` can end only after the plan, with the second result in hand, has called again."""
    plan = solve("import asyncio", "first = asyncio.create_task(meet('late'))",
                 "got = await echo('soon')",
                 "await meet(got)", "return [got, await first]")  # fmt: skip
    result = await run(plan, Tools(meeting=2))
    assert result.value == ["soon", "late"]


async def test_calls_are_recorded_in_order_with_bound_arguments_and_results() -> None:
    result = await run(solve("try:", "    await tools.fail('error')", "except RuntimeError:",
                             "    pass", "return await tools.add(1, b=2)"))  # fmt: skip
    failed, added = result.calls
    assert (failed.tool, failed.ok, failed.result) == ("math.fail", False, "the disk is full")
    assert failed.arguments == {"input": {"how": "error"}}
    assert (added.tool, added.ok, added.result) == ("math.add", True, 3)
    assert added.arguments == {"input": {"a": 1, "b": 2}}
    assert 0 <= added.seconds < TEST_TIMEOUT_SECONDS


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("error", "the disk is full"),
        ("refused", "fail() is switched off"),
        ("timeout", "math did not answer in 30 s"),
    ],
)
async def test_a_failed_call_can_be_caught_and_else_fails_the_plan(how: str, message: str) -> None:
    for call in (
        f"tools.fail('{how}')",
        f"fail(how='{how}')",
        f"mcp.call_tool('fail', how='{how}')",
    ):
        caught = await run(solve("try:", f"    await {call}", "except RuntimeError as error:",
                                 "    return str(error)"))  # fmt: skip
        assert caught.value == message
        loose = await run(solve("x = 1", f"await {call}"))
        assert loose.failure == PlanFailure("tool", message, 3, f"await {call}")


async def test_a_bug_in_the_dispatcher_is_not_shown_to_the_plan() -> None:
    with pytest.raises(KeyError, match="a bug in the dispatcher"):
        await run(solve("try:", "    await tools.fail('bug')", "except BaseException:", "    pass"))


async def test_tuples_and_sets_come_back_as_lists_and_keys_as_text() -> None:
    result = await run(solve("return {'t': (1, (2,)), 's': {3, 1, 2}, 4: None, None: 1.5}"))
    assert result.value == {"t": [1, [2]], "s": [1, 2, 3], "4": None, "null": 1.5}


@pytest.mark.parametrize(
    ("argument", "kind"),
    [
        ("b'x'", "bytes"),
        ("add(1, 2)", "was not awaited"),
        ("solve", "a function"),
        ("object()", "an object"),
        ("int", "a type"),
        ("float('nan')", "nan"),
        ("10**5000", "digits"),
    ],
)
async def test_an_argument_that_is_not_json_is_refused_by_name(argument: str, kind: str) -> None:
    tools = Tools()
    failure = await failed(solve(f"await tools.echo(value={argument})"), tools)
    assert failure.kind == "tool"
    assert kind in failure.message
    assert not kind or "argument 'value'" in failure.message
    assert tools.sent == []


async def test_results_pass_whole_even_with_odd_numbers_and_characters() -> None:
    tools = Tools()
    result = await run(
        solve("return await tools.echo(['é\\u2028😀', 1.5e300, 10**400, (1,)])"), tools
    )
    assert result.value == ["é\u2028😀", 1.5e300, 10**400, [1]]


async def test_a_tool_with_the_name_of_a_server_is_the_tool() -> None:
    offered = ToolCatalog([spec("web", ["value"]), spec("find", ["query"], server="web")])
    plan = solve("return [await tools.web('a'), await tools.find('b')]")
    result = await run(plan, Tools(), offered=offered)
    assert [call.tool for call in result.calls] == ["math.web", "web.find"]


async def test_structured_content_alone_reaches_raw_calls_as_text() -> None:
    async def bare(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        return ToolResult((), {"result": 3})

    plan = solve("r = await mcp.call_tool('add', a=1, b=2)", "return r.content[0].text")
    async with Sandbox() as sandbox:
        assert (await sandbox.run(plan, CATALOG, bare)).value == '{"result": 3}'


async def test_what_a_plan_prints_is_kept_apart_from_its_value() -> None:
    result = await run(solve("print('one', 2)", "print('ü', end='')", "return None"))
    assert (result.value, result.printed) == (None, "one 2\nü")


@pytest.mark.parametrize(
    ("plan", "kind", "line", "words"),
    [
        ("x = 1", "syntax", None, "no solve()"),
        ("def f(:\n    pass", "syntax", 1, "SyntaxError"),
        (solve("x = 1", "return x / 0"), "error", 3, "ZeroDivisionError: division by zero"),
        ("def f():\n    return nope\n" + solve("return f()"), "error", 2, "'nope' is not defined"),
        (solve("return await ad(1, 2)"), "error", 2, "did you mean tools.add?"),
        (solve("return await find('x')"), "tool", 2, "web.find or docs.find"),
        (solve("return await tools.add(1)"), "tool", 2, "add() is missing: b"),
        (solve("return await tools.add(a=1, c=2)"), "tool", 2, "no argument 'c'"),
        (solve("return await mcp.call_tool('sum', {})"), "tool", 2, "no tool 'sum'"),
        (solve("return await mcp.call_tool('add', [1])"), "tool", 2, "mcp.call_tool('tool_name'"),
        (solve("return await mcp.call_tool(1)"), "tool", 2, "mcp.call_tool('tool_name'"),
        (solve("raise ValueError('mine')"), "error", 2, "ValueError: mine"),
        (solve("class Mine(Exception):", "    pass", "raise Mine"), "error", 4, "Mine"),
        (solve("import sys", "sys.exit(3)"), "error", 3, "SystemExit: 3"),
        (solve("return next(x for x in [])"), "error", 2, "StopIteration"),
        (solve("return tools"), "error", None, "solve() returned a tool"),
        ("import numpy\n" + solve("return 1"), "unsupported", 1, "standard library only"),
        ("import bz2\n" + solve("return 1"), "unsupported", 1, "call a tool"),
        (solve("return open('/etc/passwd').read()"), "unsupported", 2, "call a tool"),
        (solve("return input('who?')"), "unsupported", 2, "nobody can be asked"),
        ("import socket\n" + solve("return socket.create_connection(('10.0.0.1', 80))"),
         "unsupported", None, "call a tool"),
        ("import subprocess\n" + solve("subprocess.run(['ls'])"), "unsupported", 3, "processes"),
        ("import os\n" + solve("os._exit(1)"), "unsupported", None, "call a tool"),
        ("import asyncio\n" + solve("async with asyncio.TaskGroup() as group:",
         "    group.create_task(tools.fail('error'))"), "tool", 4, "the disk is full"),
        (solve("await (lambda: tools.fail('error'))()"), "tool", 2, "the disk is full"),
        (solve("return sum(await add(i, 1) for i in [1])"), "error", 2, "write [await … for …]"),
    ],
)  # fmt: skip
async def test_every_failure_has_its_kind_its_line_and_advice(
    plan: str, kind: str, line: int | None, words: str
) -> None:
    failure = await failed(plan)
    assert (failure.kind, failure.line) == (kind, line)
    assert words in failure.message
    if line is not None:
        assert failure.line_text == plan.split("\n")[line - 1].strip()


async def test_plans_leave_nothing_behind_for_the_next() -> None:
    async with Sandbox() as sandbox:
        await sandbox.run("secret = 1\ndef solve():\n    return 1", CATALOG, Tools())
        result = await sandbox.run(solve("return secret"), CATALOG, Tools())
    assert result.failure is not None
    assert "'secret' is not defined" in result.failure.message


async def test_a_call_that_the_plan_did_not_wait_for_is_ended_and_recorded() -> None:
    tools = Tools(meeting=2)
    plan = "import asyncio\n" + solve("try:",
        "    await asyncio.gather(tools.meet('alone'), tools.fail('error'))",
        "except RuntimeError as error:", "    return str(error)")  # fmt: skip
    result = await run(plan, tools)
    assert result.value == "the disk is full"
    assert tools.cancelled == ["math.meet"]
    assert [(c.tool, c.ok) for c in result.calls] == [("math.meet", False), ("math.fail", False)]


async def test_many_plans_at_once_each_get_their_own_results() -> None:
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox() as sandbox:
        plans = [solve(f"return await tools.add({i}, 1)") for i in range(12)]
        results = await asyncio.gather(*(sandbox.run(p, CATALOG, Tools()) for p in plans))
    assert [result.value for result in results] == list(range(1, 13))


MODULES = (
    *("abc", "array", "ast", "base64", "bisect", "calendar", "collections.abc", "colorsys"),
    *("configparser", "contextlib", "contextvars", "copy", "csv", "dataclasses", "datetime"),
    *("decimal", "difflib", "email.message", "enum", "fnmatch", "fractions", "functools", "gzip"),
    *("hashlib", "heapq", "hmac", "html.parser", "inspect", "io", "ipaddress", "itertools", "json"),
    *("logging", "math", "operator", "pathlib", "pprint", "queue", "random", "re", "secrets"),
    *("shlex", "statistics", "string", "struct", "tempfile", "textwrap", "time", "timeit"),
    *("traceback", "types", "typing", "unicodedata", "unittest.mock", "urllib.parse", "uuid"),
    *("xml.etree.ElementTree", "zipfile", "zlib", "zoneinfo"),
)


async def test_the_standard_library_is_there_as_far_as_a_plan_can_use_it() -> None:
    result = await run("".join(f"import {name}\n" for name in MODULES) + solve("return 'all'"))
    assert (result.failure, result.value) == (None, "all")


async def test_sleeping_takes_as_long_as_it_says_and_no_computing_time() -> None:
    plan = "import asyncio, time\n" + solve(
        "began = time.monotonic()",
        "await asyncio.sleep(0.15)",
        "middle = time.monotonic()",
        "time.sleep(0.15)",
        "return [middle - began >= 0.15, time.monotonic() - middle >= 0.15]",
    )
    result = await run(plan, limits=SandboxLimits(cpu_seconds=0.2))
    assert (result.failure, result.value) == (None, [True, True])


@pytest.mark.parametrize(
    "call",
    [
        "mcp.call_tool('add', {'a': 1}, b=2)",
        "mcp.call_tool('add', arguments={'a': 1}, b=2)",
        "mcp.call_tool('add', {'a': 1}, arguments={'b': 2})",
    ],
)
async def test_a_raw_call_of_which_a_part_would_be_lost_is_refused(call: str) -> None:
    result = await run(solve(f"return (await {call}).content[0].text"))
    assert result.failure is not None
    assert result.failure.message == "write mcp.call_tool('tool_name', {'argument': value})"
    assert result.calls == ()


async def test_a_raw_call_may_give_an_argument_called_name() -> None:
    named = ToolCatalog([spec("greet", ["name"], wrap=False)])
    sent: list[JsonObject] = []

    async def call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        sent.append(arguments)
        return ToolResult((TextBlock("hello"),))

    plan = solve(
        "r = await mcp.call_tool(tool_name='greet', name='Ann')", "return r.content[0].text"
    )
    result = await run(plan, call, offered=named)
    assert (result.value, sent) == ("hello", [{"name": "Ann"}])


async def test_a_text_that_comes_with_the_request_is_a_variable_of_the_plan() -> None:
    text = "a\n" * 500_000
    plan = solve("return [len(stdin), stdin.count('\\n'), stdin[:3]]")
    async with Sandbox() as sandbox:
        result = await sandbox.run(plan, CATALOG, Tools(), {"stdin": text})
        assert (result.failure, result.value) == (None, [1_000_000, 500_000, "a\na"])
        result = await sandbox.run(solve("return stdin"), CATALOG, Tools())
    assert result.failure is not None, "the next plan has none of it"
    assert "stdin" in result.failure.message


async def test_a_call_that_a_person_refuses_ends_no_plan_before_those_allowed_beside_it() -> None:
    started = asyncio.Event()

    async def call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        if arguments["a"] == 1:
            raise CallRefused("the user did not allow this call", by_person=True)
        await started.wait()
        return ToolResult((TextBlock("sent"),))

    calls, add = PlanCalls(call), CATALOG.resolve("add")
    calls.send(RequestedCall(number, add, {"a": number}, raw=False) for number in range(3))
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        ended = asyncio.create_task(calls.any_of([0, 1, 2]))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not ended.done(), "the refused one is told last"
        started.set()
        assert {*await ended} <= {0, 2}
        assert {*await calls.any_of([1, 2])} == {2}
        assert "did not allow" in str((await calls.any_of([1]))[1].error)
        await calls.end()
    assert [each.ok for each in calls.finished()] == [True, False, True]
