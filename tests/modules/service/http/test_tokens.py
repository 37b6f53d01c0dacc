from collections.abc import Sequence

import pytest

from core.errors import UsageError
from modules.service.http.tokens import Tokens, read_tokens
from modules.service.pool import User

ALICE = "a-long-random-token-of-alice"
BOB = "a-long-random-token-of-bob-too"
ENVIRON = {"ALICE": ALICE, "BOB": BOB, "SHORT": "0123456789abcde", "EMPTY": "", "AGAIN": ALICE}


def tokens(*options: str) -> Tokens:
    return read_tokens(options, ENVIRON)[0]


def test_without_tokens_everybody_is_the_owner() -> None:
    assert Tokens().user_of(None) == User()
    assert not Tokens()


def test_a_token_names_its_user_and_the_profiles() -> None:
    found = tokens("ALICE=alice:default,work", "BOB")
    assert found.user_of(f"Bearer {ALICE}") == User("alice", ("default", "work"))
    assert found.user_of(f"bearer  {BOB} ") == User()
    assert found.has_others
    assert not tokens("BOB").has_others


@pytest.mark.parametrize(
    "header",
    [
        *(None, "", "Bearer", "Bearer ", f"Basic {ALICE}", ALICE, f"Bearer {ALICE}x"),
        *(f"Bearer {BOB}", f"Bearer {ALICE[:-1]}", "Bearer " + "x" * 5_000, "Bearer \udcff"),
    ],
)
def test_anything_else_is_nobody(header: str | None) -> None:
    assert tokens("ALICE=alice").user_of(header) is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["MISSING=alice"], "is not set"),
        (["EMPTY=alice"], "is not set"),
        (["SHORT=alice"], "fewer than 16"),
        (["=alice"], "is not of the form"),
        (["ALICE=alice:"], "is not of the form"),
        (["ALICE=../bob"], "no name of a user"),
        (["ALICE=Alice"], "no name of a user"),
        (["ALICE=alice", "AGAIN=bob"], "the same token"),
    ],
)
def test_a_token_that_protects_nothing_is_refused(options: Sequence[str], told: str) -> None:
    with pytest.raises(UsageError, match=told) as raised:
        read_tokens(options, ENVIRON)
    assert not any(secret in str(raised.value) for secret in ENVIRON.values() if secret)


def test_secrets_are_handed_on_to_be_redacted() -> None:
    assert read_tokens(["ALICE=alice"], ENVIRON)[1] == [ALICE]
