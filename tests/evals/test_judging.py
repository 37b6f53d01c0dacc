"""The harness of `make eval`: that right answers count as right, wrong ones as wrong, and no other.

The requests that are asked there are looked at as well: that they can be judged, and are enough.
"""

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, time
from pathlib import Path

import pytest

from config.schema import load_profile
from core.ports import DecisionInputs, ModelRequest
from core.tools.catalog import ToolCatalog
from core.turn import PerceptionResult
from modules.models.scripted import ScriptedModel
from tests.command_line import ROOT
from tests.evals.checks import what_is_wrong
from tests.evals.gsm8k import load_problems
from tests.evals.numbers_in_text import (
    Tolerance,
    holds_number,
    holds_numbers,
    holds_sequence,
    holds_time,
    numbers_in,
)
from tests.evals.options import Shard, parse_options
from tests.evals.questions import Question, choose, load_questions
from tests.evals.recorded_replies import FOLDER as RECORDINGS
from tests.evals.recorded_replies import Recorded, ReplyRecorder
from tests.evals.recorded_replies import load as load_replies
from tests.evals.records import Record
from tests.evals.report import paired, way_table
from tests.evals.significance import mcnemar_exact, wilson_interval
from tests.evals.stage import Manner
from tests.evals.tool_call_texts import Unreadable, WrittenCall, calls_in
from tests.evals.workplace import Workplace

EXACT = Tolerance()
NOW = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)


def question(**checks: object) -> Question:
    return Question.model_validate(
        {"id": "one", "group": "own", "part": "tuning", "ask": "?", **checks}
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is 1,234,567.5, not −3", [1234567.5, -3]),
        ("7.5e+33 and 2 × 10^3", [7.5e33, 2000.0]),
        ("line 27 of log2.txt at 10-12", [27, 10, 12]),
        ("no number", []),
        (f"{2**100}", [2**100]),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, found: list[float]) -> None:
    assert numbers_in(text)[: len(found)] == found


@pytest.mark.parametrize(
    ("answer", "asked", "expected", "right"),
    [
        ("391", "17 times 23?", 391, True),
        ("17 times 23 is 391", "17 times 23?", 391, True),
        ("391 is 17 times 23", "17 times 23?", 391, True),
        ("5 mod 7 is 2", "5 mod 7?", 5, False),
        ("5", "5 mod 7?", 5, True),
        ("12.999999999999998", "cube root of 2197?", 13, True),
        ("12.99", "cube root of 2197?", 13, False),
        ("1000000000001", "?", 1000000000000, False),
        ("1.2676506002282294e+30", "2^100?", 2**100, True),
        ("1.2676506002282e+30", "2^100?", 2**100, False),
        ("none", "?", 0, False),
    ],
)
def test_the_number_that_was_asked_for_is_told_from_those_of_the_request(
    answer: str, asked: str, expected: float, right: bool
) -> None:
    assert holds_number(answer, asked, expected, EXACT) is right


def test_several_numbers_stand_each_in_a_place_of_their_own() -> None:
    assert holds_numbers("2, 1 and 1", [1, 2, 1], EXACT)
    assert not holds_numbers("2 and 1", [1, 2, 1], EXACT)
    assert holds_numbers("sine 0.8415, cosine 0.5403", [0.540302, 0.841471], Tolerance(0.001))
    assert not holds_numbers("sine 0.84, cosine 0.5403", [0.540302, 0.841471], Tolerance(0.001))


def test_a_row_of_numbers_may_be_written_with_or_without_spaces() -> None:
    row = [89, 144, 233, 377]
    assert holds_sequence("[55, 89, 144, 233, 377]", row, EXACT)
    assert holds_sequence("55,89,144,233,377", row, EXACT)
    assert not holds_sequence("89, 144, 0, 233, 377", row, EXACT)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("06:00", True),
        ("When it is 09:30 in Tokyo, it is 6:00 AM in Kolkata.", True),
        ("{'datetime': '2026-11-22T06:00:00+05:30', 'difference': '-3.5h'}", True),
        ("6 am", True),
        ("6 pm", False),
        ("09:30", False),
        ("25:00", False),
    ],
)
def test_a_time_of_day_is_found_in_any_form(answer: str, right: bool) -> None:
    assert holds_time(answer, "When it is 09:30 in Tokyo?", time(6, 0)) is right


