"""Our own servers as others see them: under the command line of the MCP Inspector."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from core.values import JsonObject
from servers.schemas import AddInput
from tests.command_line import environment
from tests.real.parts import ROOT, node, package

LAUNCHER = package("inspector") / "clients" / "launcher" / "build" / "index.js"
TIMEOUT_SECONDS = 45

TOOL_SAYS_ERROR = 5
"""The Inspector's exit code where a result is an error of the tool, or the tool doesn't exist."""

TOOLS = {
    "add",
    "subtract",
    "multiply",
    "divide",
    "power",
    "cbrt",
    "factorial",
    "remainder",
    "sin",
    "cos",
    "tan",
    "strings_to_chars_to_int",
    "int_list_to_exponential_sum",
    "fibonacci_numbers",
    "create_thumbnail",
}


@dataclass(frozen=True)
class Seen:
    """What the Inspector made of the server: its exit code, its JSON, and what it complained of."""

    code: int
    result: JsonObject
    err: str


def inspect(home: Path, *arguments: str, module: str = "servers.math_server") -> Seen:
    """Run the Inspector once against a server that runs alone, as `python -m` starts it."""
    server = (sys.executable, "-m", module)
    done = subprocess.run(
        [node() or "node", str(LAUNCHER), "--cli", *server, *arguments],
        cwd=ROOT,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    result = cast("JsonObject", json.loads(done.stdout)) if done.stdout else {}
    return Seen(done.returncode, result, done.stderr)


def call(home: Path, tool: str, arguments: JsonObject, module: str = "servers.math_server") -> Seen:
    """Have the Inspector call one tool."""
    given = ("--tool-name", tool, "--tool-args-json", json.dumps({"input": arguments}))
    return inspect(home, "--method", "tools/call", *given, module=module)


def test_the_inspector_lists_our_tools_and_finds_no_fault_in_their_schemas(tmp_path: Path) -> None:
    seen = inspect(tmp_path, "--method", "tools/list", "--strict")
    assert (seen.code, seen.err) == (0, "")
    tools = {str(tool["name"]): tool for tool in cast("list[JsonObject]", seen.result["tools"])}
    assert set(tools) == TOOLS
    assert all(tool["description"] for tool in tools.values())
    schema = tools["add"]["inputSchema"]
    assert isinstance(schema, dict)
    assert schema["required"] == ["input"]
    assert isinstance(schema["$defs"], dict)
    fields = cast("JsonObject", schema["$defs"])["AddInput"]
    assert isinstance(fields, dict)
    assert fields["required"] == list(AddInput.model_fields)


def test_the_inspector_calls_a_tool_and_gets_text_and_structure(tmp_path: Path) -> None:
    seen = call(tmp_path, "add", {"a": 2, "b": 3.5})
    assert (seen.code, seen.err) == (0, "")
    assert seen.result["structuredContent"] == {"result": 5.5}
    assert seen.result["isError"] is False
    (block,) = cast("list[JsonObject]", seen.result["content"])
    assert json.loads(str(block["text"])) == {"result": 5.5}


def test_the_inspector_is_told_of_a_tools_error(tmp_path: Path) -> None:
    seen = call(tmp_path, "divide", {"a": 1, "b": 0})
    assert (seen.code, seen.result["isError"]) == (TOOL_SAYS_ERROR, True)
    (block,) = cast("list[JsonObject]", seen.result["content"])
    assert "zero" in str(block["text"])


def test_the_inspector_is_told_which_argument_does_not_fit(tmp_path: Path) -> None:
    seen = call(tmp_path, "add", {"a": "two", "b": 3})
    assert (seen.code, seen.result["isError"]) == (TOOL_SAYS_ERROR, True)
    (block,) = cast("list[JsonObject]", seen.result["content"])
    assert "'two'" in str(block["text"])


@pytest.mark.parametrize(
    ("module", "tools", "tool", "arguments", "says"),
    [
        (
            "servers.documents_server",
            {
                "search_stored_documents",
                "list_documents",
                "get_document",
                "extract_pdf",
                "convert_webpage_url_into_markdown",
            },
            "convert_webpage_url_into_markdown",
            {"url": "http://169.254.169.254/"},
            "a metadata service of a cloud",
        ),
        (
            "servers.websearch_server",
            {"duckduckgo_search_results", "download_raw_html_from_url"},
            "download_raw_html_from_url",
            {"url": "file:///etc/passwd"},
            "only http and https addresses can be read",
        ),
    ],
)
def test_the_inspector_finds_no_fault_in_the_other_servers_and_is_told_why_one_refuses(
    tmp_path: Path, module: str, tools: set[str], tool: str, arguments: JsonObject, says: str
) -> None:
    seen = inspect(tmp_path, "--method", "tools/list", "--strict", module=module)
    assert (seen.code, seen.err) == (0, "")
    assert {str(each["name"]) for each in cast("list[JsonObject]", seen.result["tools"])} == tools
    refused = call(tmp_path, tool, arguments, module)
    assert refused.code == TOOL_SAYS_ERROR
    assert says in json.dumps(refused.result)
