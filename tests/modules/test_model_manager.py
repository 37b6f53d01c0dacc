"""The chain of models: who answers, who stands in, what it costs, and what a run may use."""

import asyncio
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from config.models_file import Price
from config.schema import LlmSection
from config.settings import ROOT, Places
from core.base.redaction import Redactor
from core.errors import BudgetSpent, ConfigurationError, ModelUnavailable
from core.events import ModelReplaced
from core.ports import CountingModel, ModelReply, ModelRequest, ModelTraits, ReplyEnd
from core.turn import Usage
from modules.model_manager import ModelManager, choose_model
from modules.models.recorded.model import RecordingModel
from modules.models.scripted import Reply, ScriptedModel
from modules.models.serving.budget import EVERY_MODEL_WRITES, FREE, RunLimits, priced
from modules.models.serving.watched import MAX_REPLY_CHARACTERS, ChosenModel
from tests.doubles import HandClock
from tests.modules.models.serving.doubles import Heard, HeldModel, transient

DECISION = ModelRequest("decision", "p")
STRONG = replace(DECISION, prefer_strongest=True)
DOWN = ModelUnavailable("down")
CHEAP, DEAR = Price(input=1, output=2), Price(input=10, output=20)


def chosen(
    name: str, *replies: Reply, price: Price | None = FREE, strength: float = 0.0
) -> ChosenModel:
    """A scripted model of a chain."""
    return ChosenModel(ScriptedModel(replies, name, ModelTraits(strength=strength)), price)


async def test_text_is_generated_as_the_mission_says() -> None:
    assert await ModelManager(ScriptedModel(["hello"])).generate_text("Say hello") == "hello"


async def test_a_model_that_fails_for_good_is_replaced_for_the_rest_of_the_run() -> None:
    heard = Heard()
    manager = ModelManager([chosen("a", DOWN, "a again"), chosen("b", "b1", "b2")])
    assert manager.name == "a"
    with manager.telling(heard):
        first = await manager.generate(DECISION)
        assert manager.name == "b"
        second = await manager.generate(DECISION)
    assert [first.model, second.model] == ["b", "b"]
    replaced = [event for event in heard.events if isinstance(event, ModelReplaced)]
    assert replaced == [ModelReplaced("a", "b", "down")]
    assert heard.names[:4] == ["ModelAsked", "ModelFailed", "ModelReplaced", "ModelAsked"]
    with manager.telling(heard):
        assert manager.name == "a"
        assert (await manager.generate(DECISION)).text == "a again"


async def test_what_may_pass_is_tried_again_before_another_model_stands_in() -> None:
    clock = HandClock()
    manager = ModelManager(
        [chosen("a", transient(), transient(), "late"), chosen("b")], timing=clock.timing
    )
    assert (await manager.generate(DECISION)).text == "late"
    hurried = ModelManager(
        [chosen("a", transient("busy", 3600)), chosen("b", "at once")], timing=clock.timing
    )
    assert (await hurried.generate(DECISION)).text == "at once"
    assert len(clock.pauses) == 2


async def test_when_all_fail_the_error_names_each_and_none_is_asked_twice() -> None:
    models = [chosen("a", DOWN, "x"), chosen("b", ModelUnavailable("no key"), "b later")]
    manager, heard = ModelManager(models), Heard()
    with manager.telling(heard):
        with pytest.raises(
            ModelUnavailable, match=r"none of the 2 models could answer\. a: down · b: no key"
        ):
            await manager.generate(DECISION)
        assert (await manager.generate(DECISION)).text == "b later"  # there is none behind it
    assert heard.names.count("ModelReplaced") == 1


async def test_requests_that_fail_together_replace_a_model_once() -> None:
    broken, heard = HeldModel("a"), Heard()
    sight = ModelTraits(images=True)
    stand_in = ScriptedModel(["x", "y"], "b", sight)
    manager = ModelManager([ChosenModel(broken, FREE), ChosenModel(stand_in, FREE)])
    assert manager.traits == ModelTraits()
    broken.put(DOWN, DOWN)
    with manager.telling(heard):
        replies = await asyncio.gather(*(manager.generate(DECISION) for _ in range(2)))
        assert manager.traits == sight
    assert [reply.model for reply in replies] == ["b", "b"]
    assert heard.names.count("ModelReplaced") == 1


async def test_a_reply_without_end_is_refused_and_still_counted() -> None:
    manager = ModelManager(ScriptedModel(["x" * (MAX_REPLY_CHARACTERS + 1), "x"]))
    with pytest.raises(ModelUnavailable, match="1,000,000 characters"):
        await manager.generate(DECISION)
    await manager.generate(DECISION)
    assert manager.usage.model_calls == 2


async def test_the_only_model_speaks_for_itself() -> None:
    with pytest.raises(ModelUnavailable, match=r"^down$"):
        await ModelManager([chosen("a", DOWN)]).generate(DECISION)


