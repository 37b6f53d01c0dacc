"""`mcp tools`, `mcp status` and `mcp test`: servers started, and what they say of themselves."""

import json
from pathlib import Path

import pytest

from core.tools.catalog import ToolCatalog
from modules.cli.mcp_servers import tool_line, tools_text
from tests.doubles import tool
from tests.modules.cli.by_hand import SERVERS, Hand, entry, mcp_entry


class TestTools:
    def test_tools_are_shown_server_by_server_as_the_planner_sees_them(self, hand: Hand) -> None:
        hand.write_profile(entry("typed"), entry("counting", str(hand.home / "starts")))
        done = hand.run("mcp", "tools")
        assert (done.code, done.err) == (0, "")
        blocks = [block.splitlines() for block in done.out.split("\n\n")]
        assert [block[0] for block in blocks] == ["typed: 8 tools", "counting: 2 tools"]
        assert blocks[0][1].startswith("- typed(name: str, count: int = ...")
        assert blocks[0][1].endswith(": does typed")
        assert blocks[0][2].startswith("- wrapped(name: str")

    def test_the_second_time_nothing_is_started(self, hand: Hand) -> None:
        starts = hand.home / "starts"
        hand.write_profile(entry("counting", str(starts), more="start: eager"))
        first, second = hand.run("mcp", "tools"), hand.run("mcp", "tools", "counting")
        assert first.out == second.out
        assert starts.read_text() == "started\n"

    def test_one_server_is_asked_alone_even_a_disabled_one(self, hand: Hand) -> None:
        hand.write_profile(entry("dying"), entry("counting", str(hand.home / "s")))
        hand.write_mcp_json(typed={**mcp_entry("typed"), "disabled": True})
        done = hand.run("mcp", "tools", "typed")
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("typed: 8 tools")

    def test_verbose_shows_whole_stubs_and_json_the_schemas(self, hand: Hand) -> None:
        hand.write_profile(entry("typed"))
        assert "async def typed(name: str" in hand.run("mcp", "tools", "--verbose").out
        found = {tool["name"]: tool for tool in hand.objects("mcp", "tools")}
        assert found["typed"]["server"] == "typed"
        assert found["typed"]["plan_name"] == "typed"
        assert str(found["typed"]["signature"]).startswith("typed(name: str")
        schema = found["typed"]["input_schema"]
        assert isinstance(schema, dict)
        assert schema["required"] == ["name"]

    def test_a_name_that_two_servers_have_is_written_with_its_server(self, hand: Hand) -> None:
        hand.write_profile(entry("typed"), entry("typed", id="second"))
        assert "- typed.next()" in hand.run("mcp", "tools").out

    def test_what_does_not_start_is_told_and_the_rest_shown(self, hand: Hand) -> None:
        hand.write_profile(entry("dying"), entry("typed"))
        done = hand.run("mcp", "tools")
        assert done.code == 1
        assert done.out.startswith("typed: 8 tools")
        assert done.err.count("no module named teapot") == 1
        assert "server 'dying'" in done.err

    def test_without_servers_the_way_to_one_is_said(self, hand: Hand) -> None:
        assert "mcp add --help" in hand.run("mcp", "tools").out
        assert hand.objects("mcp", "tools") == []

    def test_an_unknown_server_is_named_with_the_nearest(self, hand: Hand) -> None:
        hand.write_profile(entry("typed"))
        done = hand.run("mcp", "tools", "tyepd")
        assert (done.code, done.out) == (2, "")
        assert done.err == "there is no server 'tyepd'; did you mean typed?\n"


class TestStatus:
    def test_all_servers_are_started_and_each_tells_who_it_is(self, hand: Hand) -> None:
        hand.write_profile(
            entry("typed"),
            entry("able", more="connection: per_call"),
            entry("dying", more="disabled: true"),
        )
        done = hand.run("mcp", "status")
        assert (done.code, done.err) == (0, "")
        head, typed, able = (line.split() for line in done.out.splitlines())
        assert head == ["NAME", "STATE", "SERVER", "PROTOCOL", "TOOLS", "START", "LOG"]
        assert typed[:6] == ["typed", "up", "fixture", "1", "2025-11-25", "8"]
        assert typed[7:] == ["s", str(hand.home / "logs" / "servers" / "typed.log")]
        assert able[:3] == ["able", "up", "fixture"]

    def test_one_that_fails_is_told_below_and_in_the_exit_code(self, hand: Hand) -> None:
        hand.write_profile(entry("dying"), entry("typed"))
        hand.write_mcp_json(unset={"command": "cat", "env": {"A": "${NOT_SET}"}})
        done = hand.run("mcp", "status")
        assert (done.code, done.err) == (1, "")
        assert [line.split()[1] for line in done.out.splitlines()[1:4]] == [
            "failed",
            "up",
            "failed",
        ]
        assert "no module named teapot" in done.out
        assert "NOT_SET" in done.out
        states = {one["id"]: one for one in hand.objects("mcp", "status")}
        assert {name: one["state"] for name, one in states.items()} == {
            "dying": "failed",
            "typed": "up",
            "unset": "failed",
        }
        assert "teapot" in str(states["dying"]["problem"])
        assert states["typed"]["tools"] == 8

    def test_cached_tools_do_not_keep_a_server_from_being_started(self, hand: Hand) -> None:
        starts = hand.home / "starts"
        hand.write_profile(entry("counting", str(starts)))
        hand.run("mcp", "status")
        hand.run("mcp", "status")
        assert starts.read_text().count("started") == 2
        hand.run("mcp", "tools")
        assert starts.read_text().count("started") == 2  # what it listed was kept

    def test_servers_start_together(self, hand: Hand, tmp_path: Path) -> None:
        folder = tmp_path / "met"
        folder.mkdir()
        hand.write_profile(
            entry("meeting", str(folder), "a", "b", id="a"),
            entry("meeting", str(folder), "b", "a", id="b"),
        )
        assert hand.run("mcp", "status").code == 0

    def test_without_servers_there_is_nothing_to_fail(self, hand: Hand) -> None:
        assert hand.run("mcp", "status").code == 0
        assert hand.objects("mcp", "status") == []


