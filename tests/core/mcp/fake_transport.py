"""A transport in memory: what was sent can be looked at, what the server says is put in by hand."""

import asyncio
from collections.abc import Callable

from core.mcp.peer import Deliver, Transport, TransportDown
from core.values import Json, JsonObject

Script = Callable[[JsonObject], JsonObject | None]
"""A request to the `result` of its reply; None leaves it without one."""


async def settled() -> None:
    """Let tasks that are ready run to their next wait."""
    for _ in range(10):
        await asyncio.sleep(0)


class FakeTransport(Transport):
    """Answers requests by a script, at once; `say` lets the server speak of its own accord."""

    def __init__(self, script: Script | None = None) -> None:
        super().__init__()
        self.sent: list[JsonObject] = []
        self.version: str | None = None
        self._script = script
        self._deliver: Deliver | None = None

    async def open(self, deliver: Deliver) -> None:
        """Begin."""
        self._deliver = deliver

    async def send(self, message: JsonObject) -> None:
        """Keep the message and answer it."""
        if self.is_down:
            raise TransportDown("was closed")
        self.sent.append(message)
        if self._script is not None and "id" in message and "method" in message:
            result = self._script(message)
            if result is not None:
                self.say({"jsonrpc": "2.0", "id": message["id"], **result})

    def negotiated(self, protocol_version: str) -> None:
        """Note the version."""
        self.version = protocol_version

    async def aclose(self) -> None:
        """End."""
        self._closing = True

    def say(self, message: JsonObject) -> None:
        """Let the server say something."""
        assert self._deliver is not None
        self._deliver(message)

    def ask(self, number: int, **params: Json) -> None:
        """Let the server put a question to the user."""
        self.say(
            {"jsonrpc": "2.0", "id": number, "method": "elicitation/create", "params": {**params}}
        )

    def lose(self, why: str) -> None:
        """Break the session off."""
        self.loss = why
        self.lost.set()

    def methods(self) -> list[Json]:
        """The methods of all that was sent; None for replies."""
        return [message.get("method") for message in self.sent]
