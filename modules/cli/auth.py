"""`auth set`, `auth list` and `auth remove`: keys of models' services in the system's keyring."""

import getpass
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TextIO

from config.models_file import ModelsFile
from core.errors import ExitCode, UsageError
from core.values import Json
from modules.cli.parser import Action, CommandParser, read_action
from modules.cli.surroundings import Options, Surroundings
from modules.models.credentials import (
    GOOGLE_KEY,
    USUAL_VARIABLES,
    KeyringStore,
    OpenBackend,
    checked_key,
    key_variable,
    system_backend,
)

_HELP: Final = """\
Keys of models' services, kept in the system's own keyring: macOS Keychain, Secret Service,
KWallet. A variable of the environment, such as GEMINI_API_KEY, counts before the keyring, and
works where there is none. No file of Cortex-R ever holds a key.

NAME is a name from config/models.json, a service (gemini, anthropic, openai), or the variable
that would hold the key.

examples:
  agent.py auth set gemini
  agent.py auth list
  agent.py auth remove gemini"""

KEY_CHARACTERS_MIN: Final = 8
"""Every service's keys are longer; shorter ones could not be kept out of what is shown either."""

STDIN_CHARACTERS_MAX: Final = 64 * 1024
_NAME_CHARACTERS_SHOWN: Final = 24
"""Longer than this, a name may be a key that was put in its place, and is not repeated."""


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `auth`; raises as `read_action`."""
    return read_action(words, program, "auth", _HELP, _ACTIONS)


def _add_name(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a model's name, a service, or a variable")


def ask_hidden(prompt: str) -> str:
    """What is typed at the terminal, unseen.

    Raises:
        UsageError: nothing was typed, or the terminal would show it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            return getpass.getpass(prompt)
    except (EOFError, getpass.GetPassWarning) as error:
        raise UsageError(
            "no key was typed unseen; pipe it instead: … | agent.py auth set NAME"
        ) from error


def set_key(
    around: Surroundings,
    stdin: TextIO | None = None,
    ask: Callable[[str], str] = ask_hidden,
    open_backend: OpenBackend = system_backend,
) -> ExitCode:
    """Put a key into the keyring: one that is typed at a terminal (`ask`), else what stdin holds.

    Raises:
        SettingsError: models.json can't be used.
        UserError: no such name, no key, or no keyring that can be used.
        StorageError: the list of keys can't be written.
    """
    store = KeyringStore(around.places.home, open_backend)
    variable = _variable(around.options.name, around.models, store)
    store.require_keyring(variable)
    source: TextIO = stdin or sys.stdin
    is_typed = source.isatty()
    given = ask(f"key for {variable} (it is not shown): ") if is_typed else _piped(source)
    key = _checked(given.strip(), variable)
    around.redactor.learn([key])
    store.keep(variable, key)
    if is_set(variable, around.environ):
        around.remark(
            "auth", f"{variable} is set in the environment too, and counts before the keyring"
        )
    return _report(around, variable, "kept in the keyring", is_kept=True)


def _piped(stdin: TextIO) -> str:
    try:
        return stdin.read(STDIN_CHARACTERS_MAX)
    except UnicodeDecodeError:
        raise UsageError("what came from stdin is no text, and so no key") from None
    except OSError as error:
        raise UsageError(f"stdin can't be read: {error.strerror or error}") from error


def _checked(key: str, variable: str) -> str:
    """The key, which no message repeats."""
    given = f"what was given for {variable}"
    if not key:
        raise UsageError(f"no key for {variable} was given; nothing has changed")
    if key[0] in "\"'" or key.startswith(f"{variable}="):
        raise UsageError(
            f"{given} holds quotes, or the name of a variable, as well; "
            "give the key alone; nothing has changed"
        )
    if len(key) < KEY_CHARACTERS_MIN:
        raise UsageError(
            f"{given} has {len(key)} characters, and so is no key; nothing has changed"
        )
    return checked_key(key, given)


