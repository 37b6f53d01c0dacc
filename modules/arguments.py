"""The command line: what may be said, and what it means. Light: read before anything is spawned."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

EXIT_CODES_HELP = """\
exit codes:
  0    answered
  1    the world failed: model, server or disk (or a bug of ours: see the log it names)
  2    bad usage or configuration
  3    no answer within the steps and lifelines, or a request that the model declined
  130  interrupted

environment:
  GEMINI_API_KEY   makes Gemini the model; without it the offline planner answers
  CORTEX_HOME      where sessions, caches and logs are kept
"""

EXAMPLES_HELP = """\
examples:
  agent.py "add 5 and 7, then multiply the result by 3"
  echo "factorial of 12" | agent.py -
  agent.py --json "15% of 80" | jq .answer
  agent.py -2^2                  (a minus before a digit, a dot or a bracket is a sign)
  agent.py -- -x is what?        (behind --, nothing is an option)
  agent.py                       (interactive; `new` starts a session, Ctrl-D leaves)
"""

_END_OF_OPTIONS = "--"

_SHIELD = " "
"""In front of a word, keeps argparse from taking it for an option."""

_SIGNED_NUMBER = re.compile(r"-[\d.(]")
"""What begins with a minus sign, not with the dash of an option: none of ours looks like that."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A parsed command line; `request` is None for the interactive prompt, "-" for stdin."""

    request: str | None
    model: str | None
    profile: Path | None
    session: str | None
    verbose: bool
    quiet: bool
    json: bool


def parse_arguments(argv: Sequence[str], version: str, program: str = "agent.py") -> Arguments:
    """Parse `argv` (without the program's name); options may stand before, in and after a request.

    Raises:
        SystemExit: code 2 with a message on stderr, or 0 after `--help` and `--version`.
    """
    end = argv.index(_END_OF_OPTIONS) if _END_OF_OPTIONS in argv else len(argv)
    shielded = [_SHIELD + word if _SIGNED_NUMBER.match(word) else word for word in argv[:end]]
    found = _parser(version, program).parse_intermixed_args(shielded)
    spoken: list[str] = found.request
    words = [*(_bare(word) for word in spoken), *argv[end + 1 :]]
    return Arguments(
        request=" ".join(words) if words else None,
        model=_bare(found.model) if found.model is not None else None,
        profile=Path(_bare(found.profile)) if found.profile is not None else None,
        session=_bare(found.session) if found.session is not None else None,
        verbose=found.verbose,
        quiet=found.quiet,
        json=found.json,
    )


def help_text(version: str) -> str:
    """What `--help` prints."""
    return _parser(version, "agent.py").format_help()


def _bare(word: str) -> str:
    return word.removeprefix(_SHIELD)


class _Parser(argparse.ArgumentParser):
    """Tells how to say a request that looks like an option."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2; the hint stands under every message, for it names no option."""
        hint = f"a request that begins with a dash goes behind --: {self.prog} -- '-x is what?'"
        super().error(f"{message}\n{hint}; options: {self.prog} --help")


def _parser(version: str, program: str) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=program,
        description="Cortex-R answers a request by planning in Python, running the plan in a\n"
        "sandbox, and calling MCP tools. Without a request it opens a prompt.",
        epilog=f"{EXIT_CODES_HELP}\n{EXAMPLES_HELP.replace('agent.py', program)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("request", nargs="*", help="the request; - reads it from stdin")
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="a name from config/models.json, gemini:MODEL, offline, or scripted:FILE",
    )
    parser.add_argument(
        "--profile", metavar="FILE", help="a profile in place of config/profiles.yaml"
    )
    parser.add_argument("--session", metavar="ID", help="continue this session")
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("--verbose", action="store_true", help="show every stage and plan")
    loudness.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument("--json", action="store_true", help="one JSON object a request on stdout")
    parser.add_argument("--version", action="version", version=f"cortex-r {version}")
    return parser
