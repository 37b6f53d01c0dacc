"""The command line: a request with its options, or a command; which is meant, and reading it.

The module of a command is loaded when the command is named.
"""

import argparse
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, NoReturn, TypeAlias, get_args

from config.schema import AgentProfile, GraphMode
from config.settings import Places
from core.base.text import NEAR_SHOWN, lazy_pattern, near_names
from core.errors import ExitCode, UsageError
from modules.cli.parser import (
    END_OF_OPTIONS,
    EXIT_CODES_HELP,
    PARSER_WANTED,
    OptionsParser,
    ParserBuilt,
    add_approve_option,
    add_graph_options,
    add_instructions_option,
    add_loudness_options,
    add_source_options,
    looks_like_option,
    seconds,
    whole_number,
    with_graph_files,
)
from modules.cli.surroundings import Options, Run, Surroundings
from modules.session.request import StdinUse
from modules.terminal.streams import Complaints, StdoutClosed

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
    "mcp-server": "be an MCP server: other programs ask the agent",
    "call": "call one tool, with no model involved",
    "run-plan": "run a plan from a file, in the sandbox",
    "prompt": "show what a model would be sent",
    "plan": "show the graph or plan for a request, and run nothing",
    "models": "list models, and fetch one with Ollama",
    "auth": "keep keys of models in the system's keyring",
    "docs": "add, list, search and remove your documents",
    "sessions": "list, search, show, export what was asked before",
    "stats": "count requests, time, tokens and cost a day, and tools",
    "trace": "show what runs did, with times, or as a page",
    "workflow": "run tasks of several steps that are kept in files",
    "acp": "answer an editor: Zed, a JetBrains IDE, Neovim",
    "trust": "trust instructions and skills of a project",
    "config": "show, check and change what is configured",
    "serve": "serve the agent over HTTP: a page, OpenAI's form, MCP",
    "completion": "print completion for bash, zsh or fish",
    "schema": "print JSON Schemas of what --json prints",
    "doctor": "say what works here, and which walls stand around plans",
}
"""First words that make a command of the command line, and what each is for."""

ACTIONS = {
    "mcp": ("list", "tools", "status", "add", "remove", "enable", "disable", "test", "logs"),
    "config": ("show", "path", "check", "get", "set", "init"),
    "models": ("list", "pull", "add", "remove"),
    "auth": ("set", "list", "remove"),
    "docs": ("add", "list", "status", "search", "reindex", "remove", "watch"),
    "workflow": ("list", "show", "check", "run", "save"),
    "sessions": ("list", "search", "show", "export", "rename", "delete", "prune", "stats"),
}
"""The second words of those commands that have several."""

