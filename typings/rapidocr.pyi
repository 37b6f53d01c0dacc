"""As much of rapidocr 3 as is used; its own annotations leave out what a call gives."""

from collections.abc import Mapping, Sequence

class Boxes:
    """An array."""

    def tolist(self) -> list[list[list[float]]]:
        """Of each text its four corners, clockwise from the top left one, as x and y."""

class RapidOCROutput:
    boxes: Boxes | None
    txts: Sequence[str] | None
    scores: Sequence[float] | None

class RapidOCR:
    def __init__(self, *, params: Mapping[str, object]) -> None:
        """Load the weights."""

    def __call__(self, img_content: bytes) -> RapidOCROutput: ...
