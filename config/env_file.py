"""Reads the `envFile` of a server: lines of `NAME=value`, as VS Code and Cursor load them.

There is no standard for such files. What the tools agree on is read: blank lines, `#` comments
on lines of their own, `export ` in front of a name, and single or double quotes around a value.
Nothing in a value is expanded or unescaped.
"""

import re
from pathlib import Path

MAX_ENV_FILE_BYTES = 64 * 1024

_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(.*)")


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
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value
