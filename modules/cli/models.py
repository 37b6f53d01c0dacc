"""`models`: which models could answer, what they cost, and which one would; fetching one."""

from collections.abc import Sequence
from typing import Final

from config.models_file import Price
from core.base.text import size_text
from core.errors import ExitCode, UserError
from core.values import JsonObject
from modules.cli.doctor_models import KEYRING_SECONDS
from modules.cli.models_pull import pull_model
from modules.cli.models_rows import ModelRow, model_rows
from modules.cli.parser import Action, CommandParser, read_action
from modules.cli.surroundings import Options, Surroundings
from modules.models.choosing.choice import choose_models
from modules.models.credentials.keyring_store import KeyringStore
from modules.terminal.printing import shortened

NAME_CHARACTERS = 60
STATE_CHARACTERS = 70
"""How much of a name and of a state a row shows; --verbose and --json show all."""

MARK = "*"
_HEAD = ("", "NAME", "MODEL", "STATE", "PRICE")


_HELP: Final = """\
Models that can answer here, and which one does if --model does not say: those of
config/models.json, those that Ollama has installed, a llama.cpp server that runs, and GGUF files
under CORTEX_HOME/models. Without an action: list.

examples:
  agent.py models
  agent.py models pull qwen3:4b
  agent.py --model ollama:qwen3:4b "15% of 80\""""

_HELP_OPTIONS: Final = frozenset({"-h", "--help"})


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `models`, where no action means `list`; raises as `read_action`."""
    if not words or (words[0].startswith("-") and words[0] not in _HELP_OPTIONS):
        words = ["list", *words]
    return read_action(words, program, "models", _HELP, _ACTIONS)


def _add_name(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the model, such as qwen3:4b")


def list_models(around: Surroundings) -> ExitCode:
    """Print all models; what answers is marked, with the reason under the table.

    A choice in the profile that can't be used is told there too: the list shows what could be.

    Raises:
        SettingsError: the profile or models.json can't be used.
    """
    options, environ, home = around.options, around.environ, around.places.home
    wanted, models = around.profile.llm.text_generation, around.models
    name: str | None = None
    notes: tuple[str, ...] = ()
    with around.waits().during("models", "keys and services that may be there"):
        rows = model_rows(models, environ, home)
        try:
            keyring = KeyringStore(home, timeout_seconds=KEYRING_SECONDS)
            choice = choose_models(None, wanted, models, environ, home, keyring)
            name, reason, notes = choice.models[0].model.name, choice.reason, tuple(choice.notes)
        except UserError as error:
            reason = str(error)
    # It may be none of the rows: a script is not listed.
    answering = next((row for row in rows if row.backend_name == name), None)
    if options.json:
        answers: JsonObject = {"model": name, "reason": reason, "notes": [*notes]}
        document: JsonObject = {
            "answers": answers,
            "models": [_row_document(row, is_answering=row is answering) for row in rows],
            "prices_as_of": models.prices_as_of,
        }
        around.print_json(around.redactor.object(document))
        return ExitCode.ANSWERED
    cells = (_cells(row, row is answering, is_verbose=options.verbose) for row in rows)
    none = "" if name is not None else "none, as things are set: "
    day = f", as of {models.prices_as_of}" if models.prices_as_of is not None else ""
    prices = f"prices: US dollars for a million tokens, read and written{day}"
    around.print_table([_HEAD, *cells], ["", f"answers: {none}{reason}", *notes, prices])
    return ExitCode.ANSWERED


def _cells(row: ModelRow, is_answering: bool, *, is_verbose: bool) -> Sequence[str]:
    return (
        MARK if is_answering else "",
        _cut(row.name, None if is_verbose else NAME_CHARACTERS),
        _cut(_model_text(row), None if is_verbose else NAME_CHARACTERS),
        _cut(row.state, None if is_verbose else STATE_CHARACTERS),
        _price_text(row.price),
    )


def _cut(text: str, characters: int | None) -> str:
    """The text on one line, whole or as much as a row shows."""
    return " ".join(text.split()) if characters is None else shortened(text, characters)


def _model_text(row: ModelRow) -> str:
    """The model's own name, or of an installed one, whose name stands before it, its size."""
    if row.size_bytes is None:
        return row.model or "-"
    parts = [part for part in (row.parameters, row.quantisation) if part]
    if row.size_bytes:
        parts.append(size_text(row.size_bytes))
    return " ".join(parts) or "-"


def _price_text(price: Price | None) -> str:
    if price is None:
        return "not known"
    if price.input == 0 and price.output == 0:
        return "free"
    return f"{price.input:.2f} / {price.output:.2f}"


def _row_document(row: ModelRow, *, is_answering: bool) -> JsonObject:
    return {
        "name": row.name,
        "source": row.source,
        "backend": row.backend,
        "model": row.model or None,
        "ready": row.is_ready,
        "state": row.state,
        "answers": is_answering,
        "price": row.price.model_dump() if row.price is not None else None,
        "size_bytes": row.size_bytes,
        "parameters": row.parameters or None,
        "quantisation": row.quantisation or None,
    }


_ACTIONS: Final = {
    "list": Action(
        "every model, with what it costs and whether it could answer now",
        """\
NAME is what --model takes; * marks the model that answers where nothing is said. Prices are US
dollars for a million tokens, read and written. Whether keys are set is shown, never what they
are. With --json it is one object: answers (model, reason, notes), models (name, source, backend,
model, ready, state, answers, price, size_bytes, parameters, quantisation) and prices_as_of.

examples:
  agent.py models list
  agent.py models list --json | jq -r '.models[] | select(.ready).name'""",
        list_models,
    ),
    "pull": Action(
        "have Ollama download a model",
        """\
NAME is one of https://ollama.com/library, or one of config/models.json that Ollama answers.
Progress goes to stderr. Ctrl-C stops the download; the next pull goes on where it was.

examples:
  agent.py models pull qwen3:4b
  agent.py models pull qwen3:4b --json | jq .size_bytes""",
        pull_model,
        _add_name,
    ),
}
