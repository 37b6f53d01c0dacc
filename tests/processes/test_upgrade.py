"""State that the version before has left: its profile, servers, sessions, pins and index.

`tests/fixtures/previous_version` is a home that it wrote. Whoever renames a key or moves a file
has what is there read, with a note, and leaves these tests as they are.
"""

import json
import os
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

from config.models_file import load_models
from config.schema import load_profile
from tests.command_line import SUMS, Finished, agent, environment

LEFT = Path(__file__).parent.parent / "fixtures" / "previous_version"
SESSION = "2026/11/23/session-1795420510-60f851"
OFFLINE = ("--quiet", "--model", "offline")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A copy of the home; the index knows its document where it is now."""
    copy = tmp_path / "home"
    shutil.copytree(LEFT, copy)
    document = copy / "documents" / "kettle.txt"
    index = sqlite3.connect(copy / "faiss_index" / "index.sqlite3")
    with index:
        ((modified_ns,),) = index.execute("SELECT modified_ns FROM documents").fetchall()
        index.execute("UPDATE documents SET path = ?", (os.fsencode(document),))
    index.close()
    os.utime(document, ns=(modified_ns, modified_ns))
    return copy


def run(home: Path, *words: str) -> Finished:
    program = f"{sys.executable} {SUMS}"
    return agent(home, *words, env=environment(home, SUMS=program))


def test_every_key_of_the_profile_is_read() -> None:
    profile = load_profile(LEFT / "config" / "profiles.yaml")
    ids = ["math", "documents", "websearch", "elsewhere", "program"]
    assert [server.id for server in profile.mcp_servers] == ids
    assert profile.strategy.max_steps == 10
    assert profile.mcp_servers[3].tool_timeout_seconds == {"search": 600}


def test_the_models_are_read() -> None:
    models = load_models(LEFT / "config" / "models.json").models
    assert list(models) == ["gemini", "claude", "gpt", "ollama", "offline"]


def test_the_servers_are_listed_and_one_that_was_set_aside_still_is(home: Path) -> None:
    done = run(home, "mcp", "list", "--json")
    assert done.code == 0, done.err
    states = {server["id"]: server["state"] for server in json.loads(done.out)}
    assert (states["sums"], states["time"], states["ghost"]) == ("on", "disabled", "set aside")


def test_the_pins_hold_a_tool_to_its_definition(home: Path) -> None:
    """The pinned `add` is that of today; the pinned `multiply` had another description."""
    before = (home / "tool_pins.json").read_text(encoding="utf-8")
    assert run(home, "call", "sums.add", "a=1", "b=2").out == "3\n"
    refused = run(home, "call", "sums.multiply", "a=1", "b=2")
    assert refused.code == 2
    assert "its definition is not the one that was first used" in refused.err
    assert (home / "tool_pins.json").read_text(encoding="utf-8") == before


@pytest.mark.parametrize("session", ["notes", SESSION])
def test_a_session_goes_on(home: Path, session: str) -> None:
    file = home / "memory" / f"{session}.json"
    before = json.loads(file.read_text(encoding="utf-8"))
    done = run(home, *OFFLINE, "--session", session, "add 1 and 2")
    assert (done.code, done.out) == (0, "3\n"), done.err
    assert json.loads(file.read_text(encoding="utf-8"))[: len(before)] == before


def test_the_index_is_searched_as_it_is(home: Path) -> None:
    done = run(home, "docs", "search", "descaling", "--mode", "words", "--json")
    assert done.code == 0, done.err
    assert "files" not in done.err, "nothing was read anew"
    (passage,) = json.loads(done.out)["passages"]
    assert passage["file"] == "kettle.txt"
    assert "citric acid" in passage["text"]


def test_the_names_of_kept_keys_are_known(home: Path) -> None:
    done = run(home, "auth", "list", "--json")
    assert done.code == 0, done.err
    kept = [key["variable"] for key in json.loads(done.out) if key["keyring"]]
    assert kept == ["GEMINI_API_KEY"]
