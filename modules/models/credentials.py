"""The keys of models' services: where they are found, and what they may consist of.

A key lies in a variable of the environment, or under that variable's name in the system's own
keyring (macOS Keychain, Secret Service, KWallet, Windows' vault); never in a file of ours.

The keyring library costs a quarter of a second before it says a word, and a keyring may ask for
its password. So a list in a file of CORTEX_HOME says which keys are kept: their names, no secret.
Who keeps none pays nothing. Every question is bounded in time: a D-Bus service may be silent.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Final, Protocol, TypeAlias, TypeVar, cast

from config.http_address import url_problem
from config.models_file import BackendName, ModelEntry
from config.settings import SettingsError, read_text
from config.texts import TextProblem, load_json
from core.base.files import folder_locked, write_atomically
from core.base.frozen import frozen
from core.errors import ConfigurationError, StorageError

GOOGLE_KEY: Final = "GOOGLE_API_KEY"
"""Google's older name for Gemini's key; other Google services use it as well, so it is never a
reason to choose Gemini, but it is taken when Gemini was asked for."""

USUAL_VARIABLES: Final[Mapping[BackendName, str]] = {
    "gemini": "GEMINI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
}
"""Where each service's documentation has its key; in the order of automatic choice."""

ADDRESS_VARIABLES: Final[Mapping[BackendName, str]] = {
    "gemini": "GOOGLE_GEMINI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
}
"""Where each service's own SDK looks for another address; the same key goes there, as with them."""

KEY_PAGES: Final[Mapping[str, str]] = {
    "gemini": "https://aistudio.google.com/apikey",
    "anthropic": "https://platform.claude.com/settings/keys",
    "openai": "https://platform.openai.com/api-keys",
}

SERVICE_NAMES: Final[Mapping[str, str]] = {
    "gemini": "Gemini",
    "anthropic": "Claude",
    "openai": "OpenAI",
}

KEY_CHARACTERS_MAX: Final = 8192

SERVICE = "cortex-r"
"""Under which name the keyring holds our keys; each one's user name is that of its variable."""

LIST_FILE: Final = "keyring.json"
"""Under CORTEX_HOME: the names of the keys that are in the keyring; no secret."""

KEYRING_TIMEOUT_SECONDS = 30.0
"""Bound on one question: a person may have to type the keyring's password meanwhile."""

NAMES_MAX = 1000

_Result = TypeVar("_Result")


@frozen
class ApiKey:
    """`origin` says in messages where the key lies: a variable's name, or the system's keyring."""

    value: str = field(repr=False)
    origin: str


def key_variable(entry: ModelEntry) -> str | None:
    """The variable that holds an entry's key; None if the entry has none.

    An entry with an address of its own says which key goes there: the usual ones are for the
    services that they belong to.
    """
    if entry.api_key_env is not None or entry.base_url is not None:
        return entry.api_key_env
    return USUAL_VARIABLES.get(entry.type)


def address_from_environment(entry: ModelEntry, environ: Mapping[str, str]) -> str | None:
    """The address that the service's own variable names, for an entry that has none.

    Raises:
        ConfigurationError: what it holds is no address.
    """
    variable = ADDRESS_VARIABLES.get(entry.type)
    if variable is None or entry.base_url is not None:
        return None
    address = environ.get(variable, "").strip()
    if address and (wrong := url_problem(address)) is not None:
        raise ConfigurationError(f"{variable} holds {wrong}")
    return address or None


def find_key(
    entry: ModelEntry, environ: Mapping[str, str], keyring: "KeyringStore | None" = None
) -> ApiKey | None:
    """An entry's key: from the environment, then from the keyring, if there is one.

    Only for the entry that uses GEMINI_API_KEY, GOOGLE_API_KEY is looked at last.

    Raises:
        ConfigurationError: what is there can't be a key, or the keyring can't be read; as
            `KeyringSilent`, where it does not answer.
    """
    variable = key_variable(entry)
    if variable is None:
        return None
    if (key := key_from_environment(variable, environ)) is not None:
        return key
    if keyring is not None and (kept := keyring.find(variable)) is not None:
        origin = f"{variable} in the keyring"
        return ApiKey(checked_key(kept, origin), origin)
    if entry.type == "gemini" and variable == USUAL_VARIABLES["gemini"]:
        return key_from_environment(GOOGLE_KEY, environ)
    return None


