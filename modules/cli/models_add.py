"""`models add` and `models remove`: the entries of the user's own models.json."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast, get_args

from config.checking import check
from config.mcp_file import store
from config.models_file import MODELS_FILE, ModelsFile, ThinkingEffort
from config.settings import SettingsError, read_text
from config.texts import TextProblem, load_json
from core.errors import ExitCode, UsageError
from core.values import JsonObject
from modules.cli.parser import CommandParser
from modules.cli.surroundings import Surroundings
from modules.models.choosing.names import BACKENDS

_NAME: Final = re.compile(r"[\w.@+-]{1,100}", re.ASCII)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


def add_arguments(parser: CommandParser) -> None:
    """What `models add` takes."""
    parser.add_argument("name", metavar="NAME", help="what --model will take")
    parser.add_argument(
        "model",
        metavar="TYPE[:MODEL]",
        help="the protocol, one of "
        + ", ".join(BACKENDS)
        + ", and the service's name of the model",
    )
    parser.add_argument(
        "--base-url", metavar="URL", help="its address, such as http://host:8000/v1"
    )
    parser.add_argument(
        "--api-key-env", metavar="VARIABLE", help="the variable that holds its key, not the key"
    )
    parser.add_argument(
        "--context-tokens", metavar="N", type=int, help="how long prompt and reply may be together"
    )
    parser.add_argument(
        "--thinking", choices=get_args(ThinkingEffort), help="how long it may think"
    )


def name_argument(parser: CommandParser) -> None:
    """What `models remove` takes."""
    parser.add_argument("name", metavar="NAME", help="an entry of your own models.json")


def add_model(around: Surroundings) -> ExitCode:
    """Write an entry, and say where it stands and how to ask it.

    Raises:
        UsageError: the name or the variable can't be one, or the user has such an entry already.
        SettingsError: the entry has a mistake, or the file can't be changed.
    """
    options, file = around.options, _own_file(around)
    name: str = options.name
    if _NAME.fullmatch(name) is None:
        raise UsageError("NAME takes letters, digits and . _ - @ +")
    document, text = _read(file)
    models = _models(document)
    if name in models:
        raise UsageError(
            f"{file} has an entry {name!r} already; take it out with: agent.py models remove {name}"
        )
    entry = _entry(options.model, options.api_key_env, vars(options))
    is_replaced = name in around.models.models
    changed: JsonObject = {**document, "models": {**models, name: entry}}
    check(changed, ModelsFile, file, text)
    store(file, changed, text)
    if is_replaced:
        around.remark("models", f"{name} stands in the place of the one that ships")
    tip = "" if options.quiet else f'; ask it: agent.py --model {name} "a request"'
    told: JsonObject = {"name": name, "entry": entry, "file": str(file)}
    return around.report(told, f"added {name} to {file}{tip}")


def remove_model(around: Surroundings) -> ExitCode:
    """Take an entry out of the user's own file.

    Raises:
        UsageError: it has none of that name.
        SettingsError: the file can't be changed.
    """
    file, name = _own_file(around), cast("str", around.options.name)
    document, text = _read(file)
    models = _models(document)
    if name not in models:
        there = ", ".join(sorted(models)) or "none"
        raise UsageError(f"{file} has no entry {name[:100]!r}; it has {there}")
    rest: JsonObject = {key: entry for key, entry in models.items() if key != name}
    store(file, {**document, "models": rest}, text)
    return around.report({"name": name, "file": str(file)}, f"removed {name} from {file}")


def _entry(model: str, variable: str | None, options: Mapping[str, object]) -> JsonObject:
    """The entry that the options make; what they leave out is left out."""
    if variable is not None and _VARIABLE.fullmatch(variable) is None:
        raise UsageError(
            "--api-key-env takes the name of a variable, such as MY_API_KEY: the key itself "
            "belongs into that variable, or into the keyring (agent.py auth set)"
        )
    kind, _, named = model.partition(":")
    entry: JsonObject = {"type": kind}
    if named:
        entry["path" if kind == "local" else "model"] = named
    for key in ("base_url", "api_key_env", "context_tokens", "thinking"):
        if isinstance(value := options[key], str | int):
            entry[key] = value
    return entry


def _own_file(around: Surroundings) -> Path:
    return around.places.home / "config" / MODELS_FILE


def _read(file: Path) -> tuple[JsonObject, str]:
    """The user's document and its text; an empty one where there is no file yet."""
    if not file.exists():
        return {}, ""
    text = read_text(file)
    try:
        document = load_json(text)
    except TextProblem as problem:
        raise SettingsError.at(file, problem.line, f"not valid JSON: {problem}") from problem
    if not isinstance(document, dict):
        raise SettingsError(f"{file}: expected an object with a key 'models'")
    return cast("JsonObject", document), text


def _models(document: JsonObject) -> JsonObject:
    models = document.get("models")
    return models if isinstance(models, dict) else {}
