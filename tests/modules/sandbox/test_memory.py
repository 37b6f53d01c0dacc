"""Working memory at the sandbox's border: what a plan leaves there, and what it can't."""

import asyncio
import json
import time
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.run.working_memory import MEMORY_BYTES, NAME_CHARACTERS, NAMES_MAX, WorkingMemory
from core.values import Json, JsonObject
from modules.sandbox import Sandbox, SandboxLimits
from modules.sandbox.memory import UNREAD, left_memory
from modules.sandbox.values import MAX_DEPTH_LEVELS, NotJson
from tests.modules.sandbox.sandbox_tools import CATALOG, Tools, solve

QUICK = SandboxLimits(cpu_seconds=0.5, wall_seconds=2)
OLD: JsonObject = {"old": 7}

plain_text = st.text(st.characters(codec="utf-8"), max_size=NAME_CHARACTERS)
plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | plain_text,
    lambda inner: st.lists(inner) | st.dictionaries(plain_text, inner),
    max_leaves=20,
)


@pytest.fixture(params=[True, False], ids=["both walls", "one wall"])
async def box(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    async with Sandbox(QUICK, second_wall=bool(request.param)) as sandbox:
        yield sandbox


async def left(box: Sandbox, plan: str, memory: JsonObject = OLD) -> WorkingMemory:
    """What is in memory when a plan that names it has ended."""
    result = await box.run(plan, CATALOG, Tools(), memory=memory)
    assert result.memory is not None, result.failure
    return result.memory


def as_text(value: Json) -> str:
    """Tells 1, 1.0 and true apart."""
    return json.dumps(value, sort_keys=True)


def test_any_json_value_passes_from_plan_to_plan() -> None:
    async def pass_on(box: Sandbox, values: JsonObject) -> None:
        put = "for name, value in memory.pop('in').items(): memory[name] = value"
        first = await left(box, solve(put), {"in": values})
        assert (first.lost, as_text(first.values)) == ((), as_text(values))
        plan = solve("return memory")
        second = await box.run(plan, CATALOG, Tools(), memory=first.values)
        assert as_text(second.value) == as_text(values)

    with asyncio.Runner() as runner:
        box = runner.run(Sandbox().__aenter__())

        @settings(max_examples=60, deadline=None)
        @given(st.dictionaries(plain_text, plain_values, max_size=5))
        def passes(values: JsonObject) -> None:
            runner.run(pass_on(box, values))

        try:
            passes()
        finally:
            runner.run(box.__aexit__(None, None, None))


async def test_what_a_plan_changes_in_memory_stays_changed(box: Sandbox) -> None:
    plan = solve("memory['rows'].append(3)", "memory.pop('old')", "memory['n'] = (1, {2: 'x'})")
    found = await left(box, plan, {"rows": [1, 2], **OLD})
    assert found == WorkingMemory({"rows": [1, 2, 3], "n": [1, {"2": "x"}]})


async def test_a_plan_that_does_not_name_it_is_spared_the_reading(box: Sandbox) -> None:
    assert (await box.run(solve("return 1"), CATALOG, Tools(), memory=OLD)).memory is None


@pytest.mark.parametrize(
    "lines",
    [
        ("raise ValueError('x')",),
        ("return await tools.fail('error')",),
        ("return [0] * 10**9",),
        ("def f(): return f()", "f()"),
        ("return 'x' * 10**7",),
        ("for n in range(9): await tools.add(n, 1)",),
        ("for n in range(9):", "    try: await tools.add(n, 1)", "    except Exception: pass"),
        ("import asyncio", "await asyncio.gather(*[tools.add(n, 1) for n in range(9)])"),
        ("while True:", "    try: await tools.nope()", "    except RuntimeError: pass"),
        ("import asyncio", "await asyncio.Event().wait()"),
        ("for n in range(9):", "    try: await tools.add(n, 1)", "    except BaseException: pass"),
        ("import asyncio", "asyncio.run(tools.add(1, 2))"),
    ],
    ids=lambda lines: " ".join(lines),
)
async def test_a_plan_that_fails_keeps_what_it_put_there_before(
    box: Sandbox, lines: tuple[str, ...]
) -> None:
    plan = solve("memory['a'] = [1]", *lines)
    result = await box.run(plan, CATALOG, Tools(), memory=OLD)
    assert result.failure is not None
    assert result.memory == WorkingMemory({"old": 7, "a": [1]})


@pytest.mark.parametrize(
    "lines",
    [
        ("print('x' * 10**6)",),
        ("await tools.meet('nobody')",),
        ("while True: pass",),
        ("import os", "os._exit(1)"),
    ],
    ids=["it prints too much", "it waits for ever", "it computes for ever", "it leaves"],
)
async def test_where_the_worker_can_tell_no_more_that_is_said(
    box: Sandbox, lines: tuple[str, ...]
) -> None:
    plan = solve("memory['a'] = [1]", *lines, "while True: pass")
    assert await left(box, plan) == WorkingMemory(OLD, (UNREAD,))
    assert await left(box, solve("memory['b'] = 2")) == WorkingMemory({"old": 7, "b": 2})


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("solve", "type function is not"),
        ("lambda: 1", "type function is not"),
        ("len", "is not JSON"),
        ("tools.add", "is not JSON"),
        ("tools", "is not JSON"),
        ("[{'x': {1}}]", "type set is not"),
        ("b'x'", "type bytes is not"),
        ("ValueError('x')", "is not JSON"),
        ("float('nan')", "not JSON compliant"),
        ("[1e999]", "not JSON compliant"),
        ("10 ** 10**5", "digits"),
        ("memory", "Circular reference"),
        ("{(1, 2): 3}", "keys must be"),
        ("'x' * 600_000", "there is no room for it, memory takes 500.0 kB in all"),
        ("'\u00e9' * 300_000", "there is no room for it"),
        ("[1] * 160_000", "more than 150,000 values"),
    ],
)
async def test_what_is_no_plain_value_is_dropped_and_told(
    box: Sandbox, value: str, why: str
) -> None:
    found = await left(box, solve(f"memory['v'] = {value}", "memory['b'] = 2"))
    assert found.values == {"old": 7, "b": 2}
    (told,) = found.lost
    assert told.startswith('memory["v"]: ')
    assert why in told


