"""What becomes of a plan's values where they leave it: as its result, for a tool, in memory."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from core.values import Json, JsonObject
from modules.sandbox import Sandbox
from tests.modules.sandbox.sandbox_tools import CATALOG, TEST_TIMEOUT_SECONDS, Tools, solve

IMPORTS = """\
import collections, dataclasses, datetime, decimal, enum, fractions, itertools, types, uuid
from pathlib import PurePosixPath

class Color(enum.Enum):
    RED = "red"

class Level(enum.IntEnum):
    HIGH = 3

@dataclasses.dataclass
class Row:
    name: str
    when: datetime.date
    parts: list

Point = collections.namedtuple("Point", "x y")

class Told:
    def __str__(self):
        return "told"

class Silent:
    pass

class Broken:
    def __str__(self):
        raise ValueError("broken")

class Mine(dict):
    pass

class Listed(list):
    pass

"""

AS_TEXT: dict[str, Json] = {
    "datetime.date(2024, 3, 1)": "2024-03-01",
    "datetime.time(7, 5)": "07:05:00",
    "datetime.timedelta(days=1, hours=2)": "1 day, 2:00:00",
    "fractions.Fraction(1, 3)": "1/3",
    "2 + 3j": "(2+3j)",
    "Color.RED": "red",
    "Level.HIGH": 3,
    "Point(1, Point(2, 3))": [1, [2, 3]],
    "Row('a', datetime.date(2024, 3, 1), [decimal.Decimal('2.5')][:0])": {
        "name": "a",
        "when": "2024-03-01",
        "parts": [],
    },
    "Told()": "told",
    "[Told(), {'x': Told()}]": ["told", {"x": "told"}],
    "Mine(a=1)": {"a": 1},
    "Listed([1, 2])": [1, 2],
    "{3, 1, 2}": [1, 2, 3],
    "{'b', 'a', 2}": [2, "a", "b"],
    "frozenset({(2, 1), (1, 2)})": [[1, 2], [2, 1]],
    "range(3)": [0, 1, 2],
    "(n * n for n in range(3))": [0, 1, 4],
    "map(str, [1, 2])": ["1", "2"],
    "{'a': 1}.keys()": ["a"],
    "collections.deque([1, 2])": [1, 2],
    "collections.Counter('aab')": {"a": 2, "b": 1},
    "collections.defaultdict(list, a=[1])": {"a": [1]},
    "uuid.UUID(int=1)": "00000000-0000-0000-0000-000000000001",
    "PurePosixPath('a') / 'b'": "a/b",
    "ValueError('mine')": "mine",
    "{1: 'a', None: 'b', True and 2.5: 'c'}": {"1": "a", "null": "b", "2.5": "c"},
    "'half \\ud800 pair'": "half ? pair",
    "-0.0": -0.0,
    "10**400": 10**400,
}
"""Values that JSON lacks, or holds in a form of its own, and what a reader gets for each."""

IN_ITS_OWN_WAY: dict[str, tuple[Json, Json]] = {
    "decimal.Decimal('2.50')": ("2.50", 2.5),
    "decimal.Decimal('3.00')": ("3.00", 3),
    "[decimal.Decimal('0.1')]": (["0.1"], [0.1]),
    "datetime.datetime(2024, 3, 1, 14, 30)": ("2024-03-01 14:30:00", "2024-03-01T14:30:00"),
}
"""What is one thing to a reader and another to a tool."""

REFUSED = {
    "b'x'": "bytes (decode them, or write them as base64)",
    "[bytearray(3)]": "bytes (decode them",
    "solve": "a function",
    "[lambda: 1]": "a function",
    "len": "a builtin_function_or_method",
    "int": "a type",
    "Silent()": "an object of class Silent",
    "Silent": "a type",
    "object()": "an object",
    "types": "a module",
    "tools.add": "a tool",
    "tools": "a tool",
    "[add(1, 2)]": "a call that was not awaited",
    "{(1, 2): 3}": "a dict whose keys must be",
    "[x := [], x.append(x), x][2]": "a value in itself",
}
"""What stands for nothing in JSON, and how it is named."""


@pytest_asyncio.fixture(
    loop_scope="module", scope="module", params=[True, False], ids=["both walls", "one wall"]
)
async def box(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    async with Sandbox(second_wall=bool(request.param)) as sandbox:
        yield sandbox


async def sent(box: Sandbox, value: str) -> tuple[Json, str]:
    """What a tool is given for a value, and what is said where it is given none."""
    tools = Tools()
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        ran = await box.run(IMPORTS + solve(f"await tools.echo({value})"), CATALOG, tools)
    if ran.failure is not None:
        assert (ran.failure.kind, tools.sent) == ("tool", [])
        return None, ran.failure.message
    ((_, arguments),) = tools.sent
    given = arguments["input"]
    assert isinstance(given, dict)
    return given["value"], ""


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("value", AS_TEXT)
async def test_a_value_that_json_lacks_is_to_readers_and_tools_what_stands_for_it(
    value: str, box: Sandbox
) -> None:
    ran = await box.run(IMPORTS + solve(f"return {value}"), CATALOG, Tools())
    assert (ran.failure, repr(ran.value)) == (None, repr(AS_TEXT[value]))
    assert await sent(box, value) == (AS_TEXT[value], "")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("value", IN_ITS_OWN_WAY)
async def test_a_decimal_is_a_number_and_a_moment_a_standard_text_to_a_tool(
    value: str, box: Sandbox
) -> None:
    to_reader, to_tool = IN_ITS_OWN_WAY[value]
    ran = await box.run(IMPORTS + solve(f"return {value}"), CATALOG, Tools())
    assert (ran.failure, ran.value) == (None, to_reader)
    assert await sent(box, value) == (to_tool, "")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("value", REFUSED)
async def test_what_stands_for_nothing_in_json_is_named(value: str, box: Sandbox) -> None:
    ran = await box.run(IMPORTS + solve(f"return {value}"), CATALOG, Tools())
    assert ran.failure is not None
    assert f"solve() returned {REFUSED[value]}" in ran.failure.message
    _, told = await sent(box, value)
    assert f"echo() argument '1' is {REFUSED[value]}" in told


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("value", ["float('nan')", "[float('inf')]", "decimal.Decimal('NaN')"])
async def test_no_tool_is_given_a_number_that_json_lacks(value: str, box: Sandbox) -> None:
    _, told = await sent(box, value)
    assert "argument 'value' holds the number" in told


@pytest.mark.asyncio(loop_scope="module")
async def test_an_infinite_result_is_a_number_still(box: Sandbox) -> None:
    ran = await box.run(solve("return [float('nan'), -float('inf')]"), CATALOG, Tools())
    assert (ran.failure, str(ran.value)) == (None, "[nan, -inf]")


@pytest.mark.asyncio(loop_scope="module")
async def test_a_value_that_fails_to_tell_itself_is_an_error_of_the_plan(box: Sandbox) -> None:
    ran = await box.run(IMPORTS + solve("return Broken()"), CATALOG, Tools())
    assert ran.failure is not None
    assert (ran.failure.kind, "broken" in ran.failure.message) == ("error", True)


texts = st.text(st.characters(codec="utf-8"), max_size=30)
json_values: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(texts, inner, max_size=6),
    max_leaves=20,
)


def test_json_comes_and_goes_unchanged_by_tools_arguments_memory_and_results() -> None:
    plan = solve(
        "given = memory['given']",
        "back = await tools.echo(given)",
        "memory['kept'] = back",
        "raw = await mcp.call_tool('echo', {'value': back})",
        "return [raw.structured_content['result'], given == back]",
    )

    async def pass_round(box: Sandbox, value: Json) -> None:
        tools = Tools()
        ran = await box.run(plan, CATALOG, tools, memory={"given": value})
        assert ran.failure is None
        assert ran.memory is not None
        sent: list[JsonObject] = [arguments for _, arguments in tools.sent]
        as_text = json.dumps(value)
        assert json.dumps(ran.value) == f"[{as_text}, true]"
        assert [json.dumps(arguments["input"]) for arguments in sent] == [
            f'{{"value": {as_text}}}'
        ] * 2
        assert json.dumps(ran.memory.values["kept"]) == as_text

    with asyncio.Runner() as runner:
        box = runner.run(Sandbox().__aenter__())

        @settings(max_examples=60, deadline=None)
        @given(json_values)
        def passes(value: Json) -> None:
            runner.run(pass_round(box, value))

        try:
            passes()
        finally:
            runner.run(box.__aexit__(None, None, None))
