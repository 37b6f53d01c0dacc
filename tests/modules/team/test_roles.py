"""Who of the team does a subtask, with which tools, and what is told where nobody can."""

import pytest

from config.schema import PRESET_ROLES, PersonaSection, RoleEntry, TeamSection
from core.errors import CallRefused
from core.team.graph import Subtask, TaskGraph
from core.team.schedule import DEADLINE_SECONDS, MAX_PARALLEL
from modules.team.roles import GENERALIST, NO_TOOLS, PRESETS, Role, Team, roles_of
from tests.doubles import FakeDispatcher, profile, text_result, tool

BUNDLED = (
    tool("add", "math", "Add two numbers."),
    tool("divide", "math", "Divide one number by another."),
    tool("search_stored_documents", "documents", "Search the user's stored documents."),
    tool("get_document", "documents", "Read one of the user's stored documents."),
    tool("duckduckgo_search_results", "websearch", "Search the web for pages."),
    tool("search_memory", "memory", "Search former chats."),
    tool("send_mail", "mail", "Send a mail to somebody."),
)


def team(section: TeamSection | None = None, *left_out: str) -> Team:
    """A team with the bundled tools, but for those of some servers."""
    there = [each for each in BUNDLED if each.server not in left_out]
    answers = {each.qualified_name: text_result(each.name) for each in there}
    return Team(section or TeamSection(), FakeDispatcher(there, {**answers}))


def chosen(
    description: str, *busy: str, tools: tuple[str, ...] = (), role: str | None = None
) -> str:
    return team().assign(Subtask("x", description, tools=tools, role=role), busy).role.name


def test_the_presets_are_those_that_the_profile_knows() -> None:
    assert tuple(PRESETS) == PRESET_ROLES


def test_the_bounds_of_a_team_are_those_of_a_run_without_one() -> None:
    section = TeamSection()
    assert (section.max_parallel, section.deadline_seconds) == (MAX_PARALLEL, DEADLINE_SECONDS)


@pytest.mark.parametrize(
    ("description", "role"),
    [
        ("find three facts about Oslo", "researcher"),
        ("search the web for news on fusion", "searcher"),
        ("look up the notice period in the contract file", "retriever"),
        ("compute the average growth of {{numbers}}", "analyst"),
        ("write a summary of {{facts}} with a table", "writer"),
        ("sort the list {{rows}} by date and convert it to JSON", "coder"),
        ("check {{draft}} for mistakes", "reviewer"),
        ("rewrite the question {{asked}} into search queries", "query_rewriter"),
        ("combine {{a}} and {{b}} into one answer", "synthesizer"),
        ("analyze the sentiment of {{review}}", "analyzer"),
        ("water the plants", GENERALIST),
    ],
)
def test_each_preset_gets_what_its_purpose_says(description: str, role: str) -> None:
    assert chosen(description) == role


def test_a_role_that_the_subtask_names_comes_before_words_and_tools() -> None:
    given = Subtask("x", "find three facts about Oslo", role="writer", tools=("add",))
    found = team().assign(given)
    assert (found.role.name, found.reason) == ("writer", "the subtask names it")


def test_of_who_may_use_the_listed_tools_words_decide() -> None:
    found = team().assign(Subtask("x", "find facts in the documents", tools=("get_document",)))
    assert found.role.name == "researcher"
    assert found.reason == "it may use get_document, and it is for find, facts, documents"
    assert chosen("check the mistakes", tools=("get_document",)) == "reviewer"


def test_a_tool_decides_where_words_say_nothing() -> None:
    assert chosen("do it", tools=("add", "divide")) == "analyst"


def test_tools_that_no_other_role_has_together_are_left_to_the_whole_agent() -> None:
    assert chosen("calculate and send the average", tools=("add", "send_mail")) == GENERALIST


def test_words_that_are_about_tools_of_others_leave_it_to_the_whole_agent() -> None:
    task = Subtask("x", "find facts in the mail that he sent")
    assert team(None, "mail").assign(task).role.name == "researcher"
    assert team().assign(task).role.name == GENERALIST


OWN = TeamSection(
    roles={
        "translator": RoleEntry(
            purpose="Translates texts between English, French and German.", tools=()
        ),
        "haiku_poet": RoleEntry(purpose="Writes haiku: poems of three lines.", tools=()),
    }
)


@pytest.mark.parametrize(
    ("description", "role"),
    [
        ("Translate 'good morning' into French", "translator"),
        ("write a haiku about the sea", "haiku_poet"),
        ("Write a letter to the landlord about the broken heating", "writer"),
        ("analyze the sentiment of this review: the food was cold", "analyzer"),
        ("Write a Python program that sorts a list of names", "coder"),
        ("Rewrite the question 'why is the sky blue' into search queries", "query_rewriter"),
    ],
)
def test_a_role_is_chosen_by_what_it_is_for_with_tools_or_without(
    description: str, role: str
) -> None:
    assert team(OWN).assign(Subtask("x", description)).role.name == role


@pytest.mark.parametrize(
    "description",
    [
        "Find the sales figures in the documents and write a report",
        "search the stored documents for the notice period and write a letter about it",
        "sum the numbers from 1 to 10 and write a report",
    ],
)
def test_who_has_no_tools_does_not_get_what_has_to_be_looked_up_first(description: str) -> None:
    assert not team(OWN).assign(Subtask("x", description)).role.works_on_texts


