"""Pictures that are documents themselves: what they say or show."""

import io
import warnings

from PIL import Image

from servers.reading.context import Reading
from servers.reading.pictures.pictures import picture_paragraph
from servers.reading.source import Extracted, ExtractionError, Source


def read_image(source: Source, reading: Reading) -> Extracted:
    """What a picture says; of a file its name where that is nothing, so that it can be found.

    Raises:
        ExtractionError: it is damaged, or far too large; on the web also if it says nothing.
    """
    width, height = _size(source.data)
    if width * height > reading.limits.picture_pixels_max:
        raise ExtractionError(
            f"it has {width:,} by {height:,} pixels, more than the "
            f"{reading.limits.picture_pixels_max // 1_000_000} million that are read"
        )
    said = reading.pictures.read(source.data)
    if said:
        return Extracted(said, source.name)
    if source.url:
        raise ExtractionError(_why_not(reading))
    if not reading.pictures.can_read():
        reading.note("only its name can be found: nothing here reads pictures")
    return Extracted(picture_paragraph(_name(source)), source.name)


def _why_not(reading: Reading) -> str:
    if reading.pictures.can_read():
        return "nothing in it can be read"
    reason = "; ".join(reading.pictures.notes()) or "the setting web.captions is none"
    return f"pictures are not described here: {reason}"


def _size(data: bytes) -> tuple[int, int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about large ones, which are refused above
        try:
            with Image.open(io.BytesIO(data)) as picture:
                size = picture.size
                picture.verify()
                return size
        except Exception as error:
            raise ExtractionError("the picture is damaged and can't be opened") from error


def _name(source: Source) -> str:
    """The words in a file's name."""
    return source.name.removesuffix(source.suffix).replace("_", " ").replace("-", " ")
