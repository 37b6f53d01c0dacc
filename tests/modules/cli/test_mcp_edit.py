"""`mcp add`, `remove`, `enable` and `disable`: servers kept in `config/mcp.json`."""

import json
import stat
import sys
from pathlib import Path

import pytest

from core.values import JsonObject
from tests.modules.cli.by_hand import SERVERS, Hand, entry, mcp_entry


def written(hand: Hand) -> JsonObject:
    """What the file says."""
    found: JsonObject = json.loads((hand.home / "config" / "mcp.json").read_text(encoding="utf-8"))
    return found


def test_a_server_that_was_added_is_listed_works_and_can_be_removed(hand: Hand) -> None:
    done = hand.run("mcp", "add", "mine", "--", sys.executable, str(SERVERS / "typed_server.py"))
    file = hand.home / "config" / "mcp.json"
    assert done.code == 0
    assert done.out == f"added 'mine' to {file}; try it: agent.py mcp test mine\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [server["id"] for server in hand.objects("mcp", "list")] == ["mine"]
    assert hand.run("mcp", "test", "mine").code == 0
    assert hand.run("mcp", "remove", "mine").out == f"removed 'mine' from {file}\n"
    assert hand.objects("mcp", "list") == []


def test_what_was_typed_is_written_in_the_words_of_other_programs(hand: Hand) -> None:
    words = ["--env", "A=${MY_TOKEN}", "--description", "Clock", "--", "npx", "-y", "server"]
    assert hand.run("mcp", "add", "time", *words).code == 0
    header = "Authorization: Bearer ${MY_TOKEN}"
    assert hand.run("mcp", "add", "web", "--url", "https://x/mcp", "--header", header).code == 0
    assert written(hand) == {
        "mcpServers": {
            "time": {
                "command": "npx",
                "args": ["-y", "server"],
                "env": {"A": "${MY_TOKEN}"},
                "description": "Clock",
            },
            "web": {
                "type": "http",
                "url": "https://x/mcp",
                "headers": {"Authorization": "Bearer ${MY_TOKEN}"},
            },
        }
    }


def test_a_path_that_begins_here_begins_here_at_every_start(
    hand: Hand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SERVERS)
    hand.run("mcp", "add", "mine", "--", sys.executable, "typed_server.py")
    monkeypatch.chdir(tmp_path)
    assert hand.run("mcp", "test", "mine").code == 0


def test_json_says_where_the_entry_stands(hand: Hand) -> None:
    file = str(hand.home / "config" / "mcp.json")
    done = hand.run("mcp", "add", "x", "--json", "--", "cat")
    assert json.loads(done.out) == {"id": "x", "file": file}
    assert hand.object("mcp", "remove", "x") == {"id": "x", "file": file}


def test_a_secret_that_is_written_out_is_noticed(hand: Hand) -> None:
    header = ["--header", "Authorization: Bearer s3cret"]
    done = hand.run("mcp", "add", "a", "--url", "https://x/mcp", *header)
    assert done.code == 0
    assert "Authorization: the value stands in" in done.err
    assert "s3cret" not in done.err + done.out
    done = hand.run("mcp", "add", "b", "--env", "API_KEY=s3cret", "--env", "A=b", "--", "cat")
    assert done.err.startswith("[mcp] API_KEY: the value stands in")
    assert hand.run("mcp", "add", "c", "--env", "API_KEY=${MY_TOKEN}", "--", "cat").err == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["My Server", "--", "cat"], "'My-Server' would do"),
        (["typed", "--", "cat"], "there is a server 'typed' already"),
        (["my_own", "--", "cat"], "there is a server 'my-own' already"),
        (["x", "--url", "ftp://x"], "url"),
    ],
)
def test_what_cannot_be_added_is_refused_and_nothing_written(
    hand: Hand, words: list[str], told: str
) -> None:
    hand.write_profile(entry("typed"), entry("able", id="my-own", more="disabled: true"))
    done = hand.run("mcp", "add", *words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert not (hand.home / "config").exists()


def test_a_server_of_another_file_is_left_to_its_owner(hand: Hand, tmp_path: Path) -> None:
    hand.write_profile(entry("typed"))
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"mcpServers": {"other": mcp_entry("able")}}), encoding="utf-8")
    for name, file in (("typed", "profile.yaml"), ("other", "given.json")):
        done = hand.run("mcp", "remove", name, "--mcp-config", str(given))
        assert (done.code, done.out) == (2, "")
        assert file in done.err
        assert "take it out there" in done.err


