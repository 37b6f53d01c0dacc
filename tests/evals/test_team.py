"""The study of teams: its requests can be judged, and its harness runs each in every mode."""

from collections import Counter
from pathlib import Path

import pytest

from config.settings import Places
from core.ports import ModelRequest
from modules.models.offline.planner import OfflineModel
from modules.models.scripted import ScriptedModel
from modules.team.choosing import choose_action
from tests.command_line import ROOT
from tests.evals.checks import what_is_wrong
from tests.evals.judging import Judge
from tests.evals.options import parse_options
from tests.evals.questions import Question, load_questions
from tests.evals.records import Record, Results
from tests.evals.stage import DOCUMENTS, Stage
from tests.evals.team import KINDS, MODES, REQUESTS, asked_in_each_mode, compared
from tests.evals.workplace import Workplace

QUESTIONS = {question.key: question for question in load_questions(REQUESTS)}

GRAPH = """{"action": "graph", "reason": "two facts", "subtasks": [
    {"id": "tea", "description": "say how many cups of tea there are"},
    {"id": "milk", "description": "say how many jugs of milk there are"},
    {"id": "both", "description": "add {{tea}} and {{milk}} up"}]}"""

ASKED = Question(
    id="tea-and-milk",
    group="independent",
    part="report",
    ask="Find how many cups of tea and find how many jugs of milk, then add both numbers up",
    number=42,
)


def plan(answer: str) -> str:
    return f"async def solve():\n    return 'FINAL_ANSWER: {answer}'"


def reply(request: ModelRequest) -> str:
    """A model that counts wrongly in one plan, and rightly where it is asked part by part."""
    if request.inputs is None:
        return GRAPH
    said = getattr(request.inputs, "user_input", "")
    answers = {ASKED.ask: "41", "say how many cups": "40", "say how many jugs": "2", "add 40": "42"}
    return plan(next(text for words, text in answers.items() if said.startswith(words)))


def stage(workplace: Workplace, home: Path, model: ScriptedModel | OfflineModel) -> Stage:
    return Stage(workplace, Places(ROOT, home), model, model)


def judge(workplace: Workplace) -> Judge:
    return Judge(workplace, Results(None), "code")


def test_there_are_thirty_requests_of_each_kind() -> None:
    assert Counter(question.group for question in QUESTIONS.values()) == dict.fromkeys(KINDS, 30)
    assert not {question.key for question in load_questions()} & QUESTIONS.keys()


def test_the_words_of_no_request_answer_it_and_all_documents_together_answer_none(
    nowhere: Workplace,
) -> None:
    documents = "\n".join(file.read_text() for file in sorted(DOCUMENTS.iterdir()))
    for question in QUESTIONS.values():
        for answer in (question.ask, f"{question.ask}\n{documents}"):
            assert what_is_wrong(question, answer, nowhere) is not None, question.key


@pytest.mark.parametrize(
    ("key", "right", "wrong"),
    [
        ("independent/words-and-days", "4 + 30 = 34", "14"),
        ("independent/prime-and-weekday", "391 = 17 × 23; it is a Friday", "391 is prime; Friday"),
        ("independent/rents-compared", "Mill Lane, by 1,360 euros", "Mill Lane, by 225 euros"),
        ("independent/animals-and-rent", "No animals are allowed. 10,080 euros.", "Dogs. 10,080"),
        ("independent/date-and-share", "December 13, 2026 and 80", "December 14, 2026 and 80"),
        ("independent/longest-words", "caterpillar is longer", "lighthouse is longer"),
        ("sequential/reversed-first-letter", "NRE", "nretnal"),
        ("sequential/ferry-hours", "3 hours and 10 minutes", "1 hour and 35 minutes"),
        ("sequential/half-and-half", "46.2548339959", "45.25"),
    ],
)
def test_checks_tell_right_from_wrong(nowhere: Workplace, key: str, right: str, wrong: str) -> None:
    assert what_is_wrong(QUESTIONS[key], right, nowhere) is None
    assert what_is_wrong(QUESTIONS[key], wrong, nowhere) is not None


def test_steps_are_never_taken_for_parts() -> None:
    """By their words: whoever reads them would be asked for a graph at the price of a call."""
    for question in QUESTIONS.values():
        if question.group == "sequential":
            for reads_text in (True, False):
                chosen = choose_action(question.ask, "auto", reads_text=reads_text)
                assert chosen.action == "plan", question.key


async def test_a_request_is_answered_as_one_plan_and_as_a_graph_by_the_same_model(
    nowhere: Workplace, tmp_path: Path
) -> None:
    model = ScriptedModel({"decision": [reply] * 10})
    found = await asked_in_each_mode(stage(nowhere, tmp_path, model), judge(nowhere), [ASKED], ())
    records = {mode: found[mode][ASKED.key] for mode in MODES}
    assert {mode: r.verdict for mode, r in records.items()} == {
        "never": "wrong",
        "always": "right",
        "auto": "right",
    }
    assert [records[mode].parts for mode in MODES] == [0, 3, 3]
    assert [records[mode].model_calls for mode in MODES] == [1, 4, 4]
    head, never, always, auto, *rest = compared(found, "independent")
    assert head.split()[:2] == ["graph:", "right"]
    assert never.split()[:6] == ["never", "0", "of", "1,", "0.0%", "0.0–79.3"]
    assert "1 of 1, 100.0%" in always
    assert "4.00  4.00–4.00" in auto
    assert "  only always: independent/tea-and-milk" in rest
    assert "auto chose a graph for 1: tea-and-milk" in rest
    assert any(line.startswith("  wrong, never: independent/tea-and-milk") for line in rest)


async def test_the_offline_planner_answers_in_parts_what_no_plan_of_it_does(
    nowhere: Workplace, tmp_path: Path
) -> None:
    keys = (
        "independent/words-and-days",
        "independent/letters-and-days",
        "sequential/letters-squared",
    )
    questions = [QUESTIONS[key] for key in keys]
    here = stage(nowhere, tmp_path, OfflineModel())
    found = await asked_in_each_mode(here, judge(nowhere), questions, ())
    verdicts = {mode: [r.verdict for r in found[mode].values()] for mode in MODES}
    assert verdicts == {
        "never": ["none", "none", "none"],
        "always": ["right", "right", "none"],
        "auto": ["right", "right", "none"],
    }


def test_a_table_of_nothing_is_a_table(nowhere: Workplace) -> None:
    nothing: dict[str, Record] = {}
    lines = compared(dict.fromkeys(MODES, nothing), "sequential")
    assert "never" in lines[1]
    assert "0 of 0" in lines[1]


def test_the_study_has_a_name_on_the_command_line() -> None:
    assert parse_options(["team", "--model", "offline"]).studies == ("team",)
