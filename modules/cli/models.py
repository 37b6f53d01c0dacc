"""`models`: every model that could answer here, what it costs, and which one would; one's own."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, TypeAlias, assert_never, cast, get_args

from config.checking import check
from config.mcp_file import store
from config.models_file import MODELS_FILE, ModelEntry, ModelsFile, Price, ThinkingEffort
from config.settings import SettingsError, read_text
from config.texts import document_in, load_json
from core.base.frozen import frozen
from core.base.ollama import HOST_VARIABLE, full_name, ollama_address
from core.base.text import size_text
from core.errors import ExitCode, UsageError, UserError
from core.values import JsonObject
from modules.cli.auth import is_set
from modules.cli.doctor_configuration import KEYRING_SECONDS
from modules.cli.models_pull import pull_model
from modules.cli.parser import Action, CommandParser, read_action
from modules.cli.surroundings import Options, Surroundings
from modules.models.choosing.building import INSTALL_LOCAL, price_of
from modules.models.choosing.choice import choose_models
from modules.models.choosing.discovery import (
    LlamaServer,
    OllamaFound,
    can_run_local,
    find_llama_server,
    local_file,
    local_models,
    look_for_ollama,
)
from modules.models.choosing.names import BACKENDS
from modules.models.credentials import (
    ADDRESS_VARIABLES,
    GOOGLE_KEY,
    USUAL_VARIABLES,
    KeyringStore,
    key_variable,
)
from modules.models.hosted.model import context_tokens_of
from modules.models.ollama.facts import InstalledModel, chat_models
from modules.models.serving.budget import FREE
from modules.terminal.streams import shortened

NAME_CHARACTERS = 60
STATE_CHARACTERS = 70
"""How much of a name and of a state a row shows; --verbose and --json show all."""

_OWN_NAME: Final = re.compile(r"[\w.@+-]{1,100}", re.ASCII)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")

MARK = "*"
_HEAD = ("", "NAME", "MODEL", "STATE", "CONTEXT", "PRICE")


_HELP: Final = """\
Models that can answer here, and which one does if --model does not say: those that ship, those of
your own config/models.json, those that Ollama has installed, a llama.cpp server that runs, and GGUF
files under CORTEX_HOME/models. Without an action: list.

