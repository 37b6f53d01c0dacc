"""Entries of an `mcp.json` as people have them for other tools, odd or with a slip."""

import json
from pathlib import Path

import pytest

from config.mcp_file import McpFile, read_mcp_file
from config.servers import ServerSpec

HIDDEN = "s3cr3t-value"


def read(folder: Path, document: object, **environ: str) -> McpFile:
    path = folder / "mcp.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return read_mcp_file(path, environ)


def only(folder: Path, entry: object) -> ServerSpec:
    (spec,) = read(folder, {"mcpServers": {"a": entry}}).specs
    return spec


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
