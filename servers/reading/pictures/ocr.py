"""Text in pictures by PP-OCR v6 (small) under onnxruntime, with weights inside `rapidocr`.

Runs offline, on one thread. Text is looked for in the picture scaled down to 960 pixels, and
read from the picture itself: 2 s of CPU for a page at 150 dpi, instead of 13 s as it comes.
Source: PP-OCR, arXiv 2009.09941; its third to sixth editions changed the networks only.
"""

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.base.frozen import frozen
from servers.reading.pictures.captioner import CAPTION_CHARS_MAX, CaptionerUnavailable

if TYPE_CHECKING:
    from rapidocr import RapidOCR

SEARCHED_SIDE_PIXELS = 960
CONFIDENCE_MIN = 0.6
LETTERS_MIN = 3
"""A picture with fewer says nothing; edges of drawings are read as single letters."""

_SETTINGS: dict[str, object] = {
    "Global.log_level": "critical",
    "Global.use_cls": False,  # turned text is rare, and its classifier costs a tenth
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "Det.limit_type": "max",
    "Det.limit_side_len": SEARCHED_SIDE_PIXELS,
}


@frozen
class Word:
    """A piece of text with its place in the picture, in pixels."""

    text: str
    left: float
    top: float
    bottom: float


class OcrCaptioner:
    """Reads the text of pictures; the weights are loaded at the first."""

    def __init__(self) -> None:
        """Nothing is loaded yet."""
        self._engine: RapidOCR | None = None

    @property
    def name(self) -> str:
        """`ocr`."""
        return "ocr"

    def caption(self, image: bytes) -> str | None:
        """The text in a picture, line by line; None if there is hardly any.

        Raises:
            CaptionerUnavailable: `rapidocr` can't be used here.
        """
        found = self._loaded()(image)
        if found.boxes is None or found.txts is None or found.scores is None:
            return None
        words = [
            _word(text, corners)
            for text, corners, score in zip(
                found.txts, found.boxes.tolist(), found.scores, strict=False
            )
            if score >= CONFIDENCE_MIN
        ]
        text = "\n".join(lines_of(words))[:CAPTION_CHARS_MAX]
        return text if sum(each.isalnum() for each in text) >= LETTERS_MIN else None

    def _loaded(self) -> "RapidOCR":
        if self._engine is None:
            try:
                from rapidocr import RapidOCR

                self._engine = RapidOCR(params=_SETTINGS)
            except Exception as error:  # whatever its many parts raise where one is missing
                raise CaptionerUnavailable(f"OCR can't be used here: {error}"[:300]) from error
        return self._engine


def is_installed() -> bool:
    """Whether OCR is at hand; nothing is imported."""
    return all(importlib.util.find_spec(name) for name in ("rapidocr", "onnxruntime"))


def lines_of(words: Sequence[Word]) -> list[str]:
    """Words as lines, from the top: those whose middle lies within a line's height belong to it."""
    lines: list[list[Word]] = []
    for word in sorted(words, key=lambda each: each.top):
        middle = (word.top + word.bottom) / 2
        if lines and lines[-1][0].top <= middle <= lines[-1][0].bottom:
            lines[-1].append(word)
        else:
            lines.append([word])
    return [
        " ".join(word.text for word in sorted(line, key=lambda each: each.left)) for line in lines
    ]


def _word(text: str, corners: list[list[float]]) -> Word:
    ys = [corner[1] for corner in corners]
    return Word(text.strip(), min(corner[0] for corner in corners), min(ys), max(ys))
