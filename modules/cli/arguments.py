"""The command line of a request: what may be said, and what it means."""

import argparse
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from core.base.text import NEAR_SHOWN, near_names
from modules.session.request import StdinUse

EXIT_CODES_HELP = """\
exit codes:
  0    answered
  1    the world failed: model, server, sandbox or disk (or a bug of ours: see the log it names)
  2    bad usage or configuration
  3    no answer within the steps and lifelines, a request the model declined, or a failed plan
  4    the tool of `call` answered with an error
  130  interrupted
"""

_ENVIRONMENT_HELP = """\
environment:
  GEMINI_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY
                       a key makes its service the model; see also: agent.py auth
  OLLAMA_HOST          where Ollama listens; it answers where there is no key
  LLAMA_SERVER_URL     where a llama.cpp server listens (http://127.0.0.1:8080), the next choice
  CORTEX_LOCAL_MODEL   a GGUF file to run here, the choice after that; else the offline planner
  CORTEX_HOME          where sessions, caches and logs are kept
"""

COMMANDS = {
    "mcp": "list, try, add and remove MCP servers",
    "call": "call one tool, with no model involved",
    "run-plan": "run a plan from a file, in the sandbox",
    "prompt": "show what a model would be sent",
    "models": "list models, and fetch one with Ollama",
    "auth": "keep keys of models in the system's keyring",
    "docs": "add, list, search and remove your documents",
    "doctor": "say what works here, and which walls stand around plans",
}
"""First words that make a command of the command line, and what each is for."""

ACTIONS = {
    "mcp": ("list", "tools", "status", "add", "remove", "enable", "disable", "test", "logs"),
    "models": ("list", "pull"),
    "auth": ("set", "list", "remove"),
    "docs": ("add", "list", "status", "search", "reindex", "remove", "watch"),
}
"""The second words of those commands that have several."""

_COMMANDS_HELP = """\
commands (as the first word, options aside; quoted with others, or behind --, it is a request):
""" + "".join(
    f"  {name:<8}  {purpose}; see: agent.py {name} --help\n" for name, purpose in COMMANDS.items()
)

_STDIN_HELP = """\
stdin beside a request goes with it, as a text that the plan reads: a file, or a pipe, up to its end
or to 3 s of silence; a terminal and /dev/null are nothing. What a shell above reads itself is left,
with a note, so that `while read x; do agent.py "$x"; done < list` asks for every line (where the
system does not tell what a shell reads, on macOS, a loop over a pipe needs --no-stdin).
Without a request each line of a pipe is one, and gives one line on stdout: its answer, line breaks
as \\n, or why there is none, in brackets; exits with 0 if all were answered.
"""

_EXAMPLES_HELP = """\
examples:
  agent.py "add 5 and 7, then multiply the result by 3"
  echo "factorial of 12" | agent.py -
  cat notes.txt | agent.py "how many lines does this have?"
  agent.py --json "15% of 80" | jq .answer
  agent.py mcp list
  agent.py call add a=5 b=7
  agent.py --approve files.write_file "tidy my notes"
  agent.py run-plan plan.py --json
  agent.py docs search "notice period of the lease"
  agent.py doctor
  agent.py -2^2                  (a minus before a digit, a dot or a bracket is a sign)
  agent.py -- -x is what?        (behind --, nothing is an option or a command)
  agent.py                       (interactive; `new` starts a session, Ctrl-D leaves)
"""

END_OF_OPTIONS = "--"

_SHIELD = " "
"""In front of a word, keeps argparse from taking it for an option."""

_SIGNED_NUMBER = re.compile(r"-[\d.(]")
"""What begins with a minus sign, not with the dash of an option: none of ours looks like that."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A parsed command line; `request` is None for the interactive prompt, "-" for stdin.

    `mcp_config` are files with more servers; `allow_tool_changes` takes tool definitions that
    changed since their first use as they are now; `approve` names tools that may be called though
    the request does not ask for them. `stdin` is whether it goes with a request.
    """

    request: str | None = None
    model: str | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    profile: Path | None = None
    session: str | None = None
    mcp_config: tuple[Path, ...] = ()
    allow_tool_changes: bool = False
    approve: tuple[str, ...] = ()
    verbose: bool = False
    quiet: bool = False
    json: bool = False
    stdin: StdinUse = "auto"


