"""`workflow`: files listed, shown, checked, run without a key, and made of what was asked."""

import json
from pathlib import Path

import pytest
import yaml

from modules.team.workflow import load_workflow
from tests.command_line import SUMS_SERVER, agent, session_files, write_profile
from tests.modules.cli.by_hand import Hand, said
from tests.modules.cli.test_sessions import keep
from tests.modules.team.test_workflow import CITIES, kept


@pytest.fixture
def kept_hand(hand: Hand) -> Hand:
    """A home with a sound workflow and a wrong one."""
    write_profile(hand.home)
    kept(hand.home, CITIES)
    kept(hand.home, "description: x\nsteps:\n  - id: a\n    do: use {{b}}\n", "wrong")
    return hand


def test_each_is_listed_with_its_parameters_and_the_sample_too(kept_hand: Hand) -> None:
    rows = {line.split()[0]: line for line in kept_hand.run("workflow", "list").out.splitlines()}
    assert "city= [other=Berlin] [most=3] [share=1]" in rows["cities"]
    assert "agent.py workflow check wrong" in rows["wrong"]
    assert rows["savings"].endswith("(a sample)")
    found = {each["name"]: each for each in kept_hand.objects("workflow", "list")}
    assert (found["cities"]["ok"], found["wrong"]["ok"]) == (True, False)


def test_a_users_own_takes_the_place_of_a_sample(kept_hand: Hand) -> None:
    kept(kept_hand.home, CITIES, "savings")
    assert "(a sample)" not in kept_hand.run("workflow", "list").out


def test_one_is_shown_with_its_steps_as_a_tree(kept_hand: Hand) -> None:
    done = kept_hand.run("workflow", "show", "cities")
    assert CITIES.strip() in done.out
    tree = "answer: what do {{first}} and {{second}} have in common?\n├─ first: find {{most}}"
    assert tree in done.out
    assert "\n└─ second: find" in done.out
    found = kept_hand.object("workflow", "show", "cities")
    assert isinstance(found["steps"], list)
    assert found["steps"][2] == {
        "id": "answer",
        "do": "what do {{first}} and {{second}} have in common?",
        "needs": ["first", "second"],
    }


def test_faults_are_told_with_their_lines_and_an_exit_code(kept_hand: Hand) -> None:
    done = kept_hand.run("workflow", "check")
    assert done.code == 2
    assert "cities.yaml: right\n" in done.out
    assert "wrong.yaml:3: subtask 'a' needs 'b', which is not there" in done.err
    assert kept_hand.run("workflow", "check", "cities").code == 0
    done = kept_hand.run("workflow", "check", "citis")
    assert (done.code, "did you mean cities?" in done.err) == (2, True)
    assert kept_hand.objects("workflow", "check", "wrong")[0]["ok"] is False
    file = kept_hand.home / "roles.yaml"
    file.write_text(
        "description: x\nsteps:\n- {id: a, do: x, role: writer}\n- {id: b, do: y, role: writr}\n",
        encoding="utf-8",
    )
    done = kept_hand.run("workflow", "check", str(file))
    needs = "subtask 'b' needs 'writr', a role that is not there; did you mean writer?"
    assert (done.code, f"roles.yaml:4: {needs}" in done.err) == (2, True)


def test_a_step_that_is_wrong_is_the_one_fault_that_is_told(hand: Hand) -> None:
    file = hand.home / "lease.yaml"
    file.write_text("description: x\nsteps:\n- {id: a}\n", encoding="utf-8")
    done = hand.run("workflow", "check", str(file))
    assert (done.code, done.err) == (2, f"[config] {file}:3: key 'steps.0.do' is missing\n")


def test_options_of_a_request_go_before_behind_and_between_the_values() -> None:
    for words in (
        ["--json", "cities", "city=Oslo", "most=2"],
        ["cities", "--json", "city=Oslo", "most=2"],
        ["cities", "city=Oslo", "--json", "most=2"],
        ["cities", "city=Oslo", "most=2", "--json"],
    ):
        found = said("workflow", "run", *words)
        assert found["name"] == "cities", words
        assert found["values"] == ["city=Oslo", "most=2"], words
        assert found["output"] == "json", words


