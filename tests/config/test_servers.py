"""One server of a profile: its command, its paths and defaults; each mistake with its line."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from config.schema import load_profile
from config.servers import (
    CALL_TIMEOUT_SECONDS,
    START_TIMEOUT_SECONDS,
    ServerEntry,
    ServerSpec,
    seen_from,
)
from config.settings import SettingsError

AGENT = "agent: {name: A, id: a}\n"
HIDDEN = "s3cr3t-value"


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

    def test_without_one_a_program_works_where_the_user_is_and_is_the_same_everywhere(
        self, root: Path, beside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        specs: list[ServerSpec] = []
        for name in ("here", "there"):
            (tmp_path / name).mkdir()
            monkeypatch.chdir(tmp_path / name)
            specs.append(server_spec({"id": "x", "command": "y", "args": ["."]}, root, beside))
            assert specs[-1].folder == tmp_path / name
        assert [spec.cwd for spec in specs] == [root, root]

    @pytest.mark.parametrize("args", [["s.py"], ["-m", "s"], ["-c", "./s.py"]])
    @pytest.mark.parametrize("is_users", [True, False])
    def test_a_program_that_it_names_is_that_of_the_checkout_and_none_of_the_users_folder(
        self,
        root: Path,
        beside: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        args: list[str],
        *,
        is_users: bool,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        touch((tmp_path if is_users else root) / "s.py")
        spec = server_spec({"id": "x", "command": "y", "args": args}, root, beside)
        assert spec.folder == root

    def test_data_in_the_users_folder_is_what_it_works_on(
        self, root: Path, beside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        touch(tmp_path / "notes.db")
        entry = {"id": "x", "command": "y", "args": ["--file", "notes.db"]}
        assert server_spec(entry, root, beside).folder == tmp_path

    def test_neither_a_server_of_ours_nor_one_with_a_folder_follows_the_user(
        self, root: Path, beside: Path
    ) -> None:
        touch(root / "servers" / "s.py")
        for entry in ({"script": "servers/s.py"}, {"command": "y", "cwd": "/b"}):
            spec = server_spec({"id": "x", **entry}, root, beside)
            assert spec.folder == spec.cwd

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
    assert spec == ServerSpec("x", program, root, origin="in the profile", runs_in=Path.cwd())
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


def profile_error(folder: Path, servers: str) -> str:
    """The message that a profile with these servers gets, its own path as `FILE`."""
    path = folder / "profiles.yaml"
    path.write_text(f"{AGENT}mcp_servers:\n{servers}\n", encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_profile(path)
    message = str(caught.value).replace(str(path), "FILE")
    assert "\n" not in message
    assert HIDDEN not in message
    return message


@pytest.mark.parametrize(
    ("entry", "key", "message"),
    [
        ("id: a, script: x, env: {PORT: 8080}", ".env.PORT", "is a number; expected text, in quo"),
        ("id: a, script: x, env: {1: a}", ".env.1", "is 1; expected text"),
        ("id: a b, script: x", ".id", "is 'a b'; it should match"),
        ("id: a.b, script: x", ".id", "is 'a.b'; it should match"),
        ("id: a, script: ''", ".script", "is ''"),
        ("id: a, command: ''", ".command", "is ''"),
        (
            "id: a, script: x, connection: often",
            ".connection",
            "is 'often'; allowed: persistent or ",
        ),
        ("id: a, script: x, disabled: 'no'", ".disabled", "is 'no'; it should be a valid boolean"),
        (
            "id: a, script: x, concurrent_calls: 0",
            ".concurrent_calls",
            "is 0; it should be greater",
        ),
        (
            "id: a, script: x, concurrent_calls: 1001",
            ".concurrent_calls",
            "is 1001; it should be l",
        ),
        ("id: a, script: x, result_bytes: 10", ".result_bytes", "is 10; it should be greater than"),
        ("id: a, script: x, result_bytes: 1.0e+12", ".result_bytes", "is 1000000000000.0; it sho"),
        (
            "id: a, tool_timeout_seconds: {add: 0}",
            ".tool_timeout_seconds.add",
            "is 0; it should be",
        ),
        (
            "id: a, script: x, tool_timeout_seconds: 5",
            ".tool_timeout_seconds",
            "is 5; expected a se",
        ),
        (
            "id: a, url: 'ftp://a.b'",
            ".url",
            "is text: no usable address; allowed: an address such ",
        ),
        (
            f"id: a, url: 'https://me:{HIDDEN}@a.b'",
            ".url",
            "is text: a user name or password, whic",
        ),
        (
            f"id: a, url: 'https://a.b', headers: [{HIDDEN}]",
            ".headers",
            "is a list; expected a sec",
        ),
        (f"id: a, script: x, args: {HIDDEN}", ".args", "is text; expected a list"),
    ],
)
def test_a_wrong_value_names_file_line_key_and_what_is_allowed_and_no_secret(
    tmp_path: Path, entry: str, key: str, message: str
) -> None:
    found = profile_error(tmp_path, f"  - {{{entry}}}")
    assert found.startswith(f"FILE:3: 'mcp_servers.0{key}' {message}")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("id: a", "a server needs 'script' (a Pyt"),
        ("id: a, url: 'https://a.b', script: x", "a server is a program or a 'url', not both"),
        ("id: a, url: 'https://a.b', env: {A: b}", "'args' and 'env' go with a program; a 'url' g"),
        ("id: a, script: x, headers: {A: b}", "'headers' go with a 'url'; a program gets 'env'"),
    ],
)
def test_keys_that_do_not_go_together_are_told(tmp_path: Path, entry: str, message: str) -> None:
    found = profile_error(tmp_path, f"  - {{{entry}}}")
    assert found.startswith(f"FILE:3: 'mcp_servers.0': {message}")


@pytest.mark.parametrize(
    ("servers", "message"),
    [
        (
            "  - id: a\n    script: x\n    uri: y",
            "FILE:5: unknown key 'mcp_servers.0.uri'; allowed here: id, script, command, args, "
            "cwd, env, url, headers, description, capabilities, basic_tools, connection, start, "
            "disabled, start_timeout_seconds, call_timeout_seconds, tool_timeout_seconds, "
            "concurrent_calls, result_bytes",
        ),
        ("  - script: x", "FILE:3: key 'mcp_servers.0.id' is missing"),
        (
            "  - {id: a,\n     start: sometimes, script: x}",
            "FILE:4: 'mcp_servers.0.start' is 'sometimes'; allowed: lazy or eager",
        ),
        (
            f"  a: {{url: 'https://e.com?key={HIDDEN}'}}",
            "FILE:2: 'mcp_servers' is a section; expected a list",
        ),
    ],
)
def test_a_mistake_is_told_on_its_own_line(tmp_path: Path, servers: str, message: str) -> None:
    assert profile_error(tmp_path, servers).startswith(message)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("a", "a", "id used twice: a"),
        ("a-b", "a_b", "'a-b' and 'a_b' look the same in a plan"),
        ("import", "import_", "'import' and 'import_' look the same in a plan"),
    ],
)
def test_ids_differ_as_plans_write_them_too(
    tmp_path: Path, first: str, second: str, message: str
) -> None:
    servers = f"  - {{id: {first}, script: x}}\n  - {{id: {second}, script: y}}"
    assert profile_error(tmp_path, servers) == f"FILE:2: 'mcp_servers': {message}"


def test_an_address_with_a_variable_in_it_is_no_mistake_of_the_profile(tmp_path: Path) -> None:
    path = tmp_path / "profiles.yaml"
    path.write_text(f"{AGENT}mcp_servers: [{{id: a, url: '${{NOWHERE}}/mcp'}}]\n", encoding="utf-8")
    server = load_profile(path).mcp_servers[0]
    spec = server.spec(tmp_path, tmp_path, environ={}, origin="in the profile")
    assert spec.problem is not None
    assert "NOWHERE" in spec.problem


def test_a_server_works_where_the_user_is_unless_its_program_would_be_another(
    tmp_path: Path,
) -> None:
    spec = ServerSpec("files", ("npx", "server.js"), tmp_path, runs_in=tmp_path)
    elsewhere, hostile = tmp_path / "elsewhere", tmp_path / "hostile"
    elsewhere.mkdir()
    hostile.mkdir()
    (hostile / "server.js").touch()
    assert seen_from(spec, elsewhere).folder == elsewhere
    assert seen_from(spec, hostile).runs_in is None
    placed = ServerSpec("files", ("npx", "server.js"), tmp_path)
    assert seen_from(placed, elsewhere) == placed
