"""Why servers of this run are left out, with what is remembered of the runs before."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace

from config.servers import ServerSpec
from core.base.text import clause
from core.dispatch.hooks import ServerStatus
from core.dispatch.start_failures import StartFailure, StartFailures
from core.errors import EntryUnusable, ServerError, ServerStartError


class RunFailures:
    """The failures of one dispatcher's servers; without `remembered`, of this run alone."""

    def __init__(
        self,
        specs: Mapping[str, ServerSpec],
        remembered: StartFailures | None,
        tell: Callable[[str], Awaitable[None]],
    ) -> None:
        """Know of none yet; `tell` says a line to the user."""
        self.errors: dict[str, ServerError] = {}
        """Why a server is left out, by id."""
        self._specs = specs
        self._remembered = remembered or StartFailures(None)
        self._tell = tell
        self._told_resting: set[str] = set()
        self._is_counting = True

    def stop_counting(self) -> None:
        """Remember nothing more: what fails from now on was ended by us."""
        self._is_counting = False

    async def note(self, name: str, error: ServerError) -> str | None:
        """Remember that a start failed, once for all who waited; the line if it is set aside now.

        An entry that can't be used costs no time to try, and says itself what to correct.
        """
        if self.errors.get(name) is error:
            return None
        self.errors[name] = error
        is_start = isinstance(error, ServerStartError) and not isinstance(error, EntryUnusable)
        if not is_start or not self._is_counting:
            return None
        failure = await asyncio.to_thread(self._remembered.add, self._specs[name])
        self._told_resting.add(name)
        return failure.told(self._remembered.clock()) if failure.is_set_aside else None

    async def forget(self, name: str) -> None:
        """A server has started: nothing is held against it any more."""
        self.errors.pop(name, None)
        await asyncio.to_thread(self._remembered.forget, name)

    def rests(self, name: str) -> bool:
        """Whether a server failed so lately or so often that it is left alone."""
        return self._resting(name) is not None

    def is_set_aside(self, name: str) -> bool:
        """Whether nothing but the user brings a server back."""
        failure = self._resting(name)
        return failure is not None and failure.is_set_aside

    async def tell_resting(self, names: Iterable[str]) -> None:
        """Say once of each server that it is left alone; who saw it fail just now knows why."""
        for name in names:
            failure = None if name in self._told_resting else self._resting(name)
            if failure is not None:
                self._told_resting.add(name)
                await self._tell(failure.told(self._remembered.clock()))

    def with_rest(self, status: ServerStatus) -> ServerStatus:
        """A server's status, with what is remembered of it."""
        if status.state == "up":
            return status  # without a look at the file: this is asked for at every plan
        if (failure := self._resting(status.id)) is None:
            return status
        told = failure.told(self._remembered.clock())
        problem = told if status.problem is None else f"{clause(status.problem)}; {told}"
        state = "set aside" if failure.is_set_aside else "failed"
        return replace(status, state=state, problem=problem)

    def _resting(self, name: str) -> StartFailure | None:
        return self._remembered.resting(self._specs[name])
