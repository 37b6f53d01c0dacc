"""A team's one bus: each message goes to the event stream, then to whoever wants to hear it."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from core.base.frozen import frozen
from core.base.text import one_line, shorten
from core.events import Emit, MessageSent, Notice
from core.team.messages import Message, MessageKind

MESSAGES_KEPT: Final = 1_000
"""So many of the newest are kept."""

MESSAGE_CHARACTERS_MAX: Final = 4_000
"""A longer text is cut: results themselves go by the schedule, messages tell of them."""

HANDED_ON_MAX: Final = 4
"""So often is a task handed on; who passes it further does none of it."""

COORDINATOR: Final = "coordinator"

Subscriber: TypeAlias = Callable[[Message], None]
"""Hears a message; who wants to wait for something begins a task of its own."""


@frozen
class _Subscription:
    subscriber: Subscriber
    receiver: str | None
    kind: MessageKind | None

    def wants(self, message: Message) -> bool:
        return self.kind in (None, message.kind) and (
            self.receiver is None or message.receiver in (None, self.receiver)
        )


class Bus:
    """Carries the messages of one run in the order in which they were sent.

    Listeners of the event stream must not send: a message waits until they have dealt with the one
    before.
    """

    def __init__(self, emit: Emit) -> None:
        """Tell each message by `emit`."""
        self._emit = emit
        self._subscriptions: list[_Subscription] = []
        self._kept: deque[Message] = deque(maxlen=MESSAGES_KEPT)
        self._sending = asyncio.Lock()

    @property
    def kept(self) -> tuple[Message, ...]:
        """The newest messages, oldest first."""
        return tuple(self._kept)

    def subscribe(
        self,
        subscriber: Subscriber,
        *,
        receiver: str | None = None,
        kind: MessageKind | None = None,
    ) -> Callable[[], None]:
        """Hand it the messages to `receiver` or to everybody, of one `kind`; None is any.

        Gives what ends that.
        """
        subscription = _Subscription(subscriber, receiver, kind)
        self._subscriptions.append(subscription)

        def end() -> None:
            self._subscriptions = [s for s in self._subscriptions if s is not subscription]

        return end

    async def send(self, message: Message) -> str | None:
        """Send one message; a text that is too long is cut.

        A task that may not be handed on is not sent. Its sender gets a failure instead, and why is
        given back.
        """
        if message.kind == "task" and (refused := refuses_loop(message.path, message.correlation)):
            message = replace(
                message, sender=COORDINATOR, receiver=message.sender, kind="failure", text=refused
            )
        else:
            refused = None
        message = replace(message, text=shorten(message.text, MESSAGE_CHARACTERS_MAX))
        async with self._sending:
            await self._emit(MessageSent(message))
            self._kept.append(message)
            for each in self._subscriptions:
                if each.wants(message):
                    await self._hand(each.subscriber, message)
        return refused

    async def _hand(self, subscriber: Subscriber, message: Message) -> None:
        try:
            subscriber(message)
        except Exception as error:  # noqa: BLE001 - a bug of one costs nobody else a message
            told = one_line(f"{type(error).__name__}: {error}", 300)
            await self._emit(Notice("team", f"a listener of messages failed: {told}"))


def refuses_loop(path: Sequence[str], task: str) -> str | None:
    """Why a task may not be handed on that came through `path`, oldest first; None if it may."""
    if task in path:
        ring = (*path[path.index(task) :], task)
        return f"{task} would wait for itself: {' → '.join(ring)}; do it without handing it on"
    if len(path) >= HANDED_ON_MAX:
        way = " → ".join((*path, task))
        return f"a task is handed on at most {HANDED_ON_MAX} times, not {way}; do it yourself"
    return None
