"""The process's own stdout and stderr: answers that arrive or are missed, messages that may not."""

import contextlib
import os
import sys
from collections.abc import Generator, Mapping

from core.base.redaction import Redactor
from core.errors import ExitCode
from modules.terminal.safe_text import printable


class StdoutLost(Exception):
    """stdout is closed or full: no answer can be given any more, so even the prompt ends."""


class StdoutClosed(StdoutLost):
    """The reader of stdout has gone."""


@contextlib.contextmanager
def writing_stdout() -> Generator[None]:
    """While inside, what is written to stdout arrives.

    Raises:
        StdoutLost: it did not; the message says why.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        # Python flushes stdout once more at exit; what is left in it has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise StdoutClosed("stdout was closed before the answer was written") from error
        raise StdoutLost(
            f"the answer can't be written to stdout: {error.strerror or error}"
        ) from error


class Complaints:
    """Tells on stderr, without secrets, why there is no answer and what is worth knowing.

    `redactor` knows the secrets of the environment; whoever hears of more, such as those in
    the servers' configuration, lets it learn them.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Write nothing yet."""
        self.redactor = Redactor(environ)

    def fail(self, message: str, code: ExitCode) -> ExitCode:
        """Tell why there is no answer; gives `code` back."""
        self.tell(message)
        return code

    def say(self, stage: str, text: str) -> None:
        """Tell something in the form of the progress lines, for what needs no events."""
        self.tell(f"[{stage}] {text}")

    def tell(self, text: str) -> None:
        """Write text and a line end; a closed stderr changes nothing."""
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"{printable(self.redactor.text(text))}\n")
            sys.stderr.flush()
