"""Command lines that begin with a command's word, read into commands. Light: imports no engine."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from config.servers import CALL_TIMEOUT_SECONDS
from modules.cli.arguments import EXIT_CODES_HELP, add_approve_option
from modules.cli.command import CallTool, Command, Diagnose, RunPlanFile, ShowPrompt
from modules.cli.help import ACTION_HELP, CALL_HELP, DOCTOR_HELP, PROMPT_HELP, RUN_PLAN_HELP
from modules.cli.parser_parts import (
    CommandParser,
    add_options,
    command_parser,
    read_options,
    seconds,
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """How a command is read: its parser takes the words behind its own, and the program's name."""

    parse: Callable[[Sequence[str], str], Command]
    actions: Collection[str] = ()


def parse_command(argv: Sequence[str], program: str = "agent.py") -> Command:
    """Parse `argv`, whose first word is one of `modules.cli.arguments.COMMANDS`.

    Raises:
        SystemExit: code 2 with a message on stderr, or 0 after `--help`.
    """
    return _entry(argv[0]).parse(argv, program)


def actions_of(command: str) -> Collection[str]:
    """The actions of one of `modules.cli.arguments.COMMANDS`; not every command has some."""
    return _entry(command).actions


def _entry(command: str) -> _Entry:
    match command:
        case "call":
            return _Entry(_parse_call)
        case "run-plan":
            return _Entry(_parse_run_plan)
        case "doctor":
            return _Entry(_parse_doctor)
        case "prompt":
            return _Entry(_parse_prompt)
        case "models":
            from modules.cli.models_parser import MODELS_ACTION_HELP, parse_models

            return _Entry(parse_models, MODELS_ACTION_HELP)
        case "docs":
            from modules.cli.docs_parser import DOCS_ACTION_HELP, parse_docs

            return _Entry(parse_docs, DOCS_ACTION_HELP)
        case "auth":
            from modules.cli.auth_parser import AUTH_ACTION_HELP, parse_auth

            return _Entry(parse_auth, AUTH_ACTION_HELP)
        case _:
            from modules.cli.mcp_parser import parse_mcp  # as long as all the others

            return _Entry(parse_mcp, ACTION_HELP)


def _parse_call(argv: Sequence[str], program: str) -> CallTool:
    parser = _parser("call", CALL_HELP, program)
    parser.add_argument("tool", metavar="TOOL", help="a tool's name, or server.tool")
    parser.add_argument(
        "pairs", metavar="key=value", nargs="*", default=[], help="arguments of the tool"
    )
    parser.add_argument(
        "--input", metavar="JSON", help="all arguments as one JSON object; - reads it from stdin"
    )
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help="write images, sounds and other data here"
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        help=f"how long the call may take (as configured, else {CALL_TIMEOUT_SECONDS:g})",
    )
    add_options(parser)
    found, unknown = parser.parse_known_intermixed_args(argv[1:])
    if unknown:
        parser.refuse(unknown)
    if found.input is not None and found.pairs:
        parser.error("arguments come from --input or as key=value pairs, not both")
    if (odd := next((pair for pair in found.pairs if "=" not in pair), None)) is not None:
        parser.error(f"'{odd}' is not of the form key=value")
    return CallTool(
        read_options(found),
        found.tool,
        tuple(found.pairs),
        found.input,
        found.output,
        found.timeout,
    )


def _parse_run_plan(argv: Sequence[str], program: str) -> RunPlanFile:
    parser = _parser("run-plan", RUN_PLAN_HELP, program)
    parser.add_argument("file", metavar="FILE", help="the plan, Python text; - reads it from stdin")
    parser.add_argument(
        "--tools",
        metavar="SERVER,...",
        type=_names,
        help="offer the tools of these servers only; '' offers none",
    )
    add_approve_option(parser)
    add_options(parser)
    found, unknown = parser.parse_known_args(argv[1:])
    if unknown:
        parser.refuse(unknown)
    approved: list[str] = found.approve
    return RunPlanFile(read_options(found), found.file, found.tools, tuple(approved))


def _parse_doctor(argv: Sequence[str], program: str) -> Diagnose:
    parser = _parser("doctor", DOCTOR_HELP, program)
    add_options(parser)
    found, unknown = parser.parse_known_args(argv[1:])
    if unknown:
        parser.refuse(unknown, "; doctor takes options only")
    return Diagnose(read_options(found))


def _parse_prompt(argv: Sequence[str], program: str) -> ShowPrompt:
    parser = _parser("prompt", PROMPT_HELP, program)
    parser.add_argument("request", metavar="REQUEST", nargs="+", help="as it would be typed")
    parser.add_argument(
        "--show", action="store_true", help="print the prompts, which is what is done anyway"
    )
    parser.add_argument("--model", metavar="NAME", help="the model that would be asked")
    add_options(parser)
    found, unknown = parser.parse_known_intermixed_args(argv[1:])
    if unknown:
        parser.refuse(unknown)
    return ShowPrompt(read_options(found), " ".join(found.request), found.model)


def _parser(command: str, description: str, program: str) -> CommandParser:
    told = description.replace("agent.py", program)
    return command_parser(f"{program} {command}", told, EXIT_CODES_HELP)


def _names(text: str) -> tuple[str, ...]:
    """The names between commas, each once; spaces around them are no part of a name."""
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))
