"""Plans as models write them, and random programs: the sandbox does with them what CPython does."""

import asyncio
import inspect
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import cast

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings

from core.tools.catalog import ToolCatalog
from core.tools.content import TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.sandbox import Sandbox, SandboxLimits, SandboxResult
from tests.modules.sandbox.plans.fake_tools import SERVERS
from tests.modules.sandbox.plans.random_programs import programs
from tests.modules.sandbox.plans.reference import Interpreter, Outcome, plans, recorded

PLANS = plans()
EXPECTED = recorded()["plans"]

LIMITED: dict[str, tuple[str, Outcome]] = {
    "bz2_and_lzma": (
        "the WebAssembly build of CPython has no bz2 and lzma",
        {"error": "ModuleNotFoundError", "line": 1},
    ),
    "sums_in_threads": (
        "WebAssembly has no threads",
        {"error": "RuntimeError", "line": 10},
    ),
    "temporary_file": (
        "a plan has no files",
        {"error": "FileNotFoundError", "line": 5},
    ),
    "group_from_task_group": (
        "a group of errors is told as its first one, which says what is wrong, in its own line",
        {"error": "RuntimeError", "line": 6},
    ),
    "print_to_streams": (
        "what goes to sys.stderr is told with what is printed, as there is no other place",
        {
            "value": True,
            "printed": "to the screen\nto the error stream\nwritten\n\na-b|\n",
        },
    ),
}
"""What is another way here, why, and how."""

OTHER_VALUES: dict[str, Json] = {
    "a_date": "2024-03-01",
    "a_datetime_with_zone": "2024-05-17 14:30:00+02:00",
    "a_timedelta": "136 days, 12:00:00",
    "a_decimal": "25.10",
    "a_set_of_customers": ["Ada", "Grace", "Linus"],
    "a_frozenset": [2, 3],
    "a_tuple": [4, 42, 18.0],
    "a_dataclass": {"product": "mouse", "price": 19.5, "available": True},
    "a_fraction": "11/12",
    "a_complex_number": "(5+1j)",
    "numbers_as_keys": {"1": 1, "2": 4, "3": 9},
    "an_enum_member": 2,
    "a_named_tuple": [1, 2],
    "dates_within_a_dict": {"Ada": "2024-03-05", "Grace": "2024-03-07"},
    "a_range": [0, 3, 6, 9],
}
"""What becomes of values that JSON lacks."""

REFUSED = {"bytes_of_text": "bytes (decode them"}
"""Values that have no place in JSON, and what is said of them."""

JSON_TYPES: dict[object, str] = {str: "string", float: "number"}

FUNCTIONS = {
    f"{server}.{tool.__name__}": cast("Callable[..., Awaitable[Json]]", tool)
    for server, tools in SERVERS.items()
    for tool in tools
}

LIMITS = SandboxLimits(tool_calls=50)


def described(name: str) -> ToolSpec:
    """The tool that a function of the corpus is, with a schema that its signature tells."""
    server, _, tool = name.partition(".")
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    properties: JsonObject = {
        key: {"type": JSON_TYPES[parameter.annotation]} for key, parameter in parameters.items()
    }
    schema: JsonObject = {"type": "object", "properties": properties, "required": [*parameters]}
    return ToolSpec(server, tool, f"{tool}.", schema)


CATALOG = ToolCatalog(map(described, FUNCTIONS))


async def call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
    """What the function gives."""
    try:
        value = await FUNCTIONS[tool.qualified_name](**arguments)
    except RuntimeError as error:
        return ToolResult((TextBlock(str(error)),), is_error=True)
    return ToolResult((TextBlock(json.dumps(value)),), {"result": value})


def outcome(ran: SandboxResult) -> Outcome:
    """What came of a plan, told as the reference tells it."""
    told: Outcome = {}
    if ran.failure is None:
        told["value"] = ran.value
    else:
        found = re.match(r"(\w+)(: |$)", ran.failure.message)
        named = found[1] if found else ran.failure.message
        told = {
            "error": "RuntimeError" if ran.failure.kind == "tool" else named,
            "line": ran.failure.line,
        }
    if ran.printed:
        told["printed"] = ran.printed
    return told


@pytest_asyncio.fixture(
    loop_scope="module", scope="module", params=[True, False], ids=["both walls", "one wall"]
)
async def box(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    async with Sandbox(LIMITS, second_wall=bool(request.param)) as sandbox:
        yield sandbox


KINDS = sorted({plan.kind for plan in PLANS} - {"other_values"})


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("kind", KINDS)
async def test_each_plan_ends_as_in_cpython_or_as_its_limit_says(kind: str, box: Sandbox) -> None:
    differing: dict[str, tuple[Outcome, Outcome]] = {}
    for plan in PLANS:
        if plan.kind == kind:
            _, expected = LIMITED.get(plan.name, ("", EXPECTED[plan.name]))
            found = outcome(await box.run(plan.text, CATALOG, call))
            if found != expected:
                differing[plan.name] = found, expected
    assert differing == {}


@pytest.mark.asyncio(loop_scope="module")
async def test_values_that_json_lacks_leave_as_what_a_reader_knows(box: Sandbox) -> None:
    texts = {plan.name: plan.text for plan in PLANS if plan.kind == "other_values"}
    nan = await box.run(texts.pop("not_a_number"), CATALOG, call)
    assert (nan.failure, str(nan.value)) == (None, "nan")
    assert texts.keys() == OTHER_VALUES.keys() | REFUSED.keys()
    for name, value in OTHER_VALUES.items():
        ran = await box.run(texts[name], CATALOG, call)
        assert (ran.failure, ran.value) == (None, value), name
    for name, words in REFUSED.items():
        ran = await box.run(texts[name], CATALOG, call)
        assert ran.failure is not None
        assert words in ran.failure.message


def test_every_limit_is_one_and_few_plans_that_cpython_answers_meet_one() -> None:
    assert {name for name, (_, found) in LIMITED.items() if found == EXPECTED[name]} == set()
    answered = [plan.name for plan in PLANS if "error" not in EXPECTED[plan.name]]
    refused = [name for name in answered if "error" in LIMITED.get(name, ("", {}))[1]]
    assert len(answered) >= 150
    assert len(refused) <= 0.03 * len(answered)


def test_random_programs_end_as_outside() -> None:
    async def compare(box: Sandbox, text: str, expected: Outcome) -> None:
        found = outcome(await box.run(text, CATALOG, call))
        found.pop("line", None)
        assert found == {key: value for key, value in expected.items() if key != "line"}

    with asyncio.Runner() as runner, Interpreter() as interpreter:
        box = runner.run(Sandbox(LIMITS).__aenter__())

        @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(programs())
        def passes(text: str) -> None:
            runner.run(compare(box, text, interpreter.run(text)))

        try:
            passes()
        finally:
            runner.run(box.__aexit__(None, None, None))
