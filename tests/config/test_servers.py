"""One `mcp_servers` entry as a command: paths, defaults, and entries that can't be used."""

import sys
from pathlib import Path

import pytest

from config.schema import ServerEntry
from config.servers import (
    CALL_TIMEOUT_SECONDS,
    START_TIMEOUT_SECONDS,
    ServerSpec,
    server_spec,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """The folder of the profile."""
    return tmp_path / "profile"


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def script_of(entry: dict[str, object], root: Path, beside: Path) -> str:
    return server_spec({"id": "x", **entry}, root, beside).command[1]


class TestPaths:
    def test_a_script_is_looked_up_in_the_checkout_first(self, root: Path, beside: Path) -> None:
        touch(beside / "s.py")
        found = touch(root / "s.py")
        assert script_of({"script": "s.py"}, root, beside) == str(found)

    def test_then_beside_the_profile(self, root: Path, beside: Path) -> None:
        found = touch(beside / "servers" / "s.py")
        assert script_of({"script": "servers/s.py"}, root, beside) == str(found)

    def test_a_working_directory_takes_the_place_of_the_checkout(
        self, root: Path, beside: Path
    ) -> None:
        touch(root / "s.py")
        found = touch(root / "sub" / "s.py")
        entry: dict[str, object] = {"script": "s.py", "cwd": "sub"}
        assert script_of(entry, root, beside) == str(found)
        assert server_spec({"id": "x", **entry}, root, beside).cwd == root / "sub"

    def test_an_absolute_script_and_directory_stay(self, root: Path, beside: Path) -> None:
        spec = server_spec({"id": "x", "script": "/a/s.py", "cwd": "/b"}, root, beside)
        assert spec.command == (sys.executable, "/a/s.py")
        assert spec.cwd == Path("/b")

    def test_a_script_that_is_nowhere_is_named_where_it_was_expected_first(
        self, root: Path, beside: Path
    ) -> None:
        assert script_of({"script": "s.py"}, root, beside) == str(root / "s.py")

    def test_a_directory_of_the_same_name_is_no_script(self, root: Path, beside: Path) -> None:
        (root / "s.py").mkdir(parents=True)
        found = touch(beside / "s.py")
        assert script_of({"script": "s.py"}, root, beside) == str(found)

    def test_a_profile_given_by_a_relative_path_still_finds_what_lies_beside_it(
        self, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The server starts in the checkout, where a relative script would mean another file."""
        found = touch(tmp_path / "mine" / "s.py")
        monkeypatch.chdir(tmp_path)
        assert script_of({"script": "s.py"}, root, Path("mine")) == str(found)

    def test_a_tilde_is_the_home_directory(
        self, root: Path, beside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        entry: dict[str, object] = {"script": "~/s.py", "cwd": "~/w"}
        assert script_of(entry, root, beside) == str(tmp_path / "s.py")
        assert server_spec({"id": "x", **entry}, root, beside).cwd == tmp_path / "w"

    @pytest.mark.parametrize("odd", ["~nobody-here/s.py", "x" * 5000, "a\0b"])
    def test_a_path_that_cannot_be_looked_at_is_left_for_the_start_to_name(
        self, root: Path, beside: Path, odd: str
    ) -> None:
        assert script_of({"script": odd}, root, beside) == str(root / odd)
        assert server_spec({"id": "x", "command": "y", "cwd": odd}, root, beside).cwd == root / odd


def test_a_bare_entry_gets_the_defaults(root: Path, beside: Path) -> None:
    spec = server_spec({"id": "x", "script": "s.py"}, root, beside)
    assert spec == ServerSpec("x", (sys.executable, str(root / "s.py")), root)
    assert spec.connection == "persistent"
    assert spec.start_timeout_seconds == START_TIMEOUT_SECONDS
    assert spec.call_timeout_seconds == CALL_TIMEOUT_SECONDS


def test_a_command_starts_what_is_not_python(root: Path, beside: Path) -> None:
    entry = {"id": "x", "command": "npx", "args": ["-y", "server"]}
    assert server_spec(entry, root, beside).command == ("npx", "-y", "server")


def test_a_command_with_a_script_is_the_interpreter(root: Path, beside: Path) -> None:
    entry = {"id": "x", "command": "python3.12", "script": "/s.py", "args": ["--fast"]}
    assert server_spec(entry, root, beside).command == ("python3.12", "/s.py", "--fast")


def test_every_key_arrives(root: Path, beside: Path) -> None:
    entry = {
        "id": "x",
        "script": "s.py",
        "env": {"A": "b"},
        "description": "  Adds.\n",
        "capabilities": ["add", "subtract"],
        "basic_tools": ["add"],
        "connection": "per_call",
        "start_timeout_seconds": 3,
        "call_timeout_seconds": 4.5,
    }
    spec = server_spec(entry, root, beside)
    assert spec.env == {"A": "b"}
    assert spec.description == "Adds."
    assert spec.capabilities == ("add", "subtract")
    assert spec.basic_tools == ("add",)
    assert spec.connection == "per_call"
    assert (spec.start_timeout_seconds, spec.call_timeout_seconds) == (3.0, 4.5)
    checked = ServerEntry.model_validate(entry)
    assert checked.spec(root, beside) == spec, "the checked entry and the raw one mean the same"


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "x"},
        {"script": "s.py"},
        {"id": "x", "script": "", "command": ""},
        {"id": "x", "script": None, "command": None},
        {"id": "x", "command": "c", "args": "-y"},
        {"id": "x", "command": "c", "capabilities": {"a": 1}},
        {"id": "x", "command": "c", "connection": "sometimes"},
        {"id": "x", "command": "c", "start_timeout_seconds": "5"},
        {"id": "x", "command": "c", "call_timeout_seconds": True},
    ],
)
def test_an_entry_of_another_form_is_refused(
    entry: dict[str, object], root: Path, beside: Path
) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        server_spec(entry, root, beside)
