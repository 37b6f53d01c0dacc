"""Others' words in sentences of ours."""

import pytest

from core.base.sentences import clause, sentence


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no host", "no host."),
        ("no host.", "no host."),
        ("no host..", "no host."),
        ("which one?", "which one?"),
        ("cut off…", "cut off…"),
        ("(as it says.)", "(as it says.)"),
        ("no host; ", "no host."),
    ],
)
def test_a_sentence_ends_with_one_mark(text: str, shown: str) -> None:
    assert sentence(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"), [("no host.", "no host"), ("no host", "no host"), ("cut off…", "cut off…")]
)
def test_a_clause_ends_without_a_full_stop(text: str, shown: str) -> None:
    assert clause(text) == shown
