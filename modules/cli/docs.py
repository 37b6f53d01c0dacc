"""`docs`: documents by hand, done by a program of the servers' side (`servers.rag.command`).

On the command line it takes this process's place: the terminal, Ctrl-C and the exit code are
then its own, and nothing is left behind whatever happens to it. At the prompt it is a child.
"""

import asyncio
import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, suppress
from io import StringIO
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

from config.dotenv import inherited
from config.schema import AgentProfile
from config.server_list import documents_environment, web_environment
from config.settings import Places
from core.errors import ExitCode
from modules.cli.parser import Action, CommandParser, Misused, read_action, whole_number
from modules.cli.surroundings import Options, Surroundings

_HELP: Final = """\
Your documents, by hand, with no model involved: what lies in the folders of the profile's
documents section (documents/ under CORTEX_HOME by default) is indexed and searched, always with
its source. Answers go to stdout, progress to stderr.

examples:
  agent.py docs add report.pdf notes/
  agent.py docs search "notice period of the lease"
  agent.py docs status"""

PASSAGES_MAX: Final = 50

PROGRAM: Final = Path("servers") / "rag" / "command.py"
SHOWN_BYTES: Final = 256 * 1024
"""How much of what a child says is shown at the prompt."""

TIED: Final = "--tied"
"""Tells the child to end when its stdin does."""

END_SECONDS: Final = 5.0
"""How long a child that was asked to end may take."""

_TOLD: Final = (
    *("action", "json", "quiet", "verbose"),
    *("paths", "query", "top_k", "file", "mode", "yes"),
)
"""What the program is told of a command line."""

_KEYS: Final = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
"""They go along only where the profile's documents or web section names Gemini."""

Replace: TypeAlias = Callable[[str, list[str], Mapping[str, str]], NoReturn]
"""`os.execve`: puts another program in this one's place."""


def parse(words: Sequence[str], program: str = "agent.py") -> Options:
    """Read the words behind `docs`; raises as `read_action`."""
    return read_action(words, program, "docs", _HELP, _ACTIONS)


def task_of(options: Options) -> str:
    """What was read, as the program reads it: a JSON object."""
    said = vars(options)
    return json.dumps({key: said[key] for key in _TOLD if key in said})


def manage_documents(around: Surroundings, replace: Replace = os.execve) -> NoReturn:
    """Become the program that does it.

    Raises:
        SettingsError: the profile can't be used.
        OSError: there is no such program; a broken installation.
    """
    started = child_environment(around.profile, around.places, around.environ)
    words = [sys.executable, str(around.places.root / PROGRAM), task_of(around.options)]
    sys.stdout.flush()
    sys.stderr.flush()
    replace(sys.executable, words, started)


def child_environment(
    profile: AgentProfile, places: Places, environ: Mapping[str, str]
) -> dict[str, str]:
    """This environment, with what the profile says of documents and of the web in it."""
    usual = {name: value for name, value in inherited(environ).items() if name not in _KEYS}
    told = web_environment(profile.web, environ, searches=False)
    return usual | told | documents_environment(profile.documents, places.home, environ)


async def manage_at_prompt(
    text: str,
    profile: AgentProfile,
    places: Places,
    environ: Mapping[str, str],
    say: Callable[[str, str], None],
    program: Path = PROGRAM,
) -> ExitCode:
    """Do what the words behind `/docs` say; cancelling ends the child.

    `program` is started with them, by this interpreter; what it says is told in one piece.
    """
    options = _read(text, say)
    if options is None:
        return ExitCode.BAD_USAGE
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        str(places.root / program),
        TIED,
        task_of(options),
        stdin=asyncio.subprocess.PIPE,  # it ends when this closes, however we ended
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=child_environment(profile, places, environ),
        start_new_session=True,
    )
    try:
        said = await _said(child)
        code = await child.wait()
    finally:
        await _end(child)
    # The child marks its own lines of progress in the same way.
    lines = [line.removeprefix("[docs] ") for line in said.splitlines()]
    columns = [""] * (len(lines) > 1)  # of which the stage would move the first row
    say("docs", "\n".join([*columns, *lines]) or "done")
    if code < 0:
        return ExitCode.INTERRUPTED
    return ExitCode(code) if code in [*ExitCode] else ExitCode.WORLD_FAILED


def _read(text: str, say: Callable[[str, str], None]) -> Options | None:
    """What the words say; None where the mistake has been told."""
    try:
        words = shlex.split(text) or ["status"]
        if words[0] != "watch":
            with redirect_stderr(StringIO()):  # what argparse tells there is of the command line
                return parse(words)
        say("docs", "the documents server watches while it runs; nothing else is needed")
    except ValueError as error:
        say("docs", f"{error}: {text}")
    except Misused as error:
        say("docs", f"{error.message.splitlines()[0]}; see /help docs")
    except SystemExit:  # `--help` has been shown
        pass
    return None


async def _said(child: asyncio.subprocess.Process) -> str:
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


def _add_paths(parser: CommandParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a file, or a folder")


def _add_search(parser: CommandParser) -> None:
    parser.add_argument("query", metavar="WORDS", nargs="+", help="a question, or words")
    passages = whole_number(1, PASSAGES_MAX)
    parser.add_argument("-k", "--top-k", metavar="N", type=passages, default=5, help="passages (5)")
    parser.add_argument("--file", metavar="FILE", help="only in this document, as listed")
    parser.add_argument(
        "--mode",
        choices=["hybrid", "words", "vectors"],
        default="hybrid",
        help="by words, by meaning (vectors), or by both",
    )


def _add_removal(parser: CommandParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a document, as listed")
    parser.add_argument("--yes", action="store_true", help="don't ask")


_ACTIONS: Final = {
    "add": Action(
        "copy files into the first document folder, and index them",
        """\
A folder is copied with all that is in it. A file whose name is taken by another one is refused,
never overwritten. Ctrl-C stops indexing; what is left is done by the next run.

examples:
  agent.py docs add report.pdf
  agent.py docs add ~/papers""",
        manage_documents,
        _add_paths,
    ),
    "list": Action(
        "every document, and why one can't be searched",
        """\
examples:
  agent.py docs list
  agent.py docs list --json | jq -r '.[] | select(.status == "failed").file'""",
        manage_documents,
    ),
    "status": Action(
        "folders, index, embedder, and what went wrong",
        """\
examples:
  agent.py docs status
  agent.py docs status --json | jq .chunks""",
        manage_documents,
    ),
    "search": Action(
        "the passages that fit best, with their sources",
        """\
Changes in the folders are indexed first. Exits with 3 where nothing fits.

examples:
  agent.py docs search "how long is the warranty?"
  agent.py docs search warranty --file manual.pdf --mode words -k 3""",
        manage_documents,
        _add_search,
    ),
    "reindex": Action(
        "read every document anew",
        """\
Searching works meanwhile, on what was there before.

examples:
  agent.py docs reindex""",
        manage_documents,
    ),
    "remove": Action(
        "delete a document from its folder, and from the index",
        """\
The file itself is deleted, so you are asked first, or say --yes.

examples:
  agent.py docs remove report.pdf
  agent.py docs remove old/report.pdf --yes""",
        manage_documents,
        _add_removal,
    ),
    "watch": Action(
        "index changes as they happen, until Ctrl-C",
        """\
The documents server does the same while it runs.

examples:
  agent.py docs watch""",
        manage_documents,
    ),
}