def key_from_environment(variable: str, environ: Mapping[str, str]) -> ApiKey | None:
    """The key that a variable holds; None if it is not set, or empty.

    Raises:
        ConfigurationError: what it holds can't be a key.
    """
    if not (value := environ.get(variable, "").strip()):
        return None
    return ApiKey(checked_key(value, variable), variable)


def checked_key(value: str, origin: str) -> str:
    """`value`, if it can go into a request's header.

    Raises:
        ConfigurationError: it can't; the message does not show it.
    """
    if value.isascii() and value.isprintable() and " " not in value:
        if 0 < len(value) <= KEY_CHARACTERS_MAX:
            return value
        raise ConfigurationError(
            f"{origin} can't be a key: it is {'empty' if not value else 'too long'}"
        )
    raise ConfigurationError(
        f"{origin} can't be a key: it holds characters other than ASCII letters, digits and "
        "signs; copy the key once more"
    )


def missing_key(entry: ModelEntry, name: str) -> ConfigurationError:
    """What is said where an entry that needs a key has none; `name` is how the user called it."""
    variable = key_variable(entry)
    if variable is None:
        return ConfigurationError(
            f"{name} has a base_url of its own, and so needs a key of its own: name its variable "
            "as api_key_env in models.json"
        )
    is_usual = USUAL_VARIABLES.get(entry.type) == variable
    page = f" (get one at {KEY_PAGES[entry.type]})" if is_usual else ""
    return ConfigurationError(
        f"{SERVICE_NAMES[entry.type]} needs a key: set {variable}{page}, keep it in the system's "
        f"keyring with agent.py auth set {entry.type if is_usual else variable}, or use "
        "--model offline"
    )


class KeyringSilent(ConfigurationError):
    """The keyring did not answer in time, and hardly will when it is asked once more."""


class KeyringBackend(Protocol):
    """What is used of `keyring.backend.KeyringBackend`."""

    def get_password(self, service: str, username: str, /) -> str | None:
        """The secret; None if there is none."""
        ...

    def set_password(self, service: str, username: str, password: str, /) -> None:
        """Keep it."""
        ...

    def delete_password(self, service: str, username: str, /) -> None:
        """Forget it; some raise an error if there is none."""
        ...


OpenBackend: TypeAlias = Callable[[], KeyringBackend]


def system_backend() -> KeyringBackend:
    """The keyring of this system, found and opened by the keyring library; takes its time.

    PYTHON_KEYRING_BACKEND and the library's own configuration may name another.
    """
    import keyring

    return keyring.get_keyring()