def test_removing_what_is_not_there_names_only_what_is_near(hand: Hand) -> None:
    hand.write_mcp_json(weather=mcp_entry("able"), clock=mcp_entry("able"))
    done = hand.run("mcp", "remove", "wether")
    assert (done.code, done.out) == (2, "")
    assert "no server 'wether'; did you mean weather?" in done.err
    done = hand.run("mcp", "remove", "nope")
    assert (done.code, done.out) == (2, "")
    assert "no server 'nope'; `mcp list` shows" in done.err
    assert "weather" not in done.err
    assert "clock" not in done.err


def test_a_server_that_is_disabled_is_left_alone_until_it_is_enabled(hand: Hand) -> None:
    hand.write_mcp_json(mine=mcp_entry("typed"))
    assert hand.run("mcp", "disable", "mine").out == "disabled 'mine'\n"
    assert [server["state"] for server in hand.objects("mcp", "list")] == ["disabled"]
    assert hand.objects("mcp", "tools") == []
    assert hand.run("mcp", "disable", "mine").out == "'mine' is disabled already\n"
    assert hand.object("mcp", "enable", "mine") == {
        "id": "mine",
        "state": "enabled",
        "changed": True,
    }
    assert [server["state"] for server in hand.objects("mcp", "list")] == ["on"]
    assert hand.run("mcp", "enable", "mine").out == "'mine' is enabled already\n"


def test_enabling_brings_back_a_server_that_was_set_aside_wherever_it_stands(hand: Hand) -> None:
    hand.write_profile(entry("dying", "at once"))
    for _ in range(3):
        hand.run("mcp", "test", "dying")
    (listed,) = hand.objects("mcp", "list")
    assert listed["state"] == "set aside"
    assert "agent.py mcp enable dying" in str(listed["problem"])
    assert "is set aside" in hand.run("doctor").out
    assert hand.run("mcp", "enable", "dying").out == "enabled 'dying'\n"
    assert [server["state"] for server in hand.objects("mcp", "list")] == ["on"]


def test_a_server_that_is_removed_and_added_again_starts_afresh(hand: Hand) -> None:
    command = ["--", sys.executable, str(SERVERS / "dying_server.py")]
    hand.run("mcp", "add", "dying", *command)
    hand.run("mcp", "test", "dying")
    assert [server["state"] for server in hand.objects("mcp", "list")] == ["failed"]
    hand.run("mcp", "remove", "dying")
    hand.run("mcp", "add", "dying", *command)
    assert [server["state"] for server in hand.objects("mcp", "list")] == ["on"]


def test_a_server_of_the_profile_is_switched_by_its_owner(hand: Hand) -> None:
    hand.write_profile(entry("typed"), entry("able", more="disabled: true"))
    for word, name, told in (
        ("disable", "typed", "set 'disabled: true' there"),
        ("enable", "able", "take out 'disabled: true' there"),
    ):
        done = hand.run("mcp", word, name)
        assert (done.code, done.out) == (2, "")
        assert told in done.err
        assert "profile.yaml" in done.err


def test_how_long_a_start_may_take_can_be_said_when_a_server_is_added(hand: Hand) -> None:
    assert hand.run("mcp", "add", "big", "--timeout", "300", "--", "docker", "run", "x").code == 0
    entries = written(hand)["mcpServers"]
    assert isinstance(entries, dict)
    assert entries["big"] == {
        "command": "docker",
        "args": ["run", "x"],
        "start_timeout_seconds": 300.0,
    }
