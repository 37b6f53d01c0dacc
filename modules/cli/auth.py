"""`auth set`, `auth list` and `auth remove`: keys of models' services in the system's keyring."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TextIO, assert_never

from config.models_file import ModelsFile, load_models
from config.server_list import ServerList
from config.settings import Places
from core.errors import ExitCode, UsageError
from core.values import Json
from modules.cli.auth_command import AuthCommand, ListKeys, RemoveKey, SetKey
from modules.cli.surroundings import Surroundings
from modules.models.credentials.keyring_store import KeyringStore, OpenBackend, system_backend
from modules.models.credentials.keys import GOOGLE_KEY, USUAL_VARIABLES, checked_key, key_variable
from modules.terminal.streams import Complaints

KEY_CHARACTERS_MIN: Final = 8
"""Every service's keys are longer; shorter ones could not be kept out of what is shown either."""

STDIN_CHARACTERS_MAX: Final = 64 * 1024
_NAME_CHARACTERS_SHOWN: Final = 24
"""Longer than this, a name may be a key that was put in its place, and is not repeated."""


def ask_hidden(prompt: str) -> str:
    """What is typed at the terminal, unseen.

    Raises:
        UsageError: nothing was typed, or the terminal would show it.
    """
    import getpass
    import warnings

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


def run_auth(
    command: AuthCommand,
    places: Places,
    complaints: Complaints,
    environ: Mapping[str, str],
    source: KeySource | None = None,
    open_backend: OpenBackend = system_backend,
) -> ExitCode:
    """Do what the command says.

    `source` is where a key comes from, by default the process's own stdin.

    Raises:
        SettingsError: models.json can't be used.
        UserError: no such name, no key, or no keyring that can be used.
        StorageError: the list of keys can't be written.
        StdoutLost: nobody reads the output.
    """
    models = load_models(places.config_file("models.json"))
    around = Surroundings(places, ServerList((), (), ()), sys.stdout, sys.stderr, complaints)
    keys = _Keys(models, KeyringStore(places.home, open_backend), environ, around)
    match command:
        case SetKey():
            return keys.set(command, source or KeySource(sys.stdin))
        case ListKeys():
            return keys.list(command)
        case RemoveKey():
            return keys.remove(command)
        case _:
            assert_never(command)


def known_variables(models: ModelsFile) -> dict[str, tuple[str, ...]]:
    """The variables that may hold keys, each with the names of the models that use it."""
    found: dict[str, tuple[str, ...]] = {}
    for name, entry in models.models.items():
        if (variable := key_variable(entry)) is not None:
            found[variable] = (*found.get(variable, ()), name)
    for backend, variable in USUAL_VARIABLES.items():
        found.setdefault(variable, (backend,))
    return found


@dataclass(frozen=True, slots=True)
class _Keys:
    models: ModelsFile
    store: KeyringStore
    environ: Mapping[str, str]
    around: Surroundings

    def set(self, command: SetKey, source: KeySource) -> ExitCode:
        """Read a key, and put it into the keyring."""
        variable = self._variable(command.name)
        self.store.require_keyring(variable)
        key = source.read(variable)
        self.around.redactor.learn([key])
        self.store.keep(variable, key)
        if self._is_set(variable) and not command.options.quiet:
            self.around.complaints.say(
                "auth", f"{variable} is set in the environment too, and counts before the keyring"
            )
        return self._tell(command, variable, "kept in the keyring")

    def remove(self, command: RemoveKey) -> ExitCode:
        """Take a key out of the keyring."""
        variable = self._variable(command.name)
        if variable not in self.store.names():
            where = "; it stands in the environment" if self._is_set(variable) else ""
            raise UsageError(f"no key for {variable} is kept in the keyring{where}")
        was_there = self.store.remove(variable)
        return self._tell(
            command,
            variable,
            "removed from the keyring" if was_there else "was gone from the keyring already",
        )

    def list(self, command: ListKeys) -> ExitCode:
        """Tell of each key whether it is there, and where."""
        kept = self.store.names()
        known = known_variables(self.models)
        if self._is_set(GOOGLE_KEY):
            known.setdefault(GOOGLE_KEY, ("gemini, if asked for",))
        rows = [*known.items(), *((variable, ()) for variable in kept if variable not in known)]
        if command.options.json:
            documents: list[Json] = [
                {
                    "variable": variable,
                    "models": [*names],
                    "environment": self._is_set(variable),
                    "keyring": variable in kept,
                }
                for variable, names in rows
            ]
            self.around.print_json(documents)
            return ExitCode.ANSWERED
        width = max(len(variable) for variable, _ in rows)
        for variable, names in rows:
            used = f"  ({', '.join(names)})" if names else "  (no model uses it)"
            self.around.print(f"{variable.ljust(width)}  {self._where(variable, kept)}{used}")
        return ExitCode.ANSWERED

    def _where(self, variable: str, kept: tuple[str, ...]) -> str:
        if self._is_set(variable):
            also = ", and in the keyring, which is not asked" if variable in kept else ""
            return f"in the environment{also}"
        return "in the keyring" if variable in kept else "not set"

    def _is_set(self, variable: str) -> bool:
        return bool(self.environ.get(variable, "").strip())

    def _tell(self, command: SetKey | RemoveKey, variable: str, done: str) -> ExitCode:
        if command.options.json:
            is_kept = isinstance(command, SetKey)
            self.around.print_json({"variable": variable, "keyring": is_kept})
        else:
            self.around.print(f"{variable}: {done}")
        return ExitCode.ANSWERED

    def _variable(self, name: str) -> str:
        """The variable that a name stands for.

        Raises:
            UsageError: it is no name of a model or service with a key.
        """
        known = known_variables(self.models)
        if name in known or name in self.store.names():
            return name
        entry = self.models.models.get(name)
        variable = key_variable(entry) if entry is not None else None
        if entry is None:
            variable = next((v for backend, v in USUAL_VARIABLES.items() if backend == name), None)
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