async def test_the_strongest_is_asked_when_it_is_asked_for() -> None:
    models = [
        chosen("cheap", "c1", "c2", price=CHEAP, strength=70),
        chosen("dear", "d1", DOWN, price=DEAR),
        chosen("free", "f1", strength=30),
    ]
    manager, heard = ModelManager(models), Heard()
    with manager.telling(heard):
        assert (await manager.generate(STRONG)).model == "dear"
        assert manager.name == "cheap"
        assert (await manager.generate(DECISION)).model == "cheap"
        assert (await manager.generate(STRONG)).text == "c2"  # dear is down: as usual from here
    assert ModelReplaced("dear", "cheap", "down") in heard.events


@pytest.mark.parametrize(
    ("first", "second", "strongest"),
    [
        ((None, 3.0), (DEAR, 1.0), "a"),
        ((None, 1.0), (None, 3.0), "b"),
        ((CHEAP, 1.0), (CHEAP, 3.0), "b"),
        ((CHEAP, 3.0), (DEAR, 1.0), "b"),
        ((CHEAP, 0.0), (CHEAP, 0.0), "a"),
        ((None, 0.0), (DEAR, 0.0), "a"),
    ],
)
async def test_strength_goes_by_price_where_all_have_one_and_ties_change_nothing(
    first: tuple[Price | None, float], second: tuple[Price | None, float], strongest: str
) -> None:
    manager = ModelManager(
        [
            chosen("a", "x", price=first[0], strength=first[1]),
            chosen("b", "x", price=second[0], strength=second[1]),
        ]
    )
    assert (await manager.generate(STRONG)).model == strongest


async def test_use_adds_up_by_model_with_its_cost() -> None:
    price = Price(input=2, output=10, cached_input=0.5)
    manager: CountingModel = ModelManager(
        [
            chosen("a", ModelReply("x", Usage(1, 1_000_000, 100_000, 400_000)), DOWN, price=price),
            chosen("b", ModelReply("y", Usage(1, 10, 5)), price=None),
        ]
    )
    reply = await manager.generate(DECISION)
    paid = Usage(1, 1_000_000, 100_000, 400_000, cost=reply.usage.cost)
    assert reply.usage == paid
    assert paid.cost == pytest.approx(1.2 + 0.2 + 1.0)
    await manager.generate(DECISION)
    unknown = Usage(1, 10, 5, unpriced_calls=1)
    assert manager.usage_by_model == {"a": paid, "b": unknown}
    assert manager.usage == reply.usage + unknown


def test_a_price_without_one_for_cached_input_takes_that_of_input() -> None:
    assert priced(Usage(1, 500_000, 0, 500_000), CHEAP).cost == 0.5


def test_a_cost_that_the_service_told_holds() -> None:
    assert priced(Usage(1, 10, 10, cost=0.25), None) == Usage(1, 10, 10, cost=0.25)


def test_figures_that_cannot_be_do_not_grow_a_budget() -> None:
    assert priced(Usage(1, -5, -5, -5, cost=-1.0), CHEAP) == Usage(1)
    assert priced(Usage(1, 10**400, 5, 10**500, cost=float("nan")), CHEAP).cost > 0
    assert priced(Usage(1, 10, 0, 99), CHEAP).cached_tokens == 10


async def test_models_that_cost_nothing_have_no_unknown_price(tmp_path: Path) -> None:
    script = ScriptedModel([ModelReply("x", Usage(1, 10, 5)), "y"])
    manager = ModelManager(RecordingModel(script, tmp_path / "r", Redactor({})))
    await manager.generate(DECISION)
    assert manager.usage == Usage(1, 10, 5)
    assert manager.leftover == 1
    assert ModelManager(HeldModel()).leftover == 0


async def test_a_run_ends_when_its_tokens_are_used_and_the_next_begins_anew() -> None:
    uses = [ModelReply("x", Usage(1, 60, 10)), ModelReply("y", Usage(1, 30, 0)), "z"]
    script = ScriptedModel(uses)
    manager = ModelManager([ChosenModel(script, FREE)], limits=RunLimits(max_tokens=100))
    with manager.telling(Heard()):
        await manager.generate(DECISION)
        await manager.generate(replace(DECISION, max_output_tokens=10))
        with pytest.raises(
            BudgetSpent, match=r"used 100 tokens, and 100 are allowed.*--max-tokens.*llm\.max_tok"
        ):
            await manager.generate(DECISION)
    assert [bounds(request) for request in script.requests] == [(None, 100), (10, 30)]
    with manager.telling(Heard()):
        assert (await manager.generate(replace(DECISION, max_output_tokens=500))).text == "z"
    assert bounds(script.requests[-1]) == (500, 100)


