"""The line below the prompt: what it tells of the session and the model."""

from pathlib import Path

import pytest

from core.ports import ModelReply, ModelTraits
from core.turn import Usage
from modules.cli.prompt_commands.bottom_line import BottomLine
from modules.models.scripted import ScriptedModel
from tests.command_line import plan
from tests.modules.cli.prompt_commands.typed import Typed

REPLY = ModelReply(plan("return 'FINAL_ANSWER: 12'"), Usage(1, 2_000, 20, cost=0.25))


@pytest.mark.parametrize(
    ("window", "told"), [(8_000, "25% of context"), (None, "2,000 tokens read")]
)
async def test_how_much_of_the_context_the_last_prompt_took_is_told(
    window: int | None, told: str, tmp_path: Path
) -> None:
    model = ScriptedModel([REPLY], traits=ModelTraits(context_tokens=window))
    async with Typed(tmp_path, planner=model) as typed:
        line = BottomLine(typed.at)
        await line.look()
        assert [part.text for part in line.parts()][2:] == ["new session", "", "", ""]
        await typed.conversation.ask("add 5 and 7")
        await line.look()
        texts = [part.text for part in line.parts()]
        assert told in texts
        await typed.run("/new")
        await line.look()
        assert told not in [part.text for part in line.parts()]
