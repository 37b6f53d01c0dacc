"""Which tools a request asks for: by its verbs, and the first word of a tool's name."""

from dataclasses import replace

import pytest

from core.provenance.asked import Request
from core.provenance.effects import is_asked_for, may_change
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from tests.core.provenance.everyday_requests import ASK_FOR, ASK_FOR_NOTHING
from tests.doubles import tool

MAIL = [tool(name, "mail") for name in ("send_email", "delete_email", "list_emails")]
FILES = [tool(name, "files") for name in ("write_file", "delete_file", "read_file", "move_file")]
NOTES = [tool(name, "notes") for name in ("add_note", "delete_note")]
MONEY = [tool(name, "bank") for name in ("send_money", "update_scheduled_transaction")]
TRIPS = [tool(name, "trips") for name in ("reserve_hotel", "create_calendar_event")]
CHAT = [tool(name, "chat") for name in ("send_message", "invite_user", "add_user_to_channel")]
SHOP = [tool(name, "shop") for name in ("order_item", "cancel_order")]
BROWSER = [tool(name, "pages") for name in ("browser_click", "browser_get_text")]
GIT_NAMES = ("git_add", "git_commit", "git_create_branch", "git_checkout", "git_log")
GIT = [tool(name, "git") for name in GIT_NAMES]
MEMORY = [tool(name, "memory") for name in ("remember", "forget")]
FOLDERS = [tool("create_directory", "files")]
TOOLS = ToolCatalog(
    [*MAIL, *FILES, *NOTES, *MONEY, *TRIPS, *CHAT, *SHOP, *BROWSER, *GIT, *MEMORY, *FOLDERS]
)


def asked(*requests: str) -> set[str]:
    """The names of the changing tools that the requests ask for."""
    return {
        spec.name
        for spec in TOOLS
        if may_change(spec, TOOLS)
        and is_asked_for(spec, [*map(Request, requests)], TOOLS, has_own_value=False)
    }


@pytest.mark.parametrize(("request_", "name"), ASK_FOR)
def test_a_request_asks_for_a_tool(request_: str, name: str) -> None:
    assert name in asked(request_)


@pytest.mark.parametrize("request_", ASK_FOR_NOTHING)
def test_a_request_asks_for_no_tool_that_changes_anything(request_: str) -> None:
    assert asked(request_) == set()


def test_what_one_verb_is_about_says_nothing_for_another() -> None:
    assert asked("Delete the file and read my e-mail") == {"delete_file"}
    assert asked("Read the e-mail of Bob and delete it") >= {"delete_email"}


def test_what_is_to_be_forgotten_is_deleted_nowhere_else() -> None:
    for request in ("forget my e-mail and my notes", "forget that you were to delete the file"):
        assert asked(request) == {"forget"}


def test_a_name_that_is_said_asks_unless_it_is_forbidden() -> None:
    assert "write_file" in asked("use write_file for 12")
    assert "write_file" in asked("use files.write_file for 12")
    assert asked("do not use write_file") == set()


def changes(name: str, **more: bool) -> bool:
    spec = replace(tool(name, "s"), **more)
    return may_change(spec, ToolCatalog([spec, tool("other", "s")]))


def test_a_tool_without_annotations_reads_if_its_names_first_word_does() -> None:
    for name in ("get_mail", "listIssues", "search", "fetch_page", "find_user", "show_log"):
        assert not changes(name)
    for name in ("write_file", "forget", "note_read", "mail_list", "get_or_create_user", "xyz"):
        assert changes(name)
    for name in ("find_and_replace", "search_and_delete", "check_in", "check_out"):
        assert changes(name)


def test_what_the_server_says_of_its_tool_counts_before_its_name() -> None:
    assert changes("get_mail", says_effects=True)
    assert not changes("write_file", says_effects=True, read_only=True)


def test_a_word_that_all_tools_of_a_server_begin_with_is_no_action() -> None:
    spec: ToolSpec
    read, click = (
        next(t for t in TOOLS if t.name == n) for n in ("browser_get_text", "browser_click")
    )
    assert not may_change(read, TOOLS)
    assert may_change(click, TOOLS)
    assert "browser_click" in asked("click on the button in the browser")
    for name in ("github_get_issue", "issues_of_github"):
        spec = tool(name, "github")
        assert may_change(spec, ToolCatalog([spec])) == (name == "issues_of_github")


def test_a_long_request_takes_bounded_time_and_is_read_at_both_ends() -> None:
    filler = 'word "and (to ' * 40_000
    assert "write_file" in asked(f"Write a file.\n{filler}\nThanks.")
    assert "delete_note" in asked(f"Read this:\n{filler}\nDelete the note.")
