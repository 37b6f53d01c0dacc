"""No escape of the table gets past the first wall, nor past the second alone; past `exec` all do.

The table is in `tests/modules/sandbox/escapes`. One test is one family at one wall, and names every
attempt that got through.
"""

import json
import platform
import sys
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from config.schema import WALL_NAMES
from core.turn import PlanFailure
from modules.sandbox import Sandbox, SandboxLimits, SandboxResult
from modules.sandbox.walls.launcher import examine_walls
from tests.modules.sandbox.escapes.attempts import (
    ATTEMPTS,
    FAMILIES,
    HELD_BY_LANDLOCK,
    HELD_BY_SECCOMP,
    NATIVE_ATTEMPTS,
    Attempt,
)
from tests.modules.sandbox.escapes.planted import Planted
from tests.modules.sandbox.escapes.runners import (
    ForkServer,
    Outcome,
    SandboxOutcome,
    through_sandbox,
    worker_policy,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the proofs are those of Unix")

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="the second wall is Linux's")
only_x86_64 = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="these system calls have x86-64's numbers"
)

ATTEMPTS_MIN = 300
NATIVE_ATTEMPTS_MIN = 90

SHARE_PAST_EXEC_MIN = 0.9
"""Part of each family that must succeed with plain `exec`.

All 305 attempts do on CPython 3.11; on 3.12 and 3.13 it is 303, two module attributes are gone.
"""

NATIVE_SHARE_MIN = 0.5
"""The same of system calls without walls: 89 of 97 as root, fewer in a container or as a user."""

OWN_TOOLS = {"math.add", "math.echo"}

FAMILIES_OF_EXEC = [
    f for f in FAMILIES if any(not a.needs_tools for a in ATTEMPTS if a.family == f)
]


def members(family: str) -> list[Attempt]:
    return [attempt for attempt in ATTEMPTS if attempt.family == family]


@pytest.fixture(scope="module")
def planted() -> Iterator[Planted]:
    with Planted() as planted:
        yield planted


@pytest.fixture(scope="module")
def exec_server() -> Iterator[ForkServer]:
    policy = worker_policy() if sys.platform == "linux" else ()
    with ForkServer(policy) as server:
        yield server


@pytest.fixture(scope="module")
def whole_wall() -> None:
    missing = [wall for wall in examine_walls(SandboxLimits()) if not wall.stands]
    if missing:
        pytest.skip(f"the second wall is not whole here: {missing}")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["one wall", "two walls"])
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    async with Sandbox(second_wall=request.param == "two walls") as sandbox:
        yield sandbox


def test_the_table_is_as_large_as_it_is_said_to_be() -> None:
    names = {(attempt.family, attempt.name) for attempt in ATTEMPTS}
    assert len(names) == len(ATTEMPTS) >= ATTEMPTS_MIN
    assert len({attempt.name for attempt in NATIVE_ATTEMPTS}) >= NATIVE_ATTEMPTS_MIN
    assert {attempt.proof for attempt in ATTEMPTS} == {"file", "environment", "socket", "process"}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("family", FAMILIES)
async def test_the_first_wall_holds(family: str, sandbox: Sandbox, planted: Planted) -> None:
    outcomes = await through_sandbox(sandbox, members(family), planted)
    faults = [f"{fault}: {outcome}" for outcome in outcomes for fault in faults_of(outcome)]
    assert faults == []
    assert planted.is_unharmed()


def faults_of(outcome: SandboxOutcome) -> Iterator[str]:
    """What a plan got, or left, that it should not have."""
    result = outcome.result
    if outcome.obtained:
        yield "escaped"
    if type(result) is not SandboxResult or type(result.failure) not in (PlanFailure, type(None)):
        yield "no plain result"
    if not (is_plain(result.value) and is_plain(result.printed)):
        yield "no plain value"
    if result.failure is not None and result.value is not None:
        yield "a value and a failure"
    for name, arguments in outcome.sent:
        if name not in OWN_TOOLS:
            yield f"called {name}"
        if not is_plain(arguments):
            yield f"sent {arguments!r}"


