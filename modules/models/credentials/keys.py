"""The keys of models' services: where they are found, and what they may consist of.

A key lies in a variable of the environment, or under that variable's name in the system's
keyring (`keyring_store`); never in a file of ours.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from config.models_file import BackendName, ModelEntry
from core.base.frozen import frozen
from core.errors import ConfigurationError
from modules.models.credentials.keyring_store import KeyringStore

GOOGLE_KEY: Final = "GOOGLE_API_KEY"
"""Google's older name for Gemini's key; other Google services use it as well, so it is never a
reason to choose Gemini, but it is taken when Gemini was asked for."""

USUAL_VARIABLES: Final[Mapping[BackendName, str]] = {
    "gemini": "GEMINI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
}
"""Where each service's documentation has its key; in the order of automatic choice."""

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


def find_key(
    entry: ModelEntry, environ: Mapping[str, str], keyring: KeyringStore | None = None
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
