"""Working memory with real plans: through the loop, the prompt and the sandbox, and no further."""

import asyncio
from dataclasses import replace

from config.schema import StrategyProfile
from core.events import Event, Observed, collect
from core.loop import AgentLoop
from core.ports import ModelReply, ModelRequest, ModelTraits
from core.provenance.guard import Provenance
from core.provenance.known import Known, ProvenancePolicy
from core.run.observation import MIN_OBSERVATION_CHARACTERS
from core.turn import RunOutcome
from modules.decision import PlanWriter
from modules.sandbox import Sandbox
from tests.doubles import FakeDispatcher, FakeModel, FakeParts, context, text_result, tool
from tests.modules.sandbox.sandbox_tools import TEST_TIMEOUT_SECONDS, acting, solve

READ = replace(tool("read", "web", url="string"), read_only=True)
ROWS = "\n".join(f"{n};{n * n}" for n in range(2_000))
PUT = "page = await tools.read(url='x')\nmemory['rates'] = {'USD': 1.5}"
GO_ON = "return f'FURTHER_PROCESSING_REQUIRED: {page}'"


class Scripted(FakeModel):
    """Writes plans with these bodies, and keeps what it was asked."""

    def __init__(self, *bodies: str) -> None:
        super().__init__(traits=ModelTraits(context_tokens=1_000))
        self.bodies = [*bodies]
        self.asked: list[ModelRequest] = []

    async def generate(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        return ModelReply(solve(*self.bodies.pop(0).split("\n")))


async def run(
    model: Scripted, sandbox: Sandbox, provenance: Provenance | None = None
) -> tuple[RunOutcome, list[Event]]:
    """One request with these plans, and its events."""
    events: list[Event] = []

    async def listen(event: Event) -> None:
        events.append(event)

    dispatcher = FakeDispatcher([READ], {"web.read": text_result(ROWS)})
    strategy = StrategyProfile(max_steps=4, max_lifelines_per_step=2)
    working = context(FakeParts([], {}), dispatcher=dispatcher, model=model, strategy=strategy)
    working.provenance = provenance
    working.parts = replace(
        working.parts,
        generate_plan=PlanWriter(model, working.agent_profile),
        run_plan=acting(sandbox),
    )
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        return await collect(AgentLoop(working).run(), listen), events


async def test_a_later_step_computes_with_what_an_earlier_one_has_kept() -> None:
    model = Scripted(
        f"{PUT}\n{GO_ON}",
        "rows = [line.split(';') for line in memory['text'].split('\\n')]\n"
        "total = sum(int(row[1]) for row in rows) * memory['rates']['USD']\n"
        "return f'FINAL_ANSWER: {total}'",
    )
    async with Sandbox() as sandbox:
        outcome, events = await run(model, sandbox)
    assert outcome.answer == str(sum(n * n for n in range(2_000)) * 1.5)
    first, second = (request.prompt for request in model.asked)
    assert "Earlier plans left" not in first
    assert 'memory["rates"]: dict of 1, {"USD": 1.5}' in second
    assert f'memory["text"]: str of {len(ROWS):,} characters, "0;0\\n1;1' in second
    assert 'here shortened; a plan has all of it as memory["text"]:' in second
    (observed,) = [event.text for event in events if isinstance(event, Observed)]
    assert len(observed) < MIN_OBSERVATION_CHARACTERS + 100 < len(ROWS)


async def test_the_rest_of_a_long_text_is_read_on_from_memory() -> None:
    model = Scripted(
        f"{PUT}\n{GO_ON}",
        "return 'FURTHER_PROCESSING_REQUIRED: ' + memory['text'][1_800:3_600]",
        "return 'FURTHER_PROCESSING_REQUIRED: ' + memory['text'][1_800:3_600]",
        "return 'FURTHER_PROCESSING_REQUIRED: ' + memory['text'][:100]",
    )
    async with Sandbox() as sandbox:
        outcome, events = await run(model, sandbox)
    seen = [event.text for event in events if isinstance(event, Observed)]
    assert seen[1:] == [ROWS[1_800:3_600].strip()]
    assert f'memory["text"]: str of {len(ROWS):,} characters' in model.asked[2].prompt
    assert "was read before" in model.asked[3].prompt, "the same part again"
    assert outcome.answer == ROWS[:100], "what is short is the answer under a wrong verdict"


async def test_a_retry_may_have_a_text_read_that_the_failed_plan_kept() -> None:
    model = Scripted(
        "memory['page'] = 'word ' * 200\nreturn 1 / 0",
        "return f\"FURTHER_PROCESSING_REQUIRED: {memory['page']}\"",
        "return 'FINAL_ANSWER: done'",
    )
    async with Sandbox() as sandbox:
        outcome, events = await run(model, sandbox)
    assert outcome.answer == "done"
    (seen,) = [event.text for event in events if isinstance(event, Observed)]
    assert seen == ("word " * 200).strip()


async def test_a_retry_has_what_the_plan_before_it_kept_and_is_told_of_what_is_lost() -> None:
    model = Scripted(
        "memory['n'] = 20\nmemory['f'] = solve\nreturn 1 / 0",
        "return f\"FINAL_ANSWER: {memory['n'] + 1}\"",
    )
    async with Sandbox() as sandbox:
        outcome, _ = await run(model, sandbox)
    assert outcome.answer == "21"
    assert 'memory["n"]: int, 20' in model.asked[1].prompt
    assert 'memory["f"]: Object of type function is not JSON' in model.asked[1].prompt


async def test_the_next_request_begins_with_nothing() -> None:
    async with Sandbox() as sandbox:
        first = Scripted(f"{PUT}\n{GO_ON}", "return f'FINAL_ANSWER: {sorted(memory)}'")
        outcome, _ = await run(first, sandbox)
        assert outcome.answer == "['rates', 'text']"
        second = Scripted("return f'FINAL_ANSWER: {len(memory)} left'")
        outcome, _ = await run(second, sandbox)
    assert outcome.answer == "0 left"
    assert "Earlier plans left" not in second.asked[0].prompt


async def test_runs_at_the_same_time_see_nothing_of_each_other() -> None:
    async with Sandbox() as sandbox:
        scripts = [
            Scripted(
                f"page = await tools.read(url='x')\nmemory['{n}'] = {n}\n{GO_ON}",
                "return f'FINAL_ANSWER: {sorted(memory)}'",
            )
            for n in range(4)
        ]
        ended = await asyncio.gather(*(run(model, sandbox) for model in scripts))
    assert [outcome.answer for outcome, _ in ended] == [f"['{n}', 'text']" for n in range(4)]


async def test_what_a_page_said_is_shown_between_borders() -> None:
    model = Scripted(f"{PUT}\n{GO_ON}", "return 'FINAL_ANSWER: done'")
    async with Sandbox() as sandbox:
        await run(model, sandbox, Provenance(Known(ProvenancePolicy(mode="strict"))))
    before, _, told = model.asked[1].prompt.partition('- memory["rates"]')
    assert before.splitlines()[-1].startswith("<<data ")
    assert told.splitlines()[2].startswith("<</data ")
