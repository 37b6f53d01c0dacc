"""`call`: one tool by hand, on the one server that has it."""

import json
from pathlib import Path

import pytest

from tests.modules.cli.by_hand import Hand, entry, mcp_entry


@pytest.fixture
def typed(hand: Hand) -> Hand:
    """A hand with the typed server."""
    hand.write_profile(entry("typed"))
    return hand


@pytest.mark.parametrize("name", ["typed", "typed.typed"])
def test_pairs_become_arguments_by_the_tools_schema(typed: Hand, name: str) -> None:
    pairs = ["name=5", "count=5", "ratio=5", "loud=true", "items=[1]", "either=x"]
    done = typed.run("call", name, *pairs)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == {
        "name": "5",
        "count": 5,
        "ratio": 5,
        "loud": True,
        "items": [1],
        "either": "x",
    }


def test_the_wrapper_is_put_around_what_is_given_flat(typed: Hand) -> None:
    expected = {"input": {"name": "x", "count": 1}}
    assert json.loads(typed.run("call", "wrapped", "name=x", "count=1").out) == expected
    for given in ({"name": "x", "count": 1}, expected):
        done = typed.run("call", "wrapped", "--input", json.dumps(given))
        assert json.loads(done.out) == expected


@pytest.mark.parametrize(
    ("tool", "out"),
    [
        ("structured", '{"a": [1, 2.5], "b": null}\n'),
        ("next", "1\n"),
        ("picture", "a picture\n[image/png, 14 bytes; --output FILE writes it]\n"),
    ],
)
def test_results_of_all_kinds_go_to_stdout(typed: Hand, tool: str, out: str) -> None:
    assert typed.run("call", tool).out == out


def test_data_is_written_to_a_file(typed: Hand, tmp_path: Path) -> None:
    file = tmp_path / "x.png"
    done = typed.run("call", "picture", "--output", str(file))
    assert (done.code, done.out) == (0, "")
    assert done.err == f"[tool] wrote 14 bytes of image/png to {file}\n"
    assert file.read_bytes() == b"\x89PNG and so on"


def test_an_output_without_a_folder_is_refused_before_the_call(typed: Hand) -> None:
    done = typed.run("call", "picture", "--output", "/no/such/folder/x.png")
    assert (done.code, done.out) == (2, "")
    assert "there is no folder /no/such/folder" in done.err


def test_json_is_one_object_for_scripts(typed: Hand) -> None:
    found = typed.object("call", "structured")
    assert (found["tool"], found["ok"], found["is_error"]) == ("typed.structured", True, False)
    assert found["value"] == found["structured"] == {"a": [1, 2.5], "b": None}
    assert isinstance(found["seconds"], float)
    assert (found["omitted_bytes"], found["error"]) == (0, None)


class TestErrors:
    def test_an_error_of_the_tool_is_code_4_on_stderr(self, typed: Hand) -> None:
        done = typed.run("call", "refuse")
        assert (done.code, done.out) == (4, "")
        assert done.err == "'typed.refuse' answered with an error: not today\n"
        again = typed.run("call", "refuse", "--json")
        assert again.code == 4
        document = json.loads(again.out)
        assert (document["ok"], document["is_error"]) == (False, True)
        assert document["error"] == document["value"] == "not today"

    def test_a_server_that_dies_is_code_1(self, hand: Hand) -> None:
        hand.write_profile(entry("able"))
        done = hand.run("call", "die", "--json")
        assert done.code == 1
        document = json.loads(done.out)
        assert (document["ok"], document["is_error"], document["value"]) == (False, False, None)
        assert "server 'able'" in document["error"]
        assert document["error"] in done.err

    def test_a_server_that_does_not_start_is_code_1(self, hand: Hand) -> None:
        hand.write_profile(entry("dying"))
        for name in ("dying.anything", "anything"):
            done = hand.run("call", name)
            assert (done.code, done.out) == (1, "")
            assert "no module named teapot" in done.err
            assert f"'{name}' was not found" in done.err
            document = json.loads(hand.run("call", name, "--json").out)
            assert (document["tool"], document["ok"], document["is_error"]) == (name, False, False)
            assert "no module named teapot" in document["error"]

    def test_where_no_name_is_near_or_no_server_is_configured_the_way_on_is_said(
        self, hand: Hand
    ) -> None:
        done = hand.run("call", "anything")
        assert (done.code, done.out) == (2, "")
        assert "no server is configured; to add one: agent.py mcp add --help" in done.err
        hand.write_profile(entry("typed"))
        strange = hand.run("call", "zzzzzzzz")
        assert strange.err == "there is no tool 'zzzzzzzz'; `mcp tools` shows what there is\n"
        assert "mcp tools" not in hand.run("call", "typd", "name=x").err

    def test_a_tool_that_takes_too_long_is_code_1_and_names_the_option(self, typed: Hand) -> None:
        done = typed.run("call", "hang", "--timeout", "0.1")
        assert (done.code, done.out) == (1, "")
        assert "within 0.1 s (--timeout);" in done.err
        assert "call_timeout_seconds" not in done.err

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (["typd", "name=x"], "did you mean typed"),
            (["nowhere.typed"], "there is no tool 'nowhere.typed'"),
            (["typed"], "missing: name"),
            (["typed", "name=x", "size=5"], "no argument 'size'"),
            (["typed", "name=x", "count=many"], "'count' takes a whole number"),
            (["typed", "--input", '{"name": "x", "size": 5}'], "no argument 'size'"),
            (["typed", "--input", "{"], "--input is not JSON"),
            (["typed", "name:=1e999"], "can't be said in JSON"),
        ],
    )
    def test_what_does_not_fit_is_code_2(self, typed: Hand, words: list[str], told: str) -> None:
        done = typed.run("call", *words)
        assert (done.code, done.out) == (2, "")
        assert told in done.err

    def test_wrong_arguments_show_the_signature(self, typed: Hand) -> None:
        done = typed.run("call", "typed", "count=x")
        assert done.err.splitlines()[1].startswith("typed(name: str, count: int = ...")

    def test_a_disabled_server_says_where_it_is_disabled(self, hand: Hand) -> None:
        hand.write_profile(entry("typed", more="disabled: true"))
        done = hand.run("call", "typed.next")
        assert done.code == 2
        assert "server 'typed' is disabled" in done.err
        assert "profile.yaml" in done.err