def test_who_failed_fits_no_more() -> None:
    task = Subtask("x", "find three facts about Oslo")
    found = team().assign(task, failed=["researcher"])
    assert (found.role.name, found.reason) == (GENERALIST, "researcher failed at it")


def test_the_name_of_another_subtask_is_no_word_of_the_description() -> None:
    assert chosen("take {{find_facts_sources}}") == GENERALIST


def test_of_equal_ones_the_one_with_the_least_to_do_gets_it() -> None:
    twins = {
        name: RoleEntry(purpose="Translates texts between French and German.")
        for name in ("one", "two")
    }
    found = team(TeamSection(roles=twins))
    task = Subtask("x", "translate the text to French")
    assert found.assign(task).role.name == "one"
    second = found.assign(task, ["one"])
    assert (second.role.name, second.load) == ("two", 0)
    third = found.assign(task, ["one", "one", "two"])
    assert third.role.name == "two"
    assert third.reason.endswith("it has 1 subtask to do already")


def test_the_same_subtask_always_gets_the_same_role_for_the_same_reason() -> None:
    task = Subtask("x", "find and compare the average prices in the documents")
    assert team().ranked(task) == team().ranked(task)


def test_the_whole_agent_does_what_fits_nobody_and_says_so() -> None:
    assert team().assign(Subtask("x", "water the plants")).reason == "no other role fits"


def test_without_its_servers_a_role_fits_nothing_and_named_it_says_so() -> None:
    bare = team(None, "documents", "websearch", "memory")
    task = Subtask("x", "find three facts about Oslo")
    assert bare.assign(task).role.name == GENERALIST
    named = bare.assign(Subtask("x", task.description, role="researcher"))
    assert named.role.name == "researcher"
    assert named.reason == "the subtask names it; none of its tools is there"


def test_a_profile_changes_a_preset_in_what_it_says_and_adds_roles_of_its_own() -> None:
    roles = roles_of(
        TeamSection(
            roles={
                "writer": RoleEntry(max_steps=2),
                "translator": RoleEntry(purpose="Translates."),
                "mute": RoleEntry(purpose="Thinks.", tools=()),
            }
        )
    )
    assert roles["writer"].max_steps == 2
    assert roles["writer"].purpose == PRESETS["writer"].purpose
    assert roles["translator"].has_all_tools
    assert roles["mute"].works_on_texts


async def test_a_role_calls_its_own_tools_and_no_others() -> None:
    crew = team()
    task = Subtask("x", "anything")
    tools = crew.dispatcher_for(crew.roles["analyst"], task)
    assert [each.name for each in tools.catalog] == ["add", "divide"]
    assert await tools.call_tool("add", {}) == text_result("add")
    with pytest.raises(CallRefused):
        await tools.call_tool("send_mail", {})


def test_a_subtask_bounds_what_its_role_may_use() -> None:
    crew = team()
    task = Subtask("x", "anything", tools=("add", "get_document"))
    tools = crew.dispatcher_for(crew.roles["analyst"], task)
    assert [each.name for each in tools.catalog] == ["add"]
    whole = crew.dispatcher_for(crew.roles[GENERALIST], task)
    assert [each.name for each in whole.catalog] == ["add", "get_document"]


def test_a_role_works_by_the_profile_with_words_and_steps_of_its_own() -> None:
    persona = PersonaSection(tone="stern")
    role = Role("judge", "Judges.", persona=persona, max_steps=2)
    whole = profile()
    own = role.profile(whole)
    assert own.persona == persona
    assert own.strategy.max_steps == 2
    assert own.agent.description == f"You are a team's judge. Judges. {NO_TOOLS}"
    assert Role(GENERALIST, "All.").profile(whole) == whole


def problems(*subtasks: Subtask) -> tuple[str, ...]:
    return team().problems(TaskGraph("anything", subtasks))


def test_a_role_that_may_use_none_of_a_subtasks_tools_is_told_before_the_run() -> None:
    assert problems(Subtask("x", "do it", role="writer", tools=("add",))) == (
        "subtask 'x': no role can do it: writer, which it names, may not use add; "
        "generalist, analyst may",
    )
    assert not problems(Subtask("x", "do it", role="analyst", tools=("add", "get_document")))
    assert not problems(Subtask("x", "do it", tools=("add", "send_mail")))


def test_an_unknown_role_and_an_unknown_tool_are_told_with_what_is_near() -> None:
    (role,) = problems(Subtask("x", "do it", role="reasercher"))
    assert role.endswith("a role that is not there; did you mean researcher or searcher?")
    (missing,) = problems(Subtask("x", "do it", tools=("send_male",)))
    assert missing.endswith("a tool that is not there; did you mean send_mail or mail.send_mail?")


def test_while_no_tool_is_known_nothing_is_said_of_tools() -> None:
    nothing_known = Team(TeamSection(), FakeDispatcher([], {}))
    graph = TaskGraph("g", (Subtask("x", "do it", role="writer", tools=("add",)),))
    assert not nothing_known.problems(graph)
