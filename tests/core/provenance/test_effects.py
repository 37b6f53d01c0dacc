"""Whether a tool may change something: by the server's word, by the profile, by its name."""

from dataclasses import replace

import pytest

from config.schema import ToolSection
from core.provenance.effects import may_change
from core.provenance.known import ProvenancePolicy
from tests.doubles import tool

READING = "get_user listFiles search_web read-mail fetchPage show_diff find describe_image lookup"
CHANGING = (
    "send_email delete create_note run_command check_in get_and_delete search_and_replace "
    "lookups_clear mark_read press login unknown x"
)


@pytest.mark.parametrize("name", READING.split())
def test_a_name_that_begins_with_a_word_for_reading_reads(name: str) -> None:
    assert not may_change(tool(name, "hub"))


@pytest.mark.parametrize("name", CHANGING.split())
def test_every_other_name_may_change_something(name: str) -> None:
    assert may_change(tool(name, "hub"))


def test_the_servers_word_counts_before_the_name() -> None:
    assert not may_change(replace(tool("send_email", "mail"), read_only=True))
    assert may_change(replace(tool("get_mail", "mail"), says_effects=True))


def test_the_servers_own_name_before_a_word_says_nothing() -> None:
    assert not may_change(tool("github_list_issues", "github"))
    assert may_change(tool("github_create_issue", "github"))
    assert may_change(tool("delete_list", "files")), "not what all tools begin with"


def test_the_profile_has_the_last_word() -> None:
    policy = ProvenancePolicy(
        tools={
            "crm.*": ToolSection(reads=True),
            "mail.get_mail": ToolSection(reads=False),
        }
    )
    assert not policy.needs_leave(tool("touch", "crm"))
    assert policy.needs_leave(tool("get_mail", "mail"))
    assert not policy.needs_leave(tool("list_mail", "mail"))