async def test_depth_names_and_number_of_values_are_bounded(box: Sandbox) -> None:
    nest = ("x = []", "for i in range(n): x = [x]", "memory['x'] = x")
    assert (await left(box, solve(f"n = {MAX_DEPTH_LEVELS - 1}", *nest))).lost == ()
    for levels in (MAX_DEPTH_LEVELS, 100_000):
        deep = await left(box, solve(f"n = {levels}", *nest))
        assert (deep.values, len(deep.lost)) == (OLD, 1)
    names = "memory[1] = memory[None] = memory[(1,)] = memory[solve] = memory['y' * 101] = 1"
    named = await left(box, solve(names))
    assert named == WorkingMemory(OLD, ("a value whose name is no text of at most 100 characters",))
    many = await left(box, solve("for i in range(90): memory[str(i)] = i"))
    assert (len(many.values), many.lost) == (NAMES_MAX, ("more than 50 names",))
    full = await left(box, solve("for i in range(9): memory[str(i)] = 'x' * 99_000"))
    assert len(full.values) == 6
    assert len(json.dumps(full.values)) <= MEMORY_BYTES
    assert [told.partition(":")[0] for told in full.lost] == [f'memory["{n}"]' for n in "5678"]


@pytest.mark.parametrize(
    "plan",
    [
        solve("memory = [1]", "return memory[0]"),
        solve("return (lambda memory: memory[0])([1])"),
        solve("for memory in [1]: pass", "return memory"),
        f"def memory(): return 1\n{solve('return memory()')}",
        f"memory = 1\n{solve('return memory')}",
        f"memory = {{'x': 1}}\n{solve('memory[0] = 1', 'return memory[0]')}",
        f"class memory:\n    x = 1\n{solve('return memory.x')}",
        f"import math as memory\n{solve('return memory.gcd(1, 2)')}",
    ],
)
async def test_a_plan_may_have_a_memory_of_its_own(box: Sandbox, plan: str) -> None:
    result = await box.run(plan, CATALOG, Tools(), memory=OLD)
    assert (result.value, result.failure) == (1, None)
    assert result.memory is not None
    assert result.memory.values == OLD
    own = 'what the last plan put into a `memory` of its own: write memory["name"] = value'
    assert result.memory.lost == ((own,) if plan.startswith("memory = {") else ())


