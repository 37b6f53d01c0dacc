"""`plan`: the graph or the plan of a request is shown in every form, and nothing is run."""

import json
from pathlib import Path

import pytest

from core.errors import ExitCode
from modules.cli.command_line import parse_arguments
from tests.command_line import agent, plan, script, without_servers, write_profile
from tests.modules.cli.by_hand import Hand, entry

SUMS = "2^10 and 3^5, then list them"
GRAPH = """\
description: two: powers
steps:
  - {id: first, do: "2^10"}
  - {id: second, do: "3^5"}
  - {id: answer, do: 'list these results: "one": {{first}}; "two": {{second}}'}
""".replace("two: powers", "two powers")
WRITTEN = json.dumps(
    {
        "action": "graph",
        "reason": "two searches",
        "subtasks": [
            {"id": "tea", "description": "find tea"},
            {"id": "milk", "description": "find milk"},
            {"id": "end", "description": "join {{tea}} and {{milk}}"},
        ],
    }
)
DRINKS = "find out where tea comes from and where milk comes from, then write a summary of both"


def offline(hand: Hand, *words: str) -> tuple[int, str, str]:
    done = hand.run("plan", "--model", "offline", *words)
    return done.code, done.out, done.err


def test_the_graph_is_shown_with_the_reason(hand: Hand) -> None:
    hand.write_profile(entry("sums"))
    code, out, err = offline(hand, SUMS)
    assert code == ExitCode.ANSWERED
    assert out.splitlines()[:2] == ["part_1: 2^10", "part_2: 3^5"]
    assert out.splitlines()[2].startswith("answer after part_1, part_2: list these results: ")
    assert "3 subtasks: the request joins the results of several parts at its end" in err


def test_one_plan_is_shown_where_it_does(hand: Hand) -> None:
    hand.write_profile(entry("sums"))
    code, out, err = offline(hand, "add 5 and 7")
    assert code == ExitCode.ANSWERED
    assert out.startswith("async def solve():\n    answer = 5 + 7\n")
    assert "one plan: nothing in the request says that it has independent parts" in err
    code, out, err = offline(hand, "--yaml", "add 5 and 7")
    assert (code, out) == (ExitCode.NO_ANSWER, "")
    assert "there is no graph to print" in err


def test_what_cannot_be_planned_is_told(hand: Hand) -> None:
    code, out, err = offline(hand, "--no-graph", SUMS)
    assert (code, out) == (ExitCode.NO_ANSWER, "")
    assert err


def test_the_parts_that_a_request_names_are_shown_without_a_model_too(hand: Hand) -> None:
    code, out, err = offline(hand, "research A, research B, write a report about both")
    assert code == ExitCode.ANSWERED
    assert out.splitlines()[:2] == ["part_1: research A", "part_2: research B"]
    assert "no model is connected that could do them" in err


def test_json_holds_either(hand: Hand) -> None:
    hand.write_profile(entry("sums"))
    found = hand.object("plan", "--model", "offline", SUMS)
    assert (found["action"], found["plan"]) == ("graph", None)
    graph = found["graph"]
    assert isinstance(graph, dict)
    assert graph["goal"] == SUMS
    found = hand.object("plan", "--model", "offline", "add 5 and 7")
    assert (found["action"], found["graph"]) == ("plan", None)
    assert str(found["plan"]).startswith("async def solve():")


def test_what_is_saved_as_yaml_can_be_shown_again(hand: Hand) -> None:
    hand.write_profile(entry("sums"))
    code, out, _ = offline(hand, "--yaml", SUMS)
    assert code == ExitCode.ANSWERED
    file = hand.home / "sums.yaml"
    file.write_text(out, encoding="utf-8")
    assert offline(hand, "--graph", str(file), "--yaml")[1] == out
    flow = offline(hand, "--graph", str(file), "--mermaid")[1].splitlines()
    assert flow[0] == "flowchart TD"
    assert flow[-2:] == ["  t1 --> t3", "  t2 --> t3"]


