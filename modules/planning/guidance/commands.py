"""Commands of the user's own: a markdown file each, whose text is asked in place of its name.

`commands/review.md` under CORTEX_HOME is `/review`, `commands/git/commit.md` is `/git:commit`. The
form is the one that claude-code and codex share. What is theirs alone is left as it stands: no
shell command is run, and no tool or model chosen.
"""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from config.settings import SettingsError
from core.base.frozen import frozen
from core.base.text import lazy_pattern, one_line
from modules.planning.guidance.markdown import parse_markdown, read_text

FOLDER: Final = "commands"
"""Under CORTEX_HOME."""

COMMANDS_MAX: Final = 200
DEPTH_MAX: Final = 3
"""How deep folders may lie in each other."""

ENTRIES_MAX: Final = 2_000
"""How many names are looked at in all."""

TOLD_CHARACTERS: Final = 100
"""How much of a description is shown."""

HINT_CHARACTERS: Final = 40
"""How much is shown of what stands behind the name."""

NAME: Final = r"[a-z][a-z0-9_-]*(?::[a-z0-9_-]+)*"
"""What may be typed behind the slash."""

_NAME: Final = lazy_pattern(NAME)
_CALL: Final = lazy_pattern(rf"/({NAME})(?:\s+(.*))?", re.DOTALL | re.IGNORECASE)
_PLACE: Final = lazy_pattern(r"\$\$|\$ARGUMENTS\b|\$([1-9])(?!\d)")


@frozen
class UserCommand:
    """A command: its name without the slash, what it is for, what it takes, and its template."""

    name: str
    description: str
    argument_hint: str
    template: str

    def request(self, arguments: str) -> str:
        """What is asked: `$ARGUMENTS` and `$1` to `$9` filled in, else the arguments at the end.

        `$$` stays. What is filled in is not looked at again.
        """
        words = _words(arguments)

        def fill(found: re.Match[str]) -> str:
            if found[0] == "$$":
                return "$$"
            if found[1] is None:
                return arguments
            return words[int(found[1]) - 1] if int(found[1]) <= len(words) else ""

        is_template = any(found[0] != "$$" for found in _PLACE.finditer(self.template))
        text = _PLACE.sub(fill, self.template).strip()
        return text if is_template or not arguments else f"{text}\n\n{arguments}"


def command_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """The names that files in a folder give to commands, and the files; in order, within bounds.

    A name need not be one that can be typed. Folders that are links are not entered.
    """
    looked_at = 0
    waiting = [(folder, "")]
    while waiting:
        where, before = waiting.pop()
        try:
            with os.scandir(where) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            looked_at += 1
            if looked_at > ENTRIES_MAX:
                return
            name = f"{before}{entry.name.lower()}"
            if entry.name.startswith("."):
                continue
            if entry.name.lower().endswith(".md"):
                yield name.removesuffix(".md"), Path(entry.path)
            elif entry.is_dir(follow_symlinks=False) and before.count(":") + 1 < DEPTH_MAX:
                waiting.append((Path(entry.path), f"{name}:"))


def read_command(name: str, path: Path) -> UserCommand:
    """The command that a file holds; its first line describes it where the front matter does not.

    Raises:
        SettingsError: the file can't be read or is broken, or the name can't be typed.
    """
    if _NAME.fullmatch(name) is None:
        allowed = "letters a to z first, then digits, - and _ too"
        raise SettingsError.at(path, None, f"its name can't be typed as a command; {allowed}")
    document = parse_markdown(read_text(path), path)
    if not document.body.strip():
        raise SettingsError.at(path, None, "it asks nothing: write the request below the ---")
    first = document.body.strip().partition("\n")[0].lstrip("# ")
    return UserCommand(
        name,
        one_line(document.value("description") or first, TOLD_CHARACTERS),
        one_line(document.value("argument-hint"), HINT_CHARACTERS),
        document.body,
    )


def request_meant(request: str, home: Path) -> str:
    """The request that a line stands for: of a command's own, if it begins with its name.

    Raises:
        SettingsError: the command's file can't be used.
    """
    called = _CALL.fullmatch(request)
    if called is None:
        return request
    wanted = called[1].lower()
    for name, path in command_files(home / FOLDER):
        if name == wanted:
            return read_command(name, path).request((called[2] or "").strip())
    return request


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # a quote that is never closed, or an apostrophe
        return arguments.split()
