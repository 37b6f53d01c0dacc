"""What the terminal can do beyond text, by what the environment says of it."""

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from modules.terminal.display.region import can_erase, has_colours

VTE_WITH_LINKS: Final = 5000
"""From this version on the terminals of GNOME and its kin know OSC 8."""

TMUX_SECONDS: Final = 1.0
"""How long tmux may take to say what it hands on; it takes 0.01 s."""

PictureForm: TypeAlias = Literal["kitty", "iterm"]
"""How pictures are sent: by kitty's graphics protocol, or by iTerm2's OSC 1337."""

_KNOW_LINKS: Final = frozenset(
    {"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "Tabby", "mintty"}
)
"""Terminals that know OSC 8, by TERM_PROGRAM."""

_SHOWN_BY: Final = ("KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "ALACRITTY_WINDOW_ID")
"""Variables of other terminals that know it."""

_NOTIFY: Final = ("iTerm", "kitty", "WezTerm", "ghostty", "Windows Terminal")
"""Terminals that make a notification of OSC 9; to others a bell is sent."""

_FORMS: Final[Mapping[str, PictureForm]] = {
    "kitty": "kitty",
    "ghostty": "kitty",
    "iTerm": "iterm",
    "WezTerm": "iterm",
}


def knows_links(environ: Mapping[str, str]) -> bool:
    """Whether the terminal makes links of OSC 8; tmux and screen may not hand them on."""
    if _is_inside_another(environ):
        return False
    vte = environ.get("VTE_VERSION", "")
    return (
        environ.get("TERM_PROGRAM") in _KNOW_LINKS
        or any(environ.get(name) for name in _SHOWN_BY)
        or environ.get("TERM") in ("xterm-kitty", "foot", "xterm-ghostty")
        or (vte.isascii() and vte.isdecimal() and int(vte[:9]) >= VTE_WITH_LINKS)
    )


def picture_form(environ: Mapping[str, str]) -> PictureForm | None:
    """How the terminal shows pictures; None inside of tmux, which knows nothing of their rows."""
    if _is_inside_another(environ) or not has_colours(environ):
        return None
    return _FORMS.get(_name(environ))


def ask_tmux() -> str:
    """Whether tmux hands sequences on to its terminal, and what that is, as it tells us."""
    if (tmux := shutil.which("tmux")) is None:
        return ""
    wanted = "#{allow-passthrough} #{client_termtype} #{client_termname}"
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(  # noqa: S603 - the program in which we run
            [tmux, "display-message", "-p", wanted],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TMUX_SECONDS,
            check=False,
        )
        return done.stdout[:200].decode("utf-8", "replace")
    return ""


def notification(
    text: str, environ: Mapping[str, str], inside_tmux: Callable[[], str] = ask_tmux
) -> str:
    """What makes the terminal notify its user: OSC 9 where it is known to take it, else a bell.

    The text is printable and short, and begins with a letter: a number would be a command.
    """
    if not can_erase(environ):
        return "\a"
    notice = f"\x1b]9;{text}\a"
    if environ.get("TMUX"):
        hands_on, _, terminal = inside_tmux().partition(" ")
        if hands_on in ("1", "2", "on", "all") and _is_named(terminal, _NOTIFY):
            return f"\x1bPtmux;{notice.replace(chr(27), chr(27) * 2)}\x1b\\"
        return "\a"
    return notice if not environ.get("STY") and _name(environ) in _NOTIFY else "\a"


def _name(environ: Mapping[str, str]) -> str:
    """The terminal, if it is one of those that are told apart here."""
    program, term = environ.get("TERM_PROGRAM", ""), environ.get("TERM", "")
    if environ.get("KITTY_WINDOW_ID") or term == "xterm-kitty":
        return "kitty"
    if environ.get("WT_SESSION"):
        return "Windows Terminal"
    if program == "iTerm.app" or environ.get("LC_TERMINAL") == "iTerm2":
        return "iTerm"
    if program == "ghostty" or term == "xterm-ghostty":
        return "ghostty"
    return program if program == "WezTerm" else ""


def _is_named(text: str, names: tuple[str, ...]) -> bool:
    return any(name.lower() in text.lower() for name in names)


def _is_inside_another(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("TMUX") or environ.get("STY"))
