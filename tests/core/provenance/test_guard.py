"""The guard of a run: whom it asks, what it learns, and how long that may take."""

import time
from collections.abc import Sequence
from dataclasses import replace

from core.provenance.checks import Doubt
from core.provenance.guard import QUESTIONS_MAX, Leave, Provenance, ProvenanceGuard, guard_of
from core.provenance.known import Approvals, Known, Mode, ProvenancePolicy
from core.provenance.permissions import Permission
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from tests.doubles import tool

READ = replace(tool("read", "web", "Read a page.", url="string"), read_only=True)
SEARCH = replace(tool("search", "web", "Search.", query="string"), read_only=True)
WRITE = tool("write_file", "files", "Write a file.", path="string", content="string")
MAIL = tool("send_email", "mail", "Send an e-mail.", to="string", body="string")
TOOLS = ToolCatalog([READ, SEARCH, WRITE, MAIL])


class Asked:
    """A user who gives the same answer to all, and what they were asked."""

    def __init__(self, *, answer: bool) -> None:
        self.answer = Leave("once" if answer else "no")
        self.doubts: list[tuple[str, Doubt]] = []
        self.times = 0

    async def __call__(
        self, tool: str, doubts: Sequence[Doubt], always: Sequence[Permission]
    ) -> Leave:
        self.times += 1
        self.doubts += [(tool, doubt) for doubt in doubts]
        return self.answer


def guard(
    request: str = "",
    mode: Mode = "auto",
    asked: Asked | None = None,
    trusted: str = "math",
    approvals: Approvals = "changing",
    approved: tuple[str, ...] = (),
) -> ProvenanceGuard:
    rules = ProvenancePolicy(
        mode,
        ("web.search",),
        trusted_servers=frozenset({trusted}),
        approvals=approvals,
        approved=approved,
    )
    return ProvenanceGuard(Provenance(Known(rules), asked), lambda: TOOLS, [request])


def given(**arguments: Json) -> JsonObject:
    return {"input": dict(arguments)}


async def passes(guarded: ProvenanceGuard, spec: ToolSpec, **arguments: Json) -> bool:
    return await guarded.refusal(spec, given(**arguments)) is None


async def test_the_user_is_asked_once_for_each_value() -> None:
    asked = Asked(answer=True)
    guarded = guard(asked=asked)
    for url in ("https://a.example/x", "HTTPS://a.example/x", "https://a.example/y"):
        assert await passes(guarded, READ, url=url)
    assert [doubt.value for _, doubt in asked.doubts] == [
        "https://a.example/x",
        "https://a.example/y",
    ]


async def test_no_is_remembered_and_said_to_the_plan() -> None:
    asked = Asked(answer=False)
    guarded = guard(asked=asked)
    reasons = [await guarded.refusal(READ, given(url="https://a.example/x")) for _ in range(2)]
    assert reasons[0] == reasons[1]
    assert reasons[0] is not None
    assert reasons[0] == (
        "web.read was not called: the user did not allow the url https://a.example/x; "
        "answer without it"
    )
    assert len(asked.doubts) == 1


async def test_words_beside_a_no_reach_the_plan_as_the_users_and_allow_nothing() -> None:
    asked = Asked(answer=False)
    asked.answer = Leave("no", 'use  /srv/b.txt\x1b[2J, "please"' + "!" * 1_000)
    guarded = guard(asked=asked)
    await guarded.note(SEARCH, given(query="x"), "obey")
    reason = await guarded.refusal(WRITE, given(path="/srv/a.txt", content=""))
    assert reason is not None
    assert (
        "did not allow this call and the path /srv/a.txt; the user's own words: \"use /srv/b.txt"
    ) in reason
    assert "\x1b" not in reason
    assert len(reason) < 700
    assert not await passes(guarded, WRITE, path="/srv/b.txt", content="")
    assert asked.times == 2, "the other path is asked about, too"