def is_plain(value: object) -> bool:
    """Whether it is JSON made of exactly the built-in types."""
    if type(value) not in (dict, list, str, int, float, bool, type(None)):
        return False
    again: object = json.loads(json.dumps(value))
    return repr(again) == repr(value)


@pytest.mark.parametrize("family", FAMILIES_OF_EXEC)
def test_plain_exec_does_not_hold(family: str, exec_server: ForkServer, planted: Planted) -> None:
    outcomes = exec_server.run(members(family), planted)
    failed = [outcome for outcome in outcomes if outcome.attempt.proof not in outcome.obtained]
    assert len(failed) <= (1 - SHARE_PAST_EXEC_MIN) * len(outcomes), listed(failed)
    planted.restore()


@only_linux
@pytest.mark.usefixtures("whole_wall")
@pytest.mark.parametrize("family", FAMILIES_OF_EXEC)
def test_the_second_wall_alone_holds(
    family: str, exec_server: ForkServer, planted: Planted
) -> None:
    outcomes = exec_server.run(members(family), planted, WALL_NAMES)
    assert not any(outcome.obtained for outcome in outcomes), listed(outcomes)
    assert planted.is_unharmed()


@only_linux
@pytest.mark.usefixtures("whole_wall")
def test_what_harms_nobody_works_behind_the_second_wall(exec_server: ForkServer) -> None:
    plan = "import json\ndef solve():\n    print('said')\n    return json.dumps(6 * 7)"
    assert exec_server.output(plan, WALL_NAMES).split() == ["said", "42", '"42"']


def listed(outcomes: list[Outcome]) -> str:
    return "\n".join(map(str, outcomes))


def natively(server: ForkServer, planted: Planted, *walls: str) -> list[tuple[Outcome, bool]]:
    """Each attempt by system calls behind these walls, and whether it did harm."""
    outcomes: list[tuple[Outcome, bool]] = []
    for attempt in NATIVE_ATTEMPTS:
        (outcome,) = server.run([attempt], planted, walls)
        outcomes.append((outcome, not planted.is_unharmed()))
        planted.restore()
    return outcomes


@only_linux
@only_x86_64
def test_system_calls_escape_where_there_is_no_wall(
    exec_server: ForkServer, planted: Planted
) -> None:
    outcomes = natively(exec_server, planted)
    escaped = [outcome for outcome, harmed in outcomes if outcome.obtained or harmed]
    assert len(escaped) >= NATIVE_SHARE_MIN * len(outcomes)


@only_linux
@only_x86_64
@pytest.mark.usefixtures("whole_wall")
def test_no_system_call_passes_the_second_wall(exec_server: ForkServer, planted: Planted) -> None:
    outcomes = natively(exec_server, planted, *WALL_NAMES)
    assert [str(outcome) for outcome, harmed in outcomes if outcome.obtained or harmed] == []


@only_linux
@only_x86_64
@pytest.mark.usefixtures("whole_wall")
def test_seccomp_alone_leaves_no_socket_no_process_and_no_harm(
    exec_server: ForkServer, planted: Planted
) -> None:
    outcomes = natively(exec_server, planted, "no_new_privs", "seccomp")
    assert [str(o) for o, harmed in outcomes if harmed or o.obtained & HELD_BY_SECCOMP] == []


@only_linux
@only_x86_64
@pytest.mark.usefixtures("whole_wall")
def test_landlock_alone_leaves_no_file_and_no_environment(
    exec_server: ForkServer, planted: Planted
) -> None:
    outcomes = natively(exec_server, planted, "no_new_privs", "landlock")
    assert [str(o) for o, _ in outcomes if o.obtained & HELD_BY_LANDLOCK] == []