@pytest.mark.parametrize(
    ("checks", "right", "wrong"),
    [
        ({"contains": ["Paris"]}, "It is paris.", "It is Lyon."),
        ({"any_of": ["hallo", "guten tag"]}, "Guten Tag!", "Bonjour"),
        ({"contains": ["mar"], "absent": ["jan"]}, "mar", "jan 1, mar 2"),
        ({"matches": r"\bAu\b"}, "The symbol is Au.", "Gauge"),
        ({"now_in": ["Asia/Tokyo"]}, "17:31", "08:30"),
        ({"now_in": ["Asia/Tokyo", "UTC"]}, "5:29 pm and 08:30", "17:30 and 17:30"),
        ({"weekday_in": "Asia/Tokyo"}, "Sunday", "Monday"),
        ({"date_in": "Asia/Tokyo"}, "November 22nd, 2026", "November 21, 2026"),
        ({"date_in": "Asia/Tokyo"}, "2026-11-22", "2026-11-23"),
        ({"final_number": 18}, "16 - 3 - 4 = 9, so 18", "18 is less than 20"),
        ({"numbers": [2], "sequence": [1, 1]}, "1 1, then 2", "1 2 1"),
    ],
)
def test_each_check_tells_right_from_wrong(
    nowhere: Workplace, checks: dict[str, object], right: str, wrong: str
) -> None:
    asked = question(**checks)
    assert what_is_wrong(asked, right, nowhere, NOW) is None
    assert what_is_wrong(asked, wrong, nowhere, NOW) is not None


def test_what_was_done_to_files_and_repository_is_looked_at_and_undone(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    place.prepare()
    moved = question(file="values.txt", no_file="numbers.txt", file_contains="30")
    staged = question(git=["diff", "--cached", "--name-only"], git_contains="README.md")
    assert what_is_wrong(moved, "done", place) is not None
    assert what_is_wrong(staged, "done", place) is not None
    (place.files / "numbers.txt").rename(place.files / "values.txt")
    place.git("add", "README.md")
    assert what_is_wrong(moved, "done", place) is None
    assert what_is_wrong(staged, "done", place) is None
    place.fill()
    assert what_is_wrong(moved, "done", place) is not None
    assert what_is_wrong(staged, "done", place) is not None
    assert place.filled("{files}/a in {repo}") == f"{place.files}/a in {place.repo}"


def test_there_are_enough_requests_and_those_held_out_are_of_a_server_of_their_own() -> None:
    questions = load_questions()
    parts = Counter(question.part for question in questions)
    assert parts["tuning"] + parts["report"] >= 110
    assert 0.4 < parts["tuning"] / (parts["tuning"] + parts["report"]) < 0.6
    assert parts["held-out"] >= 15
    held_out = {question.group for question in questions if question.part == "held-out"}
    assert held_out == {"held_out_git"}
    assert {q.part for q in questions if q.group in held_out} == {"held-out"}
    assert not any(
        "git." in names for q in questions if q.group not in held_out for names in q.tools
    )


def test_every_bundled_tool_is_the_right_one_for_some_request() -> None:
    file = ROOT / "config" / "profiles.yaml"
    (math,) = [s for s in load_profile(file).mcp_servers if s.id == "math"]
    named = {name for q in load_questions() for any_of in q.right_tools() for name in any_of}
    assert {name for name in named if name.startswith("math.")} == {
        f"math.{name}" for name in math.capabilities
    }


def test_a_request_that_nothing_can_judge_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a check"):
        question()
    with pytest.raises(ValueError, match="extra"):
        question(number=1, nomber=2)


def test_a_sample_is_spread_over_all_and_always_the_same() -> None:
    questions = [question(number=1).model_copy(update={"id": f"q{n}"}) for n in range(10)]
    chosen = choose(questions, parts=("tuning",), limit=4)
    assert [q.id for q in chosen] == ["q0", "q2", "q5", "q7"]
    assert choose(questions, parts=("tuning",), only="/q3$", limit=None) == [questions[3]]
    assert choose(questions, parts=("report",), limit=None) == []


def test_wilsons_interval_is_that_of_the_textbooks() -> None:
    assert wilson_interval(10, 20) == pytest.approx((0.29930, 0.70070), abs=1e-5)
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.27754), abs=1e-5)
    assert wilson_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [(5, 0, 0.0625), (1, 9, 22 / 1024), (3, 3, 1.0), (0, 0, 1.0), (0, 10, 2 / 1024)],
)
def test_mcnemars_test_counts_tosses_of_a_coin(only_first: int, only_second: int, p: float) -> None:
    assert mcnemar_exact(only_first, only_second) == pytest.approx(p)


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>',
        '<tool_call>{"name": "add", "arguments": {"a": 1}}',
        'I call it:\n```json\n{"name": "add", "arguments": {"a": 1}}\n```',
        '{"type": "function", "function": {"name": "add", "parameters": {"a": 1}}}',
        '[{"name": "add", "arguments": "{\\"a\\": 1}"}]',
    ],
)
def test_a_call_counts_however_it_is_wrapped(text: str) -> None:
    assert calls_in(text) == [WrittenCall("add", {"a": 1})]