def parse_arguments(argv: Sequence[str], version: str, program: str = "agent.py") -> Arguments:
    """Parse `argv` (without the program's name); options may stand before, in and after a request.

    Raises:
        SystemExit: code 2 with a message on stderr, or 0 after `--help` and `--version`.
    """
    end = argv.index(END_OF_OPTIONS) if END_OF_OPTIONS in argv else len(argv)
    parser = _parser(version, program)
    found, unknown = parser.parse_known_intermixed_args(_shielded(argv[:end]))
    if unknown:
        parser.refuse(unknown)
    spoken: list[str] = found.request
    files: list[str] = found.mcp_config
    approved: list[str] = found.approve
    words = [*(_bare(word) for word in spoken), *argv[end + 1 :]]
    return Arguments(
        request=" ".join(words) if words else None,
        model=_bare(found.model) if found.model is not None else None,
        max_cost=found.max_cost,
        max_tokens=found.max_tokens,
        profile=Path(_bare(found.profile)) if found.profile is not None else None,
        session=_bare(found.session) if found.session is not None else None,
        mcp_config=tuple(Path(_bare(file)) for file in files),
        allow_tool_changes=found.allow_tool_changes,
        approve=tuple(_bare(name) for name in approved),
        verbose=found.verbose,
        quiet=found.quiet,
        json=found.json,
        stdin=found.stdin,
    )


