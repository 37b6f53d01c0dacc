"""The agent asked by MCP clients: answers, progress, questions, sessions, cancelling."""

import asyncio
import json
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.session import ClientRequestContext
from mcp_types import (
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
)

from core.values import JsonObject
from tests.modules.service.mcp_door.opening import (
    ADDS,
    ASKS,
    WAIT_SECONDS,
    Era,
    both_eras,
    client_of,
    open_door,
    says,
    structured,
    text_of,
)

TRACE = "0af7651916cd43dd8448eb211c80319c"


class Person:
    """Answers what is asked, once it may."""

    def __init__(self, said: str = "blue") -> None:
        self.said = said
        self.asked: list[str] = []
        self.may_answer = asyncio.Event()
        self.was_asked = asyncio.Event()

    async def answer(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        self.asked.append(params.message)
        self.was_asked.set()
        await self.may_answer.wait()
        return ElicitResult(action="accept", content={"answer": self.said})


def ready(said: str = "blue") -> Person:
    person = Person(said)
    person.may_answer.set()
    return person


@both_eras
async def test_ask_gives_the_answer_as_text_and_in_structure_and_tells_what_goes_on(
    tmp_path: Path, era: Era
) -> None:
    told: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert progress == len(told) + 1
        told.append(message or "")

    async with open_door(tmp_path, [ADDS]) as door, client_of(door, era) as client:
        result = await client.call_tool("ask", {"request": "add 5 and 7"}, progress_callback=hear)
    assert not result.is_error
    assert text_of(result) == "12"
    found = structured(result)
    assert (found["answer"], found["status"]) == ("12", "done")
    assert str(found["session_id"]).startswith("20")
    assert isinstance(found["usage"], dict)
    assert found["usage"]["model_calls"] == 1
    assert told[-3:] == [
        "plan 1 of step 1 is written",
        "calls math.add(a=5, b=7)",
        "math.add → 12",
    ]


@both_eras
async def test_a_request_without_an_answer_is_an_error_that_says_why(
    tmp_path: Path, era: Era
) -> None:
    declined = [{"declined": "there is no tool for mail"}]
    async with open_door(tmp_path, declined) as door, client_of(door, era) as client:
        result = await client.call_tool("ask", {"request": "send a mail to Ann"})
    assert result.is_error
    assert "there is no tool for mail" in text_of(result)
    assert text_of(result).casefold().count("no answer") <= 1
    assert structured(result)["answer"] is None
    assert structured(result)["status"] == "no_answer"


@both_eras
async def test_a_question_goes_to_the_clients_person_and_the_answer_into_the_plan(
    tmp_path: Path, era: Era
) -> None:
    person = ready("blue")
    replies = [ASKS, says("blue it is")]
    async with open_door(tmp_path, replies) as door, client_of(door, era, person.answer) as client:
        result = await client.call_tool("ask", {"request": "paint it"})
        read = await client.call_tool(
            "read_session", {"session_id": structured(result)["session_id"]}
        )
    assert text_of(result) == "blue it is"
    assert person.asked == ["which colour?"]
    assert "blue it is" in text_of(read)


@both_eras
async def test_without_elicitation_nobody_is_there_to_be_asked(tmp_path: Path, era: Era) -> None:
    replies = [ASKS, says("any colour")]
    async with open_door(tmp_path, replies) as door, client_of(door, era) as client:
        result = await client.call_tool("ask", {"request": "paint it"})
    assert text_of(result) == "any colour"


@both_eras
async def test_a_second_request_to_a_session_is_refused_while_one_is_answered(
    tmp_path: Path, era: Era
) -> None:
    person = Person()
    replies = [ASKS, says("done"), says("again")]
    asked = {"request": "paint it", "session_id": "paint"}
    async with (
        asyncio.timeout(WAIT_SECONDS),
        open_door(tmp_path, replies) as door,
        client_of(door, era, person.answer) as client,
    ):
        first = asyncio.create_task(client.call_tool("ask", asked))
        await person.was_asked.wait()
        second = await client.call_tool("ask", asked)
        person.may_answer.set()
        assert structured(await first)["answer"] == "done"
        third = await client.call_tool("ask", asked)
    assert second.is_error
    assert "the conversation paint answers another request" in text_of(second)
    assert text_of(third) == "again"


async def test_a_session_that_begins_under_an_unknown_name_is_told(tmp_path: Path) -> None:
    asked = {"request": "paint it", "session_id": "paint"}
    async with (
        open_door(tmp_path, [says("done"), says("again")]) as door,
        client_of(door, "legacy") as client,
    ):
        first = await client.call_tool("ask", asked)
        second = await client.call_tool("ask", asked)
        other = await client.call_tool("ask", {"request": "x", "session_id": "2020/01/01/nothing"})
    begun = "begins the conversation 'paint': none of that name is kept"
    assert text_of(first).split("\n") == ["done", begun]
    assert structured(first)["message"] == begun
    assert (text_of(second), structured(second)["message"]) == ("again", "")
    assert other.is_error


@both_eras
async def test_several_sessions_are_answered_at_once(tmp_path: Path, era: Era) -> None:
    both_asked = asyncio.Barrier(2)

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        async with asyncio.timeout(WAIT_SECONDS):
            await both_asked.wait()
        return ElicitResult(action="accept", content={"answer": "blue"})

    replies = [ASKS, ASKS, says("one"), says("other")]
    async with open_door(tmp_path, replies) as door, client_of(door, era, answer) as client:
        done = await asyncio.gather(
            *(client.call_tool("ask", {"request": f"paint {what}"}) for what in ("a", "b"))
        )
    assert {text_of(each) for each in done} == {"one", "other"}
    assert len({str(structured(each)["session_id"]) for each in done}) == 2


@both_eras
async def test_what_the_client_cancels_is_interrupted_and_its_session_goes_on(
    tmp_path: Path, era: Era
) -> None:
    replies = [{"text": says("never"), "after": 600}, says("at last")]
    asked = {"request": "paint it", "session_id": "paint"}
    async with (
        asyncio.timeout(WAIT_SECONDS),
        open_door(tmp_path, replies) as door,
        client_of(door, era) as client,
    ):
        begun = asyncio.Event()

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            if message and not message.startswith("begins"):
                begun.set()

        calling = asyncio.create_task(client.call_tool("ask", asked, progress_callback=hear))
        await begun.wait()
        calling.cancel()
        await asyncio.wait({calling})
        assert calling.cancelled()
        while text_of(again := await client.call_tool("ask", asked)) != "at last":
            assert "answers another request" in text_of(again)
        read = await client.call_tool("read_session", {"session_id": "paint"})
    exchanges = structured(read)["exchanges"]
    assert isinstance(exchanges, list)
    assert [each["answer"] for each in exchanges if isinstance(each, dict)] == [None, "at last"]


@both_eras
async def test_the_clients_trace_is_taken_over(tmp_path: Path, era: Era) -> None:
    async with open_door(tmp_path, [says("1")]) as door, client_of(door, era) as client:
        result = await client.call_tool(
            "ask", {"request": "one"}, meta={"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
        )
    assert structured(result)["trace_id"] == TRACE


async def test_sessions_are_listed_by_their_words_and_read(tmp_path: Path) -> None:
    replies = [says("the lease ends in May"), says("12")]
    async with open_door(tmp_path, replies) as door, client_of(door, "legacy") as client:
        await client.call_tool("ask", {"request": "when does it end?", "session_id": "lease"})
        await client.call_tool("ask", {"request": "add 5 and 7", "session_id": "sums"})
        listed = await client.call_tool("list_sessions", {})
        found = await client.call_tool("list_sessions", {"query": "LEASE may"})
        none = await client.call_tool("list_sessions", {"query": "lease june"})
        newest = await client.call_tool("list_sessions", {"limit": 1})
        wrong = await client.call_tool("read_session", {"session_id": "nothing"})
    assert ids(structured(listed)) == {"lease", "sums"}
    assert ids(structured(found)) == {"lease"}
    assert json.loads(text_of(found)) == structured(found)
    assert ids(structured(none)) == set()
    assert len(ids(structured(newest))) == 1
    assert wrong.is_error
    assert "there is no session 'nothing'" in text_of(wrong)


def ids(found: JsonObject) -> set[object]:
    sessions = found["sessions"]
    assert isinstance(sessions, list)
    return {str(each["session_id"]) for each in sessions if isinstance(each, dict)}


@pytest.mark.parametrize(
    ("tool", "arguments", "says_what"),
    [
        (
            "ask",
            {"reqest": "x"},
            "ask: `request` is missing; `reqest` is unknown",
        ),
        ("ask", {"request": "x" * 100_001}, "`request` must have at most 100,000 characters"),
        ("ask", {"request": " "}, "the request is empty"),
        ("ask", {"request": "x", "session_id": "../x"}, "session"),
        ("list_sessions", {"limit": 0}, "`limit` must be at least 1"),
        ("aks", {}, "there is no tool 'aks'; did you mean ask?"),
        ("math__add", {"a": 1, "b": 2}, "there is no tool 'math__add'"),
        ("search_documents", {"query": "lease"}, "no server for documents"),
    ],
)
async def test_bad_input_is_an_error_of_the_tool_that_says_what_is_wrong(
    tmp_path: Path, tool: str, arguments: JsonObject, says_what: str
) -> None:
    async with open_door(tmp_path) as door, client_of(door, "legacy") as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert says_what in text_of(result)


async def test_only_its_own_tools_are_listed_without_the_gateway(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door, client_of(door, "legacy") as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == [
        "ask",
        "list_sessions",
        "read_session",
        "search_documents",
    ]
    assert not (tmp_path / "logs").exists(), "a server was started"


async def stopped_at_question(client: Client, arguments: JsonObject) -> InputRequiredResult:
    result = await client.session.call_tool("ask", arguments, allow_input_required=True)
    assert isinstance(result, InputRequiredResult)
    return result


async def test_answers_are_taken_for_the_same_call_alone_and_once(tmp_path: Path) -> None:
    person = ready()
    arguments: JsonObject = {"request": "paint it"}
    blue = ElicitResult(action="accept", content={"answer": "blue"})
    async with (
        open_door(tmp_path, [ASKS, says("blue it is")]) as door,
        client_of(door, "2026-07-28", person.answer) as client,
    ):
        waiting = await stopped_at_question(client, arguments)
        (id_, asked) = next(iter((waiting.input_requests or {}).items()))
        assert isinstance(asked.params, ElicitRequestFormParams)
        assert asked.params.requested_schema["required"] == ["answer"]
        state = waiting.request_state

        async def come_back(given: JsonObject, token: str | None) -> str:
            return text_of(
                await client.call_tool(
                    "ask", given, input_responses={id_: blue}, request_state=token
                )
            )

        assert "nothing waits" in await come_back({"request": "other"}, state)
        assert "nothing waits" in await come_back(arguments, "made-up")
        assert await come_back(arguments, state) == "blue it is"
        assert "nothing waits" in await come_back(arguments, state)


async def test_a_client_that_never_comes_back_ends_what_it_asked(tmp_path: Path) -> None:
    person = ready()
    arguments: JsonObject = {"request": "paint it", "session_id": "paint"}
    bounds = "team: {ask_seconds: 0.2}"
    async with (
        asyncio.timeout(WAIT_SECONDS),
        open_door(tmp_path, [ASKS, says("next")], more=bounds) as door,
        client_of(door, "2026-07-28", person.answer) as client,
    ):
        await stopped_at_question(client, arguments)
        while (again := await client.call_tool("ask", arguments)).is_error:
            assert "answers another request" in text_of(again)
    assert text_of(again) == "next"


async def test_documents_are_searched_by_the_agents_server(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "lease.md").write_text("# Lease\n\nThe notice period is three months.\n")
    server = "id: documents\nscript: servers/documents_server.py\ndescription: documents"
    bounds = "documents: {embedder: none}"
    async with (
        open_door(tmp_path, (), server, more=bounds) as door,
        client_of(door, "legacy") as client,
    ):
        found = await client.call_tool("search_documents", {"query": "notice period", "k": 1})
        wrong = await client.call_tool("search_documents", {"query": "notice", "k": 51})
    assert not found.is_error
    assert "three months" in text_of(found)
    assert "lease.md" in text_of(found)
    assert wrong.is_error
    assert "`k` must be at most 50" in text_of(wrong)


async def test_so_many_calls_wait_for_answers_and_no_more(tmp_path: Path) -> None:
    person = ready()
    replies = [ASKS, ASKS, says("second")]
    first: JsonObject = {"request": "first", "session_id": "first"}
    second: JsonObject = {"request": "second", "session_id": "second"}
    blue = ElicitResult(action="accept", content={"answer": "blue"})
    async with (
        asyncio.timeout(WAIT_SECONDS),
        open_door(tmp_path, replies, parked_max=1) as door,
        client_of(door, "2026-07-28", person.answer) as client,
    ):
        oldest = await stopped_at_question(client, first)
        newest = await stopped_at_question(client, second)
        answers = [
            await client.call_tool(
                "ask",
                given,
                input_responses=dict.fromkeys(waiting.input_requests or {}, blue),
                request_state=waiting.request_state,
            )
            for given, waiting in ((first, oldest), (second, newest))
        ]
    assert "nothing waits" in text_of(answers[0])
    assert structured(answers[1])["answer"] == "second"


async def test_more_calls_than_may_be_are_refused_with_advice(tmp_path: Path) -> None:
    person = Person()
    async with (
        asyncio.timeout(WAIT_SECONDS),
        open_door(tmp_path, [ASKS, says("done")], works_max=1) as door,
        client_of(door, "legacy", person.answer) as client,
    ):
        first = asyncio.create_task(client.call_tool("ask", {"request": "paint it"}))
        await person.was_asked.wait()
        refused = await client.call_tool("list_sessions", {})
        person.may_answer.set()
        assert text_of(await first) == "done"
    assert refused.is_error
    assert "try again in a while" in text_of(refused)
