"""A prompt that is longer than a model reads: made shorter, summarised, and asked once more."""

import json
from dataclasses import replace

import pytest

from core.base.redaction import Redactor
from core.errors import NEW_SESSION, ModelUnavailable
from core.events import Event, Notice
from core.ports import DecisionInputs
from core.tools.catalog import ToolCatalog
from core.turn import Attempt, Exchange, PerceptionResult, Plan, PlanFailure
from modules.decision import PlanWriter
from modules.memory.recollection import Remembering
from modules.memory.running_summary import RunningSummary
from modules.model_manager import ModelManager
from modules.planning.prompt.summaries import notes_on
from tests.doubles import FakeMemory, profile, tool
from tests.modules.models.http.chat_server import streams, talking, text
from tests.modules.models.service import Exchange as Asked
from tests.modules.models.service import answers

SOLVE = 'async def solve():\n    return "FINAL_ANSWER: 1"'
NOTES = "The user asked for places, in metric."
SESSION = tuple(Exchange(f"request {n} {'x' * 80}", f"answer {n} {'y' * 900}") for n in range(12))
TOOLS = ToolCatalog([tool(f"tool_{n}", text="string") for n in range(3)])
INPUTS = DecisionInputs("what is next?", TOOLS, PerceptionResult(), history=SESSION)
PATH = "prompts/decision_prompt_conservative.txt"


class Small:
    """A model that reads so many characters; it answers with notes, or with a plan."""

    def __init__(self, characters: int, says: str) -> None:
        self.characters = characters
        self.says = says
        self.refused: list[str] = []
        self.read: list[str] = []

    async def __call__(self, exchange: Asked) -> None:
        prompt = json.dumps(exchange.body["messages"])
        if len(prompt) > self.characters:
            self.refused.append(prompt)
            await answers(400, {"error": {"message": self.says}})(exchange)
            return
        self.read.append(prompt)
        await streams(*text(NOTES if "notes" in prompt[:400] else SOLVE))(exchange)


class Heard:
    def __init__(self) -> None:
        self.texts: list[str] = []

    async def __call__(self, event: Event) -> None:
        if isinstance(event, Notice):
            self.texts.append(event.text)


@pytest.mark.parametrize(
    "says",
    [
        "This model's maximum context length is 3000 tokens. However, you requested 4500 tokens.",
        "Your input exceeds the context window of this model.",
        "prompt is too long: 4500 tokens > 3000 maximum",
    ],
)
async def test_a_prompt_that_is_too_long_is_shortened_summarised_and_asked_once_more(
    says: str,
) -> None:
    small, heard, memory = Small(14_000, says), Heard(), FakeMemory()
    async with talking(small) as (_, backend):
        model = ModelManager(backend)
        summary = RunningSummary(memory, "2026/11/24/session-1-abcdef", Redactor({}), heard)
        remember = Remembering(model, summary, 4_000)
        failed = Attempt(Plan("x = 1\n" * 900), PlanFailure("error", "no"), (), ())
        inputs = replace(INPUTS, failed=(failed,))
        writer = PlanWriter(model, profile(), remember, tell=heard)
        assert await writer(inputs, PATH) == Plan(SOLVE)
        assert len(small.refused) == 1
        # The session's oldest requests have gone into notes, which the prompt tells.
        assert any(NOTES in str(item.metadata.get("summary")) for item in memory.items)
        assert NOTES in small.read[-1]
        assert "what is next?" in small.read[-1]
        assert "tool_2" in small.read[-1]
        assert any("too long for openai:test-model; asked again" in told for told in heard.texts)
        # What was learned holds for the next request, for its tools too.
        many = ToolCatalog([tool(f"tool_{n}", text="string") for n in range(300)])
        assert await writer(replace(INPUTS, tools=many), PATH) == Plan(SOLVE)
        assert len(small.refused) == 1
        assert await writer(INPUTS, PATH) == Plan(SOLVE)
        assert len(small.refused) == 1


async def test_a_text_that_a_tool_gave_is_shortened_too_and_the_request_stays_whole() -> None:
    small, heard = Small(14_000, "the input length exceeds the context length"), Heard()
    page = "word " * 3_000
    inputs = replace(INPUTS, history=(), observation=page, user_input=f"Sum it up.\n{page}\nGo.")
    async with talking(small) as (_, backend):
        writer = PlanWriter(ModelManager(backend), profile(), tell=heard)
        assert await writer(inputs, PATH) == Plan(SOLVE)
    assert "Sum it up." in small.read[-1]
    assert "Go." in small.read[-1]
    assert "more characters left out" in small.read[-1]


async def test_what_can_not_be_made_shorter_is_told_once_and_a_new_session_is_the_hint() -> None:
    small = Small(10, "the prompt has more tokens than the context")
    async with talking(small) as (_, backend):
        writer = PlanWriter(ModelManager(backend), profile())
        with pytest.raises(ModelUnavailable, match=rf"so long a prompt.*{NEW_SESSION}"):
            await writer(replace(INPUTS, history=()), PATH)
    assert len(small.refused) <= 2


async def test_a_text_to_summarise_is_cut_into_parts_that_the_model_reads() -> None:
    small = Small(9_000, "prompt is too long: 9000 tokens > 2000 maximum")
    async with talking(small) as (_, backend):
        model = ModelManager(backend)
        notes = await notes_on(model, "what is it about?", "some words " * 3_000, 4_000)
    assert notes
    assert small.refused
    assert len(small.read) > 1
