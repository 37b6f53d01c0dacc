"""Every door says whether an answer rests on anything: the same outcome, told in its own form."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from core.turn import OWN_KNOWLEDGE
from core.values import Json, JsonObject
from modules.app import open_agent
from tests.command_line import SUMS_SERVER, agent, plan, script, write_profile
from tests.modules.service.http import served as http
from tests.modules.service.mcp_door.opening import client_of, open_door, structured
from tests.modules.service.openai_form import served as openai_form
from tests.processes.acp_editor import editor

REQUEST = "What is the notice period for giving up a plot?"

Told: TypeAlias = Json
Door: TypeAlias = Callable[[Path, str], Awaitable[Told]]
"""Asks in a fresh home a model that writes this plan; what the door then says of `grounded`."""


def _options(home: Path, written: str) -> list[str]:
    profile = write_profile(home, SUMS_SERVER)
    return ["--profile", str(profile), "--model", script(home, [written])]


async def terminal(home: Path, written: str) -> Told:
    done = agent(home, *_options(home, written), REQUEST)
    assert OWN_KNOWLEDGE not in done.out, "stdout carries the answer alone"
    return OWN_KNOWLEDGE not in done.err


async def quiet(home: Path, written: str) -> Told:
    done = agent(home, *_options(home, written), "--quiet", REQUEST)
    return done.err != f"({OWN_KNOWLEDGE})\n"


async def json_object(home: Path, written: str) -> Told:
    done = agent(home, *_options(home, written), "--json", REQUEST)
    assert OWN_KNOWLEDGE not in done.err
    return json.loads(done.out)["grounded"]


async def stream_json(home: Path, written: str) -> Told:
    done = agent(home, *_options(home, written), "--output-format", "stream-json", REQUEST)
    return json.loads(done.out.splitlines()[-1])["grounded"]


async def python(home: Path, written: str) -> Told:
    profile = write_profile(home, SUMS_SERVER)
    async with open_agent(profile, model=script(home, [written]), home=home) as opened:
        return (await opened.ask(REQUEST)).grounded


async def http_events(home: Path, written: str) -> Told:
    async with http.served(home, [written], SUMS_SERVER) as service:
        *_, last = await http.chatted(service.client, message=REQUEST)
        assert last.name == "response.done"
        return last.data["grounded"]


async def http_history(home: Path, written: str) -> Told:
    async with http.served(home, [written], SUMS_SERVER) as service:
        *_, last = await http.chatted(service.client, message=REQUEST)
        kept = (await service.client.get(f"/chat/{last.data['conversation_id']}/history")).json()
        asked, answered = kept["messages"]
        assert asked["grounded"], "what the user says needs no ground"
        return answered["grounded"]


async def openai_whole(home: Path, written: str) -> Told:
    return await _completed(home, written, stream=False)


async def openai_stream(home: Path, written: str) -> Told:
    return await _completed(home, written, stream=True)


async def _completed(home: Path, written: str, *, stream: bool) -> Told:
    profile = write_profile(home, SUMS_SERVER)
    made_of = openai_form.setting(home, script(home, [written]), profile)
    async with openai_form.served(made_of) as service, service.client() as client:
        asked = {"model": "cortex-r", "messages": [{"role": "user", "content": REQUEST}]}
        path, body = "/chat/completions", {**asked, "stream": stream}
        answer = await client.post(path, cast_to=str, body=body)
    lines = [line.removeprefix("data: ") for line in answer.splitlines() if "cortex_r" in line]
    told: JsonObject = json.loads(lines[-1])["cortex_r"]
    return told["grounded"]


async def mcp(home: Path, written: str) -> Told:
    async with open_door(home, [written]) as door, client_of(door, "legacy") as client:
        return structured(await client.call_tool("ask", {"request": REQUEST}))["grounded"]


async def acp(home: Path, written: str) -> Told:
    async with editor(home, *_options(home, written)) as user:
        ended = await user.prompt(await user.open(home), REQUEST)
        assert ended.field_meta is not None
        return ended.field_meta["cortex_r"]["grounded"]


DOORS = (
    *(terminal, quiet, json_object, stream_json, python, http_events, http_history),
    *(openai_whole, openai_stream, mcp, acp),
)

KNOWN_BY_HEART = plan('return "FINAL_ANSWER: 14 days"')
CALLED = plan('return f"FINAL_ANSWER: {await tools.add(a=5, b=9)} days"')


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
async def test_an_answer_from_the_models_own_knowledge_is_marked(
    door: Door, tmp_path: Path
) -> None:
    assert await door(tmp_path, KNOWN_BY_HEART) is False


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
async def test_an_answer_after_a_call_is_not(door: Door, tmp_path: Path) -> None:
    assert await door(tmp_path, CALLED) is True


@pytest.mark.parametrize(
    ("model", "arguments", "stdin", "grounded"),
    [
        ("offline", ["what is 17 times 23?"], b"", True),
        (KNOWN_BY_HEART, [REQUEST], b"A plot is given up within 14 days.", True),
        (KNOWN_BY_HEART, ["--json-schema", "no-number.json", REQUEST], b"", None),
        ("I can't help with that.", [REQUEST], b"", None),
    ],
)
def test_a_text_that_came_along_grounds_an_answer_and_without_one_there_is_nothing_to_say(
    model: str, arguments: list[str], stdin: bytes, grounded: bool | None, tmp_path: Path
) -> None:
    (tmp_path / "no-number.json").write_text('{"type": "object"}')
    chosen = model if model == "offline" else script(tmp_path, [model] * 4)
    options = ["--profile", str(write_profile(tmp_path, SUMS_SERVER)), "--model", chosen, "--json"]
    done = agent(tmp_path, *options, *arguments, stdin=stdin)
    assert json.loads(done.out)["grounded"] is grounded


def test_a_follow_up_rests_on_what_the_session_found_and_on_nothing_else(tmp_path: Path) -> None:
    again = plan('return "FINAL_ANSWER: Yes, it is 14 days."')
    profile = ["--profile", str(write_profile(tmp_path, SUMS_SERVER)), "--json"]
    for name, first, grounded in (("guess", KNOWN_BY_HEART, False), ("found", CALLED, True)):
        for written in (first, again):
            model = script(tmp_path, [written])
            options = [*profile, "--model", model, "--session", name]
            request = f"{REQUEST} Is it long?" if written is again else REQUEST
            done = agent(tmp_path, *options, request)
            assert json.loads(done.out)["grounded"] is grounded, (name, written, done)


def test_what_rests_on_a_part_that_rests_on_nothing_rests_on_nothing(tmp_path: Path) -> None:
    graph = tmp_path / "letter.yaml"
    graph.write_text(
        f'description: a letter\nsteps:\n  - {{id: notice, do: "{REQUEST}"}}\n'
        '  - {id: letter, do: "Write {{notice}} as a letter"}\n'
    )
    letter = plan('return "FINAL_ANSWER: Dear friend, farewell."')
    for first, grounded in ((KNOWN_BY_HEART, False), (CALLED, True)):
        profile = write_profile(tmp_path, SUMS_SERVER)
        options = ["--profile", str(profile), "--model", script(tmp_path, [first, letter, letter])]
        done = agent(tmp_path, *options, "--json", "--graph", str(graph), "go")
        assert json.loads(done.out)["grounded"] is grounded, done.out + done.err
