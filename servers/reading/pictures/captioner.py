"""The protocol of all that describe pictures, and what they share."""

from typing import Protocol

PROMPT = (
    "This picture stands in a document that people search. If it holds text, write that text down "
    "word for word, tables as markdown tables. Otherwise say in one or two sentences what it "
    "shows, with the names and numbers in it. Write nothing else."
)

CAPTION_CHARS_MAX = 8_000


class CaptionerUnavailable(Exception):
    """Pictures can't be described now; the message is one line for the status."""


class Captioner(Protocol):
    """Describes pictures."""

    @property
    def name(self) -> str:
        """What is told to people: `ocr`, `ollama:llava`."""
        ...

    def caption(self, image: bytes) -> str | None:
        """What a PNG shows or says; None if there is nothing to say.

        Raises:
            CaptionerUnavailable: it can't be asked now.
        """
        ...


class FirstThatWorks:
    """Asks the first of several; one that can't be asked is left out from then on."""

    def __init__(self, captioners: list[Captioner]) -> None:
        """In the order in which they are asked; at least one."""
        self._captioners = list(captioners)

    @property
    def name(self) -> str:
        """The one that is asked now."""
        return self._captioners[0].name

    def caption(self, image: bytes) -> str | None:
        """As the first that answers; raises what the last one does."""
        while len(self._captioners) > 1:
            try:
                return self._captioners[0].caption(image)
            except CaptionerUnavailable:
                self._captioners.pop(0)
        return self._captioners[0].caption(image)