class TestRun:
    def test_the_sample_runs_without_a_key(self, tmp_path: Path) -> None:
        profile = str(write_profile(tmp_path, SUMS_SERVER))
        words = ("workflow", "run", "savings", "--json", "years=2", "amount=100")
        done = agent(tmp_path, *words, "--model", "offline", "--profile", profile)
        assert done.code == 0, done.err
        found = json.loads(done.out)
        assert float(found["answer"]) == pytest.approx(100 * (1.04**2 - 1.02**2))
        assert [each["state"] for each in found["graph"]["subtasks"]] == ["completed"] * 3

    def test_it_runs_with_the_bundled_servers_as_it_ships(self, tmp_path: Path) -> None:
        done = agent(tmp_path, "workflow", "run", "savings", "--model", "offline")
        assert done.code == 0, done.err
        assert float(done.out) == pytest.approx(1000 * (1.04**10 - 1.02**10))

    def test_what_is_missing_is_told_also_as_json(self, tmp_path: Path) -> None:
        kept(tmp_path, CITIES)
        done = agent(tmp_path, "workflow", "run", "cities", "--json", "--model", "offline")
        assert done.code == 2
        assert "wants city (the one): give it as city=VALUE" in done.err
        assert "wants city" in json.loads(done.out)["message"]

    def test_a_step_that_needs_somebody_has_its_default_in_a_pipe(self, tmp_path: Path) -> None:
        steps = (
            "description: x\nsteps:\n"
            "  - {id: one, do: 'add 1 and {{input}}', needs: input, default: 2}\n"
            "  - {id: two, do: 'add 1 and {{one}}', needs: approval, default: yes}\n"
        )
        kept(tmp_path, steps, "asks")
        profile = str(write_profile(tmp_path, SUMS_SERVER))
        words = ("workflow", "run", "asks", "--model", "offline", "--profile", profile)
        done = agent(tmp_path, *words)
        assert (done.code, done.out) == (0, "4\n"), done.err
        assert "one needs an answer; nobody is there to be asked" in done.err
        kept(tmp_path, steps.replace(", default: yes", ""), "asks")
        done = agent(tmp_path, *words)
        assert done.code == 3
        assert "two: it needs leave, and nobody is there to be asked" in done.err


class TestSave:
    def test_the_newest_request_becomes_a_step_with_parameters(self, hand: Hand) -> None:
        write_profile(hand.home)
        keep(hand.home, "s1", ("add 1 and 2", "3"), ("what is 25% of 250 in {{x}}?", "62.5"))
        done = hand.run("workflow", "save", "part", "--from", "s1", "rate=25", "amount=250")
        assert done.code == 0, done.err
        file = hand.home / "workflows" / "part.yaml"
        assert file.stat().st_mode & 0o777 == 0o600
        workflow = load_workflow(file)
        assert workflow.subtasks[0].description == "what is {{rate}}% of {{amount}} in { {x}}?"
        assert (
            workflow.graph({"rate": "50"}).subtasks[0].description.startswith("what is 50% of 250")
        )

    def test_it_replaces_nothing_unasked_and_refuses_what_is_wrong(self, hand: Hand) -> None:
        write_profile(hand.home)
        assert "ask something first" in hand.run("workflow", "save", "part", "--last").err
        keep(hand.home, "s1", ("add 1 and 2", "3"))
        assert hand.run("workflow", "save", "part").code == 0
        before = (hand.home / "workflows" / "part.yaml").read_text()
        done = hand.run("workflow", "save", "part", "x=1")
        assert (done.code, "is there already; --force replaces it" in done.err) == (2, True)
        assert (hand.home / "workflows" / "part.yaml").read_text() == before
        assert hand.run("workflow", "save", "part", "x=1", "--force").code == 0
        assert "stands in no step" in hand.run("workflow", "save", "other", "x=9").err
        assert "is no name" in hand.run("workflow", "save", "../other").err
        assert "is a parameter and a step" in hand.run("workflow", "save", "q", "answer=1").err
        assert [file.name for file in (hand.home / "workflows").iterdir()] == ["part.yaml"]

    def test_what_ran_in_parts_keeps_its_parts_and_who_was_asked(self, tmp_path: Path) -> None:
        kept(tmp_path, "description: x\nsteps:\n  - {id: one, do: add 1 and 2}\n"
                       "  - {id: two, do: 'add 1 and {{one}} and {{input}}', needs: input,"
                       " default: 3}\n", "sums")  # fmt: skip
        profile = str(write_profile(tmp_path, SUMS_SERVER))
        agent(tmp_path, "workflow", "run", "sums", "--model", "offline", "--profile", profile)
        assert '"default, answer: 3"' in session_files(tmp_path)[0].read_text()
        done = agent(tmp_path, "workflow", "save", "again", "--last", "first=1")
        assert done.code == 0, done.err
        text = (tmp_path / "workflows" / "again.yaml").read_text()
        assert yaml.safe_load(text)["steps"] == [
            {"id": "one", "do": "add {{first}} and 2"},
            {"id": "two", "do": "add {{first}} and {{one}} and {{input}}", "needs": "input",
             "default": "3"},
        ]  # fmt: skip
