"""Command lines that begin with `auth`, read into commands. Light: imports no engine."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, assert_never

from modules.cli.auth_command import AuthCommand, ListKeys, RemoveKey, SetKey
from modules.cli.parser_parts import AddArguments, CommandParser, parsers_of_actions, read_options

AuthAction: TypeAlias = Literal["set", "list", "remove"]

AUTH_HELP = """\
Keys of models' services, kept in the system's own keyring: macOS Keychain, Secret Service,
KWallet. A variable of the environment, such as GEMINI_API_KEY, counts before the keyring, and
works where there is none. No file of Cortex-R ever holds a key.

NAME is a name from config/models.json, a service (gemini, anthropic, openai), or the variable
that would hold the key.

examples:
  agent.py auth set gemini
  agent.py auth list
  agent.py auth remove gemini"""

AUTH_ACTION_HELP: dict[AuthAction, tuple[str, str]] = {
    "set": (
        "keep a key in the system's keyring",
        """\
Asks for the key without showing it; where stdin is no terminal, it is the key. An argument it
can't be: it would stay in the shell's history, and every process could read it.

examples:
  agent.py auth set gemini
  pass show openai | agent.py auth set openai""",
    ),
    "list": (
        "which keys are there, and where; never what they are",
        """\
examples:
  agent.py auth list
  agent.py auth list --json | jq '.[] | select(.keyring).variable'""",
    ),
    "remove": (
        "take a key out of the keyring",
        """\
examples:
  agent.py auth remove gemini""",
    ),
}
"""What an action does, as a summary and as the rest of its help."""


def parse_auth(argv: Sequence[str], program: str = "agent.py") -> AuthCommand:
    """Parse `argv`, whose first word is `auth`.

    Raises:
        SystemExit: code 2 with a message on stderr, or 0 after `--help`.
    """
    arguments: dict[AuthAction, AddArguments] = {"set": _add_name, "remove": _add_name}
    whole, parsers = parsers_of_actions(f"{program} auth", AUTH_HELP, AUTH_ACTION_HELP, arguments)
    found, unknown = whole.parse_known_args(argv[1:])
    action: AuthAction = found.action
    if unknown:
        # Not repeated: one of the words may be a key.
        told = "takes no more words"
        if action == "set":
            told = "takes a name alone: the key is asked for, or read from stdin"
        parsers[action].error(f"auth {action} {told}")
    options = read_options(found)
    match action:
        case "set":
            return SetKey(options, found.name)
        case "list":
            return ListKeys(options)
        case "remove":
            return RemoveKey(options, found.name)
        case _:
            assert_never(action)


def _add_name(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a model's name, a service, or a variable")
