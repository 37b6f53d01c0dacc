"""What the tests of formats share: a reading with or without something that reads pictures."""

import io
from collections.abc import Sequence

from servers.reading.files import FileExtractor
from servers.reading.limits import Limits
from servers.reading.pictures.captioner import Captioner, CaptionerUnavailable
from servers.reading.source import Extracted, Source


class ScriptedCaptioner:
    """Says one thing after the other about pictures, and keeps them."""

    def __init__(self, said: Sequence[str | CaptionerUnavailable | None]) -> None:
        """What it says; the last again and again."""
        self._said = list(said)
        self.images: list[bytes] = []

    @property
    def name(self) -> str:
        return "scripted"

    def caption(self, image: bytes) -> str | None:
        self.images.append(image)
        said = self._said.pop(0) if len(self._said) > 1 else self._said[0]
        if isinstance(said, CaptionerUnavailable):
            raise said
        return said


def extracted(
    name: str, data: bytes, captioner: Captioner | None = None, limits: Limits | None = None
) -> Extracted:
    """The content of a file in memory."""
    extractor = FileExtractor(lambda: captioner, limits=limits)
    return extractor.extract_source(Source(name, data))


def png(width: int = 200, height: int = 100, shade: int = 99) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("L", (width, height), shade).save(buffer, format="PNG")
    return buffer.getvalue()
