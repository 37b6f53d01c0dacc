"""An SDK's client, made at the first request, and what the SDK raises in the user's words."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Generic, TypeVar

from core.errors import ModelUnavailable
from modules.models.hosted.sdk.errors import SdkFaults

ClientT = TypeVar("ClientT")


class SdkOpening(Generic[ClientT]):
    """Makes a client once, in a thread: the import alone of an SDK takes a second."""

    def __init__(self, make: Callable[[], ClientT], faults: SdkFaults) -> None:
        """Make nothing yet."""
        self._make = make
        self._faults = faults
        self._one_at_a_time = asyncio.Lock()
        self._client: ClientT | None = None

    async def client(self) -> ClientT:
        """The client, the same for all who ask.

        Raises:
            ModelUnavailable: it can't be made.
        """
        async with self._one_at_a_time:
            if self._client is None:
                try:
                    self._client = await asyncio.to_thread(self._make)
                except (ImportError, OSError, ValueError) as error:
                    raise self._faults.settings(error) from None
            return self._client

    def take(self) -> ClientT | None:
        """The client, to be closed; who asks for one after this gets another."""
        client, self._client = self._client, None
        return client


@contextmanager
def translated(
    translate: Callable[[Exception], ModelUnavailable | None],
) -> Generator[None]:
    """Within the `with`, raise what `translate` makes of an error; its None means a bug of ours.

    Raises:
        ModelUnavailable: as it is, or made of another error, which may hold the key and is lost.
    """
    try:
        yield
    except ModelUnavailable:
        raise
    except Exception as error:
        if (ours := translate(error)) is None:
            raise
        raise ours from None
