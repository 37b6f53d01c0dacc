"""`models list`: which models could answer, what they cost, and which one would."""

import sys
from collections.abc import Mapping, Sequence

from config.models_file import ModelsFile, Price, load_models
from config.schema import load_profile
from config.server_list import ServerList
from config.settings import Places
from core.base.text import size_text
from core.errors import ExitCode, UserError
from core.values import Json, JsonObject
from modules.cli.doctor_models import KEYRING_SECONDS
from modules.cli.models_command import ListModels
from modules.cli.models_rows import ModelRow, model_rows
from modules.cli.surroundings import Surroundings
from modules.models.choosing.choice import Choice, choose_models
from modules.terminal.printing import shortened, table
from modules.terminal.streams import Complaints
from modules.terminal.waits import Waits

NAME_CHARACTERS = 60
STATE_CHARACTERS = 70
"""How much of a name and of a state a row shows; --verbose and --json show all."""

MARK = "*"
_HEAD = ("", "NAME", "MODEL", "STATE", "PRICE")


def list_models(
    command: ListModels, places: Places, complaints: Complaints, environ: Mapping[str, str]
) -> ExitCode:
    """Print all models; what answers is marked, with the reason under the table.

    A choice in the profile that can't be used is told there too: the list shows what could be.

    Raises:
        SettingsError: the profile or models.json can't be used.
        StdoutLost: nobody reads the output.
    """
    options = command.options
    profile_file = options.profile or places.config_file("profiles.yaml")
    profile = load_profile(profile_file)
    models = load_models(places.config_file("models.json"))
    around = Surroundings(places, ServerList((), (), ()), sys.stdout, sys.stderr, complaints)
    verbose, quiet = options.verbose, options.quiet
    waits = Waits(sys.stderr, complaints.say, environ, verbose=verbose, quiet=quiet)
    choice: Choice | UserError
    with waits.during("models", "keys and services that may be there"):
        rows = model_rows(models, environ, places.home)
        try:
            wanted = profile.llm.text_generation
            choice = choose_models(
                None, wanted, models, environ, places.home, keyring_seconds=KEYRING_SECONDS
            )
        except UserError as error:
            choice = error
    if options.json:
        around.print_json(around.redactor.object(_document(rows, choice, models)))
    else:
        text = _text(rows, choice, models, is_verbose=options.verbose)
        around.print(around.redactor.text(text))
    return ExitCode.ANSWERED


def _answering(rows: Sequence[ModelRow], choice: Choice | UserError) -> ModelRow | None:
    """The row of the model that would answer; None if it is none of them, such as a script."""
    if isinstance(choice, UserError):
        return None
    name = choice.models[0].model.name
    return next((row for row in rows if row.backend_name == name), None)


def _text(
    rows: Sequence[ModelRow], choice: Choice | UserError, models: ModelsFile, *, is_verbose: bool
) -> str:
    answering = _answering(rows, choice)
    cells = [
        (
            MARK if row is answering else "",
            _cut(row.name, None if is_verbose else NAME_CHARACTERS),
            _cut(_model_text(row), None if is_verbose else NAME_CHARACTERS),
            _cut(row.state, None if is_verbose else STATE_CHARACTERS),
            _price_text(row.price),
        )
        for row in rows
    ]
    lines = [table([_HEAD, *cells]), ""]
    if isinstance(choice, UserError):
        lines.append(f"answers: none, as things are set: {choice}")
    else:
        lines += [f"answers: {choice.reason}", *choice.notes]
    day = f", as of {models.prices_as_of}" if models.prices_as_of is not None else ""
    lines.append(f"prices: US dollars for a million tokens, read and written{day}")
    return "\n".join(lines)


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


def _document(
    rows: Sequence[ModelRow], choice: Choice | UserError, models: ModelsFile
) -> JsonObject:
    answering = _answering(rows, choice)
    answers: JsonObject
    if isinstance(choice, UserError):
        answers = {"model": None, "reason": str(choice), "notes": []}
    else:
        notes: list[Json] = [*choice.notes]
        answers = {
            "model": choice.models[0].model.name,
            "reason": choice.reason,
            "notes": notes,
        }
    return {
        "answers": answers,
        "models": [_row_document(row, is_answering=row is answering) for row in rows],
        "prices_as_of": models.prices_as_of,
    }


def _row_document(row: ModelRow, *, is_answering: bool) -> JsonObject:
    price: JsonObject | None = None
    if row.price is not None:
        price = {
            "input": row.price.input,
            "output": row.price.output,
            "cached_input": row.price.cached_input,
        }
    return {
        "name": row.name,
        "source": row.source,
        "backend": row.backend,
        "model": row.model or None,
        "ready": row.is_ready,
        "state": row.state,
        "answers": is_answering,
        "price": price,
        "size_bytes": row.size_bytes,
        "parameters": row.parameters or None,
        "quantisation": row.quantisation or None,
    }
