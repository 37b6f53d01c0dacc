"""The `.env` of CORTEX_HOME: variables for the agent itself, beside those of its environment.

They never change the environment of the process, so that no child inherits them: a server gets what
its entry names, as of every other variable.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from config.settings import HOME_VARIABLE, SettingsError
from config.variables import EnvFileProblem, read_env_file

ENV_FILE: Final = ".env"

NAMES_SHOWN: Final = 10


class Environment(dict[str, str]):
    """The process's environment, and what a file adds to it.

    Attributes:
        file: the file; None where there is none.
        added: the names that the file alone has.
    """

    def __init__(
        self,
        inherited: Mapping[str, str],
        file: Path | None = None,
        said: Mapping[str, str] | None = None,
    ) -> None:
        """Add what is `said` in the file to what was `inherited`, which always goes before."""
        said = said or {}
        super().__init__({**said, **inherited})
        self.file = file
        self.added = tuple(name for name in said if name not in inherited)

    @property
    def notice(self) -> str:
        """What a person is told of it, without a value; empty where it adds nothing."""
        if self.file is None or not self.added:
            return ""
        more = len(self.added) - NAMES_SHOWN
        names = ", ".join(self.added[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
        return f"{self.file} is read for {names}"


def with_env_file(inherited: Mapping[str, str], home: Path) -> Environment:
    """The environment with the variables of `.env` under `home`, as far as it has not those itself.

    Raises:
        SettingsError: the file can't be read, or has a line that is no assignment.
    """
    file = home / ENV_FILE
    try:
        if not file.is_file():
            return Environment(inherited)
        said = read_env_file(file)
    except OSError:  # a home that may not be entered has its own message
        return Environment(inherited)
    except EnvFileProblem as problem:
        raise SettingsError(f"{problem}; correct the file, or take it away") from None
    said.pop(HOME_VARIABLE, None)  # which says where this file is
    return Environment(inherited, file, said)


def inherited(environ: Mapping[str, str]) -> Mapping[str, str]:
    """The environment without what a file has added: all that a child may have."""
    if not isinstance(environ, Environment):
        return environ
    return {name: value for name, value in environ.items() if name not in environ.added}