async def test_a_run_ends_when_its_money_is_spent() -> None:
    million = ModelReply("x", Usage(1, 1_000_000, 0))
    script = ScriptedModel([million, million, million])
    manager = ModelManager([ChosenModel(script, CHEAP)], limits=RunLimits(max_cost=1 + 1 / 128))
    with manager.telling(Heard()):
        await manager.generate(DECISION)
        await manager.generate(DECISION)
        with pytest.raises(
            BudgetSpent, match=r"cost \$2\.00, and \$1\.01 are allowed.*--max-cost.*llm\.max_cost"
        ):
            await manager.generate(DECISION)
    # A 128th of a dollar is left of it then.
    assert [bounds(request) for request in script.requests] == [(None, None), (None, 3906)]


async def test_a_reply_is_not_bounded_by_more_than_any_model_writes() -> None:
    script = ScriptedModel(["x"])
    limits = RunLimits(max_tokens=EVERY_MODEL_WRITES * 2)
    await ModelManager([ChosenModel(script, FREE)], limits=limits).generate(DECISION)
    assert bounds(script.requests[0]) == (None, None)


async def test_a_reply_that_is_bounded_anyway_gets_all_that_is_left_for_its_thinking() -> None:
    script = ScriptedModel(["x", "y"])
    manager = ModelManager(
        [ChosenModel(script, FREE)], limits=RunLimits(max_tokens=EVERY_MODEL_WRITES * 2)
    )
    request = replace(DECISION, max_output_tokens=10)
    await manager.generate(request)
    await manager.generate(replace(request, hard_output_tokens=50))
    assert [bounds(asked) for asked in script.requests] == [(10, EVERY_MODEL_WRITES * 2), (10, 50)]


def bounds(request: ModelRequest) -> tuple[int | None, int | None]:
    """Of the reply, and of all that is written."""
    return request.max_output_tokens, request.hard_output_tokens


async def test_a_spent_budget_stops_retries_and_stand_ins() -> None:
    model = HeldModel()
    costly = ModelReply("x", Usage(1, 200, 0))
    chain = [ChosenModel(model, FREE), chosen("b", costly, "never")]
    manager = ModelManager(chain, limits=RunLimits(max_tokens=100), timing=HandClock().timing)
    with manager.telling(Heard()):
        model.put(DOWN)
        await manager.generate(DECISION)
        with pytest.raises(BudgetSpent):
            await manager.generate(DECISION)
    assert manager.leftover == 1


async def test_a_reply_without_text_that_took_the_rest_of_the_budget_says_so() -> None:
    model = HeldModel()
    model.put(ReplyEnd(Usage(1, 60, 100), "length"), ModelUnavailable("gave a reply without text"))
    manager = ModelManager([ChosenModel(model, FREE)], limits=RunLimits(max_tokens=100))
    with pytest.raises(BudgetSpent, match="used 160 tokens, and 100 are allowed") as caught:
        await manager.generate(DECISION)
    assert caught.value.__suppress_context__


def test_money_cannot_be_limited_where_a_price_is_unknown() -> None:
    chain = [chosen("a", price=CHEAP), chosen("b", price=None)]
    told = r"\$0\.05.*what b costs.*'price'.*'prices'.*--max-tokens"
    with pytest.raises(ConfigurationError, match=told):
        ModelManager(chain, limits=RunLimits(max_cost=0.05))
    ModelManager(chain, limits=RunLimits(max_tokens=5))
    ModelManager(ScriptedModel([]), limits=RunLimits(max_cost=0.05))


async def test_one_run_at_a_time_is_told() -> None:
    manager = ModelManager(ScriptedModel([]))
    with (
        manager.telling(Heard()),
        pytest.raises(RuntimeError, match="one at a time"),
        manager.telling(Heard()),
    ):
        raise AssertionError("a second run began")
    with manager.telling(Heard()):
        pass


async def test_secrets_stay_out_of_the_messages_and_events_of_a_model() -> None:
    heard, leak = Heard(), "refused key-0123456789 and ring-987654"
    manager = ModelManager(
        [chosen("a", ModelUnavailable(leak)), chosen("b", ModelUnavailable(leak))],
        redactor=Redactor({"SOME_KEY": "key-0123456789"}),
        secrets=("ring-987654",),
    )
    with manager.telling(heard), pytest.raises(ModelUnavailable) as caught:
        await manager.generate(DECISION)
    clean = "refused [redacted SOME_KEY] and [redacted SECRET]"
    assert str(caught.value).count(clean) == 2
    assert caught.value.__cause__ is None
    assert ModelReplaced("a", "b", clean) in heard.events