_COMMANDS_HELP = """\
commands (as the first word, options aside; quoted with others, or behind --, it is a request):
""" + "".join(
    f"  {name:<10}  {purpose}; see: agent.py {name} --help\n" for name, purpose in COMMANDS.items()
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
  agent.py -p "$REQUEST" --output-format stream-json | jq -r .type
  agent.py mcp list
  agent.py call add a=5 b=7
  agent.py --approve files.write_file "tidy my notes"
  agent.py run-plan plan.py --json
  agent.py docs search "notice period of the lease"
  agent.py --continue "now divide that by 2"
  agent.py sessions list
  agent.py plan "factorial of 12 and 15% of 80, then add them"
  agent.py doctor
  agent.py -2^2                  (a minus before a digit, a dot or a bracket is a sign)
  agent.py -- -x is what?        (behind --, nothing is an option or a command)
  agent.py                       (interactive; `new` starts a session, Ctrl-D leaves)
"""


COMMANDS_NEAR: Final = 0.65
ACTIONS_NEAR: Final = 0.8
"""From which likeness on (difflib's ratio) a lone word is taken for one that was mistyped."""

_LONE_WORD: Final = lazy_pattern(r"[A-Za-z][\w-]*", re.ASCII)
"""What could be a command's name."""

_ACTING: Final = frozenset({"call", "run-plan", "workflow"})
"""Commands that do something in the world, so that an answer that nobody reads is lost."""

Parse: TypeAlias = Callable[[Sequence[str], str], Options]
"""Reads the words behind a command's own; takes the program's name too."""

OutputFormat: TypeAlias = Literal["text", "json", "stream-json"]
"""What stdout gets: the bare answer, one object a request, or an object for each event too."""

_OUTPUT_FORMATS: dict[str, OutputFormat] = {name: name for name in get_args(OutputFormat)}

TOKENS_MAX: Final = 10**12 - 1

STEPS_MAX: Final = 50
"""As `strategy.max_steps` of a profile."""

SEED_MAX: Final = 2**31 - 1
"""What all services take that take a seed."""

_PROMPT_OPTIONS = ("-p", "--prompt")


class Arguments(Options):
    """A request's command line; `request` is None for the interactive prompt, "-" for stdin.

    `approve` are rules for calls that need no leave, and `chosen_tools` the tools that may be
    called at all; None for any. `typed` are the words of it all, the program's name first; none
    where it was no request's. `stdin` is whether it goes with a request. `json` says that
    `output` is JSON of either kind.
    """

    request: str | None
    prompt: list[str]
    output: OutputFormat
    json_schema: Path | None
    max_steps: int | None
    timeout: float | None
    tools: list[str]
    no_tools: bool
    chosen_tools: tuple[str, ...] | None
    seed: int | None
    model: str | None
    max_cost: float | None
    max_tokens: int | None
    session: str | None
    resume: str | None
    goes_on: bool
    no_memory: bool
    no_instructions: bool
    graph: GraphMode | Path | None
    approve: list[str]
    stdin: StdinUse
    typed: tuple[str, ...] = ()

    def adapted(self, profile: AgentProfile) -> AgentProfile:
        """The profile, but for what the command line says instead."""
        if self.max_steps is not None:
            profile = profile.with_strategy(max_steps=self.max_steps)
        if isinstance(self.graph, str):
            profile = profile.with_strategy(graph=self.graph)
        return profile.without_memory() if self.no_memory else profile


def parse_arguments(argv: Sequence[str], version: str, program: str = "agent.py") -> Arguments:
    """Parse `argv` (without the program's name); options may stand before, in and after a request.

    Raises:
        SystemExit: code 2 with a message on stderr, or 0 after `--help` and `--version`.
    """
    before, behind = _parted(argv)
    parser = _parser(version, program)
    found, unknown = parser.parse_known_intermixed_args(before, Arguments())
    if unknown:
        parser.refuse(unknown)
    words = [*found.words, *behind[1:]]
    prompts: list[str] = found.prompt
    if len(prompts) + bool(words) > 1:
        given = [f"--prompt {text!r}" for text in prompts] + [repr(" ".join(words))] * bool(words)
        parser.error(f"the request is given more than once ({', '.join(given)}); give one")
    return _settled(found, prompts[0] if prompts else " ".join(words) if words else None)


def arguments_for(request: str, options: Options) -> Arguments:
    """The command line of a request, with its options as a command has read them."""
    return _settled(Arguments(**vars(options)), request)


def output_of(options: Options) -> OutputFormat:
    """What a command with the options of a request prints; others have JSON of their own."""
    return vars(options).get("output", "text")


def _settled(found: Arguments, request: str | None) -> Arguments:
    found.request = request
    found.json = found.output != "text"
    found.chosen_tools = (*found.tools,) if found.tools or found.no_tools else None
    return found


def wanted_output(argv: Sequence[str]) -> OutputFormat:
    """The format that a command line asks for, as far as that shows in one that can't be read."""
    words, _ = _parted(argv)
    found: OutputFormat = "text"
    for word, following in pairwise((*words, "")):
        option, sign, value = word.partition("=")
        value = value if sign else following
        if word == "--json":
            found = "json"
        elif option == "--output-format":
            found = _OUTPUT_FORMATS.get(value, found)
    return found


def _leading_options(argv: Sequence[str], program: str) -> tuple[list[str], list[str]]:
    """The options that `argv` begins with, their values too, and what follows them.

    Nothing counts as an option where one of them is unknown.

    Raises:
        SystemExit: code 2 with a message on stderr, where one lacks its value.
    """
    before, behind = _parted(argv)
    if not before or not before[0].startswith("-"):
        return [], [*argv]
    parser = request_options(program, add_help=False)
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    found, unknown = parser.parse_known_args(before)
    end = 0 if unknown else len(before) - len(found.rest)
    return before[:end], [*before[end:], *behind]


def _parted(argv: Sequence[str]) -> tuple[list[str], Sequence[str]]:
    """What stands before the first `--`, with `--prompt=TEXT` as one word, and the rest."""
    end = argv.index(END_OF_OPTIONS) if END_OF_OPTIONS in argv else len(argv)
    return with_graph_files([*_with_prompts_joined(argv[:end])]), argv[end:]


def _with_prompts_joined(words: Sequence[str]) -> Iterator[str]:
    """The words; a request behind `-p` may begin with a dash, unless it is an option of ours."""
    left = iter(words)
    for word in left:
        if word not in _PROMPT_OPTIONS:
            yield word
        elif (request := next(left, None)) is None or request in request_options("").option_names:
            yield from (each for each in (word, request) if each is not None)
        else:
            yield f"--prompt={request}"


def _dollars(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not 0 < amount < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount above 0, such as 0.05")
    return amount


def _tool_names(text: str) -> list[str]:
    if names := [name for part in text.split(",") if (name := part.strip())]:
        return names
    raise argparse.ArgumentTypeError("no tool is named; --no-tools offers none")


class _Parser(OptionsParser):
    """Tells how to say a request that looks like an option."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2; the hint stands under every message, for it names no option."""
        hint = f"a request that begins with a dash goes behind --: {self.prog} -- '-x is what?'"
        super().error(f"{message}\n{hint}; options: {self.prog} --help")

    def _get_option_tuples(
        self, option_string: str
    ) -> list[tuple[argparse.Action, str, str | None]]:
        """No value sticks to a short option: `-pi` is a slip, or a request."""
        return []


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
    parser.add_argument(
        "words", metavar="request", nargs="*", help="the request; - reads it from stdin"
    )
    add_request_options(parser)
    parser.add_argument("--version", action="version", version=f"cortex-r {version}")
    return parser


def add_request_options(parser: OptionsParser) -> None:
    """The options of a request."""
    program = parser.prog.partition(" ")[0]
    parser.take_signs()
    parser.add_argument(
        *_PROMPT_OPTIONS,
        metavar="TEXT",
        action="append",
        default=[],
        help="the request, as one value; it may begin with a dash, and a word of it is no command",
    )
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="a name from config/models.json, backend:MODEL such as ollama:qwen3, or names with\n"
        f"commas between, each standing in for the one before; see: {program} models",
    )
    parser.add_argument(
        "--max-cost", metavar="USD", type=_dollars, help="what the request may cost, in US dollars"
    )
    parser.add_argument(
        "--max-tokens",
        metavar="N",
        type=whole_number(1, TOKENS_MAX, "whole number above 0, such as 20000"),
        help="tokens that it may use, read and written",
    )
    add_source_options(parser)
    add_approve_option(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--session", metavar="ID", help="continue this session, or begin the one of a plain name"
    )
    which.add_argument(
        "--resume",
        metavar="ID",
        help="continue a session that is kept; a unique part of its id does",
    )
    which.add_argument(
        "--continue",
        action="store_true",
        dest="goes_on",
        help="continue the session that was used last",
    )
    parser.add_argument(
        "--no-memory", action="store_true", help="neither read nor keep anything of this session"
    )
    add_instructions_option(parser)
    add_graph_options(parser)
    add_loudness_options(parser, "show every stage and plan")
    parser.add_argument(
        "--output-format",
        choices=[*_OUTPUT_FORMATS],
        dest="output",
        default="text",
        help="what stdout gets: the answer, one JSON object a request (json), or besides one for\n"
        f"each event of the run, a line each (stream-json); see: {program} schema",
    )
    parser.add_argument(
        "--json",
        action="store_const",
        const="json",
        dest="output",
        help="the same as --output-format json",
    )
    parser.add_argument(
        "--json-schema",
        metavar="FILE",
        type=Path,
        help="the answer must be JSON that validates against this JSON Schema; the model is told,\n"
        "and may repair it once; else there is no answer",
    )
    parser.add_argument(
        "--max-steps",
        metavar="N",
        type=whole_number(1, STEPS_MAX),
        help=f"steps that the request may take (1 to {STEPS_MAX})",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        help="how long the request may take in all; then it ends without an answer",
    )
    which_tools = parser.add_mutually_exclusive_group()
    which_tools.add_argument(
        "--tools",
        metavar="NAME,...",
        action="extend",
        default=[],
        type=_tool_names,
        help="offer these tools only: server.tool, tool, or a server for all of its tools; may be\n"
        "given again",
    )
    which_tools.add_argument("--no-tools", action="store_true", help="offer no tool")
    parser.add_argument(
        "--seed",
        metavar="N",
        type=whole_number(0, SEED_MAX),
        help="have the model draw with this seed, where it takes one (see docs/models.md)",
    )
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


def find_command(argv: Sequence[str], program: str = "agent.py") -> list[str] | None:
    """The command line of a command, its word first and options behind its action; None: a request.

    Raises:
        UsageError: a command was meant, and mistyped.
        SystemExit: code 2 with a message on stderr, where an option before it lacks its value.
    """
    options, words = _leading_options(argv, program)
    is_given = any(option.startswith("--prompt=") for option in options)
    if not words or words[0] == END_OF_OPTIONS or is_given:
        return None
    if looks_like_option(words[0]):
        return _behind_its_option(words, program)
    if words[0] in COMMANDS:
        return _in_order(words[0], [*options, *words[1:]], program)
    if meant := _mistyped(words):
        lines = " or ".join(f"{program} {name}" for name in meant)
        raise UsageError(
            f"there is no command '{words[0]}'; did you mean: {lines}\n"
            f"a request that begins with this word goes behind --: {program} -- {' '.join(words)}"
        )
    return None


def is_lone_word(request: str) -> bool:
    """Whether a request may be a command that is not there: one word, as commands are named."""
    return _LONE_WORD.fullmatch(request) is not None


def _near_commands(word: str) -> list[str]:
    """The commands with an action of this name, else what is named nearly so."""
    actions = {action for several in ACTIONS.values() for action in several}
    if word not in actions and (near := near_names(word, COMMANDS, COMMANDS_NEAR, most=1)):
        return near
    near = near_names(word, sorted(actions), ACTIONS_NEAR, most=1)
    several = (
        f"{command} {name}" for command, of in ACTIONS.items() for name in near if name in of
    )
    return [*several][:NEAR_SHOWN]


def _mistyped(words: Sequence[str]) -> list[str]:
    """What a lone word means that is nearly a command's name, or one with a command's rest."""
    first, *rest = words
    if not is_lone_word(first):
        return []
    near = _near_commands(first.casefold())
    if not rest or looks_like_option(rest[0]):
        return near
    return [name for name in near if rest[0].casefold() in ACTIONS.get(name, ())]


def request_options(program: str, *, add_help: bool = True) -> OptionsParser:
    """A parser of a request's options alone."""
    parser = OptionsParser(prog=program, add_help=add_help, allow_abbrev=False)
    add_request_options(parser)
    return parser


def command_options(command: str, program: str) -> OptionsParser:
    """The parser of a command, its actions and options."""
    try:
        _parser_of(command)(PARSER_WANTED, program)
    except ParserBuilt as built:
        return built.parser
    raise RuntimeError(f"the parser of {command} reads words that mean none")


def parse_command(argv: Sequence[str], program: str = "agent.py") -> Options:
    """Parse `argv`, whose first word is one of `COMMANDS`.

    What is found has `run`, which does it, and the `command`.

    Raises:
        SystemExit: code 2 with a message on stderr, or 0 after `--help`.
    """
    command, *words = argv
    found = _parser_of(command)(words, program)
    found.command = command
    return found


def run_command(
    found: Options,
    places: Places,
    complaints: Complaints,
    environ: Mapping[str, str],
) -> ExitCode:
    """Do what was found in a command line.

    `environ` is what variables in the servers' configuration mean. `complaints` learns the
    secrets of that configuration.

    Raises:
        SettingsError, UserError: the user must change the command line or a file.
        WorldError: a server or the disk failed.
        StdoutLost: nobody reads the output.
    """
    run: Run = found.run
    try:
        around = Surroundings(found, places, complaints, environ)
        done = run(around)
        return done if isinstance(done, ExitCode) else around.run(done)
    except StdoutClosed:
        if found.command in _ACTING:
            raise
        return ExitCode.WORLD_FAILED  # `| head` has seen enough, and needs no message


def _parser_of(command: str) -> Parse:
    """What reads a command's words: each command is a module of its name."""
    parse: Parse = import_module(f"modules.cli.{command.replace('-', '_')}").parse
    return parse


def _behind_its_option(words: Sequence[str], program: str) -> list[str] | None:
    """The command line of a command before which an option of its own stands, as `--last trace`."""
    before, behind = _parted(words)
    option = before[0].partition("=")[0]
    if option in ("-h", "--help"):
        return None
    for at, name in enumerate(before):
        if name in COMMANDS and option in command_options(name, program).option_names:
            return _in_order(name, [*before[:at], *before[at + 1 :], *behind], program)
    return None


def _in_order(command: str, words: list[str], program: str) -> list[str]:
    """The command, its action, and what stands before either: a parser of actions wants it so."""
    actions = ACTIONS.get(command, ())
    options, rest = _leading_options(words, program)
    if not options and rest and looks_like_option(rest[0]):  # one of the action's own
        before, _ = _parted(rest)
        at = next((at for at, word in enumerate(before) if word in actions), 0)
        options, rest = rest[:at], rest[at:]
    if not options or not rest or rest[0] == END_OF_OPTIONS or not actions:
        return [command, *words]
    return [command, rest[0], *options, *rest[1:]]
