"""`mcp logs`: the end of what a server wrote to stderr."""

from collections.abc import Callable
from pathlib import Path

import pytest

from modules.cli.mcp_list import show_log
from tests.command_line import write_profile
from tests.modules.cli.by_hand import Hand, entry, prepared


@pytest.fixture
def log(hand: Hand) -> Path:
    """The log of a configured server; not there yet."""
    hand.write_profile(entry("typed"))
    folder = hand.home / "logs" / "servers"
    folder.mkdir(parents=True)
    return folder / "typed.log"


def test_before_the_first_start_it_says_so(hand: Hand, log: Path) -> None:
    done = hand.run("mcp", "logs", "typed")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"'typed' has no log yet: it has not been started here (it will be {log})\n"
    )


def test_a_server_that_wrote_nothing_has_an_empty_log(hand: Hand, log: Path) -> None:
    hand.run("mcp", "test", "typed")
    assert log.is_file()
    assert (
        "has written nothing to stderr since its last start" in hand.run("mcp", "logs", "typed").out
    )


def test_the_last_lines_are_shown_without_secrets(hand: Hand, log: Path) -> None:
    log.write_text("".join(f"line {n}\n" for n in range(30)) + "sekret-value-123", encoding="utf-8")
    assert hand.run("mcp", "logs", "typed").out.count("\n") == 20
    assert hand.run("mcp", "logs", "typed", "-n", "2").out == "line 29\n[redacted MY_TOKEN]\n"
    assert hand.run("mcp", "logs", "typed", "-n", "0").out == ""
    assert hand.run("mcp", "logs", "typed", "-n", "50").out.startswith("line 0\n")
    found = hand.object("mcp", "logs", "typed", "-n", "1")
    assert found == {"id": "typed", "log": str(log), "lines": ["[redacted MY_TOKEN]"]}


def test_bytes_that_are_no_text_do_not_stop_it(hand: Hand, log: Path) -> None:
    log.write_bytes(b"\xff\x00ok\r\n")
    assert "ok" in hand.run("mcp", "logs", "typed").out


def test_a_log_that_cannot_be_read_is_the_worlds_fault(hand: Hand, log: Path) -> None:
    log.mkdir()
    done = hand.run("mcp", "logs", "typed")
    assert (done.code, done.out) == (1, "")
    assert f"the log {log} can't be read: Is a directory" in done.err


def test_an_unknown_server_and_one_at_a_url_have_no_log_here(hand: Hand, log: Path) -> None:
    hand.write_mcp_json(web={"url": "https://x/mcp"})
    assert "answers at a URL" in hand.run("mcp", "logs", "web").out
    done = hand.run("mcp", "logs", "tiped")
    assert done.code == 2
    assert "did you mean typed?" in done.err
    assert not log.exists()


class Interrupted(Exception):
    """What ends a follower in these tests."""


def follow(home: Path, *steps: Callable[[], object]) -> None:
    """Follow the log of `x`; each time it waits for more, the next step is taken."""
    profile = write_profile(home, "id: x\ncommand: cat")
    words = ["-n", "1", "--follow", "--profile", str(profile)]
    waiting = iter(steps)

    def wait(seconds: float) -> None:
        step = next(waiting, None)
        if step is None:
            raise Interrupted
        step()

    with pytest.raises(Interrupted):
        show_log(prepared(home, {}, "mcp", "logs", "x", *words), wait)


def test_following_shows_whole_lines_as_they_come_and_a_new_start_from_its_beginning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "logs" / "servers" / "x.log"
    log.parent.mkdir(parents=True)
    log.write_text("old\nlast\n", encoding="utf-8")

    def append(text: str) -> Callable[[], object]:
        def write() -> None:
            with log.open("a", encoding="utf-8") as file:
                file.write(text)

        return write

    follow(
        tmp_path,
        append("one\ntw"),
        append("o\n"),
        lambda: log.write_text("new\n", encoding="utf-8"),
        log.unlink,
    )
    assert capsys.readouterr().out == "last\none\ntwo\nnew\n"


def test_a_log_may_be_followed_before_it_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "logs" / "servers" / "x.log"
    log.parent.mkdir(parents=True)
    follow(tmp_path, lambda: log.write_text("first\n", encoding="utf-8"))
    assert capsys.readouterr().out.splitlines()[-1] == "first"