async def test_closing_closes_every_model_even_if_one_fails() -> None:
    class Broken(HeldModel):
        async def aclose(self) -> None:
            raise OSError("stuck")

    first, last = HeldModel(), HeldModel()
    manager = ModelManager([ChosenModel(model) for model in (first, Broken(), last)])
    with pytest.raises(OSError, match="stuck"):
        await manager.aclose()
    assert (first.closed, last.closed) == (1, 1)


def test_an_empty_chain_is_a_mistake_of_the_program() -> None:
    with pytest.raises(ValueError, match="at least one"):
        ModelManager([])


def script_file(folder: Path, content: str) -> str:
    """A name for a script."""
    file = folder / "script.json"
    file.write_text(content)
    return f"scripted:{file}"


async def test_the_chosen_chain_gets_the_bounds_of_the_profile(tmp_path: Path) -> None:
    script = script_file(tmp_path, '["one", "two"]')
    llm = LlmSection(text_generation=f"{script},offline", max_tokens=7, retries=1)
    manager = choose_model(None, llm, Places(ROOT, tmp_path), {})
    assert [each.model.name for each in manager.models] == [script, "offline"]
    assert re.search("llm.text_generation", manager.reason)
    assert manager.leftover == 2
    assert choose_model("offline", llm, Places(ROOT, tmp_path), {}).name == "offline"


async def test_a_limit_of_the_command_line_goes_before_that_of_the_profile(tmp_path: Path) -> None:
    uses = '[{"text": "a", "usage": {"output_tokens": 3}}, "b"]'
    llm = LlmSection(text_generation=script_file(tmp_path, uses), max_tokens=5, max_cost=1)
    manager = choose_model(None, llm, Places(ROOT, tmp_path), {}, max_tokens=2, max_cost=3)
    await manager.generate(DECISION)
    with pytest.raises(BudgetSpent, match="used 3 tokens, and 2 are allowed"):
        await manager.generate(DECISION)


async def test_without_a_redactor_errors_lose_the_secrets_of_the_environment(
    tmp_path: Path,
) -> None:
    script = script_file(tmp_path, '[{"error": "bad key-0123456789"}]')
    environ = {"SOME_KEY": "key-0123456789"}
    manager = choose_model(script, LlmSection(), Places(ROOT, tmp_path), environ)
    with pytest.raises(ModelUnavailable, match=r"bad \[redacted SOME_KEY\]"):
        await manager.generate(DECISION)


def test_without_arguments_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    monkeypatch.setenv("LLAMA_SERVER_URL", "http://127.0.0.1:1")
    assert ModelManager().name == "offline"
    monkeypatch.setenv("GEMINI_API_KEY", "k" * 20)
    manager = ModelManager()
    assert manager.name.startswith("gemini:")
    assert "GEMINI_API_KEY is set" in manager.reason
    assert manager.secrets == ("k" * 20,)


async def test_parts_of_a_run_are_heard_and_counted_by_themselves_and_paid_together() -> None:
    heard, first, second = Heard(), Heard(), Heard()
    limits = RunLimits(max_tokens=30)
    replies = [ModelReply(name, Usage(1, 5, 5)) for name in "abcd"]
    manager = ModelManager([chosen("m", *replies)], limits=limits)
    with manager.telling(heard):
        one, other = manager.part(), manager.part()
        with one.telling(first), other.telling(second):
            await one.generate(DECISION)
            await other.generate(DECISION)
            await one.generate(DECISION)
            with pytest.raises(BudgetSpent):
                await other.generate(DECISION)
    assert one.usage.tokens == 20
    assert other.usage_by_model == {"m": other.usage}
    assert other.usage.tokens == 10
    assert manager.usage.tokens == 30
    assert len(first.names) == 4
    assert len(second.names) == 2
    assert heard.names == []


async def test_a_part_with_a_limit_of_its_own_ends_before_the_run_does() -> None:
    replies = [ModelReply(name, Usage(1, 5, 5)) for name in "abcd"]
    manager = ModelManager([chosen("m", *replies)])
    bounded, other = manager.part(RunLimits(max_tokens=20)), manager.part()
    await other.generate(DECISION)
    await bounded.generate(DECISION)
    await bounded.generate(DECISION)
    with pytest.raises(BudgetSpent, match="own limit is reached: 20 tokens"):
        await bounded.generate(DECISION)
    assert bounded.spent is None
    assert (await other.generate(DECISION)).text == "d"


async def test_a_part_of_other_models_is_paid_by_the_run_that_it_is_within() -> None:
    run = ModelManager(
        [chosen("m", ModelReply("a", Usage(1, 5, 5)))], limits=RunLimits(max_tokens=8)
    )
    other = ModelManager([chosen("other", ModelReply("b", Usage(1, 5, 5)))])
    part = other.part(within=run)
    assert (await part.generate(DECISION)).text == "b"
    assert part.usage_by_model == {"other": Usage(1, 5, 5)}
    with pytest.raises(BudgetSpent):
        await run.generate(DECISION)
