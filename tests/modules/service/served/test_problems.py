"""Why a request has no answer, as a problem document."""

import pytest

from config.settings import SettingsError
from core.errors import (
    BudgetSpent,
    ConfigurationError,
    ModelUnavailable,
    ServerLost,
    SpentBudget,
    StorageError,
    UsageError,
)
from core.turn import RunOutcome
from modules.service.pool import ConversationBusy, TooManyAgents
from modules.service.served.problems import PROBLEMS, Problem, problem_of, problem_of_outcome
from modules.service.served.runs import Draining, QueueFull, RunElsewhere

BUDGET = SpentBudget("day", "tokens", 120, 100, "budgets.day.tokens")


@pytest.mark.parametrize(
    ("error", "kind", "status", "retry_seconds"),
    [
        (UsageError("which?"), "bad-request", 400, None),
        (ConfigurationError("no price"), "bad-request", 400, None),
        (SettingsError("line 1"), "bad-request", 400, None),
        (BudgetSpent("spent", BUDGET), "budget-spent", 402, None),
        (ConversationBusy("busy"), "conversation-busy", 409, 5),
        (QueueFull("full"), "too-many-requests", 429, 5),
        (Draining("ends"), "unavailable", 503, 5),
        (TooManyAgents("many"), "unavailable", 503, 5),
        (RunElsewhere("there"), "unavailable", 503, 5),
        (ModelUnavailable("down"), "failed", 502, None),
        (ModelUnavailable("down", transient=True), "failed", 502, 5),
        (ModelUnavailable("down", transient=True, retry_after_seconds=30), "failed", 502, 30),
        (ServerLost("math", "gone"), "failed", 502, None),
        (StorageError("full"), "failed", 502, None),
        (ZeroDivisionError("x / 0"), "bug", 500, None),
    ],
)
def test_each_error_is_a_problem_of_a_kind(
    error: Exception, kind: str, status: int, retry_seconds: float | None
) -> None:
    problem = problem_of(error)
    assert (problem.kind, problem.status, problem.retry_seconds) == (kind, status, retry_seconds)
    document = problem.document("abc")
    assert document["type"] == f"/problems#{kind}"
    assert document["title"] == PROBLEMS[kind].title
    assert document["trace_id"] == "abc"
    assert document.get("retry_after") == retry_seconds
    assert (document["detail"] == str(error)) is (kind != "bug")


def test_of_a_bug_nothing_is_told_but_where_it_is_written() -> None:
    document = problem_of(ValueError("/home/ann/secret.txt")).document()
    assert "ann" not in str(document)
    assert "log" in str(document["detail"])


def test_a_spent_budget_names_what_was_spent_and_how_to_allow_more() -> None:
    document = problem_of(BudgetSpent("spent", BUDGET)).document()
    budget = document["budget"]
    assert isinstance(budget, dict)
    assert (budget["spent"], budget["limit"], budget["key"]) == (120, 100, "budgets.day.tokens")


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (RunOutcome("done", "12", ""), None),
        (RunOutcome("interrupted", None, "by the user"), None),
        (RunOutcome("no_answer", None, "nothing found"), "no-answer"),
        (RunOutcome("failed", None, "the model is down"), "failed"),
        (RunOutcome("no_answer", None, "spent", budget=BUDGET), "budget-spent"),
    ],
)
def test_an_outcome_without_an_answer_is_one_too(outcome: RunOutcome, kind: str | None) -> None:
    problem = problem_of_outcome(outcome)
    assert (None if problem is None else problem.kind) == kind
    if problem is not None:
        assert problem.detail == outcome.message


def test_every_kind_has_a_status_of_an_error() -> None:
    for kind in PROBLEMS:
        assert 400 <= Problem(kind, "").status < 600
