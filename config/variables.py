"""Variables in the entries of MCP servers: in their texts, and in the files of `envFile`."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from core.base.redaction import MIN_SECRET_CHARACTERS, names_a_secret
from core.base.text import lazy_pattern, shorten

MAX_EXPANDED_CHARACTERS = 128 * 1024
"""How much text variables may bring into one server's entry; Linux takes no longer argument."""

MAX_PROBLEMS = 100
"""How many problems of one entry are kept; nobody reads more."""

_OPEN_VARIABLES = frozenset(
    {"HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}
)
"""Variables that are no secret wherever they are used; most of them every server gets anyway."""

_REFERENCE = lazy_pattern(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
_VARIABLE = lazy_pattern(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?")
_INPUT = lazy_pattern(r"input:([\w.-]{1,60})")
_CHARACTERS_SHOWN = 60


class Expander:
    """Expands the values of one server's entry, and keeps what it met on the way.

    `folder` is the project's. `problems` are sentences that name key and variable, never a
    value; `secrets` holds the values of variables that a log or a terminal should not show.
    """

    def __init__(self, environ: Mapping[str, str], folder: Path) -> None:
        self.problems: list[str] = []
        self.secrets: set[str] = set()
        self._environ = environ
        self._folder = folder
        self._characters_left = MAX_EXPANDED_CHARACTERS

    def text(self, key: str, text: str, *, private: bool = False) -> str:
        """`text` with its variables replaced; what can't be replaced stays, with a problem.

        `key` is the entry's key, for messages. `private` says that every variable in it counts
        as a secret, as in `env` and `headers`.
        """
        if "${" not in text:
            return text
        return _REFERENCE.sub(lambda found: self._value(key, found, private), text)

    def texts(self, key: str, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Each text of a list, as `text`."""
        return tuple(self.text(f"{key}.{number}", text) for number, text in enumerate(texts))

    def private_mapping(self, key: str, mapping: Mapping[str, str]) -> dict[str, str]:
        """The values of a mapping, as private texts; its keys stay."""
        return {
            name: self.text(f"{key}.{name}", text, private=True) for name, text in mapping.items()
        }

    def _value(self, key: str, found: re.Match[str], private: bool) -> str:
        if found[0] == "$${":
            return "${"
        body: str | None = found[1]
        if body is None:
            return self._unusable(
                key,
                found,
                "a ${ that is not closed, or holds another one; write $${ for a plain ${",
            )
        value = self._constant(body)
        if value is None:
            variable = _VARIABLE.fullmatch(body)
            if variable is None:
                return self._unusable(key, found, _why_no_variable(body))
            value = self._of_environment(variable[1], variable[2], private)
            if value is None:
                return self._unusable(key, found, _unset(variable[1]))
        self._characters_left -= len(value)
        if self._characters_left < 0:
            return self._unusable(key, found, "more text than variables may bring in")
        return value

    def _of_environment(self, name: str, default: str | None, private: bool) -> str | None:
        value = self._environ.get(name)
        if default is not None and not value:
            return default
        if value is not None and name not in _OPEN_VARIABLES:
            secret = value.strip()
            if len(secret) >= MIN_SECRET_CHARACTERS and (private or names_a_secret(name)):
                self.secrets.add(secret)
        return value

    def _constant(self, body: str) -> str | None:
        """The value of a name that stands for the same thing in every file; None for others."""
        match body:
            case "userHome":
                return self._home()
            case "workspaceFolder":
                return str(self._folder)
            case "workspaceFolderBasename":
                return self._folder.name
            case "pathSeparator" | "/":
                return os.sep
            case _:
                return None

    def _home(self) -> str:
        try:
            return self._environ.get("HOME") or str(Path.home())
        except RuntimeError:  # a container's user number: starting the server names the path
            return "~"

    def _unusable(self, key: str, found: re.Match[str], what: str) -> str:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(f"key {shown(key)} holds {what}")
        return found[0]


def shown(text: str) -> str:
    """A short quoted form of a name that a file gives, without control characters."""
    return repr(shorten(text, _CHARACTERS_SHOWN))


def _unset(name: str) -> str:
    return (
        f"the environment variable {name}, which is not set; set it, or write ${{{name}:-default}}"
    )


def _why_no_variable(body: str) -> str:
    """Why `${body}` is none. Only the name of an input is quoted: the rest may be a secret."""
    if (asked := _INPUT.fullmatch(body)) is not None:
        return (
            f"${{input:{asked[1]}}}, which an editor would ask you for; nobody is asked here: "
            "put the value into an environment variable and write ${VARIABLE}"
        )
    return (
        "a ${…} that is no variable; allowed: ${VARIABLE}, ${VARIABLE:-default}, "
        "${env:VARIABLE}, ${workspaceFolder}, ${userHome}, and $${ for a plain ${"
    )


MAX_ENV_FILE_BYTES = 64 * 1024

_ASSIGNMENT = lazy_pattern(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(.*)")


_COMMENT = lazy_pattern(r"(?:^|[ \t]+)#")


class EnvFileProblem(Exception):
    """The file can't be read or holds a line of another form; the message quotes no value."""


def read_env_file(path: Path) -> dict[str, str]:
    """The variables of the file; of a name that stands twice, the last counts.

    Raises:
        EnvFileProblem: not there, too large, not UTF-8, or a line that is no assignment.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_ENV_FILE_BYTES + 1)
    except (OSError, ValueError) as error:  # a NUL in the path is a ValueError
        reason = error.strerror if isinstance(error, OSError) else error
        raise EnvFileProblem(f"{path} can't be read: {reason}") from error
    if len(data) > MAX_ENV_FILE_BYTES:
        raise EnvFileProblem(f"{path} is larger than {MAX_ENV_FILE_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise EnvFileProblem(f"{path} is not UTF-8 text (byte {error.start})") from error
    variables: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        found = _ASSIGNMENT.fullmatch(stripped)
        if found is None:
            raise EnvFileProblem(f"{path}:{number}: expected NAME=value")
        variables[found[1]] = _unquoted(found[2])
    return variables


def _unquoted(value: str) -> str:
    """The value without its quotes, and without the comment behind it."""
    if value[:1] in ("'", '"') and (end := value.find(value[0], 1)) > 0:
        rest = value[end + 1 :].strip()
        if not rest or rest.startswith("#"):
            return value[1:end]
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else _COMMENT.split(value, maxsplit=1)[0]
