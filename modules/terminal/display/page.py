"""Markdown as the text that is written to one terminal: its width, its colours, its links."""

from collections.abc import Mapping
from typing import Final, TextIO

from modules.terminal.display.markdown import Layout, NotLaidOut, laid_out
from modules.terminal.display.region import has_colours
from modules.terminal.screen import screen_on

VTE_WITH_LINKS: Final = 5000
"""From this version on the terminals of GNOME and its kin know OSC 8."""

_KNOW_LINKS: Final = frozenset(
    {"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "Tabby", "mintty"}
)
"""Terminals that know OSC 8, by TERM_PROGRAM."""

_SHOWN_BY: Final = ("KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "ALACRITTY_WINDOW_ID")
"""Variables of other terminals that know it."""


def page_text(markdown: str, stream: TextIO, label: str, environ: Mapping[str, str]) -> str | None:
    """The markdown laid out for the terminal behind a stream; None if it is to stay as it is.

    Without colours (NO_COLOR, TERM=dumb) no escape sequence is in it.
    """
    screen = screen_on(stream)
    is_plain = not has_colours(environ)
    try:
        page = laid_out(
            markdown, Layout(screen.width, not is_plain and knows_links(environ)), label
        )
    except NotLaidOut:
        return None
    if is_plain:
        return page.plain
    with screen.capture() as shown:
        screen.print(page, soft_wrap=True, end="")
    return shown.get()


def knows_links(environ: Mapping[str, str]) -> bool:
    """Whether the terminal makes links of OSC 8; tmux and screen may not hand them on."""
    if environ.get("TMUX") or environ.get("STY"):
        return False
    vte = environ.get("VTE_VERSION", "")
    return (
        environ.get("TERM_PROGRAM") in _KNOW_LINKS
        or any(environ.get(name) for name in _SHOWN_BY)
        or environ.get("TERM") in ("xterm-kitty", "foot", "xterm-ghostty")
        or (vte.isascii() and vte.isdecimal() and int(vte[:9]) >= VTE_WITH_LINKS)
    )
