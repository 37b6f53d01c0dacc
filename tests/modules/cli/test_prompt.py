"""`prompt`: what a model would be sent, as text and as JSON; none is asked, and nothing is kept."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from config.schema import load_profile
from core.base.memory.facts import FACTS_FILE, FactStore
from core.base.redaction import Redactor
from core.errors import ExitCode
from modules.models.credentials import LIST_FILE
from tests.command_line import ROOT, agent, environment, plan, write_profile
from tests.modules.cli.by_hand import Hand, entry
from tests.modules.models.http.chat_server import model_server, streams, text

REQUEST = "what is 19 times 29?"
FREE_SERVER = {"type": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
"""Nobody listens there: who asked a model would notice."""

SILENT_KEYRING = """\
import sys, threading
from keyring.backend import KeyringBackend

class Silent(KeyringBackend):
    priority = 1

    def get_password(self, service, username):
        print("asked", file=sys.stderr, flush=True)
        threading.Event().wait()

    def set_password(self, service, username, password):
        raise NotImplementedError
"""


@pytest.fixture
def desk(hand: Hand) -> Hand:
    """A hand with a server of tools, and models of which one sees images."""
    config = hand.home / "config"
    config.mkdir()
    models = {"blind": {**FREE_SERVER, "images": False}, "eyes": {**FREE_SERVER, "images": True}}
    (config / "models.json").write_text(json.dumps({"models": models}), encoding="utf-8")
    hand.write_profile(entry("sums"))
    return hand


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    file = tmp_path / "photo.png"
    Image.new("RGB", (6, 4)).save(file)
    return file


def test_both_messages_are_shown_with_the_tools_of_a_server(desk: Hand) -> None:
    done = desk.run("prompt", "--show", REQUEST, "--model", "blind")
    assert done.code == ExitCode.ANSWERED
    stable, _, users = done.out.partition("── decision: user message ──\n")
    assert stable.startswith("── decision: system message ──\n")
    assert "\n- multiply(a: float, b: float) -> float: does multiply\n" in stable
    assert "── decision: user message ──" in done.out.splitlines()
    assert REQUEST in users
    assert REQUEST not in stable, "providers' caches go by the beginning"
    assert "openai:m would be asked; 1 prompt(s)" in done.err
    assert not (desk.home / "memory").exists()


def test_json_is_one_object_with_the_same_texts(desk: Hand) -> None:
    shown = desk.run("prompt", REQUEST, "--model", "blind", "--quiet")
    assert shown.err == ""
    document = desk.object("prompt", REQUEST, "--model", "blind")
    [request] = document["requests"] if isinstance(document["requests"], list) else []
    assert document["model"] == "openai:m"
    assert isinstance(request, dict)
    assert request["purpose"] == "decision"
    assert (request["images"], request["schema"], request["temperature"]) == ([], None, 0.0)
    for part in ("system", "user"):
        assert str(request[part]) in shown.out


def test_perceptions_prompt_stands_first_where_a_model_is_asked_for_it(desk: Hand) -> None:
    with (desk.home / "profile.yaml").open("a", encoding="utf-8") as profile:
        profile.write("strategy: {perception: always}\n")
    document = desk.object("prompt", REQUEST, "--model", "blind")
    requests = document["requests"]
    assert isinstance(requests, list)
    asked = [request for request in requests if isinstance(request, dict)]
    assert [request["purpose"] for request in asked] == ["perception", "decision"]
    assert isinstance(asked[0]["schema"], dict)
    shown = desk.run("prompt", REQUEST, "--model", "blind").out.splitlines()
    headings = [line for line in shown if line.startswith("── ")]
    assert headings == [
        "── perception: system message ──",
        "── perception: user message ──",
        "── decision: system message ──",
        "── decision: user message ──",
    ]


def test_an_image_goes_to_a_model_that_sees_and_to_no_other(desk: Hand, photo: Path) -> None:
    request = f"what is in @{photo}?"
    seen = desk.run("prompt", request, "--model", "eyes")
    assert f"── image ── {photo}" in seen.out
    unseen = desk.run("prompt", request, "--model", "blind")
    assert "── image ──" not in unseen.out
    assert str(photo) in unseen.out
    assert seen.out.partition("user message")[2] != unseen.out.partition("user message")[2]
    document = desk.object("prompt", request, "--model", "eyes")
    assert f'"images": ["{photo}"]' in json.dumps(document)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("x", "--model", "no-such-model"), "--model: there is no model 'no-such-model'"),
        (("x", "--model", "scripted:missing.json"), "script missing.json can't be read"),
        (("look at @missing.png", "--model", "blind"), "missing.png"),
    ],
)
def test_what_cannot_be_used_is_told_and_nothing_is_printed(
    desk: Hand, words: tuple[str, ...], told: str
) -> None:
    done = desk.run("prompt", *words)
    assert (done.code, done.out) == (ExitCode.BAD_USAGE, "")
    assert told in done.err


def test_a_request_for_help_has_no_prompt_to_show(desk: Hand) -> None:
    done = desk.run("prompt", "--show", "hello", "--model", "blind")
    assert (done.code, done.out) == (ExitCode.BAD_USAGE, "")
    assert "agent.py help" in done.err


def test_a_script_is_not_used_up(desk: Hand) -> None:
    script = desk.home / "script.json"
    script.write_text('["never asked for"]', encoding="utf-8")
    done = desk.run("prompt", REQUEST, "--model", f"scripted:{script}")
    assert done.code == ExitCode.ANSWERED
    assert "left over" not in done.err
    assert "never asked for" not in done.out


def test_ctrl_c_ends_a_wait_for_the_keyring(tmp_path: Path) -> None:
    (tmp_path / LIST_FILE).write_text('{"names": ["GEMINI_API_KEY"]}', encoding="utf-8")
    (tmp_path / "silent_keyring.py").write_text(SILENT_KEYRING, encoding="utf-8")
    keyring = {"PYTHONPATH": str(tmp_path), "PYTHON_KEYRING_BACKEND": "silent_keyring.Silent"}
    process = subprocess.Popen(
        [sys.executable, ROOT / "agent.py", "prompt", REQUEST, "--model", "gemini"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path, **keyring),
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "asked\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)  # the keyring would be waited for longer
    assert (process.returncode, out, err) == (130, "", "interrupted\n")


def test_it_holds_what_the_user_has_stated_and_the_workflows_and_keeps_nothing(desk: Hand) -> None:
    folder = load_profile(desk.home / "profile.yaml").memory_folder(desk.home)
    FactStore(folder, Redactor({})).keep("my favourite tea is mint")
    workflows = desk.home / "workflows"
    workflows.mkdir()
    (workflows / "facts.yaml").write_text(
        'description: Finds a fact.\nparameters: {thing: {}}\nsteps: [{id: a, do: "{{thing}}"}]\n'
    )
    before = {file: file.read_bytes() for file in folder.rglob("*.json")}
    assert [file.name for file in before] == [FACTS_FILE]
    done = desk.run("prompt", "which tea do I drink? I live in Rome.", "--model", "blind", "--json")
    assert done.code == ExitCode.ANSWERED, done.err
    (asked,) = json.loads(done.out)["requests"]
    assert "- my favourite tea is mint (" in asked["user"]
    assert "- facts(thing: str" in asked["system"]
    after = {file: file.read_bytes() for file in folder.rglob("*.json")}
    assert after == before


async def test_it_is_to_the_letter_what_is_sent_with_what_the_request_itself_states(
    tmp_path: Path,
) -> None:
    request = "remember that my name is Ann. what is my name?"
    written = plan('return "FINAL_ANSWER: Ann"')
    async with model_server(streams(*text(written))) as server:
        config = tmp_path / "config"
        config.mkdir()
        models = {"played": {**FREE_SERVER, "base_url": server.url}}
        (config / "models.json").write_text(json.dumps({"models": models}), encoding="utf-8")
        options = ["--profile", str(write_profile(tmp_path)), "--model", "played"]
        folder = load_profile(tmp_path / "profile.yaml").memory_folder(tmp_path)
        FactStore(folder, Redactor({})).keep("my name is Bob")
        before = (folder / FACTS_FILE).read_bytes()
        shown = await asyncio.to_thread(agent, tmp_path, "prompt", "--json", *options, request)
        assert (server.bodies, (folder / FACTS_FILE).read_bytes()) == ([], before)
        done = await asyncio.to_thread(agent, tmp_path, *options, request)
    assert (done.code, done.out) == (0, "Ann\n"), done.err
    (asked,) = json.loads(shown.out)["requests"]
    assert "- my name is Ann (" in asked["user"]
    assert server.bodies[0]["messages"] == [
        {"role": "system", "content": asked["system"]},
        {"role": "user", "content": asked["user"]},
    ]
