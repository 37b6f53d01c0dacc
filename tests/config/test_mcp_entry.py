"""Entries of an `mcp.json` as other tools have them: what is understood, odd ones and mistakes."""

from pathlib import Path

import pytest

from config.mcp_file import McpFile, read_mcp_file
from tests.config.mcp_json import HIDDEN, only, read, written


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


def test_a_variable_of_env_that_is_null_is_not_set(tmp_path: Path) -> None:
    spec = only(tmp_path, {"command": "x", "env": {"A": "1", "PROXY": None}})
    assert (spec.problem, spec.env) == (None, {"A": "1"})


def test_a_number_beyond_all_bounds_is_a_problem_of_its_server_alone(tmp_path: Path) -> None:
    entry = {"command": "x", "concurrent_calls": 10**4000, "call_timeout_seconds": 10**400}
    file = read(tmp_path, {"mcpServers": {"a": entry, "b": {"command": "y"}}})
    first, second = file.specs
    assert first.problem is not None
    assert "'concurrent_calls' is a number of hundreds of digits" in first.problem
    assert second.problem is None


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ({"command": "x", "env": {"KEY": "$MY_KEY"}}, "env.KEY"),
        ({"httpUrl": "https://h/mcp", "headers": {"Key": "Bearer $T"}}, "headers.Key"),
    ],
)
def test_a_variable_as_gemini_writes_it_is_told_of_and_not_quoted(
    tmp_path: Path, entry: dict[str, object], key: str
) -> None:
    file = read(tmp_path, {"mcpServers": {"a": entry}}, MY_KEY="value", T="value")
    (note,) = file.notes
    assert note.endswith(
        f"key '{key}' goes as it stands, with its $; write ${{NAME}} for a variable"
    )


def test_a_header_that_is_written_into_its_name_is_not_quoted(tmp_path: Path) -> None:
    entry = {"url": "https://h/mcp", "headers": {f"Authorization: Bearer {HIDDEN}": ""}}
    problem = only(tmp_path, entry).problem
    assert problem is not None
    assert "a name that begins with 'Authorization'" in problem
    assert HIDDEN not in problem
