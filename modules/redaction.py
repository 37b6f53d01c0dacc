"""Keeps secrets of the environment and the configuration out of what is written down or shown."""

import re
from collections.abc import Iterable, Mapping

from core.values import Json, JsonObject

EXTRA_NAME = "SECRET"
"""What stands in place of a secret that no environment variable holds."""

SECRET_SUFFIXES = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
"""Environment variables whose names end so, in any case, hold secrets."""

MIN_SECRET_CHARS = 8
"""Shorter values are left alone: they occur in ordinary text."""

MIN_EXTRA_CHARS = 6
"""The same for secrets that are named one by one, hence surely meant."""


class Redactor:
    """Replaces secrets by `[redacted NAME]`: values of environment variables, and what is added."""

    def __init__(self, environ: Mapping[str, str], extra: Iterable[str] = ()) -> None:
        """Collect the secrets of `environ`, and `extra` ones; without any, texts pass unchanged.

        `extra` are secrets from elsewhere, such as the headers of a server; a variable that
        holds the same value lends it its name.
        """
        self._names = {
            value: name
            for name, raw in environ.items()
            if name.upper().endswith(SECRET_SUFFIXES)
            and len(value := raw.strip()) >= MIN_SECRET_CHARS
        }
        self._pattern: re.Pattern[str] | None = None
        self.learn(extra)

    def learn(self, secrets: Iterable[str]) -> None:
        """From now on, keep these out too; a name that one has already stays."""
        for raw in secrets:
            if len(value := raw.strip()) >= MIN_EXTRA_CHARS:
                self._names.setdefault(value, EXTRA_NAME)
        # Longest first, so that a secret that holds another goes as a whole.
        longest_first = sorted(self._names, key=len, reverse=True)
        if longest_first:
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def __repr__(self) -> str:
        """The names of the variables, never their values."""
        return f"Redactor({', '.join(sorted(set(self._names.values())))})"

    def text(self, text: str) -> str:
        """`text` without secrets."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: f"[redacted {self._names[found[0]]}]", text)

    def json(self, value: Json) -> Json:
        """`value` with every text in it, keys too, without secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.json(element) for element in value]
        if isinstance(value, dict):
            return self.object(value)
        return value

    def object(self, value: JsonObject) -> JsonObject:
        """As `json`, for what is known to be an object."""
        return {self.text(key): self.json(inner) for key, inner in value.items()}
