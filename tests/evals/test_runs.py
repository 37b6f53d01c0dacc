"""The harness of `make eval` at work: both ways of answering, judged, kept, and gone on with."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from config.settings import Places
from core.errors import ModelUnavailable
from core.ports import ModelRequest
from core.tools.content import ToolResult
from core.values import JsonObject
from modules.model_manager import ModelManager
from modules.models.scripted import ScriptedModel
from tests.command_line import ROOT
from tests.doubles import FakeDispatcher, text_result, tool, value_result
from tests.evals.answered import Answered
from tests.evals.dialogue import FormUnknown, PlainForm, RenderedPrompt, Said, TemplateForm
from tests.evals.json_calls import ENOUGH, ROUNDS, JsonWay
from tests.evals.judging import OUTAGES_IN_A_ROW, Judge, Outage
from tests.evals.options import Shard
from tests.evals.plans_way import PlansWay
from tests.evals.questions import Question
from tests.evals.records import Results
from tests.evals.served import ServedWeights
from tests.evals.stage import Manner, Stage
from tests.evals.workplace import Workplace
from tests.modules.models.service import FakeService, serving

QUESTION = Question(id="sum", group="own", part="tuning", ask="2 plus 3?", number=5)


def json_way(
    replies: Sequence[str], answers: dict[str, ToolResult | Exception]
) -> tuple[JsonWay, FakeDispatcher, ScriptedModel]:
    tools = [tool("add", a="number", b="number")]
    dispatcher, model = FakeDispatcher(tools, answers), ScriptedModel(list(replies))
    way = JsonWay("json", ModelManager(model), dispatcher, tools, PlainForm())
    return way, dispatcher, model


def call(name: str, **arguments: float) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


async def test_json_calls_go_through_the_dispatcher_and_their_results_come_back() -> None:
    way, dispatcher, model = json_way(
        [call("add", a=2, b=3), "It is 5."], {"math.add": text_result("5")}
    )
    given = await way.answer(QUESTION, QUESTION.ask, ())
    assert (given.status, given.text, given.retries, given.steps) == ("done", "It is 5.", 0, 2)
    assert dispatcher.calls == [("math.add", {"input": {"a": 2, "b": 3}})]
    assert given.tools_called == ("math.add",)
    first, second = model.requests
    assert first.system == second.system
    assert '"name": "add"' in first.system
    assert second.user.endswith("<tool_response>\n5\n</tool_response>")


async def test_errors_of_json_calls_are_told_and_can_be_put_right() -> None:
    replies = [call("ad", a=2, b=3), call("add", a=2), call("add", a=2, b=3), "5"]
    way, _, model = json_way(replies, {"math.add": text_result("5")})
    given = await way.answer(QUESTION, QUESTION.ask, ())
    assert (given.text, given.retries, given.failures) == ("5", 2, ("error", "tool"))
    assert "Did you mean add?" in model.requests[1].user
    assert "is missing: b" in model.requests[2].user
    assert model.requests[0].temperature == 0.0


async def test_json_calls_without_end_end_without_an_answer() -> None:
    calls = [call("add", a=2, b=3)] * ROUNDS
    way, dispatcher, model = json_way(calls, {"math.add": value_result(5)})
    given = await way.answer(QUESTION, QUESTION.ask, ())
    assert [ENOUGH in request.user for request in model.requests[:3]] == [False, False, True]
    assert (given.status, given.steps, len(dispatcher.calls)) == ("no_answer", ROUNDS, 1)


@dataclass
class Rendered:
    """What a template made."""

    prompt: str


def chatml(*, messages: list[dict[str, str]], tools: list[JsonObject]) -> RenderedPrompt:
    """A template of the ChatML kind."""
    said = "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages)
    listed = f"{json.dumps(tools)}<|im_end|>\n<|im_start|>user\n"
    text = said.replace("<|im_end|>\n<|im_start|>user\n", listed, 1)
    return Rendered(f"{text}<|im_start|>assistant\n")


def test_a_talk_is_written_as_the_models_own_template_has_it() -> None:
    talk = [Said("user", "2 + 3?"), Said("assistant", "5"), Said("user", "Thanks")]
    texts = TemplateForm(chatml).texts([{"name": "add"}], talk)
    assert texts.system.endswith('[{"name": "add"}]')
    # What a backend puts around the two texts, a system and a user message, makes the whole.
    assert texts.user == (
        "2 + 3?<|im_end|>\n<|im_start|>assistant\n5<|im_end|>\n<|im_start|>user\nThanks"
    )


def test_a_template_of_another_kind_is_not_taken_apart() -> None:
    def other(*, messages: list[dict[str, str]], tools: list[JsonObject]) -> RenderedPrompt:
        return Rendered("[INST] … [/INST]")

    with pytest.raises(FormUnknown):
        TemplateForm(other)


class TableWay:
    """Answers from a list, and counts."""

    name, model = "table", "none"

    def __init__(self, *given: Answered) -> None:
        self._given: Iterator[Answered] = iter(given)
        self.asked: list[str] = []

    async def answer(self, question: Question, asked: str, before: tuple[str, ...]) -> Answered:
        self.asked.append(asked)
        return next(self._given)


async def test_an_evaluation_goes_on_where_it_was_interrupted(
    nowhere: Workplace, tmp_path: Path
) -> None:
    file = tmp_path / "results.jsonl"
    questions = [QUESTION.model_copy(update={"id": f"sum-{n}"}) for n in range(3)]
    way = TableWay(Answered("done", "5"), Answered("done", "6", failures=("error",), retries=1))
    await Judge(nowhere, Results.open(file), "code").ask_all(way, questions[:2])
    with file.open("a") as results:
        results.write('{"way": "table", "key')
    again = TableWay(Answered("no_answer", "I can't"))
    records = await Judge(nowhere, Results.open(file), "code").ask_all(again, questions)
    assert len(again.asked) == 1
    assert [r.verdict for r in records.values()] == ["right", "wrong", "none"]
    assert [r.first_try for r in records.values()] == [True, False, False]
    assert len(file.read_text().splitlines()) == 3
    assert Results.open(file).other_code("other") == 3


async def test_of_several_processes_each_asks_its_own_requests(nowhere: Workplace) -> None:
    questions = [QUESTION.model_copy(update={"id": f"sum-{n}"}) for n in range(5)]
    way = TableWay(*[Answered("done", "5")] * 2)
    judge = Judge(nowhere, Results(None), "code", Shard(1, 2))
    assert [*await judge.ask_all(way, questions)] == ["own/sum-1", "own/sum-3"]


async def test_served_weights_are_given_the_same_prompt_as_local_ones() -> None:
    reply: JsonObject = {
        "content": "hello",
        "stop_type": "eos",
        "tokens_evaluated": 90,
        "tokens_predicted": 3,
        "timings": {"prompt_n": 20},
    }
    async with serving(FakeService()) as service:
        service.answers(200, reply)
        manager = ModelManager(ServedWeights(service.url, "qwen", 4096), retries=0)
        request = ModelRequest("text", "Be brief. Hi!", prefix_characters=10, temperature=0.3)
        assert (await manager.generate(request)).text == "hello"
        assert (manager.usage.input_tokens, manager.usage.cached_tokens) == (90, 70)
        service.answers(503, {"error": "loading"})
        with pytest.raises(ModelUnavailable, match="503"):
            await manager.generate(request)
        await manager.aclose()
    sent = service.bodies[0]
    assert sent["prompt"] == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi!<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert sent["temperature"] == 0.3


async def test_an_outage_is_no_answer_and_many_of_them_end_the_study(nowhere: Workplace) -> None:
    down = Answered("failed", "the model can't be reached")
    questions = [QUESTION.model_copy(update={"id": f"sum-{n}"}) for n in range(9)]
    way = TableWay(down, Answered("done", "5"), *[down] * OUTAGES_IN_A_ROW)
    judge = Judge(nowhere, Results(None), "code")
    with pytest.raises(Outage, match="can't be reached"):
        await judge.ask_all(way, questions)
    assert [record.key for record in judge.results.records] == ["own/sum-1"]


async def test_a_refusal_is_judged_by_its_words_only_where_one_is_right(nowhere: Workplace) -> None:
    missing = Question(
        id="missing", group="own", part="tuning", ask="?", matches="no such", may_fail=True
    )
    way = TableWay(*[Answered("no_answer", "No such file")] * 2)
    judge = Judge(nowhere, Results(None), "code")
    (record,) = (await judge.ask_all(way, [missing])).values()
    assert record.verdict == "right"
    strict = missing.model_copy(update={"id": "two", "may_fail": False})
    (record,) = (await judge.ask_all(way, [strict])).values()
    assert record.verdict == "none"


async def test_plans_are_asked_for_in_the_real_conversation(
    nowhere: Workplace, tmp_path: Path
) -> None:
    plans = [
        "async def solve():\n    return 1 / 0",
        "async def solve():\n    return 'FINAL_ANSWER: 5'",
    ]
    model = ScriptedModel(plans)
    stage = Stage(nowhere, Places(ROOT, tmp_path), model, model)
    async with stage.conversation(Manner(perception="never"), ()) as conversation:
        judge = Judge(nowhere, Results(None), "code")
        (record,) = (await judge.ask_all(PlansWay("plans", conversation), [QUESTION])).values()
    assert (record.verdict, record.first_try, record.retries) == ("right", False, 1)
    assert (record.failures, record.model_calls, len(record.wrote)) == (("error",), 2, 2)
