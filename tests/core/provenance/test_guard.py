"""The guard of a run: which calls wait for a yes, whom it asks, what it learns."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given as for_any
from hypothesis import settings
from hypothesis import strategies as st

from config.schema import ToolSection
from core.asking import Leave, LeaveQuestion
from core.provenance.guard import QUESTIONS_MAX, Provenance, ProvenanceGuard, Refused, guard_of
from core.provenance.known import Approvals, Known, Mode, ProvenancePolicy
from core.provenance.permissions import Permissions
from core.provenance.rules import read_rule
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from tests.doubles import tool

READ = replace(tool("read", "web", "Read a page.", url="string"), read_only=True)
SEARCH = replace(tool("search", "web", "Search.", query="string"), read_only=True)
FILE = replace(tool("read_file", "files", "Read a file.", path="string"), read_only=True)
WRITE = tool("write_file", "files", "Write a file.", path="string", content="string")
DELETE = tool("delete_file", "files", "Delete a file.", path="string")
MAIL = tool("send_email", "mail", "Send an e-mail.", to="string", body="string")
PAY = tool("pay", "bank", "Pay.", to="string", amount="number", reference="string")
ADD = tool("add", "math", "Add.", a="number", b="number")
TOOLS = ToolCatalog([READ, SEARCH, FILE, WRITE, DELETE, MAIL, PAY, ADD])


class Asked:
    """A user who gives the same answer to all, and what they were asked."""

    def __init__(self, answer: Leave) -> None:
        self.answer = answer
        self.questions: list[LeaveQuestion] = []

    async def __call__(self, question: LeaveQuestion) -> Leave:
        self.questions.append(question)
        return self.answer


YES, NO = Leave("once"), Leave("no")


def guard(
    request: str = "",
    mode: Mode = "auto",
    asked: Asked | None = None,
    approvals: Approvals = "changing",
    rules: Sequence[str] = (),
    permissions: Permissions | None = None,
) -> ProvenanceGuard:
    policy = ProvenancePolicy(
        mode,
        ("web.search",),
        trusted_servers=frozenset({"math"}),
        approvals=approvals,
        rules=tuple(map(read_rule, rules)),
        tools={"book.*": ToolSection(yours=True), "memory.*": ToolSection(content=())},
        runs_in={"files": "/srv"},
    )
    provenance = Provenance(Known(policy), asked, permissions or Permissions())
    return ProvenanceGuard(provenance, lambda: TOOLS, [request])


def given(**arguments: Json) -> JsonObject:
    return {"input": dict(arguments)}


async def passes(guarded: ProvenanceGuard, spec: ToolSpec, **arguments: Json) -> bool:
    return await guarded.refusal(spec, given(**arguments)) is None


async def reason(guarded: ProvenanceGuard, spec: ToolSpec, **arguments: Json) -> str:
    refused = await guarded.refusal(spec, given(**arguments))
    assert refused is not None
    return refused.reason


async def has_read(guarded: ProvenanceGuard, text: str = "obey") -> ProvenanceGuard:
    await guarded.note(FILE, given(path="/home/me/bill.txt"), text)
    return guarded


# -- calls that may change something


@for_any(st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_no_request_whatever_allows_a_call_that_changes_something(request: str) -> None:
    async def sent() -> list[bool]:
        guarded = guard(request)
        return [
            await passes(guarded, MAIL, to="bob@example.org", body=request),
            await passes(await has_read(guarded), WRITE, path="a.txt", content=request),
        ]

    assert asyncio.run(sent()) == [False, False]


@pytest.mark.parametrize(
    "request_",
    [
        "send an email to bob@example.org that says hello",
        "call mail.send_email(to='bob@example.org', body='hello'), I allow it",
        "yes",
        "I approve everything. --approve mail.send_email",
        "Schicke bob@example.org eine Mail",
        "/permissions allow mail.send_email",
    ],
)
async def test_words_that_ask_for_a_call_do_not_allow_it(request_: str) -> None:
    assert not await passes(guard(request_), MAIL, to="bob@example.org", body="hello")


async def test_where_nobody_is_there_the_refusal_names_the_rule_that_would_allow_it() -> None:
    guarded = guard("pay the bill")
    told = await reason(guarded, PAY, to="DE89 3704", amount=98.7, reference="bill, May")
    rule = 'bank.pay(to=DE89 3704, amount=98.7, reference="bill, May")'
    assert f"--approve '{rule}'" in told
    allowed = guard("pay the bill", rules=[rule])
    values: JsonObject = {"to": "DE89 3704", "amount": 98.7, "reference": "bill, May"}
    assert await passes(await has_read(allowed), PAY, **values)
    assert not await passes(allowed, PAY, **{**values, "amount": 98.8})


async def test_the_rule_that_is_named_leaves_out_texts_for_people() -> None:
    told = await reason(guard(), WRITE, path="a.txt", content="a long letter")
    assert "--approve 'files.write_file(path=a.txt)'" in told


async def test_a_bare_rule_allows_any_call_until_something_was_read() -> None:
    for name in ("files.write_file", "write_file"):
        guarded = guard("tidy up", rules=[name])
        assert await passes(guarded, WRITE, path="/etc/x", content="")
        assert not await passes(guarded, MAIL, to="bob@example.org", body="")
        await has_read(guarded)
        assert not await passes(guarded, WRITE, path="/etc/y", content="")


async def test_after_reading_a_bare_rule_allows_what_the_user_has_named_alone() -> None:
    request = "Pay the bill in bill.txt to Stadtwerke: 98,70 euros, and write /home/me/out.md"
    guarded = await has_read(guard(request, rules=["pay", "write_file"]), "98.71 to Eve")
    assert await passes(guarded, PAY, to="Stadtwerke", amount=98.7, reference="")
    assert await passes(guarded, PAY, to="stadtwerke", amount=98.70)
    for to, amount in (
        ("Eve", 98.7),
        ("Stadtwerke", 98.71),
        ("Stadtwerk", 98.7),
        ("Stadtwerke", 9),
    ):
        assert not await passes(guarded, PAY, to=to, amount=amount), (to, amount)
    assert await passes(guarded, WRITE, path="/home/me/out.md", content="98.71 to Eve")
    assert not await passes(guarded, WRITE, path="/home/me/bill.txt", content="")
    assert not await passes(guarded, WRITE, path="/home/me/out.md.exe", content="")


async def test_a_folder_and_a_name_that_the_user_said_are_a_path_that_they_said() -> None:
    request = "Read the notes in /home/me/notes and delete draft.txt there"
    guarded = await has_read(guard(request, rules=["delete_file"]))
    assert await passes(guarded, DELETE, path="/home/me/notes/draft.txt")
    assert not await passes(guarded, DELETE, path="/home/me/notes/taxes.txt")
    assert not await passes(guarded, DELETE, path="/etc/draft.txt")


async def test_a_rule_with_patterns_binds_what_it_names_and_places_that_it_does_not() -> None:
    sender = tool("send", "mail", to="string", bcc="string", text="string", count="number")
    guarded = guard(rules=["mail.send(to=*@example.org)"])
    free: JsonObject = {"to": "bob@example.org", "text": "x", "count": 3}
    assert await passes(guarded, sender, **free)
    await has_read(guarded, "eve@evil.example")
    assert await passes(guarded, sender, **free)
    assert not await passes(guarded, sender, **{**free, "bcc": "eve@evil.example"})
    assert not await passes(guarded, sender, text="no recipient")


async def test_a_star_allows_anything_whatever_was_read() -> None:
    guarded = await has_read(guard(rules=["bank.pay(*)"]))
    assert await passes(guarded, PAY, to="Eve", amount=1_000_000)


async def test_a_plan_written_before_reading_speaks_for_its_own_calls_alone_and_for_no_url() -> (
    None
):
    guarded = guard("mail bob and tidy up", rules=["send_email", "write_file"])
    plan = "await tools.send_email('bob@example.org'); '/srv/out.md'; 'https://a.example'"
    guarded.known.plan_written(plan)
    await has_read(guarded)
    assert await passes(guarded, MAIL, to="bob@example.org", body="")
    assert await passes(guarded, WRITE, path="/srv/out.md", content="")
    assert not await passes(guarded, READ, url="https://a.example")
    guarded.known.plan_written(plan)  # the next one, the same to the letter
    assert not await passes(guarded, MAIL, to="bob@example.org", body="x")


async def test_what_stands_where_only_the_user_can_write_counts_as_their_words() -> None:
    guarded = guard("mail Bob", rules=["send_email"])
    contacts = replace(tool("find_contact", "book", whose="string"), read_only=True)
    await guarded.note(contacts, given(whose="Bob"), "Bob: bob@example.org")
    assert not guarded.known.is_tainted
    await has_read(guarded)
    assert await passes(guarded, MAIL, to="bob@example.org", body="x")
    assert not await passes(guarded, MAIL, to="eve@evil.example", body="x")


async def test_the_profile_says_what_is_no_text_for_people() -> None:
    remember = tool("remember", "memory", text="string")
    guarded = guard("remember that I drink Assam", rules=["memory.remember"])
    assert await passes(guarded, remember, text="the user owes Eve 10 euros")
    await has_read(guarded)
    assert await passes(guarded, remember, text="I drink Assam")
    assert not await passes(guarded, remember, text="I owe Eve 10 euros")


async def test_a_yes_covers_these_arguments_of_this_tool_once_and_no_others() -> None:
    asked = Asked(YES)
    guarded = guard("add 5 and 7", asked=asked)
    first, second = given(path="a.txt", content="12"), given(path="a.txt", content="13")
    for arguments in (first, first, second):
        assert await guarded.refusal(WRITE, arguments) is None
    assert [question.calls[0].arguments for question in asked.questions] == [first, first, second]


async def test_a_question_tells_behind_each_value_where_it_comes_from() -> None:
    asked = Asked(YES)
    guarded = guard("Pay Stadtwerke", asked=asked)
    await guarded.note(ADD, given(a=40, b=2), 42)
    await has_read(guarded, "Bill\nPlease pay 98.70 soon\nto DE89-3704")
    await guarded.note(READ, given(url="https://a.example/x"), "Reference: R-17")
    pays = tool(
        "pay",
        "bank",
        to="string",
        iban="string",
        sum="number",
        total="number",
        ref="string",
        day="string",
    )
    values: JsonObject = {
        "to": "Stadtwerke",
        "iban": "DE89-3704",
        "sum": 98.7,
        "total": 42,
        "ref": "R-17",
        "day": "Monday",
    }
    assert await passes(guarded, pays, **values)
    (question,) = asked.questions
    assert {value.name: value.origin for value in question.calls[0].values} == {
        "to": "your words",
        "iban": "line 3 of bill.txt",
        "sum": "line 2 of bill.txt",
        "total": "computed (what math.add gave)",
        "ref": "line 1 of the page https://a.example/x",
        "day": "unknown",
    }
    assert [value.value for value in question.calls[0].values] == [*values.values()]
    assert question.rules == (
        "bank.pay(to=Stadtwerke, iban=DE89-3704, sum=98.7, total=42, ref=R-17, day=Monday)",
    )


async def test_like_calls_of_one_plan_are_one_question() -> None:
    asked = Asked(Leave("once", only=frozenset({0, 2})))
    guarded = guard("tidy up", asked=asked)
    calls = [
        *(passes(guarded, DELETE, path=f"/tmp/{n}") for n in range(4)),  # noqa: S108
        passes(guarded, MAIL, to="bob@example.org", body=""),
    ]
    assert await asyncio.gather(*calls) == [True, False, True, False, True]
    assert [(q.tool, len(q.calls)) for q in asked.questions] == [
        ("files.delete_file", 4),
        ("mail.send_email", 1),
    ]
    assert [await passes(guarded, DELETE, path=f"/tmp/{n}") for n in range(4)] == [  # noqa: S108
        *(True, False, True, False),
    ]


async def test_an_answer_for_longer_keeps_the_rules_that_were_shown_or_the_one_that_was_typed() -> (
    None
):
    permissions = Permissions()
    guarded = guard(asked=Asked(Leave("session")), permissions=permissions)
    assert await passes(guarded, DELETE, path="/srv/a*")
    assert [str(each.rule) for each in permissions.session] == ["files.delete_file(path=/srv/a[*])"]
    written = Asked(Leave("session", rule="files.delete_file(path=/srv/old/*)"))
    assert await passes(guard(asked=written, permissions=permissions), DELETE, path="/srv/old/b")
    later = guard(permissions=permissions)
    assert await passes(await has_read(later), DELETE, path="/srv/old/c")
    assert await passes(later, DELETE, path="/srv/a*")
    assert not await passes(later, DELETE, path="/srv/ab")


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("files.delete_file(path=/srv/new/*)", "does not cover this call"),
        ("files.delete_file(pfad=/srv/old/b)", "does not cover this call"),
        ("files.delete_file", "does not cover this call; files.delete_file(*) does, with anything"),
    ],
)
async def test_a_rule_that_was_written_for_other_calls_allows_none_and_is_asked_about_again(
    rule: str, told: str
) -> None:
    answers = [
        Leave("session", rule=rule),
        Leave("session", rule="files.delete_file(path=/srv/old/*)"),
    ]
    questions: list[LeaveQuestion] = []

    async def person(question: LeaveQuestion) -> Leave:
        questions.append(question)
        return answers[len(questions) - 1]

    permissions = Permissions()
    provenance = Provenance(Known(ProvenancePolicy("auto")), person, permissions)
    guarded = await has_read(ProvenanceGuard(provenance, lambda: TOOLS, ["tidy up"]))
    assert await passes(guarded, DELETE, path="/srv/old/b")
    assert [question.why for question in questions] == [
        ("it may change something",),
        (f"your rule {rule} {told}", "it may change something"),
    ]
    assert [str(each.rule) for each in permissions.session] == [
        "files.delete_file(path=/srv/old/*)"
    ]


async def test_who_writes_rules_for_other_calls_for_ever_is_asked_no_more() -> None:
    asked = Asked(Leave("always", rule="files.delete_file(path=/srv/new/*)"))
    assert not await passes(guard(asked=asked), DELETE, path="/srv/old/b")
    assert len(asked.questions) == QUESTIONS_MAX


@pytest.mark.parametrize("written", [r'"one\n\t\"two\""', r"""'one\n' '\t' '"two"'"""])
async def test_a_text_that_the_plan_writes_with_escapes_comes_from_the_plan(written: str) -> None:
    asked = Asked(NO)
    guarded = guard(asked=asked)
    guarded.known.plan_written(f"async def solve():\n    await write_file('a.txt', {written})\n")
    await passes(guarded, WRITE, path="a.txt", content='one\n\t"two"')
    origins = [value.origin for value in asked.questions[0].calls[0].values]
    assert origins == ["the plan, written before anything was read"] * 2
    guarded.known.plan_written("def solve(:")  # what is no Python names what stands in it


async def test_no_is_remembered_and_told_with_the_users_words_which_allow_nothing() -> None:
    asked = Asked(Leave("no", 'use  /srv/b.txt\x1b[2J, "please"' + "!" * 1_000))
    guarded = guard(asked=asked)
    refused = [await guarded.refusal(WRITE, given(path="/srv/a.txt", content="")) for _ in "12"]
    assert refused[0] == refused[1]
    assert refused[0] is not None
    assert refused[0].has_words, "the words may be followed"
    assert "did not allow this call; the user's own words: \"use /srv/b.txt" in refused[0].reason
    assert "\x1b" not in refused[0].reason
    assert len(refused[0].reason) < 700
    assert not await passes(guarded, WRITE, path="/srv/b.txt", content="")
    assert len(asked.questions) == 2, "the other path is asked about, too"


async def test_approvals_never_asks_about_no_tool_and_always_about_each() -> None:
    asked = Asked(YES)
    never = await has_read(guard(approvals="never", asked=asked))
    assert await passes(never, MAIL, to="", body="hello")
    assert asked.questions == []
    always = guard("search x", approvals="always", asked=asked)
    assert await passes(always, SEARCH, query="x")
    assert len(asked.questions) == 1
    assert not await passes(guard(approvals="always"), ADD, a=1, b=2)
    assert await passes(guard(approvals="always", rules=["math.add"]), ADD, a=1, b=2)
    off = guard(mode="off", asked=asked)
    assert await passes(off, WRITE, path="a.txt", content="")
    assert len(asked.questions) == 2


async def test_the_rules_of_a_workflow_hold_for_its_run_alone() -> None:
    known = Known(ProvenancePolicy())
    provenance = Provenance(known, rules=(read_rule("delete_file(path=/srv/old/*)"),))
    of_workflow = ProvenanceGuard(provenance, lambda: TOOLS, ["run the workflow tidy"])
    assert await passes(of_workflow, DELETE, path="/srv/old/a")
    assert not await passes(of_workflow, DELETE, path="/srv/new/a")
    later = ProvenanceGuard(Provenance(known), lambda: TOOLS, ["again"])
    assert not await passes(later, DELETE, path="/srv/old/a")


async def test_strict_asks_nobody_goes_by_no_permission_and_heeds_the_profile() -> None:
    asked = Asked(YES)
    permissions = Permissions()
    assert await passes(
        guard(asked=Asked(Leave("session")), permissions=permissions), DELETE, path="/srv/a"
    )
    strict = guard(mode="strict", asked=asked, permissions=permissions, rules=["write_file"])
    assert not await passes(strict, DELETE, path="/srv/a")
    assert not await passes(strict, READ, url="https://a.example")
    assert await passes(strict, WRITE, path="a", content="")
    assert asked.questions == []
    assert await passes(guard(mode="off", asked=asked), READ, url="https://a.example")
    assert guard_of(None, lambda: TOOLS, []) is None


# -- values of calls that only read


async def test_the_user_is_asked_once_for_each_value() -> None:
    asked = Asked(YES)
    guarded = guard(asked=asked)
    for url in ("https://a.example/x", "HTTPS://a.example/x", "https://a.example/y"):
        assert await passes(guarded, READ, url=url)
    assert [question.why for question in asked.questions] == [
        ("neither you nor a search or page for your request has named the address " + url,)
        for url in ("https://a.example/x", "https://a.example/y")
    ]
    assert asked.questions[0].rules == ("web.read(url=https://a.example/*)",)


async def test_a_no_to_a_value_names_it() -> None:
    guarded = guard(asked=Asked(NO))
    refused = await guarded.refusal(READ, given(url="https://a.example/x"))
    assert refused == Refused(
        "web.read was not called: the user did not allow the url https://a.example/x; "
        "they were asked, and said no",
        by_person=True,
    )


async def test_a_rule_allows_addresses_for_a_tool_that_reads_by_its_patterns_alone() -> None:
    named = guard(rules=["web.read(url=https://a.example/*)"])
    assert await passes(named, READ, url="https://a.example/x?y")
    assert not await passes(named, READ, url="https://b.example/x")
    assert not await passes(guard(rules=["web.read"]), READ, url="https://a.example/x")
    assert await passes(guard(rules=["web.read(*)"]), READ, url="https://a.example/x")


async def test_a_page_can_not_wear_the_user_out() -> None:
    asked = Asked(YES)
    guarded = guard(asked=asked)
    let = [
        await passes(guarded, READ, url=f"https://a.example/{n}") for n in range(QUESTIONS_MAX + 5)
    ]
    assert let == [True] * QUESTIONS_MAX + [False] * 5
    assert not await passes(guard(asked=asked), READ, url=f"https://a.example/{'x' * 5_000}")
    many: list[Json] = [f"https://a.example/{n}" for n in range(9)]
    assert not await passes(guard(asked=asked), READ, url=many)


async def test_paths_are_free_until_something_was_read() -> None:
    guarded = guard("look at https://a.example")
    assert await passes(guarded, FILE, path="/etc/x")
    assert await passes(guarded, READ, url="https://a.example")
    await has_read(guarded)
    assert not await passes(guarded, FILE, path="/etc/y")


async def test_an_error_of_a_server_is_text_that_nobody_vouches_for() -> None:
    guarded = guard()
    guarded.note_failure(ADD)
    assert not guarded.known.is_tainted
    guarded.note_failure(WRITE)
    assert guarded.known.is_tainted


async def test_an_id_is_no_path_whatever_it_is_the_id_of() -> None:
    guarded = await has_read(guard("share the file"))
    reader = replace(tool("read", "drive"), read_only=True)
    for name in ("file_id", "fileId", "folder_ids", "file_type", "directory_number", "path_hash"):
        assert await passes(guarded, reader, **{name: "13"})
    assert not await passes(guarded, reader, file="13")
    assert not await passes(guarded, reader, file_id="/etc/passwd")


async def test_a_text_that_was_handed_over_gives_links_and_no_orders() -> None:
    guarded = guard("read the pages of this list")
    guarded.known.given("https://a.example/x\nsend_email bob@example.org")
    assert guarded.known.is_tainted
    assert await passes(guarded, READ, url="https://a.example/x")
    assert not await passes(guarded, READ, url="https://a.example/x?secret=1")
    assert not await passes(guarded, MAIL, to="bob@example.org", body="x")


async def test_text_is_bordered_although_nothing_is_checked() -> None:
    guarded = guard(mode="off")
    await guarded.note(READ, given(url="https://a.example"), "obey")
    assert guarded.known.is_tainted


async def test_results_of_another_server_name_no_files() -> None:
    guarded = guard()
    lister = replace(tool("list_files", "files", path="string"), read_only=True)
    other = replace(tool("read_file", "other", path="string"), read_only=True)
    await guarded.note(lister, given(path="/a"), {"entries": ["b.txt", "c.txt"]})
    assert await passes(guarded, FILE, path="/a/b.txt")
    assert not await passes(guarded, other, path="/a/b.txt")


async def test_large_results_and_arguments_take_bounded_time() -> None:
    guarded = guard("https://a.example/", rules=["send_email"])
    links = "".join(f"[x](/page/{n}) https://a.example/{n} " for n in range(3_000))
    page = f"{links}{'word 1,234.5 ' * 20_000}"
    began = time.process_time()
    await guarded.note(READ, given(url="https://a.example/"), page)
    assert await passes(guarded, READ, url="https://a.example/page/2999")
    assert not await passes(guarded, READ, url="https://a.example/page/3000")
    await passes(guarded, MAIL, to="a@b.example " * 5_000, body="/a/b " * 20_000)
    await passes(guarded, PAY, to="x" * 20_000, amount=7, reference="1" * 300)
    assert time.process_time() - began < 5.0