class TestWhichServerIsStarted:
    def counted(self, hand: Hand) -> tuple[Path, Path]:
        """Two servers that note their starts, and have the same tools but for `typed`."""
        one, two = hand.home / "one", hand.home / "two"
        hand.write_profile(
            entry("counting", str(one), id="one"),
            entry("counting", str(two), id="two"),
            entry("typed"),
        )
        return one, two

    def test_one_that_is_named_alone(self, hand: Hand) -> None:
        one, two = self.counted(hand)
        assert hand.run("call", "two.echo", "text=hi").out == "hi\n"
        assert (one.exists(), two.exists()) == (False, True)

    def test_one_that_the_cache_knows_alone_and_the_unknown_are_said(self, hand: Hand) -> None:
        one, two = self.counted(hand)
        hand.run("mcp", "tools", "typed")
        done = hand.run("call", "next")
        assert (done.code, done.out) == (0, "1\n")
        assert (one.exists(), two.exists()) == (False, False)
        assert done.err == "[mcp] tools not known yet, and so not looked at: one, two\n"
        assert hand.run("call", "next", "--quiet").err == ""

    def test_all_whose_tools_are_unknown_if_nothing_else_helps(self, hand: Hand) -> None:
        one, two = self.counted(hand)
        done = hand.run("call", "next")
        assert (done.code, done.out, done.err) == (0, "1\n", "")
        assert (one.exists(), two.exists()) == (True, True)

    def test_a_name_that_two_servers_have_is_refused_with_both(self, hand: Hand) -> None:
        self.counted(hand)
        for _ in range(2):  # without the cache, and with it
            done = hand.run("call", "echo", "text=hi")
            assert (done.code, done.out) == (2, "")
            assert "say one.echo or two.echo" in done.err

    def test_a_server_of_a_given_file(self, hand: Hand, tmp_path: Path) -> None:
        given = tmp_path / "given.json"
        given.write_text(json.dumps({"mcpServers": {"my-own": mcp_entry("typed")}}))
        for name in ("my-own.next", "my_own.next", "next"):
            assert hand.run("call", name, "--mcp-config", str(given)).out == "1\n"


class TestWhatTheServerSaysMeanwhile:
    def test_notes_on_the_configuration_are_for_those_who_look_after_servers(
        self, hand: Hand
    ) -> None:
        hand.write_mcp_json(typed=mcp_entry("typed") | {"alwaysAllow": []})
        assert hand.run("call", "next").err == ""
        for words in (["call", "next", "--verbose"], ["mcp", "list"]):
            assert "unknown key 'alwaysAllow' ignored" in hand.run(*words).err

    def test_progress_and_warnings_are_told_on_stderr(self, typed: Hand) -> None:
        done = typed.run("call", "talk")
        assert done.out == "said\n"
        assert done.err.splitlines() == [
            "[tool] typed.talk: 1/2 half [loop] no",
            "[mcp] typed warning: it is late",
        ]

    def test_verbose_tells_the_call_too_and_quiet_nothing(self, typed: Hand) -> None:
        verbose = typed.run("call", "talk", "--verbose").err
        assert "[tool] calls typed.talk()" in verbose
        assert "[mcp] typed info: it is fine" in verbose
        assert typed.run("call", "talk", "--quiet").err == ""


def test_a_tool_that_changed_is_refused_until_that_is_allowed(hand: Hand, tmp_path: Path) -> None:
    source = tmp_path / "changing.py"
    program = (
        "import sys; sys.path.insert(0, {!r})\nfrom rpc import serve, text, describe\n".format(
            str(Path(__file__).parents[2] / "fixtures" / "servers")
        )
    )
    program += (
        "serve({'look': lambda _: text('seen')}, [{**describe('look'), 'description': 'NEW'}])"
    )
    source.write_text(program.replace("NEW", "Looks."), encoding="utf-8")
    hand.write_profile(f"id: changing\nscript: {source}")
    assert hand.run("call", "look").out == "seen\n"
    source.write_text(program.replace("NEW", "Looks, and tells others."), encoding="utf-8")
    done = hand.run("call", "look")
    assert (done.code, done.out) == (2, "")
    assert "--allow-tool-changes" in done.err
    assert hand.run("call", "look", "--allow-tool-changes").out == "seen\n"
    assert hand.run("call", "look").out == "seen\n"