examples:
  agent.py models
  agent.py models pull qwen3:4b
  agent.py models add mine openai:qwen3-32b --base-url http://127.0.0.1:8000/v1
  agent.py --model ollama:qwen3:4b "15% of 80\""""


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `models`; raises as `read_action`."""
    return read_action(words, program, "models", _HELP, _ACTIONS, usual="list")


def _add_name(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the model, such as qwen3:4b")


Source: TypeAlias = Literal["models.json", "ollama", "llama.cpp", "file"]
"""Where a model comes from: the configuration, a server that was found, or a folder."""


@frozen
class ModelRow:
    """One model; `name` is what --model takes, `model` the backend's own name, where it is known.

    `state` says why it is ready or not; of prices and contexts (in tokens), None means that nobody
    knows.
    """

    name: str
    source: Source
    backend: str
    model: str
    state: str
    is_ready: bool
    price: Price | None
    size_bytes: int | None = None
    parameters: str = ""
    quantisation: str = ""
    context_tokens: int | None = None

    @property
    def backend_name(self) -> str:
        """What the backend calls itself, as in `TextModel.name`."""
        return f"{self.backend}:{self.model}" if self.backend != "offline" else self.backend


def model_rows(models: ModelsFile, environ: Mapping[str, str], home: Path) -> tuple[ModelRow, ...]:
    """The entries of models.json, then what Ollama has, a llama.cpp server, and files."""
    here = _Here(models, environ, home, _kept(home), look_for_ollama(environ))
    return (
        *(here.entry(name, entry) for name, entry in models.models.items()),
        *_installed_rows(here.ollama.models if here.ollama is not None else ()),
        *_server_rows(find_llama_server(environ)),
        *_file_rows(local_models(environ, home)),
    )


@frozen
class _Here:
    """What was found on this machine; `kept` are the variables whose keys are in the keyring."""

    models: ModelsFile
    environ: Mapping[str, str]
    home: Path
    kept: Sequence[str]
    ollama: OllamaFound | None

    def entry(self, name: str, entry: ModelEntry) -> ModelRow:
        """The row of an entry of models.json."""
        model = entry.model or ""
        match entry.type:
            case "gemini" | "anthropic" | "openai":
                state, is_ready = self._service(entry)
            case "ollama":
                state, is_ready = self._ollama(entry)
            case "local":
                state, is_ready = self._local(entry)
            case "offline":
                state, is_ready = "always there; plans arithmetic, texts and tool calls only", True
            case _:
                assert_never(entry.type)
        price = price_of(entry, self.models)
        context = context_tokens_of(entry)
        row = ModelRow(name, "models.json", entry.type, model, state, is_ready, price)
        return replace(row, context_tokens=context)

    def _service(self, entry: ModelEntry) -> tuple[str, bool]:
        variable, address = key_variable(entry), ADDRESS_VARIABLES[entry.type]
        is_placed = entry.base_url is None and is_set(address, self.environ)
        is_open = entry.type == "openai" and (entry.base_url is not None or is_placed)
        state, is_ready = self._key(variable, is_open=is_open)
        return f"{state}, {address} says where" if is_placed else state, is_ready

    def _key(self, variable: str | None, *, is_open: bool) -> tuple[str, bool]:
        """Whether the key is there that it reads; `is_open`: it may want none."""
        if variable is None:
            return ("wants no key", True) if is_open else ("needs an api_key_env", False)
        if is_set(variable, self.environ):
            return f"{variable} is set", True
        if variable in self.kept:
            return f"{variable} is in the keyring", True
        if variable == USUAL_VARIABLES["gemini"] and is_set(GOOGLE_KEY, self.environ):
            return f"{GOOGLE_KEY} is set", True
        return f"{variable} is not set", is_open

    def _ollama(self, entry: ModelEntry) -> tuple[str, bool]:
        environ, found = self.environ, self.ollama
        if entry.base_url is not None:
            environ = {HOST_VARIABLE: entry.base_url}
            found = look_for_ollama(environ)
        place = ollama_address(environ).partition("://")[2]
        if found is None:
            return f"no Ollama answers at {place}", False
        if entry.model is None:
            first = next(iter(chat_models(found.models)), None)
            return (f"means {first.name}", True) if first else ("Ollama has no model yet", False)
        if full_name(entry.model) in {model.name for model in found.models}:
            return f"installed at {place}", True
        return f"not installed; agent.py models pull {entry.model}", False

    def _local(self, entry: ModelEntry) -> tuple[str, bool]:
        named = entry.path or entry.model
        if named is None:
            return "means the installed file", bool(local_models(self.environ, self.home))
        if local_file(named, self.home) is None:
            return f"there is no file {named}", False
        return _runnable()


def _kept(home: Path) -> tuple[str, ...]:
    try:
        return KeyringStore(home).names()
    except UserError:  # `auth list` and `doctor` tell what is wrong with the list
        return ()


def _installed_rows(installed: Sequence[InstalledModel]) -> Iterator[ModelRow]:
    for model in installed:
        state = "in memory" if model.is_loaded else "installed"
        if model.is_remote:
            state = "runs in Ollama's cloud: what is asked leaves the machine"
        if not model.chats:
            state = "makes embeddings, and answers nothing"
        yield ModelRow(
            f"ollama:{model.name}",
            "ollama",
            "ollama",
            model.name,
            state,
            model.chats,
            None if model.is_remote else FREE,
            model.size_bytes,
            model.parameters,
            model.quantisation,
        )


def _server_rows(server: LlamaServer | None) -> Iterator[ModelRow]:
    if server is not None:
        state = f"runs at {server.base_url.removesuffix('/v1')}"
        row = ModelRow("local", "llama.cpp", "openai", server.model, state, True, FREE)
        yield replace(row, context_tokens=server.context_tokens)


def _file_rows(files: Sequence[Path]) -> Iterator[ModelRow]:
    for file in files:
        try:
            size = file.stat().st_size
        except OSError:
            continue
        state, is_ready = _runnable()
        name = f"local:{file.stem}"
        yield ModelRow(name, "file", "local", file.stem, state, is_ready, FREE, size)


def _runnable() -> tuple[str, bool]:
    if can_run_local():
        return "installed", True
    return f"nothing here can run it: {INSTALL_LOCAL}", False


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
    document: JsonObject = {
        "answers": {"model": name, "reason": reason, "notes": [*notes]},
        "models": [_row_document(row, is_answering=row is answering) for row in rows],
        "prices_as_of": models.prices_as_of,
    }
    none = "" if name is not None else "none, as things are set: "
    table = model_table(rows, answering, is_verbose=options.verbose)
    below = ["", f"answers: {none}{reason}", *notes, prices_told(models)]
    return around.report_rows(around.redactor.object(document), table, below)


def model_table(
    rows: Sequence[ModelRow], answering: ModelRow | None, *, is_verbose: bool = False
) -> list[Sequence[str]]:
    """The models as rows of cells under their heads, the one that answers marked."""
    return [_HEAD, *(_cells(row, row is answering, is_verbose=is_verbose) for row in rows)]


def prices_told(models: ModelsFile) -> str:
    """What the prices of a table mean."""
    day = f", as of {models.prices_as_of}" if models.prices_as_of is not None else ""
    return f"prices: US dollars for a million tokens, read and written{day}"


def _cells(row: ModelRow, is_answering: bool, *, is_verbose: bool) -> Sequence[str]:
    return (
        MARK if is_answering else "",
        _cut(row.name, None if is_verbose else NAME_CHARACTERS),
        _cut(_model_text(row), None if is_verbose else NAME_CHARACTERS),
        _cut(row.state, None if is_verbose else STATE_CHARACTERS),
        "-" if row.context_tokens is None else f"{row.context_tokens:,}",
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
        "context_tokens": row.context_tokens,
    }


def _add_model_arguments(parser: CommandParser) -> None:
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


def _add_own_name(parser: CommandParser) -> None:
    """What `models remove` takes."""
    parser.add_argument("name", metavar="NAME", help="an entry of your own models.json")


def add_model(around: Surroundings) -> ExitCode:
    """Write an entry, and say where it stands and how to ask it.

    Raises:
        UsageError: the name or the variable can't be one, or the user has such an entry already.
        SettingsError: the entry has a mistake, or the file can't be changed.
    """
    options, file = around.options, _own_models_file(around)
    name: str = options.name
    if _OWN_NAME.fullmatch(name) is None:
        raise UsageError("NAME takes letters, digits and . _ - @ +")
    document, text = _read_own(file)
    models = _models_in(document)
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
    file, name = _own_models_file(around), cast("str", around.options.name)
    document, text = _read_own(file)
    models = _models_in(document)
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


def _own_models_file(around: Surroundings) -> Path:
    return around.places.home / "config" / MODELS_FILE


def _read_own(file: Path) -> tuple[JsonObject, str]:
    """The user's document and its text; an empty one where there is no file yet."""
    if not file.exists():
        return {}, ""
    text = read_text(file)
    document = document_in(file, text, load_json)
    if not isinstance(document, dict):
        raise SettingsError(f"{file}: expected an object with a key 'models'")
    return cast("JsonObject", document), text


