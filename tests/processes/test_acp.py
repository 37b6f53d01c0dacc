"""`agent.py acp` as an editor meets it, driven by the protocol's own client."""

import asyncio
import base64
import io
import json
import signal
from pathlib import Path

import pytest
from acp import RequestError, resource_link_block
from acp.schema import (
    EmbeddedResourceContentBlock,
    HttpMcpServer,
    ImageContentBlock,
    McpServerStdio,
    TextResourceContents,
)
from PIL import Image

from tests.command_line import SUMS, SUMS_SERVER, agent, plan, script, write_profile
from tests.core.dispatch.fixture_servers import SERVERS, all_gone
from tests.processes.acp_editor import BOUND_SECONDS, children_of, editor, started

ADD = plan('return f"FINAL_ANSWER: {await tools.add(a=5, b=7)}"')
ANSWER = plan('return "FINAL_ANSWER: so be it"')
WRITE = plan('return "FINAL_ANSWER: " + await tools.write_file(path="notes.txt", content="bought")')


def summing(home: Path, *replies: object) -> list[str]:
    """Options for the math server's double, and a model that says these replies."""
    return ["--profile", str(write_profile(home, SUMS_SERVER)), "--model", script(home, replies)]


def writing(home: Path, *replies: object) -> list[str]:
    """The same with a server that writes files into `home`, which its entry names."""
    server = f"id: files\nscript: {SERVERS / 'writing_server.py'}\nargs: [{home}]"
    return ["--profile", str(write_profile(home, server)), "--model", script(home, replies)]


async def test_initialize_is_answered_before_anything_starts(tmp_path: Path) -> None:
    async with editor(tmp_path, *summing(tmp_path)) as user:
        assert children_of(user.process.pid) == []
        assert user.introduction.protocol_version == 1
        assert user.introduction.auth_methods == []
        able = user.introduction.agent_capabilities
        assert able is not None
        assert able.load_session
        await user.open(tmp_path)
        assert children_of(user.process.pid) == [], "a session alone starts nothing either"
    assert user.process.returncode == 0


async def test_a_prompt_streams_thoughts_plan_calls_and_the_answer(tmp_path: Path) -> None:
    add_twice = 'return f"FINAL_ANSWER: {await tools.add(a=await tools.add(a=2, b=3), b=7)}"'
    async with editor(tmp_path, *summing(tmp_path, plan(add_twice))) as user:
        session = await user.open(tmp_path)
        ended = await user.prompt(session, "add 2, 3 and 7")
        assert ended.stop_reason == "end_turn"
        assert user.said() == "12"
        assert "tools.add(a=2, b=3)" in user.said(kind="agent_thought_chunk")
        states = [[each["status"] for each in told["entries"]] for told in user.shown("plan")]
        assert states == [
            ["pending", "pending"],
            ["in_progress", "pending"],
            ["completed", "pending"],
            ["completed", "in_progress"],
            ["completed", "completed"],
        ]
        first, second = user.shown("tool_call")
        assert first["title"] == "math.add(a=2, b=3)"
        assert second["rawInput"] == {"a": 5, "b": 7}
        assert second["status"] == "in_progress"
        done = user.shown("tool_call_update")[-1]
        assert done["toolCallId"] == second["toolCallId"]
        assert done["status"] == "completed"
        assert done["content"][0]["content"]["text"] == "12"
        assert user.shown("session_info_update")[0]["title"] == "add 2, 3 and 7"