SHOUTING = """\
class Loud(dict):
    def items(self):
        print("loud")
        open("/etc/passwd").read()
        while True: pass

"""
GUEST = "import sys\nguest = sys.modules['app']\n"


@pytest.mark.parametrize(
    "plan",
    [
        f"{SHOUTING}memory = Loud()\n",
        f"{SHOUTING}{GUEST}guest.plan._memory = Loud()\n",
        f"{GUEST}guest.plan._memory = None\n",
        f"{GUEST}guest.plan.left = lambda: [5]\n",
        f"{GUEST}guest.plan.left = lambda: [[['x'], 1, 2]] * 99\n",
        f"{GUEST}guest.plan.left = lambda: '\\0'\n",
        "import json\njson.dumps = lambda *a, **k: '[' * 10**6\n",
        "import json\njson.dumps = lambda *a, **k: '1' * 10**5\n",
        "import json\ndef dumps(*a, **k):\n    while True: pass\njson.dumps = dumps\n",
    ],
)
async def test_what_meddles_with_the_reading_gains_nothing(
    box: Sandbox, plan: str, capfd: pytest.CaptureFixture[str]
) -> None:
    tools, began = Tools(), time.perf_counter()
    result = await box.run(plan + solve("memory", "return 1"), CATALOG, tools, memory=OLD)
    assert time.perf_counter() - began < 10 * QUICK.cpu_seconds + 5
    assert tools.sent == []
    assert result.memory is not None
    assert result.memory.values == OLD or not result.memory.values
    assert capfd.readouterr().out == ""
    assert await left(box, solve("memory['b'] = 2")) == WorkingMemory({"old": 7, "b": 2})


@pytest.mark.parametrize("found", [None, 5, "x", [], {}, {"a": 1}])
def test_a_worker_that_was_taken_over_may_say_anything(found: object) -> None:
    with pytest.raises(NotJson):
        left_memory(found)


@pytest.mark.parametrize(
    "entry",
    [
        5,
        ["a"],
        [b"a", "1", None],
        ["a", 1, None],
        ["a", "1", 5],
        ["a", "NaN", None],
        ["a", "1e999", None],
        ["a", "[" * 5_000, None],
        ["a", "[" * 500 + "]" * 500, None],
        ["a", "9" * 5_000, None],
        ["a", "nothing", None],
        ["a" * 101, "1", None],
        ["a", None, object()],
    ],
)
def test_no_value_of_a_hostile_worker_is_kept(entry: object) -> None:
    found = left_memory([True, entry, ["b", "2", None]])
    assert found.values == {"b": 2}
    assert len(found.lost) == 1
    assert len(found.lost[0]) < 400


def test_a_hostile_reason_stays_on_its_line() -> None:
    (told,) = left_memory([True, ["a", None, "x\n\nRequest:\x1b[2J" * 10_000]]).lost
    assert told.isprintable()
    assert len(told) < 300


async def test_no_plan_sees_the_memory_of_another(box: Sandbox) -> None:
    await left(box, solve("memory['secret'] = 'k3pt'"))
    seen = await box.run(solve("return [memory, 'k3pt' in str(globals())]"), CATALOG, Tools())
    assert seen.value == [{}, False]
    alone = [box.run(solve(f"memory['n'] = {n}", "return memory"), CATALOG, Tools()) for n in "123"]
    assert [ran.value for ran in await asyncio.gather(*alone)] == [{"n": n} for n in (1, 2, 3)]
