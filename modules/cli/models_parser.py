"""Command lines that begin with `models`, read into commands. Light: imports no engine."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, assert_never

from modules.cli.models_command import ListModels, ModelsCommand, PullModel
from modules.cli.parser_parts import CommandParser, parsers_of_actions, read_options

ModelsAction: TypeAlias = Literal["list", "pull"]

MODELS_HELP = """\
Models that can answer here, and which one does if --model does not say: those of
config/models.json, those that Ollama has installed, a llama.cpp server that runs, and GGUF files
under CORTEX_HOME/models. Without an action: list.

examples:
  agent.py models
  agent.py models pull qwen3:4b
  agent.py --model ollama:qwen3:4b "15% of 80\""""

MODELS_ACTION_HELP: dict[ModelsAction, tuple[str, str]] = {
    "list": (
        "every model, with what it costs and whether it could answer now",
        """\
NAME is what --model takes; * marks the model that answers where nothing is said. Prices are US
dollars for a million tokens, read and written. Whether keys are set is shown, never what they
are. With --json it is one object: answers (model, reason, notes), models (name, source, backend,
model, ready, state, answers, price, size_bytes, parameters, quantisation) and prices_as_of.

examples:
  agent.py models list
  agent.py models list --json | jq -r '.models[] | select(.ready).name'""",
    ),
    "pull": (
        "have Ollama download a model",
        """\
NAME is one of https://ollama.com/library, or one of config/models.json that Ollama answers.
Progress goes to stderr. Ctrl-C stops the download; the next pull goes on where it was.

examples:
  agent.py models pull qwen3:4b
  agent.py models pull qwen3:4b --json | jq .size_bytes""",
    ),
}
"""What an action does, as a summary and as the rest of its help."""

_HELP_OPTIONS = frozenset({"-h", "--help"})


def parse_models(argv: Sequence[str], program: str = "agent.py") -> ModelsCommand:
    """Parse `argv`, whose first word is `models`.

    Raises:
        SystemExit: code 2 with a message on stderr, or 0 after `--help`.
    """
    words = [*argv[1:]]
    if not words or (words[0].startswith("-") and words[0] not in _HELP_OPTIONS):
        words.insert(0, "list")
    whole, parsers = parsers_of_actions(
        f"{program} models", MODELS_HELP, MODELS_ACTION_HELP, {"pull": _add_name}
    )
    found, unknown = whole.parse_known_args(words)
    action: ModelsAction = found.action
    if unknown:
        parsers[action].refuse(unknown)
    options = read_options(found)
    match action:
        case "list":
            return ListModels(options)
        case "pull":
            return PullModel(options, found.name)
        case _:
            assert_never(action)


def _add_name(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the model, such as qwen3:4b")
