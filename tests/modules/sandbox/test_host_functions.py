"""What a plan may call: names that mean exactly one offered tool, arguments that fit its schema."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from core.errors import CallRefused
from core.tools.catalog import ToolCatalog
from core.tools.content import TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.sandbox import Sandbox, SandboxLimits
from modules.sandbox.calls import PlanCalls
from modules.sandbox.host_functions import (
    MAX_PROPOSALS,
    TOOLS_NAMED,
    HostFunctions,
)
from modules.sandbox.limits import RequestedCall
from tests.modules.sandbox.sandbox_tools import (
    TEST_TIMEOUT_SECONDS,
    Answers,
    Tools,
    answer,
    solve,
    spec,
)


def typed(name: str, server: str, **kinds: str) -> ToolSpec:
    """A tool whose parameters are all required and of one type of JSON Schema each."""
    properties: JsonObject = {parameter: {"type": kind} for parameter, kind in kinds.items()}
    return ToolSpec(
        server,
        name,
        f"{name}.",
        {"type": "object", "properties": properties, "required": [*kinds]},
    )


TOOLS = ToolCatalog(
    [
        typed("add", "math", a="number", b="number"),
        typed("web", "math", x="number"),
        typed("find", "web", query="string"),
        typed("find", "docs", query="string"),
        typed("get-page", "web", url="string"),
        typed("größe", "web", url="string"),
    ]
)
OFFERED = TOOLS.offering([tool for tool in TOOLS if tool.name != "get-page"])
BYTES = 1000


def admitted(name: str, *args: object, **kwargs: object) -> tuple[str, JsonObject]:
    """The tool and the arguments that a call through `mcp.call_tool` leads to."""
    host = HostFunctions(OFFERED, BYTES)
    tool, arguments = host.admit("raw", "mcp.call_tool", [name, *args], kwargs)
    return tool.qualified_name, arguments


def refusal(name: str, *args: object, **kwargs: object) -> str:
    with pytest.raises(CallRefused) as caught:
        admitted(name, *args, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "tool"),
    [("add", "math.add"), ("math.add", "math.add"), ("web", "math.web"), ("math.web", "math.web"),
     ("web.find", "web.find"), ("docs.find", "docs.find")],
)  # fmt: skip
def test_an_exact_name_means_its_tool(name: str, tool: str) -> None:
    arguments: JsonObject = {"a": 1, "b": 2} if tool == "math.add" else {"x": 1}
    arguments = {"query": "q"} if "find" in tool else arguments
    assert admitted(name, arguments) == (tool, arguments)


CONFUSED = {
    "another case": "ADD",
    "capitalised": "Add",
    "full width": "\uff41\uff44\uff44",
    "a cyrillic letter": "\u0430dd",
    "accents": "\u00e0dd",
    "combining accents": "a\u0300dd",
    "bold letters": "\U0001d41a\U0001d41d\U0001d41d",
    "nobody sees it": "a\u200bdd",
    "written backwards": "\u202eadd",
    "a space behind": "add ",
    "a space in front": "\u00a0add",
    "a line end": "add\n",
    "a dot in front": ".add",
    "a dot behind": "add.",
    "two dots": "math..add",
    "a colon": "math:add",
    "a slash": "math/add",
    "as others call it": "mcp__math__add",
    "the namespace": "tools.add",
    "a server that has none": "docs.add",
    "a server of another case": "Math.add",
    "a null byte": "add\0",
    "a call": "add()",
}


@pytest.mark.parametrize("name", CONFUSED.values(), ids=CONFUSED)
def test_a_name_that_looks_like_a_tool_is_refused_with_the_tool_it_looks_like(name: str) -> None:
    message = refusal(name, {"a": 1, "b": 2})
    assert message.startswith("there is no tool ")
    assert "; did you mean " in message
    assert "add" in message.partition("did you mean ")[2]
    assert message.isascii()
    assert message.isprintable()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("find", "'find' is offered by several servers; say web.find or docs.find"),
        ("get-page", "'get_page' exists but was not offered to this plan"),
        ("web.get_page", "'get_page' exists but was not offered to this plan"),
        ("math", "; on offer: add, math.web"),
        ("docs.web", "did you mean "),
        ("__call_tool__", "; on offer: add, math.web, web.find, docs.find, größe"),
        ("", "there is no tool ''; on offer: add, math.web"),
        ("x" * 301, "no tool has a name of 301 characters"),
    ],
)
def test_a_name_of_no_or_several_or_a_hidden_tool_is_refused_with_what_to_do(
    name: str, told: str
) -> None:
    assert told in refusal(name, {})


def test_of_many_tools_only_some_are_named_and_of_none_it_is_said() -> None:
    many = HostFunctions(ToolCatalog(spec(f"tool{n}", "a") for n in range(20)), BYTES)
    with pytest.raises(CallRefused, match=rf"tool{TOOLS_NAMED - 1} and 12 more$"):
        many.admit("raw", "mcp.call_tool", ["zzz"], {})
    with pytest.raises(CallRefused, match=r"'zzz' \(no tools are on offer\)$"):
        HostFunctions(ToolCatalog(()), BYTES).admit("tool", "zzz", [], {})


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ADD", "; did you mean tools.add?"),
        ("\u0430dd", "; did you mean tools.add?"),
        ("web_find", "; did you mean tools.web.find?"),
        ("solve", ""),
    ],
)
def test_a_bare_name_of_no_tool_has_a_hint(name: str, hint: str) -> None:
    assert HostFunctions(OFFERED, BYTES).hint(name) == hint


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"a": "five", "b": 2}, "add(): argument 'a' must be a number, not the text 'five'"),
        ({"a": 1, "b": True}, "add(): argument 'b' must be a number, not True"),
        ({"a": float("nan"), "b": 1}, "add() argument 'a' holds the number nan, which JSON lacks"),
        ({"a": 1, "b": [float("-inf")]}, "'b' holds the number -inf, which JSON lacks"),
        ({"a": {1}, "b": 1}, "add() argument 'a' is a set; give text, numbers"),
        ({"a": b"1", "b": 1}, "add() argument 'a' is a bytes"),
        ({"a": 10**5000, "b": 1}, "can't be sent: it holds an integer of more than 4300 digits"),
        ({"a": "x" * BYTES, "b": 1}, "can't be sent: it is larger than 1,000 bytes"),
        ({"a": 1}, "add() is missing: b"),
        ({"a": 1, "b": 2, "c": 3}, "add() has no argument 'c'; its arguments are: a, b"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused_by_name(
    arguments: dict[str, object], told: str
) -> None:
    assert told in refusal("add", arguments)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox() as box:
        yield box


CALLS = ["tools.add('five', 2)", "add('five', 2)", "tools.add(a='five', b=2)",
         "mcp.call_tool('add', {'a': 'five', 'b': 2})", "mcp.call_tool('math.add', a='five', b=2)",
         "tools.math.add('five', 2)"]  # fmt: skip


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("call", CALLS)
async def test_every_way_to_a_tool_meets_the_same_check(sandbox: Sandbox, call: str) -> None:
    sent = Tools()
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        result = await sandbox.run(solve("x = 1", f"return await {call}"), OFFERED, sent)
    assert result.failure is not None
    assert (result.failure.kind, result.failure.line) == ("tool", 3)
    assert "argument 'a' must be a number, not the text 'five'" in result.failure.message
    assert sent.sent == []
    assert result.calls == ()


@pytest.mark.asyncio(loop_scope="module")
async def test_a_plan_may_handle_a_refusal_and_call_again(sandbox: Sandbox) -> None:
    plan = solve(
        "try:",
        "    return await tools.add('five', 2)",
        "except RuntimeError:",
        "    return await tools.add('5', 2)",
    )
    sent = Tools()
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        result = await sandbox.run(plan, OFFERED, sent)
    assert result.value == 7
    assert sent.sent == [("math.add", {"a": 5, "b": 2})]


@pytest.mark.asyncio(loop_scope="module")
async def test_full_width_letters_in_a_plan_are_those_that_python_reads(sandbox: Sandbox) -> None:
    """PEP 3131: identifiers are compared in the form NFKC; the text of a string is not."""
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        plan = solve("return await tools.\uff41\uff44\uff44(1, 2)")
        assert (await sandbox.run(plan, OFFERED, Tools())).value == 3


HUGE: Json = 10**4400


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("value", "told"),
    [
        (
            float("nan"),
            "the tool's result can't be used: it holds the number nan, which JSON lacks",
        ),
        ([1, {"a": float("inf")}], "it holds the number inf, which JSON lacks"),
        (b"x", "can't be used: it holds a bytes"),
        ({"a": object}, "can't be used: it holds a type"),
        ({(1, 2): 3}, "can't be used: it holds a dict with a tuple as key"),
    ],
)
async def test_a_result_that_is_not_json_is_an_error_of_its_call(
    sandbox: Sandbox, value: Json, told: str
) -> None:
    """The dispatcher gives only JSON; whatever else came this way would end here."""
    plan = solve("return await tools.add(1, 2)")
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        result = await sandbox.run(plan, OFFERED, Answers(ToolResult((), {"result": value})))
    (call,) = result.calls
    assert (call.ok, call.result) == (False, result.failure.message if result.failure else "")
    assert told in str(call.result)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_number_too_long_for_text_is_an_error_of_its_call(sandbox: Sandbox) -> None:
    plan = solve("return await tools.add(1, 2)")
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        result = await sandbox.run(plan, OFFERED, Answers(ToolResult((), {"result": HUGE})))
    assert "it holds an integer of more than 4300 digits" in str(result.calls[0].result)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("text", "value"),
    [('{"a": 1, "a": 2}', {"a": 2}), ('{"a": -0.0}', {"a": -0.0}),
     ('{"\\ud800": "\\udfff"}', {"?": "?"}),
     ('{"a": 1e400', '{"a": 1e400'), ('{"__class__": 1}', {"__class__": 1})],
)  # fmt: skip
async def test_odd_json_arrives_as_plain_values(sandbox: Sandbox, text: str, value: Json) -> None:
    plan = solve("found = await tools.add(1, 2)", "return [repr(found), found]")
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        result = await sandbox.run(plan, OFFERED, Answers(ToolResult((TextBlock(text),))))
    assert result.failure is None
    assert result.value == [repr(value), value]


async def test_calls_beyond_those_at_once_wait_their_turn() -> None:
    """Never more than two are open, and none is recorded before it is sent."""
    open_calls: list[str] = []
    most = 0

    async def call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        nonlocal most
        open_calls.append(str(arguments["x"]))
        most = max(most, len(open_calls))
        await asyncio.sleep(0)
        open_calls.remove(str(arguments["x"]))
        return answer(arguments["x"])

    plan = "import asyncio\n" + solve(
        "return await asyncio.gather(*[tools.math.web(i) for i in range(5)])"
    )
    limits = SandboxLimits(tool_calls_at_once=2)
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox(limits) as box:
        result = await box.run(plan, OFFERED, call)
    assert result.value == [0, 1, 2, 3, 4]
    assert [call.arguments["x"] for call in result.calls] == [0, 1, 2, 3, 4]
    assert most == 2


async def test_a_call_whose_turn_never_came_is_not_recorded() -> None:
    tools = Tools(meeting=2)  # the call that is sent waits for a second one
    meet = spec("meet", ["who"])
    calls = PlanCalls(tools, SandboxLimits(tool_calls_at_once=1))
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        calls.send(RequestedCall(n, meet, {"input": {"who": n}}, raw=False) for n in range(2))
        await tools.started.wait()
        assert calls.finished() == ()
        await calls.end()
    assert tools.cancelled == ["math.meet"]
    (call,) = calls.finished()
    assert (call.arguments, call.ok) == ({"input": {"who": 0}}, False)


def test_the_nearest_names_are_looked_for_a_few_times_a_plan() -> None:
    host = HostFunctions(TOOLS, 1000)
    told: list[str] = []
    for _ in range(MAX_PROPOSALS + 1):
        with pytest.raises(CallRefused) as refused:
            host.admit("raw", "mcp.call_tool", ["ad"], {})
        told.append(str(refused.value))
    assert all("did you mean add" in text for text in told[:-1])
    assert "on offer: add" in told[-1]
    assert host.hint("ad") == ""
