"""Kept workflows: read from files, checked, and made into graphs with their parameters' values."""

from pathlib import Path

import pytest

from config.settings import WORKFLOWS, SettingsError
from core.errors import UsageError
from modules.team.workflow import (
    arguments_of,
    asked_workflow,
    checked_workflow,
    find_workflow,
    load_workflow,
    own_workflows,
    workflow_files,
    workflow_text,
)

CITIES = """
description: What two cities have in common.
parameters:
  city: {description: the one}
  other: {default: Berlin}
  most: {type: integer, default: 3}
  share: {type: number, default: 1}
steps:
  - {id: first, do: "find {{most}} facts about {{city}}"}
  - {id: second, do: "find {{ most }} facts about {{other}}"}
  - {id: answer, do: "what do {{first}} and {{second}} have in common?", critical: true}
"""


def kept(home: Path, text: str, name: str = "cities") -> Path:
    file = home / WORKFLOWS / f"{name}.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_parameters_are_filled_and_references_to_steps_stay(tmp_path: Path) -> None:
    kept(tmp_path, CITIES)
    graph = find_workflow(tmp_path, "cities").graph({"city": "Oslo"})
    assert [subtask.description for subtask in graph.subtasks] == [
        "find 3 facts about Oslo",
        "find 3 facts about Berlin",
        "what do {{first}} and {{second}} have in common?",
    ]
    assert (
        graph.goal
        == "run the workflow cities with city=Oslo and other=Berlin and most=3 and share=1"
    )
    assert asked_workflow(graph.goal) == (
        "cities",
        {"city": "Oslo", "other": "Berlin", "most": "3", "share": "1"},
    )
    assert graph["answer"].dependencies == ("first", "second")
    assert graph["answer"].critical


def test_a_value_can_name_no_step(tmp_path: Path) -> None:
    kept(tmp_path, CITIES)
    graph = find_workflow(tmp_path, "cities").graph({"city": "{{second}}"})
    assert graph["first"].dependencies == ()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "wants city (the one): give it as city=VALUE"),
        (["city=Oslo", "othr=Rome"], "no parameter 'othr'; it takes other"),
        (["city=Oslo", "most=many"], "most is 'many'; a whole number is wanted"),
        (["Oslo"], "'Oslo' is no key=value"),
        (["city=Oslo", "most=1e999"], "a whole number is wanted"),
        (["city=Oslo", "share=inf"], "share is 'inf'; a number is wanted"),
        (["city=a", "city=b"], "city is given twice"),
        (["city=" + "x" * 10_001], "has over 10,000 characters"),
    ],
)
def test_wrong_arguments_are_told(tmp_path: Path, words: list[str], told: str) -> None:
    kept(tmp_path, CITIES)
    with pytest.raises(UsageError, match=told.replace("(", r"\(").replace(")", r"\)")):
        find_workflow(tmp_path, "cities").graph(arguments_of(words))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("description: x\nsteps: []", "steps"),
        ("description: x\nsteps:\n  - {id: a, do: y, nedds: [b]}", "did you mean needs?"),
        ("description: x\nsteps:\n  - {id: a, do: 'use {{b}}'}", "needs 'b', which is not there"),
        (
            "description: x\nsteps: [{id: a, do: y, after: [b]}, {id: b, do: y, after: [a]}]",
            "wait for each other",
        ),
        ("description: x\nparameters: {a: {}}\nsteps: [{id: a, do: y}]", "a parameter and a step"),
        ("a: [", "not valid YAML"),
        ("", "the file is empty"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_workflow(kept(tmp_path, text))
    assert told in str(caught.value)


def test_files_that_are_none_are_told(tmp_path: Path) -> None:
    kept(tmp_path, CITIES)
    with pytest.raises(UsageError, match="did you mean cities"):
        find_workflow(tmp_path, "citis")
    with pytest.raises(SettingsError, match="is not there"):
        load_workflow(tmp_path / "gone.yaml")
    with pytest.raises(SettingsError, match="small letters"):
        load_workflow(kept(tmp_path, CITIES, "My Cities"))
    assert [*own_workflows(tmp_path)] == ["My Cities", "cities"]
    assert {*workflow_files(tmp_path)} == {"My Cities", "cities", "savings"}


def test_what_a_workflow_may_call_stands_in_its_file_and_goes_with_its_graph(
    tmp_path: Path,
) -> None:
    rules = "approve:\n  - mail.send_email(to=*@example.org)\n"
    found = load_workflow(kept(tmp_path, CITIES.replace("steps:", f"{rules}steps:")))
    graph = found.graph({"city": "Rome"})
    assert graph.approve == ("mail.send_email(to=*@example.org)",)
    text = workflow_text("x", graph.subtasks, {}, graph.approve)
    assert checked_workflow(tmp_path / "again.yaml", text).approve == graph.approve
    wrong = CITIES.replace("steps:", "approve: ['send mail']\nsteps:")
    with pytest.raises(SettingsError, match="'send mail' is no rule"):
        load_workflow(kept(tmp_path, wrong))
