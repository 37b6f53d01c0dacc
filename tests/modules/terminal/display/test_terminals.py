"""What terminals are known to do, and what is sent to each."""

import pytest

from modules.terminal.display.terminals import knows_links, notification, picture_form

TEXT = "Cortex-R: done after 15 s"
NOTICE = f"\x1b]9;{TEXT}\a"
BELL = "\a"
WRAPPED = f"\x1bPtmux;\x1b\x1b]9;{TEXT}\a\x1b\\"


@pytest.mark.parametrize(
    ("environ", "known"),
    [
        ({"TERM_PROGRAM": "iTerm.app"}, True),
        ({"VTE_VERSION": "7200"}, True),
        ({"VTE_VERSION": "4000"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-kitty", "TMUX": "socket"}, False),
        ({"TERM": "xterm"}, False),
    ],
)
def test_terminals_that_know_links_are_known(environ: dict[str, str], *, known: bool) -> None:
    assert knows_links(environ) == known


@pytest.mark.parametrize(
    ("environ", "sent"),
    [
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, NOTICE),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, NOTICE),
        ({"TERM": "xterm-kitty"}, NOTICE),
        ({"TERM": "xterm-256color", "WT_SESSION": "1"}, NOTICE),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, NOTICE),
        ({"TERM": "xterm-ghostty"}, NOTICE),
        ({"TERM": "xterm-256color"}, BELL),
        ({"TERM": "dumb", "TERM_PROGRAM": "iTerm.app"}, BELL),
        ({"TERM": "screen", "STY": "1.tty", "KITTY_WINDOW_ID": "1"}, BELL),
    ],
)
def test_who_makes_a_notification_gets_one_and_others_a_bell(
    environ: dict[str, str], sent: str
) -> None:
    assert notification(TEXT, environ) == sent


@pytest.mark.parametrize(
    ("says", "sent"),
    [
        ("1 iTerm2 3.5.0 xterm-256color", WRAPPED),
        ("2 kitty(0.35) xterm-kitty", WRAPPED),
        ("1  xterm-kitty", WRAPPED),
        ("0 kitty(0.35) xterm-kitty", BELL),
        ("1 XTerm(390) xterm-256color", BELL),
        ("", BELL),
    ],
)
def test_tmux_hands_it_on_where_it_may_to_who_knows_it(says: str, sent: str) -> None:
    environ = {"TERM": "tmux-256color", "TMUX": "socket", "KITTY_WINDOW_ID": "1"}
    assert notification(TEXT, environ, lambda: says) == sent


@pytest.mark.parametrize(
    ("environ", "form"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "ghostty"}, "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "iterm"),
        ({"TERM": "tmux-256color", "TMUX": "socket", "KITTY_WINDOW_ID": "1"}, None),
        ({"TERM": "xterm-256color", "NO_COLOR": "1", "KITTY_WINDOW_ID": "1"}, None),
        ({"TERM": "dumb", "KITTY_WINDOW_ID": "1"}, None),
        ({"TERM": "xterm-256color"}, None),
    ],
)
def test_pictures_are_sent_in_the_terminals_own_form(
    environ: dict[str, str], form: str | None
) -> None:
    assert picture_form(environ) == form
