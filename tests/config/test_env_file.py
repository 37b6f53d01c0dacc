"""The `envFile` of a server: lines of NAME=value, bounded, and never quoted in a message."""

from pathlib import Path

import pytest

from config.env_file import MAX_ENV_FILE_BYTES, EnvFileProblem, read_env_file


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
