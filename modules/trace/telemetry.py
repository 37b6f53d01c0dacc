"""Whether runs go to a collector of OpenTelemetry, and the one place where its SDK is imported."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

from config.schema import AgentProfile
from core.base.redaction import Redactor
from core.events import Event

T = TypeVar("T")

INSTALL = 'pip install "cortex-r[otel]" (in a checkout: uv sync --extra otel)'


class RunListener(Protocol):
    """Listens to the runs of one conversation."""

    async def __call__(self, event: Event) -> None:
        """Deal with one event."""
        ...

    def close(self) -> None:
        """End what is open of a run whose end was not told."""
        ...


class Telemetry(Protocol):
    """Where the spans and metrics of a process go."""

    def listener(self) -> RunListener:
        """A listener for one more conversation; several may be heard at once."""
        ...

    def leave(self, listener: RunListener) -> None:
        """Forget the listener of a conversation that is over, and end what is open in it."""
        ...

    async def close(self) -> None:
        """Send what is left, for a bounded time, and be done."""
        ...


def open_telemetry(
    profile: AgentProfile,
    environ: Mapping[str, str],
    redactor: Redactor,
    say: Callable[[str, str], None],
) -> Telemetry | None:
    """What sends runs to a collector, for all conversations of the process; None if nobody asks.

    `redactor` learns what authenticates us there. `say` tells, under a stage, what is not as
    asked: then runs are answered all the same.
    """
    if not profile.trace.is_exported(environ):
        return None  # whoever wants a fast start asks that itself

    def tell(text: str) -> None:
        say("trace", redactor.text(text))

    try:
        from modules.trace.otel.exporting import telemetry_of  # late: the SDK takes 0.3 s
    except ModuleNotFoundError as error:
        tell(f"runs are not sent to OpenTelemetry: {error.name} is missing; {INSTALL}")
        return None
    try:
        return telemetry_of(profile.agent, environ, redactor, tell)
    except ValueError as error:
        tell(f"runs are not sent to OpenTelemetry: a variable OTEL_* can't be used: {error}")
        return None


async def closing(telemetry: Telemetry | None, work: Awaitable[T]) -> T:
    """What the work gives; behind it, what is left is sent."""
    try:
        return await work
    finally:
        if telemetry is not None:
            await telemetry.close()
