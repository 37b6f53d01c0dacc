"""What we add to a model: time to its first token, time to stop it, and to choose one.

The model is a server on loopback in a process of its own that begins to answer at once, so that
all that is left is ours. Requests go over a connection that is open, with the math server's tools.
"""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import cast

from config.models_file import ModelEntry
from config.schema import AgentProfile, AgentSection
from config.servers import ServerSpec
from config.settings import Places
from core.dispatch.known_tools import ToolCache
from core.events import Event, ModelAsked, ModelWriting, Perceived, RunStarted
from core.ports import ModelRequest, ModelTraits, ReplyDelta
from core.session import MultiMCP
from modules.conversation import Conversation
from modules.model_manager import ModelManager
from modules.models.hosted.model import HostedModel
from modules.sandbox import Sandbox
from tests.benchmarks import prompt_tokens
from tests.benchmarks.drivers.model_server import WITHOUT_END
from tests.benchmarks.processes import DRIVERS, JsonProcess, run_driver
from tests.benchmarks.table import Row, at_most, middle_half
from tests.command_line import ROOT

ROUNDS = 200
STOPS = 40
CHOICES = 11
WARM_UP = 10
ROUNDS_A_SESSION = 20
"""Sessions of a realistic length."""

FIRST_TOKEN_MS_AIM = 10.0
STOP_MS_AIM = 100.0
WAIT_SECONDS = 20.0

LOOP_MARKS: tuple[type[Event], ...] = (RunStarted, Perceived, ModelAsked, ModelWriting)
"""The events up to the first token, between which the loop's time is told."""

MATH = ServerSpec("math", (sys.executable, str(ROOT / "servers" / "math_server.py")), ROOT)


def measure(home: Path, rounds: int = ROUNDS, stops: int = STOPS) -> list[Row]:
    """First tokens and stops, then the tokens of a prompt, then choosing."""
    rows = asyncio.run(_streams(home, rounds, stops))
    return [*rows, *prompt_tokens.measure(MATH, home), *_choices(home)]


@dataclass
class Observed:
    """A backend that keeps what it was asked last."""

    model: HostedModel
    name: str = "openai:loopback"
    traits: ModelTraits = field(default_factory=ModelTraits)
    asked: ModelRequest | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The backend's own stream."""
        self.asked = request
        async with aclosing(self.model.stream(request)) as deltas:
            async for delta in deltas:
                yield delta

    async def aclose(self) -> None:
        """Close the backend."""
        await self.model.aclose()


class Marks:
    """A listener that knows when each kind of event was first heard, by `time.monotonic`."""

    def __init__(self) -> None:
        """Nothing has been heard."""
        self.writing = asyncio.Event()
        self.at: dict[type[Event], float] = {}

    def begin(self) -> None:
        """Forget the last run."""
        self.writing.clear()
        self.at = {}

    async def __call__(self, event: Event) -> None:
        """Note the moment."""
        self.at.setdefault(type(event), time.monotonic())
        if isinstance(event, ModelWriting):
            self.writing.set()


@dataclass(frozen=True)
class FirstToken:
    """Seconds to a run's first token: from the request on, from the loop's start on, by stage."""

    whole: float
    loop: float
    stages: list[float]


@dataclass
class Bench:
    """A conversation with the server's model, the bare backend beside it, and the server."""

    conversation: Conversation
    observed: Observed
    marks: Marks
    bare: HostedModel
    server: JsonProcess

    async def bare_first_token(self) -> float:
        """Seconds until the bare backend gives the first words of the run's last request."""
        assert self.observed.asked is not None
        started = time.monotonic()
        async with aclosing(self.bare.stream(self.observed.asked)) as deltas:
            await anext(deltas)
            seconds = time.monotonic() - started
            async for _ in deltas:
                pass
        return seconds

    async def first_token(self) -> FirstToken:
        """What a request of the user takes until the event that the model writes."""
        at, asked = dict[type[Event], float](), 0.0
        while ModelWriting not in at:  # which is not told of a reply that comes all at once
            self.marks.begin()
            asked = time.monotonic()
            outcome = await self.conversation.ask("say done")
            assert outcome.answer == "done", outcome
            at = self.marks.at
        gaps = [at[later] - at[earlier] for earlier, later in pairwise(LOOP_MARKS)]
        return FirstToken(at[ModelWriting] - asked, at[ModelWriting] - at[RunStarted], gaps)

    async def bare_stop(self) -> float:
        """Seconds from closing the bare backend's stream until the server has seen it."""
        deltas = self.bare.stream(ModelRequest("text", WITHOUT_END))
        await anext(deltas)
        stopped = time.monotonic()
        await deltas.aclose()
        return await self._left() - stopped

    async def stop(self) -> float:
        """Seconds from interrupting a run until the server has seen it."""
        self.marks.begin()
        running = asyncio.create_task(self.conversation.ask(WITHOUT_END))
        await self.marks.writing.wait()
        stopped = time.monotonic()
        self.conversation.interrupt()
        assert (await running).status == "interrupted"
        return await self._left() - stopped

    async def _left(self) -> float:
        answer = await asyncio.to_thread(self.server.answer, WAIT_SECONDS)
        return cast("float", answer["left"])


