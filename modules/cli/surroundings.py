"""What a command works in: the configured servers, the places on disk, the streams."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from config.server_list import ServerList
from config.servers import ServerSpec
from config.settings import Places
from core.base.redaction import Redactor
from core.base.text import near_names
from core.errors import UsageError
from core.values import Json
from modules.terminal.printing import print_document, print_text
from modules.terminal.streams import Complaints, writing_stdout


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Handed to every command; `stderr` is None where the process began without one."""

    places: Places
    servers: ServerList
    stdout: TextIO
    stderr: TextIO | None
    complaints: Complaints

    @property
    def redactor(self) -> Redactor:
        """Knows the secrets of the environment and of the servers' configuration."""
        return self.complaints.redactor

    def print(self, text: str) -> None:
        """Text to stdout.

        Raises:
            StdoutLost: nobody reads it.
        """
        with writing_stdout():
            print_text(text, self.stdout)

    def print_json(self, document: Json) -> None:
        """A value to stdout, as one line.

        Raises:
            StdoutLost: nobody reads it.
        """
        with writing_stdout():
            print_document(document, self.stdout)

    def find(self, name: str) -> ServerSpec:
        """The configured server of that name, a disabled one too.

        Raises:
            UsageError: there is none; the message gives the nearest names.
        """
        everyone = (*self.servers.specs, *self.servers.disabled)
        found = next((spec for spec in everyone if spec.id == name), None)
        if found is None:
            raise UsageError(f"there is no server '{name}'{_nearest(name, everyone)}")
        return found


def _nearest(name: str, specs: Sequence[ServerSpec]) -> str:
    """The end of a sentence that says which server may have been meant; others are of no help."""
    if near := near_names(name, (spec.id for spec in specs)):
        return f"; did you mean {' or '.join(near)}?"
    return "; `mcp list` shows those that there are" if specs else "; none is configured"
