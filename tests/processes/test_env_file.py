"""The `.env` of CORTEX_HOME, as a run and its children see it."""

import json
from pathlib import Path

from tests.command_line import agent, environment, without_servers
from tests.modules.cli.by_hand import mcp_entry


def test_a_server_gets_what_its_entry_names_of_it_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("TICKETS_TOKEN=t-geheim-123456\nOTHER_OF_FILE=2\nHOME=/evil\nTZ=UTC\n")
    server = {**mcp_entry("able"), "env": {"NAMED": "${TICKETS_TOKEN}"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"able": server}}))
    options = ["--mcp-config", str(tmp_path / "mcp.json"), *without_servers(tmp_path)[:2]]
    done = agent(tmp_path, *options, "call", "able.environment", "--json")
    assert done.code == 0, done.err
    assert f"{file} is read for TICKETS_TOKEN, OTHER_OF_FILE, TZ" in done.err
    assert "geheim" not in done.err
    assert "'HOME': '/evil'" not in done.out
    assert "NAMED" in done.out
    for name in ("TICKETS_TOKEN", "OTHER_OF_FILE", "TZ"):
        assert name not in done.out.replace("NAMED", "")


def test_it_is_told_once_a_run_and_a_wrong_one_ends_it(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SOME_KEY=1\n")
    answers = without_servers(tmp_path)
    done = agent(tmp_path, *answers, "hm?")
    assert (done.code, done.out) == (0, "12\n")
    assert done.err.count(".env is read for SOME_KEY") == 1
    quiet = agent(tmp_path, "--quiet", *without_servers(tmp_path), "hm?")
    assert ".env" not in quiet.err
    known = agent(
        tmp_path, *without_servers(tmp_path), "hm?", env=environment(tmp_path, SOME_KEY="2")
    )
    assert ".env" not in known.err
    (tmp_path / ".env").write_text("no assignment\n")
    wrong = agent(tmp_path, *answers, "hm?")
    assert (wrong.code, wrong.out) == (2, "")
    assert ".env:1: expected NAME=value; correct the file" in wrong.err