class KeyringStore:
    """Our keys in the keyring, and the list of their names in a folder of ours."""

    def __init__(
        self,
        home: Path,
        open_backend: OpenBackend = system_backend,
        timeout_seconds: float = KEYRING_TIMEOUT_SECONDS,
    ) -> None:
        self.list_file = home / LIST_FILE
        self._open_backend = open_backend
        self._timeout_seconds = timeout_seconds
        self._was_silent = False

    def names(self) -> tuple[str, ...]:
        """The variables whose keys are kept, from the list alone.

        Raises:
            ConfigurationError: the list can't be read.
        """
        try:
            if not self.list_file.exists():
                return ()
            return _names(read_text(self.list_file))
        except (OSError, SettingsError, ValueError) as error:
            raise ConfigurationError(
                f"{self.list_file}, the list of the keys in the keyring, can't be read: {error}; "
                "take the file away, and set the keys again: agent.py auth set NAME"
            ) from error

    def find(self, variable: str) -> str | None:
        """The key that is kept for a variable; None if there is none, or no longer.

        A keyring that was silent once is not asked again, for each time would cost half a minute:
        then it is None too.

        Raises:
            ConfigurationError: the list can't be read, or the keyring does not give it; as
                `KeyringSilent`, where it does not answer.
        """
        try:
            if self._was_silent or not self.list_file.exists():
                return None
        except OSError:  # a home that may not be entered holds no list of ours
            return None
        if variable not in self.names():
            return None
        return self._ask(lambda backend: backend.get_password(SERVICE, variable), variable) or None

    def keep(self, variable: str, key: str) -> None:
        """Put a key in, in place of one that is there.

        Raises:
            ConfigurationError: there is no keyring, or it does not take the key.
            StorageError: the key is in, but its name can't be written to the list.
        """

        def put(backend: KeyringBackend) -> bool:
            backend.set_password(SERVICE, variable, key)
            return backend.get_password(SERVICE, variable) == key

        self.names()  # a list that can't be read could not be added to either
        if not self._ask(put, variable):  # such as the backend that means "no keyring, please"
            raise ConfigurationError(
                f"the keyring took the key and did not keep it; set {variable} in the "
                "environment instead"
            )
        self._list({variable}, set())

    def remove(self, variable: str) -> bool:
        """Take a key out, and say whether there was one.

        Raises:
            ConfigurationError: the list can't be read, or the keyring does not let go of it.
            StorageError: the key is out, but its name can't be taken from the list.
        """
        if variable not in self.names():
            return False

        def take_out(backend: KeyringBackend) -> bool:
            if backend.get_password(SERVICE, variable) is None:
                return False
            backend.delete_password(SERVICE, variable)
            return True

        was_there = self._ask(take_out, variable)
        self._list(set(), {variable})
        return was_there

    def require_keyring(self, variable: str) -> None:
        """Make sure that there is a keyring, before anybody is asked for a key.

        Raises:
            ConfigurationError: there is none that keeps anything, or it can't be found out.
        """
        if self.backend_name() is None:
            raise ConfigurationError(
                f"this system has no keyring that can be used; set {variable} in the environment "
                "instead"
            )

    def backend_name(self) -> str | None:
        """What kind of keyring it is; None if there is none that keeps anything.

        Raises:
            ConfigurationError: it can't be found out.
        """

        def name(backend: KeyringBackend) -> str | None:
            kind = type(backend)
            if kind.__module__ in ("keyring.backends.fail", "keyring.backends.null"):
                return None
            return str(getattr(backend, "name", kind.__module__))

        return self._ask(name, "the key")

    def _ask(self, question: Callable[[KeyringBackend], _Result], variable: str) -> _Result:
        """The keyring's answer, from a thread that is left behind if it takes too long."""
        answers: list[_Result] = []
        faults: list[Exception] = []

        def ask() -> None:
            try:
                answers.append(question(self._open_backend()))
            except Exception as error:  # noqa: BLE001  # each backend has errors of its own
                faults.append(error)

        thread = threading.Thread(target=ask, name="keyring", daemon=True)
        thread.start()
        thread.join(self._timeout_seconds)
        if answers:
            return answers[0]
        if faults:
            raise ConfigurationError(_refusal(faults[0], variable)) from None
        self._was_silent = True
        raise KeyringSilent(
            f"the keyring did not answer within {self._timeout_seconds:g} s; unlock it, or set "
            f"{variable} in the environment instead"
        )

    def _list(self, more: set[str], fewer: set[str]) -> None:
        try:
            with folder_locked(self.list_file):
                names = sorted(({*self.names()} | more) - fewer)
                document = {"service": SERVICE, "names": names}
                write_atomically(self.list_file, f"{json.dumps(document, indent=2)}\n".encode())
        except OSError as error:
            raise StorageError(
                f"{self.list_file}, the list of the keys in the keyring, can't be written: "
                f"{error.strerror or error}; it is what says that a key is there"
            ) from error


def _refusal(error: Exception, variable: str) -> str:
    """Why there is no answer; an error's own text is not shown, for it may hold anything."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    instead = f"set {variable} in the environment instead"
    if kinds & {"NoKeyringError", "ImportError"}:
        return f"this system has no keyring that can be used; {instead}"
    if kinds & {"KeyringLocked", "LockedException"}:
        return f"the keyring is locked; unlock it, or {instead}"
    return f"the keyring failed ({type(error).__name__}); {instead}"


def _names(text: str) -> tuple[str, ...]:
    """The names in the list's text.

    Raises:
        ValueError: it is not of the form that we write.
    """
    try:
        document = load_json(text)
    except TextProblem as problem:
        raise ValueError(f"not valid JSON: {problem}") from problem
    names = cast("dict[str, object]", document).get("names") if isinstance(document, dict) else None
    if not isinstance(names, list) or len(cast("list[object]", names)) > NAMES_MAX:
        raise ValueError("it should have a list 'names'")
    return tuple(name for name in cast("list[object]", names) if isinstance(name, str))
