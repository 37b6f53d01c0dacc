"""One `mcp_servers` entry as a command: paths, defaults, and entries that can't be used."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from config.server_entry import ServerEntry
from config.servers import CALL_TIMEOUT_SECONDS, START_TIMEOUT_SECONDS, ServerSpec


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """The folder of the profile."""
    return tmp_path / "profile"


def server_spec(
    entry: Mapping[str, object],
    root: Path,
    beside: Path,
    environ: Mapping[str, str] = os.environ,
    origin: str = "in the profile",
) -> ServerSpec:
    checked = ServerEntry.model_validate(entry)
    return checked.spec(root, beside, environ=environ, origin=origin)


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
    program = (sys.executable, str(root / "s.py"))
    assert spec == ServerSpec("x", program, root, origin="in the profile")
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
        "start": "eager",
        "tool_timeout_seconds": {"add": 9},
        "concurrent_calls": 3,
        "result_bytes": 4096,
    }
    spec = server_spec(entry, root, beside)
    assert spec.env == {"A": "b"}
    assert spec.description == "Adds."
    assert spec.capabilities == ("add", "subtract")
    assert spec.basic_tools == ("add",)
    assert spec.connection == "per_call"
    assert (spec.start_timeout_seconds, spec.call_timeout_seconds) == (3.0, 4.5)
    assert spec.start == "eager"
    assert (spec.timeout_of("add"), spec.timeout_of("subtract")) == (9.0, 4.5)
    assert (spec.concurrent_calls, spec.result_bytes) == (3, 4096)


class TestAddresses:
    def test_a_url_is_a_server_with_headers_and_no_program(self, root: Path, beside: Path) -> None:
        entry = {
            "id": "x",
            "url": "https://${HOST}/mcp",
            "headers": {"Authorization": "Bearer ${TOKEN} \n"},
            "connection": "per_call",
        }
        environ = {"HOST": "example.com", "TOKEN": "abc-123-def"}
        spec = server_spec(entry, root, beside, environ=environ)
        assert spec.command == ()
        assert spec.url == "https://example.com/mcp"
        assert spec.headers == {"Authorization": "Bearer abc-123-def"}
        assert spec.secrets == {"abc-123-def"}
        assert spec.problem is None

    @pytest.mark.parametrize(
        ("environ", "said"),
        [
            ({"TOKEN": "t"}, "key 'url' holds the environment variable URL, which is not set"),
            ({"URL": "ftp://x", "TOKEN": "t"}, "key 'url' is no usable address; allowed"),
            ({"URL": "http://x", "TOKEN": "a\r\nb"}, "key 'headers.X-Key' holds a character"),
            ({"URL": "http://x"}, "key 'headers.X-Key' holds the environment variable TOKEN"),
        ],
    )
    def test_what_cannot_be_used_is_a_problem_of_this_server_alone(
        self, root: Path, beside: Path, environ: dict[str, str], said: str
    ) -> None:
        entry = {"id": "x", "url": "${URL}", "headers": {"X-Key": "${TOKEN}"}}
        spec = server_spec(entry, root, beside, environ=environ, origin="in FILE")
        assert spec.problem is not None
        assert spec.problem.startswith("server 'x' in FILE can't be used: ")
        assert said in spec.problem
        assert "a\r" not in spec.problem

    def test_a_spec_that_is_printed_shows_no_secret(self, root: Path, beside: Path) -> None:
        entry = {"id": "x", "command": "c", "env": {"A": "${TOKEN}", "B": "literal-secret"}}
        spec = server_spec(entry, root, beside, environ={"TOKEN": "abc-123-def"})
        headers = {"id": "x", "url": "https://a", "headers": {"B": "literal-secret"}}
        for shown in (repr(spec), str(server_spec(headers, root, beside))):
            assert "abc-123-def" not in shown
            assert "literal-secret" not in shown


def test_variables_are_replaced_wherever_a_server_is_described(root: Path, beside: Path) -> None:
    environ = {"D": "deep", "HOME": "/home/me"}
    entry = {
        "id": "x",
        "command": "${userHome}/bin/run",
        "args": ["--in=${workspaceFolder}", "$${D}"],
        "cwd": "${D}/er",
        "env": {"A": "${D:-x}"},
    }
    spec = server_spec(entry, root, beside, environ=environ)
    assert spec.command == ("/home/me/bin/run", f"--in={root}", "${D}")
    assert spec.cwd == root / "deep" / "er"
    assert spec.env == {"A": "deep"}
    script = server_spec({"id": "x", "script": "${D}.py"}, root, beside, environ=environ)
    assert script.command[1] == str(root / "deep.py")


def test_many_unset_variables_make_one_short_sentence(root: Path, beside: Path) -> None:
    entry = {"id": "x", "command": "c", "args": [f"${{V{n}}}" for n in range(50)]}
    problem = server_spec(entry, root, beside, environ={}).problem
    assert problem is not None
    assert "key 'args.0' holds the environment variable V0" in problem
    assert problem.endswith("… and 45 more")


@pytest.mark.parametrize(
    ("entry", "is_bundled"),
    [
        ({"script": "servers/math_server.py"}, True),
        ({"script": "math_server.py", "cwd": "servers"}, True),
        ({"script": "servers/x.py", "command": sys.executable}, True),
        ({"script": "servers/x.py", "command": "node"}, False),
        ({"script": "servers/../mine/x.py"}, False),
        ({"script": "mine/x.py"}, False),
        ({"command": sys.executable, "args": ["servers/math_server.py"]}, False),
        ({"url": "https://example.com"}, False),
    ],
)
def test_only_our_own_scripts_under_our_own_interpreter_are_bundled(
    root: Path, beside: Path, entry: dict[str, object], is_bundled: bool
) -> None:
    assert server_spec({"id": "x", **entry}, root, beside).bundled is is_bundled


def test_a_link_that_leaves_the_folder_of_servers_is_not_bundled(root: Path, beside: Path) -> None:
    mine = touch(root / "mine" / "x.py")
    (root / "servers").mkdir()
    (root / "servers" / "x.py").symlink_to(mine)
    assert not server_spec({"id": "x", "script": "servers/x.py"}, root, beside).bundled
