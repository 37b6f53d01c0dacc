"""The tree of exceptions, sorted by who must act.

    CortexError
    ├── UserError            exit 2: the person who typed or configured this
    │   ├── UsageError           an argument or request that can't be used
    │   └── ConfigurationError   a file in config/ or an environment variable is wrong
    ├── WorldError           exit 1: something outside of us is down
    │   ├── ModelUnavailable     the language model can't be reached or refused the call
    │   ├── BudgetSpent          exit 3: a budget of a run, conversation, user or day is used up
    │   ├── ServerError          an MCP server
    │   │   ├── ServerStartError     did not start, or did not finish its handshake
    │   │   │   └── EntryUnusable        its entry in the configuration has to be corrected
    │   │   ├── ServerLost           went away, or was closed
    │   │   └── ToolTimeout          did not answer a call in time
    │   ├── StorageError         session memory, or what was spent, can't be read or written
    │   └── SandboxUnavailable   no plan can be run: the sandbox does not start
    └── CallRefused          the model: a call that was never sent (value for the plan)

A mistake of the model travels as a value (`core.turn.PlanFailure`); `CallRefused` exists
because a call site inside the dispatcher has no other way to say "not sent". Everything that
is not a `CortexError` is a bug of ours.
"""

from collections.abc import Generator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Final, Literal, TypeAlias

from core.base.frozen import frozen

NEW_SESSION: Final = "begin a new session"
"""The way out of a session that is too long that there is behind every door."""


class ExitCode(IntEnum):
    """Exit codes of `agent.py`, documented in README and `--help`."""

    ANSWERED = 0
    WORLD_FAILED = 1
    BAD_USAGE = 2
    NO_ANSWER = 3
    TOOL_FAILED = 4
    INTERRUPTED = 130


class CortexError(Exception):
    """Base of everything that Cortex-R raises on purpose."""


class UserError(CortexError):
    """The user must change an argument or a file; the message says which and how."""


class UsageError(UserError):
    """A command-line argument or the request itself can't be used."""


class ConfigurationError(UserError):
    """A configuration file or environment variable is wrong; names file, key, allowed values."""


class WorldError(CortexError):
    """Something outside the program failed: model, server or disk."""


class ModelUnavailable(WorldError):
    """The model can't be reached, has no key, or refused the call.

    `transient`: the same request may well succeed soon (a connection, a rate limit, HTTP 5xx);
    `retry_after_seconds` is the pause that the service asked for, where it did. `is_too_long`: a
    shorter prompt may be answered, one of `limit_tokens` where the service said so.
    """

    def __init__(
        self,
        message: str,
        *,
        transient: bool = False,
        retry_after_seconds: float | None = None,
        is_too_long: bool = False,
        limit_tokens: int | None = None,
    ) -> None:
        """Keep what decides about another try beside the message."""
        super().__init__(message)
        self.transient = transient
        self.retry_after_seconds = retry_after_seconds
        self.is_too_long = is_too_long
        self.limit_tokens = limit_tokens


BudgetScope: TypeAlias = Literal["run", "conversation", "user", "day"]
"""What a budget is for; `day` is a user's day by this machine's calendar."""

Measure: TypeAlias = Literal["tokens", "cost", "calls", "seconds"]
"""What a budget counts: tokens read and written, US dollars, tool calls, seconds of runs."""


@frozen
class SpentBudget:
    """A budget of which nothing is left.

    `key` is the profile's, with which more can be allowed. `is_before` says that nothing was done
    of the request: it was refused before its run began.
    """

    scope: BudgetScope
    measure: Measure
    spent: float
    limit: float
    key: str
    is_before: bool = False


class BudgetSpent(WorldError):
    """A budget is used up, such as the tokens of a run; the request ends without an answer.

    `budget` is that budget; None for a limit that ends a part of a run and not all of it.
    """

    def __init__(self, message: str, budget: SpentBudget | None = None) -> None:
        """Keep beside the message which budget it was."""
        super().__init__(message)
        self.budget = budget


class ServerError(WorldError):
    """An MCP server failed; `server` is its id."""

    def __init__(self, server: str, message: str) -> None:
        """Keep the id of the server beside the message, which names it too."""
        super().__init__(message)
        self.server = server


class ServerStartError(ServerError):
    """The server did not start or did not finish the MCP handshake in time."""


class EntryUnusable(ServerStartError):
    """Nothing was started, and trying again is no use: the server's entry is to be corrected."""


class ServerLost(ServerError):
    """The server went away or was closed; the message says whether a call took effect."""


class ToolTimeout(ServerError):
    """The server did not answer a tool call in time."""


class StorageError(WorldError):
    """Session memory, or what was spent of budgets, can't be read or written."""


@contextmanager
def storing(file: Path | None) -> Generator[None]:
    """Around what writes a file: what the system says against it is told as our error.

    Raises:
        StorageError: the file can't be written.
    """
    try:
        yield
    except OSError as error:
        raise StorageError(f"{file} can't be written: {error.strerror or error}") from error


class SandboxUnavailable(WorldError):
    """The sandbox does not start, for a reason that no plan can change."""


class CallRefused(CortexError):
    """A tool call that was not sent: unknown or ambiguous tool, or arguments that don't fit.

    `by_person`: a person was asked and said no.
    """

    def __init__(self, message: str, *, by_person: bool = False) -> None:
        """Keep beside the message whether a person has decided."""
        super().__init__(message)
        self.by_person = by_person


def exit_code_of(error: CortexError) -> ExitCode:
    """By who must act: the user, or the world; a request that may spend no more has no answer."""
    if isinstance(error, BudgetSpent):
        return ExitCode.NO_ANSWER
    return ExitCode.BAD_USAGE if isinstance(error, UserError) else ExitCode.WORLD_FAILED