async def test_all_doubts_about_a_call_are_one_question_and_each_is_asked_about_once() -> None:
    asked = Asked(answer=True)
    guarded = guard(asked=asked)
    await guarded.note(SEARCH, given(query="x"), "obey")
    assert await passes(guarded, WRITE, path="/srv/a.txt", content="")
    assert asked.times == 1
    assert [doubt.kind for _, doubt in asked.doubts] == ["tool", "path"]
    assert await passes(guarded, WRITE, path="/srv/a.txt", content="")
    assert await passes(guarded, READ, url="https://a.example/x")
    both: list[Json] = ["https://a.example/x", "https://a.example/y"]
    assert await passes(guarded, READ, url=both)
    assert [doubt.value for _, doubt in asked.doubts[2:]] == both


async def test_a_page_can_not_wear_the_user_out() -> None:
    asked = Asked(answer=True)
    guarded = guard(asked=asked)
    let = [
        await passes(guarded, READ, url=f"https://a.example/{n}") for n in range(QUESTIONS_MAX + 5)
    ]
    assert let == [True] * QUESTIONS_MAX + [False] * 5
    assert not await passes(guard(asked=asked), READ, url=f"https://a.example/{'x' * 5_000}")
    many: list[Json] = [f"https://a.example/{n}" for n in range(9)]
    assert not await passes(guard(asked=asked), READ, url=many)


async def test_strict_asks_nobody_and_off_checks_nothing() -> None:
    asked = Asked(answer=True)
    assert not await passes(guard(mode="strict", asked=asked), READ, url="https://a.example")
    assert await passes(guard(mode="off", asked=asked), READ, url="https://a.example")
    assert not await passes(guard(mode="ask"), READ, url="https://a.example")
    assert asked.doubts == []
    assert guard_of(None, lambda: TOOLS, []) is None


async def test_paths_and_addresses_are_free_until_something_was_read() -> None:
    guarded = guard("write https://a.example to a file")
    assert await passes(guarded, WRITE, path="/etc/x", content="bob@example.org")
    assert await passes(guarded, READ, url="https://a.example")
    await guarded.note(READ, given(url="https://a.example"), "obey")
    assert not await passes(guarded, WRITE, path="/etc/y", content="")
    assert not await passes(guarded, WRITE, path="a.txt", content="mail bob@example.org now")


async def test_an_error_of_a_server_is_text_that_nobody_vouches_for() -> None:
    guarded = guard(trusted="web")
    guarded.note_failure(READ)
    assert not guarded.known.is_tainted
    guarded.note_failure(WRITE)
    assert guarded.known.is_tainted


async def test_a_plan_written_before_reading_speaks_for_its_own_calls_alone_and_for_no_url() -> (
    None
):
    guarded = guard("Send an e-mail about it, and write a file")
    plan = "await tools.send_email('bob@example.org'); '/srv/out'; 'https://a.example'"
    guarded.known.plan_written(plan)
    await guarded.note(SEARCH, given(query="x"), "obey")
    assert await passes(guarded, MAIL, to="bob@example.org", body="/srv/out")
    assert await passes(guarded, WRITE, path="/srv/out/a", content="")
    assert not await passes(guarded, READ, url="https://a.example")
    guarded.known.plan_written(plan)  # the next one, the same to the letter
    assert not await passes(guarded, MAIL, to="bob@example.org", body="")
    assert not await passes(guarded, WRITE, path="/srv/out/a", content="")


async def test_a_tool_that_may_change_something_waits_for_a_yes_before_anything_was_read() -> None:
    guarded = guard("add 5 and 7")
    guarded.known.plan_written("await tools.write_file('a.txt', '12')")
    reason = await guarded.refusal(WRITE, given(path="a.txt", content="12"))
    assert reason is not None
    assert "--approve files.write_file" in reason
    assert await passes(guard("write 12 to the file a.txt"), WRITE, path="a.txt", content="12")
    assert await passes(guard("add 5 and 7"), READ, url="https://a.example") is False


async def test_a_yes_covers_these_arguments_of_this_tool_and_no_others() -> None:
    asked = Asked(answer=True)
    guarded = guard("add 5 and 7", asked=asked)
    first, second = given(path="a.txt", content="12"), given(path="a.txt", content="13")
    for arguments in (first, first, second):
        assert await guarded.refusal(WRITE, arguments) is None
    assert [doubt.arguments for _, doubt in asked.doubts] == [first, second]

    url = given(url="https://a.example/x")
    opener = replace(tool("open", "browser", "Open.", url="string"), read_only=True)
    for spec in (READ, opener):
        assert await guarded.refusal(spec, url) is None
    assert [name for name, _ in asked.doubts[2:]] == ["web.read", "browser.open"]


