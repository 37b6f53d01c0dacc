"""`config`: what is configured and where it comes from, checked, and changed a value at a time."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias, cast

from config.checking import line_of
from config.dotenv import ENV_FILE
from config.schema import AgentProfile, profile_of
from config.settings import HOME_VARIABLE, Places, SettingsError, read_text
from config.texts import TextProblem, compose_yaml, load_yaml
from config.yaml_edit import Raw, value_at, with_value
from core.base.text import did_you_mean, near_names, one_line
from core.errors import ExitCode, UsageError
from core.values import Json, JsonObject
from modules.cli.config_init import add_init_options, initialise, own_profile, write_profile
from modules.cli.parser import Action, CommandParser, read_action
from modules.cli.surroundings import Options, Surroundings

_HELP: Final = """\
The profile and the files beside it: what counts and where it comes from, whether it is right, and
one value of it read or set. A profile of your own lies in config/profiles.yaml under CORTEX_HOME;
`set` and `init` write that one, or the one that --profile names.

KEY is a path with dots, such as strategy.max_steps; an element of mcp_servers goes by its id or
number. docs/settings.md has every key.

examples:
  agent.py config show
  agent.py config path
  agent.py config check && agent.py "add 5 and 7"
  agent.py config get llm.text_generation
  agent.py config set llm.max_cost 0.10
  agent.py config init --yes"""

_SHOW: Final = """\
Secrets are masked. With --json each is an object: key, value and from.

examples:
  agent.py config show
  agent.py config show --json | jq '.[] | select(.from != "default")'"""

_PATH: Final = """\
examples:
  agent.py config path"""

_CHECK: Final = """\
Exits with 2 at the first mistake, which is told with file, line and what is allowed.

examples:
  agent.py config check
  agent.py config check --profile mine.yaml"""

_GET: Final = """\
examples:
  agent.py config get strategy.max_steps
  agent.py config get mcp_servers.math.description"""

_SET: Final = """\
The value is checked first. Before the first change the file is kept beside it, as
profiles.yaml.before. Where there is no profile of yours, the one that ships is copied.

examples:
  agent.py config set strategy.max_steps 5
  agent.py config set documents.folders "[documents, ~/papers]\""""

_INIT: Final = """\
Looks for a model, proposes a folder of documents, and offers the servers that other programs have
(Claude Desktop, Claude Code, Cursor, VS Code, Codex). It asks at a terminal; elsewhere it says what
it would do, and does it with --yes. Servers are read from files below your home directory.

examples:
  agent.py config init
  agent.py config init --yes --documents ~/papers"""

_VALUE_CHARACTERS: Final = 60
"""How much of a value the table shows; `get` and --json have all of it."""