def test_a_model_is_asked_as_for_the_request_itself(hand: Hand) -> None:
    model = script(hand.home, [WRITTEN])
    done = hand.run("plan", "--model", model, DRINKS)
    assert done.out == (
        "tea: find tea\nmilk: find milk\nend after tea, milk: join {{tea}} and {{milk}}\n"
    )
    assert "3 subtasks: two searches" in done.err
    assert not [*hand.home.rglob("session-*.json")]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--graph", "none.yaml"), "none.yaml is not there"),
        (("help",), "nothing is planned for this"),
    ],
)
def test_wrong_use_is_told(words: tuple[str, ...], told: str, hand: Hand) -> None:
    done = hand.run("plan", *words)
    assert (done.code, done.out) == (ExitCode.BAD_USAGE, "")
    assert told in done.err


def test_a_role_that_is_not_there_is_told_before_the_graph_is_run(hand: Hand) -> None:
    file = hand.home / "powers.yaml"
    file.write_text(GRAPH.replace('do: "3^5"', 'do: "3^5", role: writr'), encoding="utf-8")
    done = hand.run("plan", "--graph", str(file))
    assert (done.code, done.out) == (ExitCode.BAD_USAGE, "")
    assert "powers.yaml:4: subtask 'second' needs 'writr', a role that is not there" in done.err


def test_a_graph_of_a_file_answers_a_request(tmp_path: Path) -> None:
    file = tmp_path / "powers.yaml"
    file.write_text(GRAPH, encoding="utf-8")
    profile = ["--profile", str(write_profile(tmp_path)), "--model", "offline", "--quiet"]
    done = agent(tmp_path, *profile, "--graph", str(file), "two powers")
    assert (done.code, done.out) == (ExitCode.ANSWERED, "one: 1024\ntwo: 243\n")
    done = agent(tmp_path, *profile, "--graph", str(file))
    assert done.code == ExitCode.BAD_USAGE
    assert f'agent.py --graph {file} "REQUEST"' in done.err
    file.write_text(GRAPH.replace("{{first}}", "{{frist}}"), encoding="utf-8")
    done = agent(tmp_path, *profile, "two powers", "--graph", str(file))
    assert done.code == ExitCode.BAD_USAGE
    assert "needs 'frist', which is not there; did you mean first?" in done.err


def test_a_request_with_parts_is_answered_in_parts_unless_that_is_not_wanted(
    tmp_path: Path,
) -> None:
    profile = ["--profile", str(write_profile(tmp_path)), "--model", "offline", "--quiet"]
    assert agent(tmp_path, *profile, SUMS).out == "2^10: 1024\n3^5: 243\n"
    assert agent(tmp_path, *profile, "--no-graph", SUMS).code == ExitCode.NO_ANSWER
    never = write_profile(tmp_path, strategy="graph: never")
    done = agent(tmp_path, "--profile", str(never), "--model", "offline", "--graph", SUMS)
    assert done.out == "2^10: 1024\n3^5: 243\n"


def test_a_model_that_writes_a_graph_has_its_parts_run(tmp_path: Path) -> None:
    replies = [WRITTEN, *(plan(f"return 'FINAL_ANSWER: {n}'") for n in ("one", "two", "three"))]
    profile = ["--profile", str(write_profile(tmp_path)), "--quiet"]
    done = agent(tmp_path, *profile, "--model", script(tmp_path, replies), DRINKS)
    assert (done.code, done.out) == (ExitCode.ANSWERED, "three\n")


def test_a_short_request_asks_a_model_once(tmp_path: Path) -> None:
    done = agent(tmp_path, *without_servers(tmp_path), "--quiet", "add 5 and 7")
    assert (done.code, done.out) == (ExitCode.ANSWERED, "12\n")


@pytest.mark.parametrize(
    ("words", "graph", "request_"),
    [
        (("--graph", "add 5 and 7"), "always", "add 5 and 7"),
        (("add", "--graph", "5"), "always", "add 5"),
        (("--no-graph", "x"), "never", "x"),
        (("--graph", "a.yml", "x"), Path("a.yml"), "x"),
        (("x", "--graph=a.yaml"), Path("a.yaml"), "x"),
        (("--graph",), "always", None),
        (("--", "--graph"), None, "--graph"),
    ],
)
def test_only_a_yaml_file_belongs_to_the_option(
    words: tuple[str, ...], graph: object, request_: str | None
) -> None:
    found = parse_arguments(words, "0")
    assert (found.graph, found.request) == (graph, request_)


@pytest.mark.parametrize("words", [("--graph=x", "y"), ("--graph", "--no-graph", "y")])
def test_anything_else_does_not(words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(words, "0")