def remove_key(around: Surroundings, open_backend: OpenBackend = system_backend) -> ExitCode:
    """Take a key out of the keyring; raises as `set_key`."""
    store = KeyringStore(around.places.home, open_backend)
    variable = _variable(around.options.name, around.models, store)
    if variable not in store.names():
        where = "; it stands in the environment" if is_set(variable, around.environ) else ""
        raise UsageError(f"no key for {variable} is kept in the keyring{where}")
    was_there = store.remove(variable)
    done = "removed from the keyring" if was_there else "was gone from the keyring already"
    return _report(around, variable, done, is_kept=False)


def list_keys(around: Surroundings) -> ExitCode:
    """Tell of each key whether it is there, and where; raises as `set_key`."""
    kept = KeyringStore(around.places.home).names()
    known = known_variables(around.models)
    if is_set(GOOGLE_KEY, around.environ):
        known.setdefault(GOOGLE_KEY, ("gemini, if asked for",))
    for variable in kept:
        known.setdefault(variable, ())
    documents: list[Json] = []
    lines: list[str] = []
    width = max(map(len, known))
    for variable, names in known.items():
        is_there, is_kept = is_set(variable, around.environ), variable in kept
        documents.append(
            {
                "variable": variable,
                "models": [*names],
                "environment": is_there,
                "keyring": is_kept,
            }
        )
        where = "in the keyring" if is_kept else "not set"
        if is_there:
            also = ", and in the keyring, which is not asked" if is_kept else ""
            where = f"in the environment{also}"
        used = ", ".join(names) or "no model uses it"
        lines.append(f"{variable.ljust(width)}  {where}  ({used})")
    return around.report(documents, "\n".join(lines))


def known_variables(models: ModelsFile) -> dict[str, tuple[str, ...]]:
    """The variables that may hold keys, each with the names of the models that use it."""
    found: dict[str, tuple[str, ...]] = {}
    for name, entry in models.models.items():
        if (variable := key_variable(entry)) is not None:
            found[variable] = (*found.get(variable, ()), name)
    for backend, variable in USUAL_VARIABLES.items():
        found.setdefault(variable, (backend,))
    return found


def is_set(variable: str, environ: Mapping[str, str]) -> bool:
    """Whether a variable of the environment holds anything."""
    return bool(environ.get(variable, "").strip())


def _report(around: Surroundings, variable: str, done: str, *, is_kept: bool) -> ExitCode:
    return around.report({"variable": variable, "keyring": is_kept}, f"{variable}: {done}")


def _variable(name: str, models: ModelsFile, store: KeyringStore) -> str:
    """The variable that a name stands for.

    Raises:
        UsageError: it is no name of a model or service with a key.
    """
    known = known_variables(models)
    if name in known or name in store.names():
        return name
    entry = models.models.get(name)
    if entry is None:
        variable = {str(backend): v for backend, v in USUAL_VARIABLES.items()}.get(name)
    else:
        variable = key_variable(entry)
    if variable is not None:
        return variable
    there = ", ".join(dict.fromkeys([*(n for names in known.values() for n in names), *known]))
    if entry is not None or name in ("ollama", "local", "offline"):
        raise UsageError(
            f"{name} needs no key; for a server of your own that wants one, name a variable "
            f"as api_key_env in models.json. Names with keys: {there}"
        )
    shown = f" {name!r}" if len(name) <= _NAME_CHARACTERS_SHOWN else " (a key is no name)"
    raise UsageError(f"there is nothing with a key of that name{shown}; there are: {there}")


_ACTIONS: Final = {
    "set": Action(
        "keep a key in the system's keyring",
        """\
Asks for the key without showing it; where stdin is no terminal, it is the key. An argument it
can't be: it would stay in the shell's history, and every process could read it.

examples:
  agent.py auth set gemini
  pass show openai | agent.py auth set openai""",
        set_key,
        _add_name,
        "auth set takes a name alone: the key is asked for, or read from stdin",
    ),
    "list": Action(
        "which keys are there, and where; never what they are",
        """\
examples:
  agent.py auth list
  agent.py auth list --json | jq '.[] | select(.keyring).variable'""",
        list_keys,
        refusal="auth list takes no more words",
    ),
    "remove": Action(
        "take a key out of the keyring",
        """\
examples:
  agent.py auth remove gemini""",
        remove_key,
        _add_name,
        "auth remove takes no more words",
    ),
}