_Path: TypeAlias = tuple[str | int, ...]


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `config`; raises as `read_action`."""
    return read_action(words, program, "config", _HELP, _ACTIONS)


def show(around: Surroundings) -> ExitCode:
    """Print every value that counts, and where it stands; secrets are masked.

    Raises:
        SettingsError: the profile or a file of servers can't be used.
    """
    file, redactor = around.profile_file, around.redactor
    around.tell_notes(to_users=True)  # reads the servers, whose secrets are learnt
    text = read_text(file)
    raw, nodes = cast("Raw", load_yaml(text)), compose_yaml(text)
    rows: list[JsonObject] = []
    for path, value in _leaves(_document(around.profile), ()):
        is_set = _stands(raw, path)
        line = line_of(nodes, path) if is_set else None
        where = f"{file}:{line}" if is_set else "default"
        rows.append({"key": _dotted(path), "value": redactor.json(value), "from": where})
    if not around.options.json:
        around.remark("config", f"the profile is {file}")
    cells = [
        (
            str(row["key"]),
            one_line(_words(row["value"]), _VALUE_CHARACTERS),
            Path(str(row["from"])).name,
        )
        for row in rows
    ]
    return around.report_rows(cast("Json", rows), [("KEY", "VALUE", "FROM"), *cells])


def show_path(around: Surroundings) -> ExitCode:
    """Print which files are read, in which order, and whether they are there."""
    rows = [(what, str(file), state) for what, file, state in _files(around.places, around.options)]
    documents: list[Json] = [{"what": w, "file": f, "state": s} for w, f, s in rows]
    around.report_rows(documents, [("WHAT", "FILE", "STATE"), *rows])
    if not around.options.json:
        chosen = HOME_VARIABLE if around.environ.get(HOME_VARIABLE) else "the default"
        around.remark("config", f"state lies in {around.places.home}, by {chosen}")
    return ExitCode.ANSWERED


def check(around: Surroundings) -> ExitCode:
    """Read all files as a run would.

    Raises:
        SettingsError: one can't be used; the message names line, key and what is allowed.
        UsageError: the entry of a server can't be used.
    """
    _, _, servers = around.profile, around.models, around.servers
    for spec in servers.everyone:
        if spec.problem is not None:
            raise UsageError(spec.problem)
    around.tell_notes()
    read = [str(f) for _, f, state in _files(around.places, around.options) if state == "read"]
    return around.report({"ok": True, "files": [*read]}, f"right: {', '.join(read)}")


def get_value(around: Surroundings) -> ExitCode:
    """Print the value that counts; a text as it is, all else as JSON.

    Raises:
        SettingsError: the profile can't be used.
        UsageError: there is no such key.
    """
    around.tell_notes(to_users=True)  # reads the servers, whose secrets are learnt
    value = around.redactor.json(_found(around.profile, around.options.key))
    return around.report({"key": around.options.key, "value": value}, _words(value))


def set_value(around: Surroundings) -> ExitCode:
    """Write one value into the profile, once it is known to be right there.

    Raises:
        SettingsError: the profile can't be used, with this value or before.
        UsageError: the place of the value has to be edited by hand.
        StorageError: the file can't be written.
    """
    options = around.options
    file = options.profile or own_profile(around.places)
    text = read_text(file if file.exists() else around.profile_file)
    keys = options.key.split(".")
    changed = _changed(text, keys, options.value, file)
    write_profile(file, changed)
    value = _found(profile_of(changed, file), options.key)
    told = f"{options.key} is {_words(value)} in {file}"
    return around.report({"key": options.key, "value": value, "file": str(file)}, told)


def _changed(text: str, keys: Sequence[str], given: str, file: Path) -> str:
    """The profile with the value: as YAML reads it, else as the text that was typed.

    Raises:
        SettingsError, UsageError: see `set_value`.
    """
    try:
        values = [cast("Raw", load_yaml(given)), given]
    except TextProblem:
        values = [given]
    first: SettingsError | None = None
    for value in values:
        try:
            changed = with_value(text, keys, value)
            profile_of(changed, file)
        except TextProblem as problem:
            raise UsageError(f"{file}:{problem.line}: {problem}") from problem
        except SettingsError as error:
            first = first or error
        else:
            return changed
    raise UsageError(f"{'.'.join(keys)} is not changed: {first}")


def _found(profile: AgentProfile, key: str) -> Json:
    document = _document(profile)
    try:
        return cast("Json", value_at(cast("Raw", document), key.split(".")))
    except KeyError:
        known = {_dotted(path): None for path, _ in _leaves(document, ())}
        sections = {name.rpartition(".")[0]: None for name in known if "." in name}
        meant = did_you_mean(near_names(key, (*known, *sections)), "`config show` lists them")
        raise UsageError(f"there is no key '{key}'; {meant}") from None


def _document(profile: AgentProfile) -> JsonObject:
    return cast("JsonObject", profile.model_dump(mode="json"))


def _leaves(value: Json, path: _Path) -> Iterator[tuple[_Path, Json]]:
    """Each value that is no section; elements of lists of sections, one by one."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(each, (*path, key))
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        for number, each in enumerate(value):
            yield from _leaves(each, (*path, number))
    else:
        yield path, value


def _stands(raw: Raw, path: _Path) -> bool:
    with suppress(KeyError):
        value_at(raw, [*map(str, path)])
        return True
    return False


def _dotted(path: _Path) -> str:
    return ".".join(map(str, path))


def _words(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _files(places: Places, options: Options) -> Iterator[tuple[str, Path, str]]:
    """What each file is, where it lies, and whether it counts."""
    for what, name in (("profile", "profiles.yaml"), ("models", "models.json")):
        used = places.config_file(name)
        if what == "profile" and options.profile is not None:
            used = options.profile
            yield what, used, _state(used)
        for folder in dict.fromkeys((places.home, places.root)):
            file = folder / "config" / name
            # A profile stands in the place of the one that ships; models add to those that ship.
            is_passed_over = what == "profile" and file.is_file() and file != used
            yield what, file, "passed over" if is_passed_over else _state(file)
    for file in (places.mcp_file, *options.mcp_config):
        yield "servers", file, _state(file)
    yield "variables", (file := places.home / ENV_FILE), _state(file)


def _state(file: Path) -> str:
    return "read" if file.is_file() else "not there"


def _add_key(parser: CommandParser) -> None:
    parser.add_argument("key", metavar="KEY", help="a path with dots, such as llm.max_cost")


def _add_key_and_value(parser: CommandParser) -> None:
    _add_key(parser)
    parser.take_signs()
    parser.add_argument("value", metavar="VALUE", help="as YAML writes it: 5, true, [a, b], text")


_ACTIONS: Final = {
    "show": Action("print every setting that counts, and where it stands", _SHOW, show),
    "path": Action("print which files are read, and which are there", _PATH, show_path),
    "check": Action("read all files, and say what is wrong", _CHECK, check),
    "get": Action("print one value", _GET, get_value, _add_key),
    "set": Action(
        "set one value in your profile; comments stay",
        _SET,
        set_value,
        _add_key_and_value,
    ),
    "init": Action(
        "make a profile of your own",
        _INIT,
        initialise,
        add_init_options,
    ),
}
