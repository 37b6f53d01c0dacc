"""`docs`: documents by hand, done by a program of the servers' side (`servers.rag.command`).

On the command line it takes this process's place: the terminal, Ctrl-C and the exit code are
then its own, and nothing is left behind whatever happens to it. At the prompt it is a child.
"""

import asyncio
import os
import shlex
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

from config.bundled import documents_environment, web_environment
from config.schema import load_profile
from config.settings import Places
from core.errors import ExitCode
from modules.cli.docs_command import ManageDocuments
from modules.cli.docs_parser import parse_docs

PROGRAM: Final = Path("servers") / "rag" / "command.py"
SHOWN_BYTES: Final = 256 * 1024
"""How much of what a child says is shown at the prompt."""

TIED: Final = "--tied"
"""Tells the child to end when its stdin does."""

END_SECONDS: Final = 5.0
"""How long a child that was asked to end may take."""

_KEYS: Final = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
"""They go along only where the profile's documents or web section names Gemini."""

Replace: TypeAlias = Callable[[str, list[str], Mapping[str, str]], NoReturn]
"""`os.execve`: puts another program in this one's place."""


def manage_documents(
    command: ManageDocuments,
    places: Places,
    environ: Mapping[str, str],
    replace: Replace = os.execve,
) -> NoReturn:
    """Become the program that does it.

    Raises:
        SettingsError: the profile can't be used.
        OSError: there is no such program; a broken installation.
    """
    profile_file = command.options.profile or places.config_file("profiles.yaml")
    started = child_environment(places, profile_file, environ)
    words = [sys.executable, str(places.root / PROGRAM), *command.words]
    sys.stdout.flush()
    sys.stderr.flush()
    replace(sys.executable, words, started)


def child_environment(
    places: Places, profile_file: Path, environ: Mapping[str, str]
) -> dict[str, str]:
    """This environment, with what the profile says of documents and of the web in it.

    Raises:
        SettingsError: the profile can't be used.
    """
    profile = load_profile(profile_file)
    usual = {name: value for name, value in environ.items() if name not in _KEYS}
    told = web_environment(profile.web, environ, searches=False)
    return usual | told | documents_environment(profile.documents, places.home, environ)


@dataclass(frozen=True, slots=True)
class PromptDocuments:
    """`/docs …` at the prompt; what it says is told on stderr in one piece.

    `program` is started with the words, by this interpreter.
    """

    places: Places
    profile_file: Path
    environ: Mapping[str, str]
    say: Callable[[str, str], None]
    program: Path = PROGRAM

    async def run(self, text: str) -> ExitCode:
        """Do what the words behind `/docs` say; cancelling ends the child.

        Raises:
            SettingsError: the profile can't be used.
        """
        words = self._words(text)
        if words is None:
            return ExitCode.BAD_USAGE
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            str(self.places.root / self.program),
            words[0],
            TIED,
            *words[1:],
            stdin=asyncio.subprocess.PIPE,  # it ends when this closes, however we ended
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=child_environment(self.places, self.profile_file, self.environ),
            start_new_session=True,
        )
        try:
            said = await _read(child)
            code = await child.wait()
        finally:
            await _end(child)
        # The child marks its own lines of progress in the same way.
        lines = [line.removeprefix("[docs] ") for line in said.splitlines()]
        self.say("docs", "\n".join(lines) or "done")
        return ExitCode(code) if code in {each.value for each in ExitCode} else _failed(code)

    def _words(self, text: str) -> tuple[str, ...] | None:
        """The program's words; None where the mistake has been told."""
        try:
            argv = ["docs", *shlex.split(text)]
        except ValueError as error:
            self.say("docs", f"{error}: {text}")
            return None
        if len(argv) == 1:
            argv.append("status")
        if argv[1] == "watch":
            self.say("docs", "the documents server watches while it runs; nothing else is needed")
            return None
        try:
            return parse_docs(argv).words
        except SystemExit:  # argparse has told why, on stderr
            return None


async def _read(child: asyncio.subprocess.Process) -> str:
    """The beginning of what the child says; the rest is read and dropped."""
    if child.stdout is None:
        return ""
    kept = bytearray()
    while piece := await child.stdout.read(65_536):
        kept += piece[: max(0, SHOWN_BYTES - len(kept))]
    return kept.decode("utf-8", "replace").strip()


async def _end(child: asyncio.subprocess.Process) -> None:
    """End the child and all that it started; it tidies up if it is given the time."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if child.returncode is not None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(child.wait(), END_SECONDS)


def _failed(code: int) -> ExitCode:
    return ExitCode.INTERRUPTED if code < 0 else ExitCode.WORLD_FAILED