def leading_options(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options that `argv` begins with, their values too, and what follows them.

    Nothing counts as an option where one of them is unknown.

    Raises:
        SystemExit: code 2 with a message on stderr, where one lacks its value.
    """
    end = argv.index(END_OF_OPTIONS) if END_OF_OPTIONS in argv else len(argv)
    if end == 0 or not argv[0].startswith("-"):
        return [], [*argv]
    parser = OptionsParser(add_help=False, allow_abbrev=False)
    _add_options(parser)
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    found, unknown = parser.parse_known_args(_shielded(argv[:end]))
    behind = 0 if unknown else end - len(found.rest)
    return [*argv[:behind]], [*argv[behind:]]


def looks_like_option(word: str) -> bool:
    """Whether a word could only be an option: not a dash alone, and no number with its sign."""
    return word.startswith("-") and word.strip("-") != "" and not _SIGNED_NUMBER.match(word)


def help_text(version: str) -> str:
    """What `--help` prints."""
    return _parser(version, "agent.py").format_help()


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """The options that say where servers are configured; requests and commands share them."""
    parser.add_argument(
        "--profile", metavar="FILE", help="a profile in place of config/profiles.yaml"
    )
    parser.add_argument(
        "--mcp-config",
        metavar="FILE",
        action="append",
        default=[],
        help="servers of this mcp.json too; may be given again",
    )
    parser.add_argument(
        "--allow-tool-changes",
        action="store_true",
        help="accept tools whose definition has changed since their first use",
    )


def add_approve_option(parser: argparse.ArgumentParser) -> None:
    """`--approve TOOL`, for requests and plans."""
    parser.add_argument(
        "--approve",
        metavar="TOOL",
        action="append",
        default=[],
        type=_tool_name,
        help="let plans call this tool (server.tool) without asking; may be given again",
    )


def add_loudness_options(parser: argparse.ArgumentParser, verbose: str) -> None:
    """`--verbose`, which shows what `verbose` says, and `--quiet`; not both."""
    loudness = parser.add_mutually_exclusive_group()
    loudness.add_argument("--verbose", action="store_true", help=verbose)
    loudness.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _shielded(words: Sequence[str]) -> list[str]:
    return [_SHIELD + word if _SIGNED_NUMBER.match(word) else word for word in words]


def _bare(word: str) -> str:
    return word.removeprefix(_SHIELD)


def _dollars(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not 0 < amount < math.inf:
        raise argparse.ArgumentTypeError(f"{_bare(text)!r} is no amount above 0, such as 0.05")
    return amount


def _tokens(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 12 or int(text) == 0:
        raise argparse.ArgumentTypeError(
            f"{_bare(text)!r} is no whole number above 0, such as 20000"
        )
    return int(text)


def _tool_name(text: str) -> str:
    if not text.strip() or "," in text or any(map(str.isspace, text.strip())):
        raise argparse.ArgumentTypeError(
            "one tool, such as files.write_file; give it again for more"
        )
    return text


class OptionsParser(argparse.ArgumentParser):
    """Proposes the nearest option or choice for a word that is none."""

    def refuse(self, words: Sequence[str], more: str = "") -> NoReturn:
        """Exit with code 2 over words that can't be read; `more` says what is to be said of it."""
        near = self._near_options(words)
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        self.error(f"not understood: {' '.join(words)}{meant}{more}")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = near_names(str(value).lower(), map(str, action.choices or ()))
            if not near:
                raise
            meant = f"{error.message}; did you mean {' or '.join(near)}?"
            raise argparse.ArgumentError(action, meant) from None

    def _near_options(self, words: Sequence[str]) -> list[str]:
        """The options that words with a dash may have meant: they begin so, or are alike."""
        near: dict[str, None] = {}
        for word in words:
            name = word.partition("=")[0].lstrip("-").lower()
            if not word.startswith("-") or not name:
                continue
            known = {option.lstrip("-"): option for option in self._option_string_actions}
            begun = [full for full in known if full.startswith(name)][:NEAR_SHOWN]
            near.update(dict.fromkeys(known[full] for full in begun or near_names(name, known)))
        return [*near]


class _Parser(OptionsParser):
    """Tells how to say a request that looks like an option."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2; the hint stands under every message, for it names no option."""
        hint = f"a request that begins with a dash goes behind --: {self.prog} -- '-x is what?'"
        super().error(f"{message}\n{hint}; options: {self.prog} --help")


def _parser(version: str, program: str) -> OptionsParser:
    told = (_COMMANDS_HELP, _STDIN_HELP, EXIT_CODES_HELP, _ENVIRONMENT_HELP, _EXAMPLES_HELP)
    parser = _Parser(
        prog=program,
        description="Cortex-R answers a request by planning in Python, running the plan in a\n"
        "sandbox, and calling MCP tools. Without a request it opens a prompt.",
        epilog="\n".join(told).replace("agent.py", program),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("request", nargs="*", help="the request; - reads it from stdin")
    _add_options(parser)
    parser.add_argument("--version", action="version", version=f"cortex-r {version}")
    return parser


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="a name from config/models.json, backend:MODEL such as ollama:qwen3, or names with\n"
        "commas between, each standing in for the one before; see: agent.py models",
    )
    parser.add_argument(
        "--max-cost", metavar="USD", type=_dollars, help="what the request may cost, in US dollars"
    )
    parser.add_argument(
        "--max-tokens", metavar="N", type=_tokens, help="tokens that it may use, read and written"
    )
    add_source_options(parser)
    add_approve_option(parser)
    parser.add_argument(
        "--session", metavar="ID", help="continue this session, or begin the one of a plain name"
    )
    add_loudness_options(parser, "show every stage and plan")
    parser.add_argument("--json", action="store_true", help="one JSON object a request on stdout")
    beside = parser.add_mutually_exclusive_group()
    beside.add_argument(
        "--stdin",
        action="store_const",
        const="always",
        default="auto",
        help="stdin goes with the request, whoever else reads it; waits for it",
    )
    beside.add_argument(
        "--no-stdin",
        action="store_const",
        const="never",
        dest="stdin",
        help="stdin does not go with the request",
    )