async def test_a_call_that_may_change_something_needs_a_permission(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("milk")
    async with editor(tmp_path, *writing(tmp_path, WRITE), choice="once") as user:
        session = await user.open(tmp_path)
        await user.prompt(session, "is everything there?")
        (asked,) = user.asked
        assert asked["options"] == {
            "once": "allow_once",
            "always": "allow_always",
            "no": "reject_once",
            "never": "reject_always",
            "other": "reject_once",
        }
        assert asked["call"]["kind"] == "edit"
        assert asked["call"]["rawInput"] == {"path": "notes.txt", "content": "bought"}
        assert asked["call"]["locations"] == [{"path": str(tmp_path / "notes.txt")}]
        (difference,) = [each for each in asked["call"]["content"] if each["type"] == "diff"]
        assert (difference["oldText"], difference["newText"]) == ("milk", "bought")
        assert user.said() == "written"
        states = [told["status"] for told in user.shown("tool_call_update")]
        assert states == ["in_progress", "completed"]
        ids = {told["toolCallId"] for told in user.shown("tool_call_update")}
        assert ids == {user.shown("tool_call")[0]["toolCallId"]}, "the question becomes the call"
        assert {told.get("kind") for told in user.shown("tool_call_update")} == {None}
    assert (tmp_path / "notes.txt").read_text() == "bought"


@pytest.mark.parametrize(("choice", "questions"), [("no", 2), ("never", 1), (None, 2)])
async def test_a_call_that_is_refused_is_not_sent(
    tmp_path: Path, choice: str | None, questions: int
) -> None:
    # A person's no ends the request; where nobody answers, the plan is told and goes on.
    replies = [WRITE, ANSWER] * 2 if choice is None else [WRITE] * 2
    said = (
        "so be it" if choice is None else "No answer: not done, for you said no: files.write_file"
    )
    async with editor(tmp_path, *writing(tmp_path, *replies), choice=choice) as user:
        session = await user.open(tmp_path)
        for _ in range(2):
            await user.prompt(session, "is everything there?")
        assert user.said().count(said) == 2
        assert user.shown("tool_call_update")[-1]["status"] == "failed"
        assert len(user.asked) == questions
    assert not (tmp_path / "notes.txt").exists()


async def test_cancelling_ends_the_turn_and_not_the_session(
    tmp_path: Path, gated: list[str]
) -> None:
    hold = plan('return "FINAL_ANSWER: " + await tools.hold(name="first")')
    model = script(tmp_path, [hold, ANSWER])
    async with editor(tmp_path, *gated, "--model", model) as user:
        session = await user.open(tmp_path)
        turn = asyncio.create_task(user.prompt(session, "hold on"))
        await user.until(lambda: bool(user.shown("tool_call")))
        await user.connection.cancel(session_id=session)
        assert (await turn).stop_reason == "cancelled"
        assert (await user.prompt(session, "and now?")).stop_reason == "end_turn"
        assert user.said() == "so be it"


async def test_a_session_is_listed_and_loaded_by_another_process(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with editor(tmp_path, *summing(tmp_path, ADD)) as user:
        session = await user.open(tmp_path)
        await user.prompt(session, "add 5 and 7")
    assert session in agent(tmp_path, "sessions", "list").out
    async with editor(tmp_path, *summing(tmp_path, ANSWER)) as user:
        listed = await user.connection.list_sessions(cwd=str(tmp_path))
        assert [(each.session_id, each.title) for each in listed.sessions] == [
            (session, "add 5 and 7")
        ]
        assert (await user.connection.list_sessions(cwd=str(elsewhere))).sessions == []
        await user.connection.load_session(cwd=str(tmp_path), session_id=session)
        kinds = [told["sessionUpdate"] for _, told in user.updates]
        assert [kind for kind in kinds if kind != "available_commands_update"] == [
            "user_message_chunk",
            "tool_call",
            "agent_message_chunk",
        ]
        assert user.said(kind="user_message_chunk") == "add 5 and 7"
        await user.prompt(session, "and so?")
        assert user.said() == "12so be it"
        with pytest.raises(RequestError, match="no session"):
            await user.connection.load_session(cwd=str(tmp_path), session_id="nowhere")


async def test_the_editors_own_server_is_used(tmp_path: Path) -> None:
    own = McpServerStdio(name="My sums", command="python3", args=[str(SUMS)], env=[])
    profile = ["--profile", str(write_profile(tmp_path)), "--model", script(tmp_path, [ADD])]
    async with editor(tmp_path, *profile) as user:
        session = await user.open(tmp_path, mcp_servers=[own])
        await user.prompt(session, "what do my sums say?")
        assert user.said() == "12"
        assert user.shown("tool_call")[0]["title"].startswith("My-sums.add")


async def test_a_server_that_is_not_there_ends_no_session(tmp_path: Path) -> None:
    own = HttpMcpServer(name="far", type="http", url="http://127.0.0.1:1/mcp", headers=[])
    async with editor(tmp_path, *summing(tmp_path, ADD)) as user:
        session = await user.open(tmp_path, mcp_servers=[own])
        await user.prompt(session, "add 5 and 7")
        assert user.said() == "12"


async def test_two_sessions_work_at_once(tmp_path: Path, gates: Path, gated: list[str]) -> None:
    def hold(name: str) -> str:
        return plan(f'return "FINAL_ANSWER: " + await tools.hold(name="{name}")')

    model = script(tmp_path, [hold("first"), hold("second")])
    async with editor(tmp_path, *gated, "--model", model) as user:
        first, second = await user.open(tmp_path), await user.open(tmp_path)
        turns = [asyncio.create_task(user.prompt(first, "hold first"))]
        await user.until(lambda: bool(user.shown("tool_call", first)))
        turns.append(asyncio.create_task(user.prompt(second, "hold second")))
        await user.until(lambda: bool(user.shown("tool_call", second)))
        with pytest.raises(RequestError, match="answers another prompt"):
            await user.prompt(first, "and this?")
        (gates / "first").touch()
        (gates / "second").touch()
        await asyncio.gather(*turns)
        assert (user.said(first), user.said(second)) == ("first is open", "second is open")


ASK_BACK = plan('return "CLARIFICATION_NEEDED: which file do you mean?"')


async def test_a_question_of_a_plan_ends_the_turn_and_the_next_prompt_is_the_answer(
    tmp_path: Path,
) -> None:
    async with editor(tmp_path, *summing(tmp_path, ASK_BACK, ANSWER)) as user:
        session = await user.open(tmp_path)
        asked = await user.prompt(session, "delete it")
        assert asked.stop_reason == "end_turn"
        assert user.said() == "which file do you mean?"
        await user.prompt(session, "the second")
        assert user.said() == "which file do you mean?so be it"
    shown = agent(tmp_path, "sessions", "export", session, "--json").out
    assert "which file do you mean? → the second" in shown


async def test_instructions_of_the_project_are_asked_about(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "AGENTS.md").write_text("Answer in rhymes.")
    async with editor(tmp_path, *summing(tmp_path, ANSWER), choice="trust") as user:
        await user.prompt(await user.open(project), "say something")
        (asked,) = user.asked
        assert asked["options"] == {"trust": "allow_always", "distrust": "reject_always"}
        assert asked["call"]["content"][0]["content"]["text"] == "Answer in rhymes."
        assert asked["call"]["kind"] == "other", "none that an editor may allow without asking"
    assert str(project / "AGENTS.md") in agent(tmp_path, "trust", "--list").out


async def test_files_and_pictures_go_with_a_prompt(tmp_path: Path) -> None:
    (tmp_path / "linked.txt").write_text("from the disk")
    picture = io.BytesIO()
    Image.new("RGB", (2, 2)).save(picture, "PNG")
    told = plan('return f"FINAL_ANSWER: {linked_txt} and {unsaved_py}"')
    async with editor(tmp_path, *summing(tmp_path, told)) as user:
        session = await user.open(tmp_path)
        embedded = TextResourceContents(uri="file:///work/unsaved.py", text="from the buffer")
        await user.prompt(
            session,
            "compare ",
            resource_link_block("linked.txt", (tmp_path / "linked.txt").as_uri()),
            EmbeddedResourceContentBlock(type="resource", resource=embedded),
            ImageContentBlock(
                type="image",
                data=base64.b64encode(picture.getvalue()).decode(),
                mime_type="image/png",
            ),
        )
        assert user.said() == "from the disk and from the buffer"


async def test_a_picture_that_is_none_is_told(tmp_path: Path) -> None:
    async with editor(tmp_path, *summing(tmp_path)) as user:
        session = await user.open(tmp_path)
        broken = ImageContentBlock(type="image", data="bm9uZQ==", mime_type="image/png")
        with pytest.raises(RequestError, match="not an image that can be read") as caught:
            await user.prompt(session, broken)
        assert "traceId" in str(caught.value.data)


async def test_the_users_commands_are_offered_and_work(tmp_path: Path) -> None:
    (tmp_path / "commands").mkdir()
    (tmp_path / "commands" / "sum.md").write_text("add $1 and $2")
    async with editor(tmp_path, *summing(tmp_path, ADD)) as user:
        session = await user.open(tmp_path)
        await user.until(lambda: bool(user.shown("available_commands_update")))
        (told,) = user.shown("available_commands_update")
        assert [each["name"] for each in told["availableCommands"]] == ["sum"]
        await user.prompt(session, "/sum 5 7")
        assert user.shown("session_info_update")[0]["title"] == "add 5 and 7"


async def test_another_model_can_be_picked(tmp_path: Path) -> None:
    async with editor(tmp_path, *summing(tmp_path)) as user:
        opened = await user.connection.new_session(cwd=str(tmp_path))
        assert opened.config_options is not None
        assert [option.id for option in opened.config_options] == ["model"]
        session = opened.session_id
        changed = await user.connection.set_config_option("model", session, "offline")
        assert changed is not None
        assert changed.config_options[0].current_value == "offline"
        await user.prompt(session, "add 5 and 7")
        assert user.said() == "12", "the script has no reply"
        with pytest.raises(RequestError, match="GEMINI_API_KEY"):
            await user.connection.set_config_option("model", session, "gemini")


async def test_a_model_that_is_down_is_an_error_with_its_trace(tmp_path: Path) -> None:
    async with editor(tmp_path, *summing(tmp_path, {"error": "it is down"}, ANSWER)) as user:
        session = await user.open(tmp_path)
        with pytest.raises(RequestError, match="it is down") as caught:
            await user.prompt(session, "say something")
        assert "traceId" in str(caught.value.data)
        await user.prompt(session, "say something")
        assert user.said() == "so be it"


async def test_what_is_wrong_with_parameters_is_told(tmp_path: Path) -> None:
    async with editor(tmp_path, *summing(tmp_path)) as user:
        with pytest.raises(RequestError, match="give the full path of a folder"):
            await user.open(Path("relative"))
        with pytest.raises(RequestError, match="no session 2000 is open"):
            await user.prompt("2000", "hello")
        with pytest.raises(RequestError, match="there is no method '_other'"):
            await user.connection.ext_method("other", {})


@pytest.mark.parametrize("how", ["stdin", "terminated", "killed"])
async def test_nothing_is_left_behind(
    tmp_path: Path, gates: Path, gated: list[str], how: str
) -> None:
    hold = plan('return "FINAL_ANSWER: " + await tools.hold(name="first")')
    async with editor(tmp_path, *gated, "--model", script(tmp_path, [hold])) as user:
        session = await user.open(tmp_path)
        turn = asyncio.create_task(user.prompt(session, "hold on"))
        await user.until(lambda: bool(user.shown("tool_call")))
        server = (gates / "pid").read_text()
        assert children_of(user.process.pid)
        assert user.process.stdin is not None
        match how:
            case "stdin":
                user.process.stdin.close()
            case "terminated":
                user.process.terminate()
            case _:
                user.process.kill()
        code = await asyncio.wait_for(user.process.wait(), BOUND_SECONDS)
        await asyncio.wait({turn}, timeout=BOUND_SECONDS)
        assert turn.done()
        assert turn.exception() is not None or turn.result().stop_reason == "cancelled"
    assert code == {"stdin": 0, "terminated": 130, "killed": -signal.SIGKILL}[how]
    await asyncio.wait_for(all_gone([server]), BOUND_SECONDS)


async def test_what_can_not_be_read_is_answered_and_costs_nothing_else(tmp_path: Path) -> None:
    process = await started(tmp_path)
    assert process.stdin is not None
    assert process.stdout is not None
    lines = [
        b"no json at all",
        b"[]",
        b'{"jsonrpc":"2.0","id":7,"method":5}',
        b'{"jsonrpc":"2.0","id":8}',
        b'{"jsonrpc":"2.0","id":9,"method":"session/new","params":{"x":['
        + b"1," * 300_000
        + b"1]}}",
        b'"' + b"x" * (65 * 1024 * 1024) + b'"',
        b'{"jsonrpc":"2.0","id":10,"method":"initialize","params":{"protocolVersion":99}}',
        b'{"jsonrpc":"2.0","id":11,"method":"session/new","params":[]}',
    ]
    process.stdin.write(b"\n".join([*lines, b""]))
    answers = [json.loads(await process.stdout.readline()) for _ in lines]
    found = {each["id"]: each.get("error", {}).get("code") for each in answers}
    assert found == {None: -32600, 7: -32600, 8: -32600, 10: None, 11: -32602}
    assert answers[0]["error"]["code"] == -32700
    process.stdin.close()
    assert await process.wait() == 0