class TestTest:
    def test_each_step_is_told_on_stderr_and_the_verdict_on_stdout(self, hand: Hand) -> None:
        hand.write_profile(entry("typed"))
        done = hand.run("mcp", "test", "typed")
        assert (done.code, done.out) == (0, "'typed' works: 8 tools\n")
        steps = [line.partition("] ")[2] for line in done.err.splitlines()]
        assert steps[0].endswith("typed_server.py")
        assert steps[1].startswith("handshake: fixture 1, MCP 2025-11-25 (")
        assert steps[2].startswith("tools: 8 (typed, wrapped, ")
        assert steps[3].startswith("ping: ")
        assert steps[3].endswith(" ms")
        quiet = hand.run("mcp", "test", "typed", "--quiet")
        assert (quiet.out, quiet.err) == (done.out, "")

    def test_json_is_one_object(self, hand: Hand) -> None:
        hand.write_profile(entry("typed"))
        found = hand.object("mcp", "test", "typed")
        assert (found["ok"], found["name"], found["tools"]) == (True, "fixture", 8)
        assert isinstance(found["ping_seconds"], float)

    def test_a_server_for_single_calls_is_not_pinged(self, hand: Hand) -> None:
        hand.write_profile(entry("typed", more="connection: per_call"))
        found = hand.object("mcp", "test", "typed")
        assert (found["ok"], found["ping_seconds"]) == (True, None)

    def test_a_failure_shows_the_end_of_the_log(self, hand: Hand) -> None:
        hand.write_profile(entry("dying"))
        done = hand.run("mcp", "test", "dying")
        assert done.code == 1
        assert done.out.startswith("'dying' does not work: server 'dying' did not start")
        assert "the end of its log:\n  ImportError: no module named teapot" in done.err
        found = hand.object("mcp", "test", "dying")
        assert (found["ok"], found["state"]) == (False, "failed")

    @pytest.mark.parametrize(
        ("servers", "told"),
        [
            ({"x": {"command": "/no/such/program"}}, "/no/such/program"),
            ({"x": {"command": "cat", "env": {"A": "${NOT_SET}"}}}, "NOT_SET"),
            ({"x": {"url": "http://127.0.0.1:9/mcp"}}, "127.0.0.1:9"),
        ],
    )
    def test_what_cannot_be_started_or_reached_is_told(
        self, hand: Hand, servers: dict[str, dict[str, str]], told: str
    ) -> None:
        (hand.home / "config").mkdir()
        file = hand.home / "config" / "mcp.json"
        file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        done = hand.run("mcp", "test", "x")
        assert done.code == 1
        assert told in done.out

    def test_a_disabled_server_can_be_tried(self, hand: Hand) -> None:
        hand.write_profile(entry("typed", more="disabled: true"))
        assert hand.run("mcp", "test", "typed").code == 0

    def test_an_unknown_server_is_bad_usage(self, hand: Hand) -> None:
        done = hand.run("mcp", "test", "x")
        assert (done.code, done.err) == (2, "there is no server 'x'; none is configured\n"), SERVERS


def test_tools_that_cannot_be_used_are_named_with_the_reason_wherever_tools_are_shown(
    hand: Hand,
) -> None:
    hand.write_profile(entry("overlong", "giant", "deep", "plain"))
    giant = "tool 'giant', whose schema has over 262,144 bytes"
    deep = "tool 'deep', whose schema is nested over 190 levels deep"
    done = hand.run("mcp", "test", "overlong")
    assert (done.code, done.out) == (0, f"'overlong' works: 1 tool; left out: {giant}; {deep}\n")
    assert hand.object("mcp", "test", "overlong")["left_out"] == [giant, deep]
    assert f"server 'overlong': left out: {giant}; {deep}\n" in hand.run("mcp", "status").out
    for _ in range(2):
        assert f"left out: {giant}; {deep}\n" in hand.run("mcp", "tools").err
    assert hand.run("call", "plain").out == "heard\n"


def test_a_server_of_which_no_tool_can_be_used_does_not_work(hand: Hand) -> None:
    hand.write_profile(entry("overlong", "giant"))
    done = hand.run("mcp", "test", "overlong")
    assert done.code == 1
    assert done.out.startswith(
        "'overlong' does not work: none of its tools can be used: tool 'giant'"
    )


def test_a_name_with_a_letter_of_another_script_does_not_pass_for_another() -> None:
    posing, plain = tool("\u0430dd", "evil"), tool("add", "math")
    catalog = ToolCatalog([posing, plain])
    line = tool_line(posing, catalog)
    assert line.startswith(r"- \u0430dd(")
    assert line.endswith("(its name has letters that look like others)")
    assert tool_line(plain, catalog).startswith("- add(")
    assert r"\u0430dd" in tools_text({"evil": [posing]}, catalog, whole=False)
