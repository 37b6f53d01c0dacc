"""`trace`: a session's runs in each form."""

import json
from pathlib import Path

import jsonschema_rs
import pytest

from modules.cli.schema import SCHEMAS
from tests.command_line import write_profile
from tests.modules.cli.by_hand import Hand
from tests.modules.cli.test_sessions import NEW, keep


@pytest.fixture
def traced(hand: Hand) -> Hand:
    write_profile(hand.home)
    keep(hand.home, NEW, ("first", "1"), ("second", "2"), age_days=2)
    keep(hand.home, "notes", ("other", None))
    return hand


def test_the_last_session_is_shown_where_none_is_named(traced: Hand) -> None:
    assert "other" in traced.run("trace").out
    assert json.loads(traced.run("trace", "--last", "--json").out)["id"] == "notes"


def test_one_run_can_be_chosen(traced: Hand) -> None:
    def names(*words: str) -> list[str]:
        found = json.loads(traced.run("trace", "bbbbbb", "--json", *words).out)
        return [run["name"] for run in found["runs"]]

    assert names() == ["first", "second"]
    assert names("--run", "1") == names("--run", "-2") == ["first"]
    done = traced.run("trace", "bbbbbb", "--run", "3")
    assert (done.code, "the session has 2 runs" in done.err) == (2, True)


def test_what_is_printed_as_json_is_what_the_schema_says(traced: Hand) -> None:
    found = traced.object("trace")
    assert (found["type"], found["schema"], found["title"]) == ("trace", 1, "notes")
    assert list(jsonschema_rs.validator_for(SCHEMAS["trace"]()).iter_errors(found)) == []


def test_verbose_shows_all_that_is_known(traced: Hand) -> None:
    assert "request:" not in traced.run("trace").out
    assert "\n  request:\n    other\n" in traced.run("trace", "--verbose").out


def test_a_page_and_a_chart_are_written(traced: Hand, tmp_path: Path) -> None:
    page = tmp_path / "trace.html"
    assert traced.run("trace", "--html", str(page)).out == f"wrote {page}\n"
    assert "<title>notes</title>" in page.read_text(encoding="utf-8")
    assert traced.run("trace", "--mermaid").out.startswith("gantt\n")
    done = traced.run("trace", "--html", str(tmp_path / "none" / "x.html"))
    assert (done.code, "can't be written" in done.err) == (1, True)


def test_where_nothing_is_kept_that_is_said(hand: Hand) -> None:
    write_profile(hand.home)
    done = hand.run("trace")
    assert (done.code, "no session is kept" in done.err) == (2, True)


def test_decisions_are_told_in_three_depths(traced: Hand) -> None:
    def told(*words: str) -> str:
        return traced.run("trace", "bbbbbb", "--decisions", *words).out

    assert told() == f"{NEW}\n\nfirst\nA model answered: 1.\n\nsecond\nA model answered: 2.\n"
    assert told("--depth", "paragraph", "--run", "2").endswith("\nsecond\nA model answered: 2.\n")
    everything = told("--depth", "all")
    assert "answer: A model answered: 1.\n  item 2: Answer\n  answer:\n    1\n" in everything
    found = json.loads(told("--depth", "json"))
    assert found == traced.object("trace", "bbbbbb", "--decisions")
    assert found["runs"][1]["decisions"][0]["evidence"] == [{"item": 4, "text": "Answer"}]
    assert list(jsonschema_rs.validator_for(SCHEMAS["decisions"]()).iter_errors(found)) == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--depth", "all"), "add --decisions"),
        (("--decisions", "--depth", "all", "--json"), "leave one of the two out"),
        (("--decisions", "--run", "7"), "the session has 1 runs"),
    ],
)
def test_a_depth_that_can_t_be_is_said(traced: Hand, words: tuple[str, ...], why: str) -> None:
    done = traced.run("trace", *words)
    assert (done.code, why in done.err) == (2, True), done.err