def test_what_is_no_call_is_an_answer_and_a_broken_call_is_told() -> None:
    assert calls_in('The result is {"sum": 5}.') == []
    (broken,) = calls_in("<tool_call>{name: add}</tool_call>")
    assert isinstance(broken, Unreadable)
    assert "not JSON" in broken.why


def test_problems_are_chosen_by_a_seed_and_answered_by_their_last_number(tmp_path: Path) -> None:
    file = tmp_path / "test.jsonl"
    lines = [{"question": f"Q{n}?", "answer": f"so <<{n}>>\n#### 1,{n:03}"} for n in range(50)]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    problems = load_problems(file, count=5)
    assert problems == load_problems(file, count=5)
    assert len({problem.key for problem in problems}) == 5
    assert all(p.final_number == 1000 + int(p.id.removeprefix("problem-")) for p in problems)


def test_pairs_are_counted_on_requests_that_both_have_answered() -> None:
    right = record("right")
    one = {"a": right, "b": right, "c": record("wrong"), "d": right}
    other = {"a": right, "b": record("none"), "c": right}
    lines = paired("plans", "JSON", one, other, lambda r: r.is_right)
    assert "both 1, only plans 1, only JSON 1, neither 0; McNemar" in lines[1]
    assert lines[2:] == ["  only plans: b", "  only JSON: c"]
    head, *_, last = way_table(one)
    assert "3 of 4, 75.0%" in last
    assert head.split()[0] == "right"


def record(verdict: str) -> Record:
    whole = Record(
        "plans", "a", "report", "m", "c", "?", "5", "done", "right", None, True, 0, 1, 0.5
    )
    return replace(whole, verdict=verdict, first_try=verdict == "right")


def test_options_that_mean_nothing_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (
        ["sleep"],
        ["--only", "("],
        ["--limit", "0"],
        ["--part", "half"],
        ["--shard", "5/4"],
    ):
        with pytest.raises(SystemExit, match="2"):
            parse_options(argv)
    assert "no such study: sleep" in capsys.readouterr().err
    assert parse_options(["--variant", "mcp", "--variant", "always"]).manner == Manner(
        "mcp", "always"
    )
    assert parse_options(["--shard", "2/4"]).shard == Shard(1, 4)


async def test_a_reply_is_recorded_with_the_place_in_its_session(tmp_path: Path) -> None:
    inputs = DecisionInputs("?", ToolCatalog(()), PerceptionResult(), step=2)
    asked = ModelRequest("decision", "a prompt", inputs)
    recorder = ReplyRecorder(ScriptedModel(["one", "two"]), tmp_path / "replies.jsonl")
    recorder.request = "group/id"
    for request in (asked, replace(asked, purpose="summary", inputs=None)):
        _ = [delta async for delta in recorder.stream(request)]
    assert load_replies(tmp_path / "replies.jsonl") == [Recorded("group/id", 0, 2, 1, "one")]


def test_recorded_replies_are_to_requests_that_are_asked() -> None:
    keys = {question.key for question in load_questions()}
    for file in RECORDINGS.glob("*.jsonl"):
        assert {reply.request for reply in load_replies(file)} <= keys, file
