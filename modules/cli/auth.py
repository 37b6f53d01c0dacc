"""`auth set`, `auth list` and `auth remove`: keys of models' services in the system's keyring."""

import argparse
import getpass
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TextIO

from config.models_file import ModelsFile
from core.errors import ExitCode, UsageError
from core.values import Json
from modules.cli.parser import Action, CommandParser, read_action
from modules.cli.surroundings import Surroundings
from modules.models.credentials.keyring_store import KeyringStore, OpenBackend, system_backend
from modules.models.credentials.keys import GOOGLE_KEY, USUAL_VARIABLES, checked_key, key_variable

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


def parse(words: Sequence[str], program: str) -> argparse.Namespace:
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


@dataclass(frozen=True, slots=True)
class KeySource:
    """Where `auth set` takes the key from: typed at a terminal, else from stdin."""

    stdin: TextIO
    ask: Callable[[str], str] = ask_hidden

    def read(self, variable: str) -> str:
        """The key, checked.

        Raises:
            UsageError: there is none, it is too short or too long, or not alone.
            ConfigurationError: it can't be a key; it is not shown.
        """
        if self.stdin.isatty():
            given = self.ask(f"key for {variable} (it is not shown): ")
        else:
            given = self._piped()
        key = given.strip()
        if not key:
            raise UsageError(f"no key for {variable} was given; nothing has changed")
        if key[0] in "\"'" or key.startswith(f"{variable}="):
            raise UsageError(
                f"what was given for {variable} holds quotes, or the name of a variable, as well; "
                "give the key alone; nothing has changed"
            )
        if len(key) < KEY_CHARACTERS_MIN:
            raise UsageError(
                f"what was given for {variable} has {len(key)} characters, and so is no key; "
                "nothing has changed"
            )
        return checked_key(key, f"what was given for {variable}")

    def _piped(self) -> str:
        try:
            return self.stdin.read(STDIN_CHARACTERS_MAX)
        except UnicodeDecodeError:
            raise UsageError("what came from stdin is no text, and so no key") from None
        except OSError as error:
            raise UsageError(f"stdin can't be read: {error.strerror or error}") from error


def set_key(
    found: argparse.Namespace,
    around: Surroundings,
    source: KeySource | None = None,
    open_backend: OpenBackend = system_backend,
) -> ExitCode:
    """Read a key, and put it into the keyring; it comes from `source`, by default our stdin.

    Raises:
        SettingsError: models.json can't be used.
        UserError: no such name, no key, or no keyring that can be used.
        StorageError: the list of keys can't be written.
        StdoutLost: nobody reads the output.
    """
    store = KeyringStore(around.places.home, open_backend)
    variable = _variable(found.name, around.models, store)
    store.require_keyring(variable)
    key = (source or KeySource(sys.stdin)).read(variable)
    around.redactor.learn([key])
    store.keep(variable, key)
    if _is_set(variable, around) and not around.options.quiet:
        around.complaints.say(
            "auth", f"{variable} is set in the environment too, and counts before the keyring"
        )
    return _tell(around, variable, "kept in the keyring", is_kept=True)


def remove_key(
    found: argparse.Namespace, around: Surroundings, open_backend: OpenBackend = system_backend
) -> ExitCode:
    """Take a key out of the keyring; raises as `set_key`."""
    store = KeyringStore(around.places.home, open_backend)
    variable = _variable(found.name, around.models, store)
    if variable not in store.names():
        where = "; it stands in the environment" if _is_set(variable, around) else ""
        raise UsageError(f"no key for {variable} is kept in the keyring{where}")
    was_there = store.remove(variable)
    done = "removed from the keyring" if was_there else "was gone from the keyring already"
    return _tell(around, variable, done, is_kept=False)


def list_keys(found: argparse.Namespace, around: Surroundings) -> ExitCode:
    """Tell of each key whether it is there, and where; raises as `set_key`."""
    kept = KeyringStore(around.places.home).names()
    known = known_variables(around.models)
    if _is_set(GOOGLE_KEY, around):
        known.setdefault(GOOGLE_KEY, ("gemini, if asked for",))
    rows = [*known.items(), *((variable, ()) for variable in kept if variable not in known)]
    if around.options.json:
        documents: list[Json] = [
            {
                "variable": variable,
                "models": [*names],
                "environment": _is_set(variable, around),
                "keyring": variable in kept,
            }
            for variable, names in rows
        ]
        around.print_json(documents)
        return ExitCode.ANSWERED
    width = max(len(variable) for variable, _ in rows)
    for variable, names in rows:
        used = f"  ({', '.join(names)})" if names else "  (no model uses it)"
        around.print(f"{variable.ljust(width)}  {_where(variable, kept, around)}{used}")
    return ExitCode.ANSWERED


def known_variables(models: ModelsFile) -> dict[str, tuple[str, ...]]:
    """The variables that may hold keys, each with the names of the models that use it."""
    found: dict[str, tuple[str, ...]] = {}
    for name, entry in models.models.items():
        if (variable := key_variable(entry)) is not None:
            found[variable] = (*found.get(variable, ()), name)
    for backend, variable in USUAL_VARIABLES.items():
        found.setdefault(variable, (backend,))
    return found


def _where(variable: str, kept: Sequence[str], around: Surroundings) -> str:
    if _is_set(variable, around):
        also = ", and in the keyring, which is not asked" if variable in kept else ""
        return f"in the environment{also}"
    return "in the keyring" if variable in kept else "not set"


def _is_set(variable: str, around: Surroundings) -> bool:
    return bool(around.environ.get(variable, "").strip())


def _tell(around: Surroundings, variable: str, done: str, *, is_kept: bool) -> ExitCode:
    if around.options.json:
        around.print_json({"variable": variable, "keyring": is_kept})
    else:
        around.print(f"{variable}: {done}")
    return ExitCode.ANSWERED


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
        variable = next((v for backend, v in USUAL_VARIABLES.items() if backend == name), None)
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
