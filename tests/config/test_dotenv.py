"""The `.env` of CORTEX_HOME: read, told, and kept from children."""

from pathlib import Path

import pytest

from config.dotenv import NAMES_SHOWN, Environment, inherited, with_env_file
from config.settings import SettingsError


def written(home: Path, text: str, **environ: str) -> Environment:
    (home / ".env").write_text(text, encoding="utf-8")
    return with_env_file(environ, home)


def test_its_variables_add_to_the_environment_and_never_override_it(tmp_path: Path) -> None:
    text = "# mine\nexport A=1 # one\nB=\"two # 2\" # two\nC='x=y'\nD=a#b\n"
    environ = written(tmp_path, text, A="real", E="", CORTEX_HOME="/here")
    assert environ == {
        "A": "real",
        "B": "two # 2",
        "C": "x=y",
        "D": "a#b",
        "E": "",
        "CORTEX_HOME": "/here",
    }
    assert environ.added == ("B", "C", "D")
    empty = written(tmp_path, "E=file\nCORTEX_HOME=/there\n", E="")
    assert empty == {"E": ""}
    assert empty.notice == ""


def test_it_is_told_by_names_and_never_by_values(tmp_path: Path) -> None:
    environ = written(tmp_path, "OPENAI_API_KEY=sk-geheim-123\nB=2\n")
    assert environ.notice == f"{tmp_path / '.env'} is read for OPENAI_API_KEY, B"
    many = written(tmp_path, "".join(f"V{n}=1\n" for n in range(NAMES_SHOWN + 5)))
    assert many.notice.endswith(f"V{NAMES_SHOWN - 1} and 5 more")
    assert with_env_file({"A": "1"}, tmp_path / "none").notice == ""


def test_a_child_inherits_nothing_of_it(tmp_path: Path) -> None:
    environ = written(tmp_path, "KEY_OF_MINE=1\nPATH=/evil\n", PATH="/bin", HOME="/h")
    assert inherited(environ) == {"PATH": "/bin", "HOME": "/h"}
    assert inherited({"A": "1"}) == {"A": "1"}


def test_a_line_that_is_no_assignment_is_named_without_its_text(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"\.env:2: expected NAME=value; correct") as caught:
        written(tmp_path, "A=1\nsk-geheim-123\n")
    assert "geheim" not in str(caught.value)
