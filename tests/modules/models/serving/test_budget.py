"""How many tokens a model may write, where several say so."""

import pytest

from config.models_file import Price
from core.errors import BudgetSpent
from core.ports import ModelRequest
from modules.model_manager import ModelManager
from modules.models.scripted import ScriptedModel
from modules.models.serving.budget import RunLimits, output_limit
from modules.models.serving.watched import ChosenModel


@pytest.mark.parametrize(
    ("text", "hard", "entry", "thinking", "limit"),
    [
        (None, None, None, 0, None),
        (None, None, None, 1000, None),
        (100, None, None, 0, 100),
        (100, None, None, 1000, 1100),
        (100, 50, None, 1000, 50),
        (100, 500, None, 1000, 500),
        (100, 5000, None, 1000, 1100),
        (100, 5000, 600, 1000, 600),
        (None, 500, 600, 1000, 500),
        (None, 700, 600, 1000, 600),
    ],
)
def test_room_to_think_comes_on_top_of_the_text_and_under_what_is_final(
    text: int | None, hard: int | None, entry: int | None, thinking: int, limit: int | None
) -> None:
    request = ModelRequest("text", "x", max_output_tokens=text, hard_output_tokens=hard)
    assert output_limit(request, entry, thinking) == limit


async def test_a_prompt_that_alone_would_pass_a_limit_is_not_sent() -> None:
    price = Price(input=100_000.0, output=100_000.0)  # ten cents a token
    for limits, says in (
        (RunLimits(max_tokens=40), "about 100 tokens: it has used 0 of the 40 that are allowed"),
        (RunLimits(max_cost=4), "costs about .10.00 to read: its model has cost .0"),
    ):
        model = ScriptedModel(["never"])
        manager = ModelManager([ChosenModel(model, price)], limits=limits)
        with pytest.raises(BudgetSpent, match=says) as caught:
            await manager.generate(ModelRequest("text", "x" * 400))
        assert caught.value.budget is not None
        assert model.leftover == 1
        assert manager.usage.model_calls == 0


async def test_what_a_reply_may_take_is_what_the_prompt_leaves() -> None:
    model = ScriptedModel(["x"])
    manager = ModelManager(model, limits=RunLimits(max_tokens=150))
    await manager.generate(ModelRequest("text", "x" * 400))
    assert [request.hard_output_tokens for request in model.requests] == [50]
