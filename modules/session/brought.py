"""What a client that keeps its conversation itself brings along with each request."""

from typing import Final

from core.base.frozen import frozen
from core.ports import ImageInput
from core.turn import Exchange


@frozen
class Brought:
    """All of it is the user's, but for the answers in the history: those may quote anybody.

    Attributes:
        history: the exchanges before the request.
        instructions: what the user has said for the whole conversation.
        images: pictures that go with the request.
    """

    history: tuple[Exchange, ...] = ()
    instructions: str = ""
    images: tuple[ImageInput, ...] = ()


NOTHING_BROUGHT: Final = Brought()
