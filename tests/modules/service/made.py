"""Agents, pools and runs for tests: a scripted model, real servers, and what they leave behind."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from config.schema import load_profile
from config.settings import Places
from core.asking import Question
from core.base.redaction import Redactor
from core.values import JsonObject
from modules.service.agents import AgentSetting
from modules.service.pool import AgentPool, User
from modules.service.served.event_types import EVENT_TYPES
from modules.service.served.events import DONE, ServiceEvent
from modules.service.served.runs import Runs, ServedRun
from tests.command_line import NO_MODEL_SERVER, ROOT, plan, script, write_profile

SERVERS = ROOT / "tests" / "fixtures" / "servers"

OWNER = User()

APPROVED = tuple(
    f"{name}(*)"
    for name in (
        *("echo", "hold", "table", "insisting", "contents", "question", "work", "pid", "deep"),
        *("read", "picture", "talk", "refuse", "next", "broken"),
    )
)
"""Rules for tools of the servers here, which need no leave."""

WAIT_SECONDS = 20.0
"""Longer than anything here takes."""


def says(text: str) -> str:
    """A plan that answers at once."""
    return plan(f'return "FINAL_ANSWER: {text}"')


def asks(question: str) -> str:
    """A plan that asks back."""
    return plan(f'return "CLARIFICATION_NEEDED: {question}"')


def calls(tool: str, arguments: str = "") -> str:
    """A plan whose answer is what a tool says."""
    return plan(f'r = await tools.{tool}({arguments})\nreturn f"FINAL_ANSWER: {{r}}"')


def fixture(name: str, *arguments: object, id_: str = "", more: str = "") -> str:
    """A server of the tests as a profile's entry."""
    entry = f"id: {id_ or name}\nscript: {SERVERS / f'{name}_server.py'}\ndescription: {name}"
    given = ", ".join(f'"{each}"' for each in arguments)
    return f"{entry}\nargs: [{given}]\n{more}".strip()


def setting(
    home: Path, replies: Sequence[object], *servers: str, more: str = "", model: str = ""
) -> AgentSetting:
    """What agents are made of: these servers, and a model that replies so; `more` is YAML."""
    home.mkdir(exist_ok=True)
    profile_file = write_profile(home, *servers)
    with profile_file.open("a") as file:
        file.write(more)
    places = Places(ROOT, home)
    return AgentSetting(
        places=places,
        shared=places,
        profile=load_profile(profile_file),
        profile_file=profile_file,
        environ=NO_MODEL_SERVER,
        redactor=Redactor({}),
        model=model or script(home, replies),
        approve=APPROVED,
    )


@asynccontextmanager
async def serving(
    made: AgentSetting, *, runs_max: int = 8, queue_max: int = 64, user_runs_max: int | None = None
) -> AsyncGenerator[Runs]:
    """Runs over a pool; what goes on at the end is cancelled."""
    async with asyncio.timeout(2 * WAIT_SECONDS), AgentPool(made, clock) as pool:
        runs = Runs(pool, runs_max=runs_max, queue_max=queue_max, user_runs_max=user_runs_max)
        try:
            yield runs
        finally:
            await runs.drain(0)


def clock() -> float:
    """Seconds of the running loop."""
    return asyncio.get_running_loop().time()


async def unasked(question: Question) -> None:
    """Nobody is there to be asked."""


async def heard(run: ServedRun, after: int = 0) -> list[ServiceEvent]:
    """All events of a run from there on, each of its type, to its end."""
    async with asyncio.timeout(WAIT_SECONDS):
        return [checked(event) async for event in run.events(after)]


async def until(run: ServedRun, name: str, after: int = 0) -> ServiceEvent:
    """The first event of that name."""
    async with asyncio.timeout(WAIT_SECONDS):
        async for event in run.events(after):
            if event.name == name:
                return checked(event)
    raise AssertionError(f"the run has no {name}; it ended in {run.last_event}")


async def settled(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.001)


@cache
def _adapter(name: str) -> TypeAdapter[object]:
    return TypeAdapter(EVENT_TYPES[name])


def checked(event: ServiceEvent) -> ServiceEvent:
    """The event, if it is of its type, without a field too many."""
    type_ = EVENT_TYPES[event.name]
    _adapter(event.name).validate_python(event.data, strict=True)
    assert event.data.keys() <= type_.__annotations__.keys() | {
        *("type", "run", "at", "step", "attempt")
    }
    assert event.data["type"] == event.name
    return event


def end_of(events: Sequence[ServiceEvent]) -> JsonObject:
    """The fields of the last event, which ends the run and is the only one of its kind."""
    assert [event.id for event in events] == [*range(events[0].id, events[0].id + len(events))]
    assert [event.name for event in events].count(DONE) == 1
    assert events[-1].name == DONE
    return events[-1].data


def question_of(event: ServiceEvent) -> str:
    """The id of the question that an event puts."""
    question = event.data["question"]
    assert isinstance(question, dict)
    return str(question["id"])


def with_seconds(made: AgentSetting, seconds: float | None) -> AgentSetting:
    """The same with another bound for a request."""
    return replace(made, run_seconds=seconds)


def child_processes() -> set[int]:
    """The processes that this one has started and that live."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has just ended
            found |= {*map(int, (task / "children").read_text().split())}
    return {pid for pid in found if _lives(pid)}


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
