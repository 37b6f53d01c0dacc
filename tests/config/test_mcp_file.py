"""Reading an `mcp.json` as it was written for other tools: what is understood, what is told."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.mcp_entry import MCP_KEYS
from config.mcp_file import MAX_SERVERS, McpFile, project_folder, read_mcp_file
from config.servers import CALL_TIMEOUT_SECONDS, ServerSpec, is_server_id, plan_name, server_id_of
from config.settings import MAX_CONFIG_BYTES, SettingsError

HIDDEN = "s3cr3t-value"


def written(folder: Path, text: str | object) -> Path:
    path = folder / "mcp.json"
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return path


def read(folder: Path, text: str | object, **environ: str) -> McpFile:
    return read_mcp_file(written(folder, text), environ)


def only(folder: Path, entry: object, **environ: str) -> ServerSpec:
    """The one server of a file that holds this entry, without a note."""
    file = read(folder, {"mcpServers": {"a": entry}}, **environ)
    assert file.notes == ()
    (spec,) = file.specs
    return spec


def error(folder: Path, text: str | object) -> str:
    path = written(folder, text)
    with pytest.raises(SettingsError) as caught:
        read_mcp_file(path, {})
    return str(caught.value).replace(str(path), "FILE")


class TestConventions:
    def test_claude_desktop(self, tmp_path: Path) -> None:
        entry = {"command": "npx", "args": ["-y", "server", "/tmp/x"], "env": {"KEY": "v"}}  # noqa: S108 — never opened
        spec = only(tmp_path, entry)
        assert spec.id == "a"
        assert spec.command == ("npx", "-y", "server", "/tmp/x")  # noqa: S108 — never opened
        assert spec.env == {"KEY": "v"}
        assert spec.cwd == tmp_path
        assert spec.origin == f"in {tmp_path / 'mcp.json'}"
        assert spec.problem is None

    def test_claude_code(self, tmp_path: Path) -> None:
        entry = {
            "type": "http",
            "url": "${BASE:-https://example.com}/mcp",
            "headers": {"Authorization": "Bearer ${BEARER}"},
            "timeout": 120_000,
        }
        spec = only(tmp_path, entry, BEARER="abc-123-def")
        assert spec.url == "https://example.com/mcp"
        assert spec.headers == {"Authorization": "Bearer abc-123-def"}
        assert spec.call_timeout_seconds == 120.0
        assert spec.secrets == {"abc-123-def"}

    def test_cursor(self, tmp_path: Path) -> None:
        (tmp_path / ".cursor").mkdir()
        (tmp_path / "my.env").write_text("A=from-file\nB=${TOKEN}\n", encoding="utf-8")
        entry = {
            "type": "stdio",
            "command": "${userHome}/bin/x",
            "args": ["${workspaceFolder}/data", "${env:TOKEN}"],
            "env": {"A": "own"},
            "envFile": "${workspaceFolder}/my.env",
        }
        path = written(tmp_path / ".cursor", {"mcpServers": {"a": entry}})
        (spec,) = read_mcp_file(path, {"HOME": "/home/me", "TOKEN": "t"}).specs
        assert spec.command == ("/home/me/bin/x", f"{tmp_path}/data", "t")
        assert spec.cwd == tmp_path
        assert spec.env == {"A": "own", "B": "${TOKEN}"}, "a file's values stay as they stand"

    def test_vs_code_with_comments_inputs_and_trailing_commas(self, tmp_path: Path) -> None:
        text = """{
          // asked once, then kept
          "inputs": [{"type": "promptString", "id": "key", "password": true}],
          "servers": {
            "memory": {"type": "stdio", "command": "npx", "args": ["-y", "memory",],},
            "issues": {"type": "http", "url": "https://example.com",
                       "headers": {"Authorization": "Bearer ${input:key}"}},
          },
        }"""
        file = read(tmp_path, text)
        assert file.notes == ()
        memory, issues = file.specs
        assert memory.command == ("npx", "-y", "memory")
        assert memory.problem is None
        assert issues.problem is not None
        assert "key 'headers.Authorization' holds ${input:key}" in issues.problem
        assert "environment variable" in issues.problem

    @pytest.mark.parametrize("key", ["url", "serverUrl", "httpUrl"])
    @pytest.mark.parametrize("kind", [None, "http", "streamable-http", "streamableHttp"])
    def test_addresses_of_windsurf_gemini_cli_and_cline(
        self, tmp_path: Path, key: str, kind: str | None
    ) -> None:
        spec = only(tmp_path, {key: "https://example.com/mcp", "type": kind, "env": None})
        assert spec.url == "https://example.com/mcp"
        assert spec.command == ()

    @pytest.mark.parametrize("switch", [{"disabled": True}, {"enabled": False}])
    def test_what_is_switched_off_is_kept_apart(
        self, tmp_path: Path, switch: dict[str, bool]
    ) -> None:
        entries = {"off": {"command": "x", **switch}, "on": {"command": "x", "disabled": False}}
        file = read(tmp_path, {"mcpServers": entries})
        assert [spec.id for spec in file.specs] == ["on"]
        assert [spec.id for spec in file.disabled] == ["off"]

    def test_our_own_keys(self, tmp_path: Path) -> None:
        entry = {
            "command": "x",
            "cwd": "sub",
            "env": {"PORT": 8080},
            "description": " Adds. ",
            "start": "eager",
            "connection": "per_call",
            "timeout": 5000,
            "start_timeout_seconds": 3,
            "call_timeout_seconds": 4.5,
            "tool_timeout_seconds": {"add": 9},
            "concurrent_calls": 2,
            "result_bytes": 4096,
        }
        spec = only(tmp_path, entry)
        assert spec.cwd == tmp_path / "sub"
        assert spec.env == {"PORT": "8080"}
        assert (spec.description, spec.start, spec.connection) == ("Adds.", "eager", "per_call")
        assert (spec.start_timeout_seconds, spec.timeout_of("x"), spec.timeout_of("add")) == (
            3.0,
            4.5,
            9.0,
        )
        assert (spec.concurrent_calls, spec.result_bytes) == (2, 4096)

    def test_a_timeout_too_short_for_milliseconds_is_seconds(self, tmp_path: Path) -> None:
        file = read(tmp_path, {"mcpServers": {"a": {"command": "x", "timeout": 300}}})
        assert file.specs[0].call_timeout_seconds == 300.0
        (note,) = file.notes
        assert "server 'a': key 'timeout' is below 1000 and taken for seconds" in note

    def test_both_sections_are_read_and_an_empty_file_names_none(self, tmp_path: Path) -> None:
        both = {"servers": {"b": {"command": "y"}}, "mcpServers": {"a": {"command": "x"}}}
        assert [spec.id for spec in read(tmp_path, both).specs] == ["a", "b"]
        for empty in ("{}", '{"mcpServers": {}}', '{"mcpServers": null}'):
            assert read(tmp_path, empty) == McpFile((), (), ())


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (5, "it is a number; expected a section with 'command' or 'url'"),
        ({}, "it has neither 'command' (a program) nor 'url' (an http or https address)"),
        ({"command": ["npx", HIDDEN]}, "key 'command' is a list; allowed: a text"),
        ({"command": ""}, "key 'command' is an empty text; allowed: a text"),
        ({"command": "x", "args": HIDDEN}, "key 'args' is text; allowed: a list of texts"),
        (
            {"command": "x", "args": ["a", {"b": HIDDEN}]},
            "key 'args' is a list in which item 2 is a section; allowed: a list of texts",
        ),
        (
            {"command": "x", "env": {"A": "b", "KEY": [HIDDEN]}},
            "key 'env' is a section in which 'KEY' is a list; allowed: a section of names and "
            "texts or numbers",
        ),
        ({"command": "x", "env": {"A": True}}, "'A' is true; allowed"),
        (
            {"url": "https://a", "headers": {"X": 5}},
            "key 'headers' is a section in which 'X' is 5; allowed: a section of names and texts",
        ),
        ({"url": "https://a", "headers": [HIDDEN]}, "key 'headers' is a list; allowed"),
        ({"url": f"ftp://{HIDDEN}"}, "key 'url' is no usable address; allowed: an address such"),
        ({"url": f"https://me:{HIDDEN}@a"}, "key 'url' is a user name or password"),
        ({"url": "https://a", "command": "x"}, "keys 'url', 'command' exclude each other"),
        ({"url": "https://a", "httpUrl": "https://b"}, "keys 'url', 'httpUrl' exclude each ot"),
        ({"url": "https://a", "type": "stdio"}, "its type 'stdio' needs the key 'command'"),
        ({"command": "x", "type": "http"}, "its type 'http' needs the key 'url'"),
        ({"command": "x", "type": "ws"}, "key 'type' is 'ws'; allowed: stdio, http (or stream"),
        ({"url": "https://a/sse", "type": "sse"}, "does not speak; if the server has a Streamab"),
        ({"command": "x", "timeout": "60s"}, "key 'timeout' is '60s'; allowed: milliseconds, abo"),
        ({"command": "x", "timeout": 0}, "key 'timeout' is 0; allowed: milliseconds, above 0"),
        ({"command": "x", "timeout": True}, "key 'timeout' is true; allowed"),
        ({"command": "x", "timeout": 1e300}, "key 'timeout' is 1e+300; allowed"),
        ({"command": "x", "disabled": "no"}, "key 'disabled' is 'no'; allowed: true or false"),
        ({"command": "x", "start": "soon"}, "key 'start' is 'soon'; allowed: lazy or eager"),
        ({"command": "x", "connection": 1}, "key 'connection' is 1; allowed: persistent or per"),
        ({"command": "x", "concurrent_calls": 0}, "is 0; allowed: a whole number from 1 to 1000"),
        ({"command": "x", "concurrent_calls": 1.5}, "is 1.5; allowed: a whole number from 1 to"),
        ({"command": "x", "result_bytes": 1}, "is 1; allowed: a whole number from 1024 to"),
        ({"command": "x", "call_timeout_seconds": -1}, "is -1; allowed: seconds, above 0"),
        (
            {"command": "x", "tool_timeout_seconds": {"add": "9"}},
            "in which 'add' is '9'; allowed: a section of tool names and seconds, above 0 and",
        ),
        ({"command": "x", "envFile": "gone.env"}, "gone.env can't be read: No such file"),
        ({"command": "x", "envFile": "${NONE}"}, "key 'envFile' holds the environment variable"),
        ({"command": "${NONE}"}, "key 'command' holds the environment variable NONE, which is"),
    ],
)
def test_a_wrong_value_is_the_problem_of_its_server_alone_and_is_quoted_if_no_secret(
    tmp_path: Path, entry: object, said: str
) -> None:
    file = read(tmp_path, {"mcpServers": {"bad": entry, "good": {"command": "x"}}})
    bad, good = file.specs
    assert good.problem is None
    assert bad.problem is not None
    where = f"server 'bad' in {tmp_path / 'mcp.json'} can't be used: "
    assert bad.problem.startswith(where)
    assert said in bad.problem.removeprefix(where)
    assert HIDDEN not in bad.problem


def test_unknown_keys_are_ignored_with_a_note_that_names_file_server_and_key(
    tmp_path: Path,
) -> None:
    entry = {"command": "x", "autoApprove": [HIDDEN], "trust": True, "headers": {"A": HIDDEN}}
    file = read(tmp_path, {"mcpServers": {"a": entry}, "numStartups": 5, "inputs": []})
    path = tmp_path / "mcp.json"
    assert file.notes == (
        f"{path}: ignored beside the servers: 'numStartups'",
        f"{path}: server 'a': unknown keys 'autoApprove', 'trust' ignored",
        f"{path}: server 'a': key 'headers' ignored: only a url has a use for it",
    )
    assert file.specs[0].problem is None


def test_the_call_timeout_of_our_own_key_goes_before_that_of_others(tmp_path: Path) -> None:
    assert only(tmp_path, {"command": "x"}).call_timeout_seconds == CALL_TIMEOUT_SECONDS


def test_notes_stay_short_whatever_a_file_holds(tmp_path: Path) -> None:
    entry = {"command": "x", **{f"key{n}{'x' * 100}\x1b": n for n in range(1000)}}
    file = read(tmp_path, {"mcpServers": {"a": entry}, **{f"k{n}": 1 for n in range(1000)}})
    assert all(len(note) < 2000 for note in file.notes)
    assert "\x1b" not in "".join(file.notes)
    assert file.notes[0].endswith("and 990 more")


class TestNames:
    def test_a_name_that_is_no_id_becomes_one_with_a_note(self, tmp_path: Path) -> None:
        file = read(tmp_path, {"mcpServers": {"My Server!": {"command": "x"}}})
        assert file.specs[0].id == "My-Server"
        assert file.notes == (
            f"{tmp_path / 'mcp.json'}: server 'My Server!' is called 'My-Server' here: a name "
            "starts with a letter and holds letters, digits, '-' and '_'",
        )

    @pytest.mark.parametrize(
        "names", [("My-Server", "My Server!"), ("a-b", "a_b"), ("import", "import_"), ("é", "e")]
    )
    def test_the_second_of_two_names_that_mean_one_id_can_not_be_used(
        self, tmp_path: Path, names: tuple[str, str]
    ) -> None:
        file = read(tmp_path, {"mcpServers": {name: {"command": "x"} for name in names}})
        first, second = file.specs
        assert first.problem is None
        assert second.problem is not None
        assert f"{names[1]!r} and {names[0]!r} mean the same id here; rename one" in second.problem
        assert plan_name(first.id) != plan_name(second.id)

    def test_an_id_that_was_made_up_takes_nobodys_name(self, tmp_path: Path) -> None:
        names = ("a b", "a!b", "a-b-2")
        file = read(tmp_path, {"mcpServers": {name: {"command": "x"} for name in names}})
        assert [(spec.id, spec.problem is None) for spec in file.specs] == [
            ("a-b", True),
            ("a-b-3", False),
            ("a-b-2", True),
        ]

    @pytest.mark.parametrize(
        ("name", "server_id"),
        [
            ("math", "math"),
            ("@acme/web search", "acme-web-search"),
            ("1password", "server-1password"),
            ("_x-", "x"),
            ("Wörter", "Worter"),
            ("日本", "server"),
            ("", "server"),
            ("a" * 500 + "!", "a" * 64),
        ],
    )
    def test_what_is_left_of_a_name(self, name: str, server_id: str) -> None:
        assert server_id_of(name) == server_id

    @given(st.text(max_size=80))
    def test_every_name_becomes_an_id_and_an_id_stays(self, name: str) -> None:
        made = server_id_of(name)
        assert is_server_id(made)
        assert server_id_of(made) == made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "FILE:1: not valid JSON: Expecting value"),
        ('{\n // x\n"mcpServers": {1}}', "FILE:3: not valid JSON: Expecting property name"),
        ('{"mcpServers": {"a": {}, "a": {}}}', "FILE: not valid JSON: key 'a' stands twice"),
        ("[" * 100_000, "FILE: not valid JSON"),
        ("[]", "FILE: expected a section with the key 'mcpServers' or 'servers'"),
        ('{"mcpServers": [1]}', "FILE: 'mcpServers' is not a section of names and servers"),
        ('{"a": {"command": "x"}}', "FILE: there is no key 'mcpServers' or 'servers'; the serv"),
        ({"servers": dict.fromkeys(map(str, range(MAX_SERVERS + 1)))}, "FILE: 201 servers; at m"),
        (" " * (MAX_CONFIG_BYTES + 1), f"FILE: larger than {MAX_CONFIG_BYTES} bytes"),
    ],
)
def test_a_file_that_is_none_is_told_so_with_its_line(
    tmp_path: Path, text: str | object, message: str
) -> None:
    assert error(tmp_path, text).startswith(message)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.json: can't be read: No such file"):
        read_mcp_file(tmp_path / "none.json", {})


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("/p/.vscode/mcp.json", "/p"),
        ("/p/.mcp.json", "/p"),
        ("/p/config/mcp.json", "/p/config"),
    ],
)
def test_the_project_is_the_folder_that_the_file_belongs_to(path: str, folder: str) -> None:
    assert project_folder(Path(path)) == Path(folder)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = st.sampled_from([*MCP_KEYS, "unknown"])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.text(max_size=8), st.dictionaries(KEYS, JSON_VALUES, max_size=6) | JSON_VALUES
    )
)
def test_whatever_entries_hold_every_server_is_there_once(
    tmp_path: Path, servers: dict[str, object]
) -> None:
    file = read(tmp_path, {"servers": servers})
    specs = (*file.specs, *file.disabled)
    assert len(specs) == len(servers) == len({plan_name(spec.id) for spec in specs})
    assert all(spec.problem or spec.command or spec.url for spec in specs)
