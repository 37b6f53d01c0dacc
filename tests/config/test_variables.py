"""The `envFile` of a server: lines of NAME=value, bounded, and never quoted in a message."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.variables import (
    MAX_ENV_FILE_BYTES,
    MAX_EXPANDED_CHARACTERS,
    EnvFileProblem,
    Expander,
    read_env_file,
)


def test_assignments_comments_quotes_and_exports_are_read(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text(
        "\ufeff# keys\n\nA=1\nexport B = two words \nC='${A} # x'\nD=\"\"\nE=\nF='\nA=2\r\n",
        encoding="utf-8",
    )
    assert read_env_file(path) == {
        "A": "2",
        "B": "two words",
        "C": "${A} # x",
        "D": "",
        "E": "",
        "F": "'",
    }


def test_a_line_of_another_form_is_named_by_its_number_alone(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("A=1\nhunter2\n", encoding="utf-8")
    with pytest.raises(EnvFileProblem, match=r"\.env:2: expected NAME=value") as caught:
        read_env_file(path)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"A=\xff", "not UTF-8 text"), (b"#" * (MAX_ENV_FILE_BYTES + 1), "larger than")],
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / ".env"
    path.write_bytes(content)
    with pytest.raises(EnvFileProblem, match=said):
        read_env_file(path)


@pytest.mark.parametrize("path", [Path("/nowhere/.env"), Path("/"), Path("a\0b")])
def test_a_file_that_cannot_be_read_is_named(path: Path) -> None:
    with pytest.raises(EnvFileProblem, match="can't be read"):
        read_env_file(path)


# Variables in server entries: which forms mean what, and that nothing expands without bound.

FOLDER = Path("/work/project")
ENVIRON = {"HOME": "/home/me", "TOKEN": "abcdef-123", "EMPTY": "", "NEST": "${TOKEN}", "N": "12"}


def expanded(text: str) -> str:
    expander = Expander(ENVIRON, FOLDER)
    made = expander.text("key", text)
    assert not expander.problems
    return made


def problem(text: str) -> str:
    expander = Expander(ENVIRON, FOLDER)
    assert expander.text("env.X", text) == text, "what can't be replaced stays"
    (found,) = expander.problems
    assert found.startswith("key 'env.X' holds ")
    return found


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("${TOKEN}", "abcdef-123"),
        ("${env:TOKEN}", "abcdef-123"),
        ("Bearer ${TOKEN}!", "Bearer abcdef-123!"),
        ("${N}${N}", "1212"),
        ("${EMPTY}", ""),
        ("${NONE:-eu}", "eu"),
        ("${env:NONE:-eu}", "eu"),
        ("${NONE:-}", ""),
        ("${EMPTY:-eu}", "eu"),
        ("${TOKEN:-eu}", "abcdef-123"),
        ("${NONE:-http://a:8/b?c=$d}", "http://a:8/b?c=$d"),
        ("${env:-x}", "x"),
        ("${userHome}/x", "/home/me/x"),
        ("${workspaceFolder}/x", "/work/project/x"),
        ("${workspaceFolderBasename}", "project"),
        ("a${/}b${pathSeparator}c", "a/b/c"),
        ("$${TOKEN}", "${TOKEN}"),
        ("$$${TOKEN}", "$${TOKEN}"),
        ("$TOKEN $ {TOKEN} %TOKEN% }", "$TOKEN $ {TOKEN} %TOKEN% }"),
        ("${NEST}", "${TOKEN}"),
    ],
)
def test_each_form_has_one_meaning_and_is_expanded_once(text: str, result: str) -> None:
    assert expanded(text) == result


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${NONE}", "NONE, which is not set; set it, or write ${NONE:-default}"),
        ("${env:NONE}", "NONE, which is not set"),
        ("${input:api-key}", "${input:api-key}, which an editor would ask you for; nobody is ask"),
        ("${command:x.y}", "is no variable; allowed: ${VARIABLE}, ${VARIABLE:-default}, ${env:"),
        ("${file:/etc/passwd}", "is no variable"),
        ("${}", "is no variable"),
        ("${1A}", "is no variable"),
        ("${A B}", "is no variable"),
        ("${A-b}", "is no variable"),
        ("echo ${x%.*}", "is no variable"),
        ("${TOKEN", "not closed"),
        ("${NONE:-{}", "not closed"),
    ],
)
def test_what_cannot_be_replaced_is_named_with_what_to_do(text: str, said: str) -> None:
    assert said in problem(text)


def test_a_variable_inside_a_default_is_refused_and_not_half_expanded() -> None:
    expander = Expander(ENVIRON, FOLDER)
    expander.text("url", "${NONE:-${TOKEN}}")
    assert "not closed, or holds another one" in expander.problems[0]


def test_a_reference_that_is_none_is_not_quoted_for_it_may_hold_a_secret() -> None:
    assert "hunter2" not in problem("${hunter2 hunter2}")


def test_variables_bring_in_no_more_than_the_bound() -> None:
    expander = Expander({"BIG": "x" * 1000}, FOLDER)
    made = expander.text("args.0", "${BIG}" * 1_000)
    assert len(made) < MAX_EXPANDED_CHARACTERS + 1_000 * len("${BIG}")
    assert "more text than variables may bring in" in expander.problems[0]


def test_a_long_text_without_variables_is_nobodys_business() -> None:
    assert expanded("x" * 10_000_000) == "x" * 10_000_000


def test_private_values_are_kept_as_secrets_and_open_ones_are_not() -> None:
    environ = {"A": "private-value", "HOME": "/home/me", "SHORT": "12345", "MY_KEY": "key-value"}
    expander = Expander(environ, FOLDER)
    private = {"A": "${A} ${HOME} ${SHORT} ${N:-a-default}"}
    assert expander.private_mapping("env", private) == {
        "A": "private-value /home/me 12345 a-default"
    }
    expander.texts("args", ("${A}", "--key=${MY_KEY}"))
    assert expander.secrets == {"private-value", "key-value"}


@given(st.text(alphabet="${}:-envABinput /\n", max_size=60))
def test_any_text_expands_without_an_error_and_escaping_gives_it_back(text: str) -> None:
    Expander({"A": "a", "B": ""}, FOLDER).text("key", text)
    assert expanded(text.replace("${", "$${")) == text
