"""Who may use the service: each token names a user, and the profiles that the user may use."""

import hmac
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

from core.errors import UsageError
from modules.service.pool import User, user_named

TOKEN_CHARACTERS_MIN: Final = 16
"""A shorter token can be guessed."""

TOKEN_BYTES_MAX: Final = 1_024
"""A longer one is not even looked at."""


class Tokens:
    """The tokens of the service; without any, whoever reaches it is the owner of CORTEX_HOME."""

    def __init__(self, tokens: Mapping[bytes, User] | None = None) -> None:
        """`tokens` are users by the digests of their tokens, which themselves are not kept."""
        self._tokens = {**(tokens or {})}

    def __bool__(self) -> bool:
        """Whether a token is needed."""
        return bool(self._tokens)

    @property
    def users(self) -> tuple[User, ...]:
        """Whose they are; a user has one for each token."""
        return tuple(self._tokens.values())

    @property
    def has_others(self) -> bool:
        """Whether somebody else than the owner of CORTEX_HOME may use the service."""
        return any(user.name for user in self.users)

    def user_of(self, authorization: str | None) -> User | None:
        """Whose request it is, by its header; None where the token is missing or none of ours.

        All tokens are compared, each in a time that does not depend on where it differs.
        """
        if not self._tokens:
            return User()
        scheme, _, given = (authorization or "").strip().partition(" ")
        data = given.strip().encode("utf-8", "surrogateescape")
        if scheme.lower() != "bearer" or not data or len(data) > TOKEN_BYTES_MAX:
            return None
        digest, found = sha256(data).digest(), None
        for known, user in self._tokens.items():
            if hmac.compare_digest(known, digest):
                found = user
        return found


def read_tokens(options: Sequence[str], environ: Mapping[str, str]) -> tuple[Tokens, list[str]]:
    """The tokens that `--token-env VARIABLE[=USER[:PROFILE,…]]` name, and the secrets themselves.

    Raises:
        UsageError: a variable is missing, its token is too short, or two users share one.
    """
    tokens: dict[bytes, User] = {}
    secrets: list[str] = []
    for option in options:
        variable, _, meant = option.partition("=")
        name, colon, listed = meant.partition(":")
        profiles = tuple(each.strip() for each in listed.split(",") if each.strip())
        if not variable or (colon and not profiles):
            raise UsageError(f"--token-env {option!r} is not of the form {FORM}")
        secret = environ.get(variable, "").strip()
        if len(secret) < TOKEN_CHARACTERS_MIN:
            what = "is not set" if not secret else f"holds fewer than {TOKEN_CHARACTERS_MIN}"
            raise UsageError(
                f"--token-env {variable}: the variable {what}{' characters' if secret else ''}; "
                f'set it to a long random text: export {variable}="$(openssl rand -hex 24)"'
            )
        digest = sha256(secret.encode("utf-8", "surrogateescape")).digest()
        if digest in tokens:
            raise UsageError(f"--token-env {variable}: another variable holds the same token")
        allowed = profiles if colon else None
        tokens[digest] = user_named(name, allowed) if name else User(profiles=allowed)
        secrets.append(secret)
    return Tokens(tokens), secrets


FORM: Final = "VARIABLE[=USER[:PROFILE,...]]"
