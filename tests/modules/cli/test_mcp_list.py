"""`mcp list`: every configured server, with nothing started."""

import sys
from pathlib import Path

import pytest

from config.servers import ServerSpec
from modules.cli.mcp_list import kind_of, shown_origin, shown_start
from tests.modules.cli.by_hand import Hand, entry, mcp_entry


def test_servers_of_all_files_are_listed_with_state_and_origin(hand: Hand, tmp_path: Path) -> None:
    hand.write_profile(
        entry("typed"),
        entry("able", more="disabled: true"),
        entry("noisy", more="connection: per_call"),
    )
    mine = hand.write_mcp_json(web={"url": "https://example.com/mcp?k=s3cret"})
    given = tmp_path / "given.json"
    given.write_text('{"servers": {"sad": {"command": "x", "env": {"A": "${NOT_SET}"}}}}')
    done = hand.run("mcp", "list", "--mcp-config", str(given))
    assert done.code == 0
    rows = [line.split() for line in done.out.splitlines()]
    profile = str(tmp_path / "profile.yaml")
    python = Path(sys.executable).name
    assert rows[0][:4] == ["NAME", "KIND", "STATE", "TOOLS"]
    assert rows[1][:4] == ["typed", "stdio", "on", "-"]
    assert rows[1][4] == python
    assert rows[1][-1] == profile
    assert rows[2][:5] == ["noisy", "per", "call", "on", "-"]
    assert rows[3] == ["web", "http", "on", "-", "https://example.com/mcp?…", str(mine)]
    assert rows[4] == ["sad", "stdio", "problem", "-", "x", str(given)]
    assert rows[5][:4] == ["able", "stdio", "disabled", "-"]
    assert "NOT_SET" in done.out.splitlines()[6]
    assert "s3cret" not in done.out


def test_of_a_long_command_the_end_is_shown_too_and_of_an_unusable_entry_a_dash(
    hand: Hand,
) -> None:
    folder = "/a/very/long/way/down/to/where/node_modules/of/some/project/are"
    hand.write_mcp_json(
        long={"command": "node", "args": [f"{folder}/server-memory/index.js"]},
        broken={"type": "sse", "url": "https://x/sse"},
    )
    shown = hand.run("mcp", "list").out.splitlines()
    assert "node /a/very" in shown[1]
    assert "server-memory/index.js" in shown[1]
    assert shown[2].split()[-2] == "-"
    tried = hand.run("mcp", "test", "broken")
    assert (tried.code, tried.err) == (1, "")
    assert "'sse'" in tried.out


def test_nothing_is_started_and_cached_tools_are_counted(hand: Hand, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    hand.write_profile(entry("counting", str(starts)))
    hand.run("mcp", "list")
    assert not starts.exists()
    hand.run("mcp", "tools")
    (found,) = hand.objects("mcp", "list")
    assert found["cached_tools"] == 2
    assert starts.read_text() == "started\n"


def test_json_says_all_of_it_without_secrets(hand: Hand) -> None:
    hand.write_mcp_json(
        a={"command": "run", "args": ["--key", "s3cret", "${MY_TOKEN}"], "description": "A."},
        b={"url": "https://x/mcp", "disabled": True},
    )
    origin = str(hand.home / "config" / "mcp.json")
    assert hand.objects("mcp", "list") == [
        {
            "id": "a",
            "kind": "stdio",
            "state": "on",
            "problem": None,
            "command": ["run", "--key", "…", "[redacted MY_TOKEN]"],
            "url": None,
            "origin": origin,
            "description": "A.",
            "cached_tools": None,
        },
        {
            "id": "b",
            "kind": "http",
            "state": "disabled",
            "problem": None,
            "command": None,
            "url": "https://x/mcp",
            "origin": origin,
            "description": "",
            "cached_tools": None,
        },
    ]


def test_long_commands_are_cut_unless_all_is_asked_for(hand: Hand) -> None:
    hand.write_mcp_json(a={"command": "run", "args": ["x" * 200]})
    assert "x" * 200 not in hand.run("mcp", "list").out
    assert "x" * 200 in hand.run("mcp", "list", "--verbose").out


def test_without_servers_it_says_how_to_add_one(hand: Hand) -> None:
    done = hand.run("mcp", "list")
    assert (done.code, done.err) == (0, "")
    assert "mcp add --help" in done.out
    assert hand.objects("mcp", "list") == []


def test_what_was_passed_over_is_said_unless_quiet_is_wanted(hand: Hand) -> None:
    hand.write_profile(entry("typed"))
    hand.write_mcp_json(typed=mcp_entry("able"))
    assert "'typed'" in hand.run("mcp", "list").err
    assert hand.run("mcp", "list", "--quiet").err == ""


def test_a_file_that_cannot_be_used_is_named(hand: Hand) -> None:
    assert "nowhere.json" in hand.run("mcp", "list", "--mcp-config", "nowhere.json").err
    broken = hand.write_mcp_json()
    broken.write_text("{", encoding="utf-8")
    done = hand.run("mcp", "list")
    assert (done.code, done.out) == (2, "")
    assert str(broken) in done.err
    (hand.home / "profile.yaml").write_text("mcp_servers: math", encoding="utf-8")
    done = hand.run("mcp", "list")
    assert (done.code, done.out) == (2, "")
    assert "profile.yaml:1: " in done.err


HERE = Path()


def shown(*words: str) -> str:
    return shown_start(ServerSpec("x", words, HERE))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("npx", "-y", "server"), "npx -y server"),
        (("run", "a b"), "run 'a b'"),
        (("run", "--api-key", "s3cret", "x"), "run --api-key … x"),
        (("run", "--token", "--verbose"), "run --token --verbose"),
        (("run", "--api-key=s3cret"), "run '--api-key=…'"),
        (("run", "-e", "GITHUB_TOKEN=s3cret"), "run -e 'GITHUB_TOKEN=…'"),
        (
            ("run", "--header", "Authorization: Bearer s3cret"),
            "run --header 'Authorization: Bearer …'",
        ),
        (("run", "--header", "Authorization:s3cret"), "run --header 'Authorization:…'"),
        (("run", "--keyboard", "us"), "run --keyboard us"),
        (("monkey", "PATH=/bin"), "monkey PATH=/bin"),
    ],
)
def test_a_command_without_secrets(words: tuple[str, ...], line: str) -> None:
    assert shown(*words) == line


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("https://example.com/mcp", "https://example.com/mcp"),
        ("https://me:s3cret@example.com:8080/mcp", "https://example.com:8080/mcp"),
        ("https://example.com/mcp?key=s3cret#s3cret", "https://example.com/mcp?…"),
        ("http://[::1]/mcp", "http://[::1]/mcp"),
        ("http://[s3cret", "…"),
    ],
)
def test_a_url_without_secrets(url: str, line: str) -> None:
    assert shown_start(ServerSpec("x", (), HERE, url=url)) == line


def test_kinds() -> None:
    assert kind_of(ServerSpec("x", ("cat",), HERE)) == "stdio"
    assert kind_of(ServerSpec("x", (), HERE, url="https://a")) == "http"
    assert kind_of(ServerSpec("x", ("cat",), HERE, connection="per_call")) == "per call"


def test_origins_are_shown_as_files() -> None:
    profile = ServerSpec("x", ("cat",), HERE, origin="under mcp_servers in /a/in p.yaml")
    assert shown_origin(profile) == "/a/in p.yaml"
    assert shown_origin(ServerSpec("x", ("cat",), HERE, origin="in /a/mcp.json")) == "/a/mcp.json"