def _models_in(document: JsonObject) -> JsonObject:
    models = document.get("models")
    return models if isinstance(models, dict) else {}


_ACTIONS: Final = {
    "list": Action(
        "every model, with what it costs and whether it could answer now",
        """\
NAME is what --model takes; * marks the model that answers where nothing is said. Prices are US
dollars for a million tokens, read and written. Whether keys are set is shown, never what they
are. With --json it is one object: answers (model, reason, notes), models (name, source, backend,
model, ready, state, answers, price, size_bytes, parameters, quantisation, context_tokens) and
prices_as_of.

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
    "add": Action(
        "add a model of your own to those that ship",
        """\
TYPE is the protocol that the service speaks: openai for whatever has OpenAI's form (vLLM, LM
Studio, OpenRouter, a llama.cpp server) with its --base-url, ollama, gemini, anthropic, or local
with the path of a GGUF file. The entry goes to config/models.json under CORTEX_HOME. Its entries
add to those that ship; one of the same name stands in the place of ours. More keys (price,
max_output_tokens, timeout_seconds, images) can be written there by hand.

examples:
  agent.py models add mine openai:qwen3-32b --base-url http://127.0.0.1:8000/v1
  agent.py models add work gemini:gemini-3.8-pro --api-key-env WORK_GEMINI_KEY
  agent.py models add small ollama:phi4""",
        add_model,
        _add_model_arguments,
    ),
    "remove": Action(
        "take a model of your own out again",
        """\
Only entries of config/models.json under CORTEX_HOME can be taken out.

examples:
  agent.py models remove mine""",
        remove_model,
        _add_own_name,
    ),
}
