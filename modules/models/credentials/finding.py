"""Finds the keys of models' services: in the environment, then in the keyring."""

from collections.abc import Mapping
from pathlib import Path

from config.models_file import ModelEntry
from modules.models.credentials.keyring_store import OpenBackend, open_store
from modules.models.credentials.keys import (
    GOOGLE_KEY,
    LIST_FILE,
    USUAL_VARIABLES,
    ApiKey,
    KeyringSilent,
    checked_key,
    key_from_environment,
    key_variable,
)


def find_key(
    entry: ModelEntry,
    environ: Mapping[str, str],
    home: Path | None = None,
    open_backend: OpenBackend | None = None,
    timeout_seconds: float | None = None,
) -> ApiKey | None:
    """An entry's key: from the environment, then from the keyring.

    Only for the entry that uses GEMINI_API_KEY, GOOGLE_API_KEY is looked at last. `home` is where
    the list of keys in the keyring lies; without it there is none. The keyring has
    `timeout_seconds`, by default those of its module.

    Raises:
        ConfigurationError: what is there can't be a key, or the keyring can't be read; as
            `KeyringSilent`, where it does not answer.
    """
    variable = key_variable(entry)
    if variable is None:
        return None
    if (key := key_from_environment(variable, environ)) is not None:
        return key
    if (key := _kept_key(variable, home, open_backend, timeout_seconds)) is not None:
        return ApiKey(checked_key(key.value, key.origin), key.origin)
    if entry.type == "gemini" and variable == USUAL_VARIABLES["gemini"]:
        return key_from_environment(GOOGLE_KEY, environ)
    return None


class KeyFinder:
    """Finds the keys of several entries; a keyring that was silent once is not asked again."""

    def __init__(
        self,
        environ: Mapping[str, str],
        home: Path | None = None,
        open_backend: OpenBackend | None = None,
        timeout_seconds: float | None = None,
    ) -> None:
        """Look at nothing yet; arguments are those of `find_key`."""
        self._timeout_seconds = timeout_seconds
        self._environ = environ
        self._home = home
        self._open_backend = open_backend

    def find(self, entry: ModelEntry) -> ApiKey | None:
        """The entry's key; None also where only a keyring could tell that was silent before.

        Raises:
            ConfigurationError: as `find_key`.
        """
        try:
            return find_key(
                entry, self._environ, self._home, self._open_backend, self._timeout_seconds
            )
        except KeyringSilent:
            self._home = None  # each time would cost half a minute
            raise


def _kept_key(
    variable: str,
    home: Path | None,
    open_backend: OpenBackend | None,
    timeout_seconds: float | None,
) -> ApiKey | None:
    """What the keyring has; not asked without a list of keys in it, as there mostly is none."""
    try:
        if home is None or not (home / LIST_FILE).exists():
            return None
    except OSError:  # a home that may not be entered holds no list of ours
        return None
    return open_store(home, open_backend, timeout_seconds).find(variable)