async def test_a_tool_named_beforehand_is_not_asked_about_but_its_values_are() -> None:
    for name in ("files.write_file", "write_file"):
        guarded = guard(approved=(name,))
        assert await passes(guarded, WRITE, path="a.txt", content="")
        assert not await passes(guarded, MAIL, to="bob@example.org", body="")
        await guarded.note(SEARCH, given(query="x"), "obey")
        assert not await passes(guarded, WRITE, path="/etc/x", content="")


async def test_approvals_never_asks_about_no_tool_and_always_about_each() -> None:
    asked = Asked(answer=True)
    never = guard(approvals="never", asked=asked)
    await never.note(SEARCH, given(query="x"), "obey")
    assert await passes(never, MAIL, to="", body="hello")
    assert asked.doubts == []
    always = guard("search x", approvals="always", asked=asked)
    assert await passes(always, SEARCH, query="x")
    assert [doubt.kind for _, doubt in asked.doubts] == ["tool"]
    off = guard(mode="off", asked=asked)
    assert await passes(off, WRITE, path="a.txt", content="")
    assert len(asked.doubts) == 2


async def test_a_value_of_the_users_stands_for_the_object_but_a_number_or_a_text_does_not() -> None:
    for request, path, content, may in (
        ("save it to ~/out.md", "~/out.md", "12", True),
        ("save it to ~/out.md", "/etc/x", "12", False),
        ("convert 98.6 and save nothing", "/etc/x", "98.6", False),
        ("save what https://a.example/x says", "/etc/x", "https://a.example/x", False),
    ):
        assert await passes(guard(request), WRITE, path=path, content=content) == may


async def test_an_id_is_no_path_whatever_it_is_the_id_of() -> None:
    guarded = guard("share the file")
    await guarded.note(SEARCH, given(query="x"), "obey")
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


async def test_what_an_older_request_asked_for_is_not_asked_for_now() -> None:
    known = Known(ProvenancePolicy(trusted_servers=frozenset({"math"})))
    said = ["Mail bob@example.org my notes", "yes, do so"]

    async def mails(requests: list[str]) -> bool:
        guarded = ProvenanceGuard(Provenance(known), lambda: TOOLS, requests)
        return await passes(guarded, MAIL, to="bob@example.org", body="x")

    assert await mails(said[:1])
    known.add(READ, None)
    assert await mails(said[:1])
    assert await mails(said)
    for other in ("Thanks", "Summarise /a/b", "no", "yes, and add 5 and 7", "ok, what is 5 + 7?"):
        assert not await mails([said[0], other]), other
    assert not await mails([*said, "Summarise /a/b"])
    assert not await mails([said[0], "What now?", "yes"])


async def test_text_is_bordered_although_nothing_is_checked() -> None:
    guarded = guard(mode="off")
    await guarded.note(READ, given(url="https://a.example"), "obey")
    assert guarded.known.is_tainted


async def test_results_of_another_server_name_no_files() -> None:
    guarded = guard()
    lister = replace(tool("list_files", "files", path="string"), read_only=True)
    reader = replace(tool("read_file", "files", path="string"), read_only=True)
    other = replace(tool("read_file", "other", path="string"), read_only=True)
    await guarded.note(lister, given(path="/a"), {"entries": ["b.txt", "c.txt"]})
    assert await passes(guarded, reader, path="/a/b.txt")
    assert not await passes(guarded, other, path="/a/b.txt")


async def test_large_results_and_arguments_take_bounded_time() -> None:
    guarded = guard("https://a.example/")
    links = "".join(f"[x](/page/{n}) https://a.example/{n} " for n in range(3_000))
    page = f"{links}{'word ' * 20_000}"
    began = time.process_time()
    await guarded.note(READ, given(url="https://a.example/"), page)
    assert await passes(guarded, READ, url="https://a.example/page/2999")
    assert not await passes(guarded, READ, url="https://a.example/page/3000")
    await passes(guarded, MAIL, to="a@b.example " * 5_000, body="/a/b " * 20_000)
    assert time.process_time() - began < 5.0
