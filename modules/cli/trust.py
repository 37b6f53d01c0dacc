"""`trust`: which instructions and skills of projects may reach a model."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from config.settings import SettingsError
from core.base.clock import moment
from core.base.text import size_text
from core.errors import ExitCode, UsageError, storing
from core.values import Json
from modules.cli.parser import command_parser, read_words
from modules.cli.surroundings import Options, Surroundings
from modules.planning.guidance.markdown import read_data
from modules.planning.guidance.project import (
    SKILL,
    GuidanceText,
    find_instructions,
    find_skills,
    read_skill,
    sha256_of,
)
from modules.planning.guidance.trust import FILE_NAME, Decision, TrustStore

_HELP: Final = """\
Trust what a project has written for agents: instructions (CORTEX.md, AGENTS.md) and skills
(SKILL.md and the files beside it). PATH is one of them, or the project's folder for all that it
has; without one it is the folder that you are in. Read them first: a model will do as they say.

A text that changes is left out again until you have trusted it anew. At a terminal you are asked.

examples:
  agent.py trust
  agent.py trust AGENTS.md
  agent.py trust --list
  agent.py trust --revoke .agents/skills/release-notes"""


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `trust`; raises as `read_words`."""
    parser = command_parser(program, "trust", _HELP)
    parser.add_argument("path", metavar="PATH", nargs="?", type=Path, help="what is to be trusted")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--list", action="store_true", help="show what was decided, and if it holds")
    which.add_argument("--revoke", metavar="PATH", type=Path, help="be asked again about a text")
    parser.set_defaults(run=trust)
    return read_words(parser, words)


def trust(around: Surroundings) -> ExitCode:
    """Do what the options say.

    Raises:
        UsageError: there is no such text.
        StorageError: the record can't be written.
    """
    options, file = around.options, around.places.home / FILE_NAME
    store = TrustStore(file)
    if options.path is not None and (options.list or options.revoke is not None):
        raise UsageError(f"{options.path} stands beside --list or --revoke; give one of them")
    with storing(file):
        if options.list:
            return _list(around, store)
        if options.revoke is not None:
            return _revoke(around, store, options.revoke)
        return _trust(around, store, options.path or Path())


def _trust(around: Surroundings, store: TrustStore, path: Path) -> ExitCode:
    texts = _texts_at(around, path)
    for text in texts:
        store.decide(text.path, text.sha256, is_trusted=True)
    lines = [f"trusted: {t.kind} {t.path} ({size_text(t.size_bytes)})" for t in texts]
    return around.report({"trusted": [str(text.path) for text in texts]}, "\n".join(lines))


def _texts_at(around: Surroundings, path: Path) -> list[GuidanceText]:
    """The texts of a project that a path means: one of them, or all of a folder's project.

    Raises:
        UsageError: there is none.
    """
    given = _named(path)
    is_skill = (given / SKILL).is_file()
    above = 3 if is_skill else 1 if given.is_file() else 0
    folder = [given, *given.parents][: above + 1][-1]
    home = around.places.home
    found = (find_instructions(home, folder), find_skills(home, folder))
    for problem in (problem for each in found for problem in each.problems):
        around.complaints.say("guidance", problem)
    texts = [text for each in found for text in each.texts if not text.is_own]
    if above or not given.is_dir():  # which a name has that is not there
        texts = [text for text in texts if text.path == Path(os.path.realpath(given))]
    if not texts:
        raise UsageError(
            f"nothing to trust at {path}: no CORTEX.md, AGENTS.md, or skill in .cortex/skills, "
            ".agents/skills or .claude/skills of a project"
        )
    return texts


def _list(around: Surroundings, store: TrustStore) -> ExitCode:
    decisions = store.decisions()
    rows = [(path, _state(Path(path), each), moment(each.when)) for path, each in decisions.items()]
    texts: list[Json] = [{"path": path, "state": state, "at": when} for path, state, when in rows]
    none = "nothing was decided yet; agent.py trust trusts what this folder has"
    heads = ("text", "state", "decided")
    return around.report_rows({"texts": texts}, [heads, *rows], none=none)


def _state(path: Path, decision: Decision) -> str:
    """Whether what was said of a text still holds."""
    try:
        is_folder = path.is_dir()
        sha256 = read_skill(path, path).sha256 if is_folder else sha256_of(read_data(path))
    except SettingsError:
        return "gone, or can't be read"
    if sha256 != decision.sha256:
        return "changed since"
    return "trusted" if decision.is_trusted else "refused"


def _revoke(around: Surroundings, store: TrustStore, path: Path) -> ExitCode:
    given = _named(path)
    for each in (given, Path(os.path.realpath(given))):
        if store.forget(each):
            told = f"revoked: {each}; it is left out until you are asked again"
            return around.report({"revoked": str(each)}, told)
    raise UsageError(f"nothing was decided about {path}; agent.py trust --list shows what was")


def _named(path: Path) -> Path:
    """The text that a path means; a link stays one, for it may be one of a project's skills."""
    named = Path(os.path.normpath(path.absolute()))
    return named.parent if named.name == SKILL else named