async def _streams(home: Path, rounds: int, stops: int) -> list[Row]:
    """First tokens and stops, with the loop and without, in turn."""
    async with _bench(home) as bench:
        bare: list[float] = []
        ours: list[FirstToken] = []
        for number in range(rounds + WARM_UP):
            if number % ROUNDS_A_SESSION == 0:
                bench.conversation.new_session()
            ours.append(await bench.first_token())
            bare.append(await bench.bare_first_token())
        stopped: list[float] = []
        closed: list[float] = []
        for _ in range(stops):
            stopped.append(await bench.stop())
            closed.append(await bench.bare_stop())
    return [*_first_tokens(ours[WARM_UP:], bare[WARM_UP:]), *_stops(stopped, closed)]


def _first_tokens(ours: Sequence[FirstToken], bare: Sequence[float]) -> Iterator[Row]:
    """The loop's time above that of the backend in the same round, and where it goes."""
    above = [one.loop - theirs for one, theirs in zip(ours, bare, strict=True)]
    aim = at_most(median(above) * 1000, FIRST_TOKEN_MS_AIM, " ms")
    yield Row("first token, bare backend", middle_half(bare))
    yield Row("first token, from the start of the loop", middle_half([one.loop for one in ours]))
    for number, (earlier, later) in enumerate(pairwise(LOOP_MARKS)):
        stage = [one.stages[number] for one in ours]
        yield Row(f"  {earlier.__name__} … {later.__name__}", middle_half(stage))
    yield Row("the loop above the bare backend", middle_half(above), aim)
    whole = [one.whole - theirs for one, theirs in zip(ours, bare, strict=True)]
    yield Row("a conversation above it, with its session on disk", middle_half(whole))


def _stops(stopped: Sequence[float], closed: Sequence[float]) -> Iterator[Row]:
    """Until the server knows that nobody reads any more."""
    aim = at_most(median(stopped) * 1000, STOP_MS_AIM, " ms")
    longest = f"the longest {max(stopped) * 1000:.2f} ms"
    yield Row("stream closed until the server knows, bare backend", middle_half(closed))
    yield Row("run interrupted until the server knows", middle_half(stopped), f"{aim}; {longest}")


@asynccontextmanager
async def _bench(home: Path) -> AsyncGenerator[Bench]:
    with JsonProcess(f"{DRIVERS}.model_server", home=home) as server:
        port = server.first["port"]
        entry = ModelEntry(type="openai", model="loopback", base_url=f"http://127.0.0.1:{port}/v1")
        observed, marks = Observed(HostedModel(entry, None)), Marks()
        bare = HostedModel(entry, None)
        conversation = Conversation(
            AgentProfile(agent=AgentSection(name="Bench", id="bench_1")),
            Places(ROOT, home),
            ModelManager(observed, "loopback"),
            MultiMCP([MATH], cache=ToolCache(home / "cache")),
            Sandbox(),
            marks,
        )
        async with conversation:
            yield Bench(conversation, observed, marks, bare, server)
        await bare.aclose()


def _choices(home: Path) -> list[Row]:
    """Choosing automatically where nothing listens and no key is set, against being told."""
    automatic: list[float] = []
    told: list[float] = []
    for _ in range(CHOICES):
        for flag, seconds in (("auto", automatic), ("offline", told)):
            (answer,) = run_driver(home, f"{DRIVERS}.model_choice", flag, str(home))
            assert answer["model"] == "offline"
            seconds.append(cast("float", answer["seconds"]))
    added = [auto - offline for auto, offline in zip(automatic, told, strict=True)]
    return [
        Row("choosing: --model offline, with its imports", middle_half(told)),
        Row("choosing: auto, where nothing listens", middle_half(automatic)),
        Row("choosing: what auto adds", middle_half(added)),
    ]
