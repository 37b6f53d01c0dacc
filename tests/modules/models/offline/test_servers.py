"""The offline planner with tools as well-known third-party servers offer them.

It may decline what it does not understand, and must never call a tool that the request does not
ask for, or with arguments that it does not give.
"""

from typing import Final

import pytest

from core.values import JsonObject
from tests.modules.models.offline.plans import INTEGER, MATH_TOOLS, NUMBER, TEXT, Bench, echo, plain

TEXTS: Final[JsonObject] = {"type": "array", "items": TEXT}
ZONE: Final[JsonObject] = {
    "type": "string",
    "description": "IANA name of a zone (e.g., 'America/New_York', 'Europe/London').",
}
FILE: Final[dict[str, JsonObject]] = {"path": TEXT}
REPOSITORY: Final[dict[str, JsonObject]] = {"repo_path": TEXT}

TOOLS: Final = (
    plain("time", "get_current_time", "Get the time in a zone.", {"timezone": ZONE}, ["timezone"]),
    plain("git", "git_status", "Show the working tree status.", REPOSITORY, REPOSITORY),
    plain("git", "git_log", "Show the commits.", {**REPOSITORY, "max_count": INTEGER}, REPOSITORY),
    plain("git", "git_reset", "Unstage all changes.", REPOSITORY, REPOSITORY),
    plain("files", "read_text_file", "Read a file as text.", FILE, FILE, read_only=True),
    plain("files", "read_multiple_files", "Read files.", {"paths": TEXTS}, ["paths"]),
    plain("files", "list_directory", "List files and directories.", FILE, FILE, read_only=True),
    plain("files", "delete_file", "Delete a file.", FILE, FILE),
    plain("files", "list_allowed_roots", "List the roots that are allowed.", {}, read_only=True),
    plain("memory", "read_graph", "Read the whole knowledge graph.", {}, read_only=True),
    plain("memory", "search_nodes", "Search the knowledge graph.", {"query": TEXT}, ["query"]),
    plain("fetch", "fetch", "Fetch a URL.", {"url": TEXT, "raw": {"type": "boolean"}}, ["url"]),
    plain("web", "web_search", "Search the web.", {"query": TEXT}, ["query"], read_only=True),
    plain("weather", "get_forecast", "Get a forecast.", {"latitude": NUMBER, "longitude": NUMBER},
          ["latitude", "longitude"]),
    plain("mail", "send_email", "Send an email.", {"to": TEXT, "subject": TEXT, "body": TEXT},
          ["to", "subject", "body"]),
    plain("echo", "echo", "Echoes the input.", {"message": TEXT}, ["message"], read_only=True),
)  # fmt: skip


def bench() -> Bench:
    return Bench((*MATH_TOOLS, *TOOLS), {tool.name: echo for tool in (*MATH_TOOLS, *TOOLS)})


@pytest.mark.parametrize(
    ("request_text", "tool", "arguments"),
    [
        ("current time in Europe/London", "get_current_time", {"timezone": "Europe/London"}),
        ("show the git status of /srv/repo", "git_status", {"repo_path": "/srv/repo"}),
        ("git log /srv/repo max_count=5", "git_log", {"max_count": 5, "repo_path": "/srv/repo"}),
        ("reset the git repo /srv/repo", "git_reset", {"repo_path": "/srv/repo"}),
        ("read the file notes.txt", "read_text_file", {"path": "notes.txt"}),
        ("list the files in /srv", "list_directory", {"path": "/srv"}),
        ("could you please delete the file /srv/a.txt?", "delete_file", {"path": "/srv/a.txt"}),
        ("use delete_file on /srv/a.txt", "delete_file", {"path": "/srv/a.txt"}),
        ("read the knowledge graph", "read_graph", {}),
        ("search the knowledge graph for Alice", "search_nodes", {"query": "Alice"}),
        ("fetch https://example.org", "fetch", {"url": "https://example.org"}),
        ("search the web for cats and dogs", "web_search", {"query": "cats and dogs"}),
        ("get the forecast for longitude 2.3 and latitude 48.8", "get_forecast",
         {"longitude": 2.3, "latitude": 48.8}),
        ('send an email subject "hi" to "bob" body "yes"', "send_email",
         {"subject": "hi", "to": "bob", "body": "yes"}),
        ("echo hello world", "echo", {"message": "hello world"}),
    ],
)  # fmt: skip
async def test_a_plain_request_calls_its_tool(
    request_text: str, tool: str, arguments: JsonObject
) -> None:
    outcome = await bench().run(request_text)
    assert outcome.calls == ((tool, arguments),), outcome.text


@pytest.mark.parametrize(
    ("request_text", "reason"),
    [
        # more is asked than the tool does
        ("delete all files in /srv", "'all'"),
        ("delete files in /srv", "'files'"),
        ("delete the file in /srv", "where it is"),
        ("delete the file /srv/a.txt if it is empty", "'if'"),
        ("delete the file /srv/a.txt or /srv/b.txt", "/srv/a.txt"),
        ("read the file a.txt and summarize it", "'summarize'"),
        ("search the web for cats and summarize the results", "and summarize"),
        ("search the web for cats then add 5 and 7", "then add"),
        ("search the web for cats. Then email bob", "Then email"),
        ("fetch https://example.org and https://example.com", "https://example.org"),
        # nothing is asked to be done
        ("can I delete the file /srv/a.txt?", ""),
        ("was the file /srv/a.txt deleted?", ""),
        ("I deleted the file /srv/a.txt", ""),
        ("how do I use delete_file on /srv/a.txt", ""),
        ("what does git_reset do", ""),
        ("what is list_allowed_roots", ""),
        ("never delete the file /srv/a.txt", ""),
        # the argument is not given in its form, or not clearly
        ("what's the current time in Tokyo?", "America/New_York"),
        ("what time is it in Tokyo", ""),
        ("git status", "repo_path"),
        ('send email "hi" to "bob" "yes"', "quoted text"),
        ("search the web for query planners", "query"),
        # marks that the tool would not see
        ("tan(90°)", "right angle"),
        ("add(5, 7) * 2", "'*'"),
        ("use add on 5 and 7%", "'%'"),
    ],
)
async def test_what_is_not_asked_for_in_full_is_not_called(request_text: str, reason: str) -> None:
    outcome = await bench().run(request_text)
    assert outcome.declined, outcome.text
    assert reason in outcome.text.splitlines()[0]
