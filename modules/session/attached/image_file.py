"""An image file as a model is given it: PNG or JPEG, upright, of a size that models make use of.

These two are what every provider and every local server reads. What is already one of them, small
enough and free of metadata (a photo's place and time) goes as it is; all else is written anew.
The type is told by the content. Pillow takes 0.04 s to import: this file is, at the first image.
"""

import io
import warnings
from pathlib import Path
from typing import Final

from PIL import Image, ImageOps, UnidentifiedImageError

from core.errors import UsageError
from core.ports import ImageInput, ImageType

FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")
"""Pillow's names of the formats that are read."""

FILE_SIZE_MAX_BYTES: Final = 20 * 1024 * 1024
"""Largest file that is opened."""

PICTURE_MAX_PIXELS: Final = 64_000_000
"""Largest picture that is decoded, about 8,000 × 8,000, which takes at most 256 MB."""

LONG_SIDE_PIXELS: Final = 1568
"""Longest side of a picture that is sent; Anthropic documents that its models see no more."""

SENT_MAX_BYTES: Final = 3 * 1024 * 1024
"""Largest picture that is sent; in base64 it takes a third more."""

JPEG_QUALITIES: Final = (90, 75, 50)
"""Tried in turn until the picture is small enough."""

_TYPES: Final[dict[str | None, ImageType]] = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # a JPEG with further pictures behind the first
}
_LOSSLESS: Final = frozenset({"PNG", "GIF", "BMP", "TIFF"})
_PLAIN_MODES: Final = frozenset({"1", "L", "LA", "P", "RGB", "RGBA"})

_METADATA: Final = frozenset(
    {"exif", "Raw profile type exif", "xmp", "XML:com.adobe.xmp", "photoshop", "comment"}
)
"""Where Pillow keeps what a file says beside its pixels, such as the place of a photo."""


def read_image(path: Path, name: str) -> ImageInput:
    """The image in a file; blocks, and takes up to a second or two for the largest.

    `name` stands for the path in messages and in what is returned.

    Raises:
        UsageError: it can't be read, is no image, damaged or too large.
    """
    return image_of(_file_content(path, name), name)


def image_of(data: bytes, name: str) -> ImageInput:
    """The image that these bytes are; as `read_image`."""
    warnings.filterwarnings("ignore", module=r"PIL\.")  # damaged and large files are dealt with
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
            width, height = picture.size
            if width * height <= PICTURE_MAX_PIXELS:
                return _prepared(picture, data, name)
    except UnidentifiedImageError:
        raise UsageError(
            f"@{name} is not an image that can be read; attach one of {', '.join(FORMATS)}"
        ) from None
    except Image.DecompressionBombError:
        width, height = 0, 0
    except Exception as error:  # whatever: on damaged data each decoder raises its own kind
        raise UsageError(
            f"@{name} is damaged: {str(error) or type(error).__name__}; attach a whole file"
        ) from error
    raise UsageError(
        f"@{name} has more than {PICTURE_MAX_PIXELS // 1_000_000} million pixels; attach a "
        "smaller picture"
    )


def small_png(data: bytes, side: int) -> tuple[bytes, tuple[int, int]]:
    """The image as a PNG whose sides are at most `side` pixels, and how wide and high it is.

    Raises:
        UsageError: as `read_image`.
    """
    with Image.open(io.BytesIO(image_of(data, "picture").data)) as picture:
        small = _with_eight_bits(picture)
        small.thumbnail((side, side))
        return _saved(small, "PNG"), small.size


def size_of(image: ImageInput) -> tuple[int, int]:
    """Width and height in pixels, from the head of an image that `read_image` has made."""
    with Image.open(io.BytesIO(image.data)) as picture:
        return picture.size


def _file_content(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_SIZE_MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"@{name} can't be read: {error.strerror or error} ({path})") from error
    if len(data) > FILE_SIZE_MAX_BYTES:
        raise UsageError(
            f"@{name} is larger than {FILE_SIZE_MAX_BYTES // 2**20} MB; attach a smaller file"
        )
    return data


def _prepared(picture: Image.Image, data: bytes, name: str) -> ImageInput:
    """The picture as it is sent; decodes all of it, so that damage shows here."""
    media_type = _TYPES.get(picture.format)
    fits = max(picture.size) <= LONG_SIDE_PIXELS and len(data) <= SENT_MAX_BYTES
    if not fits:
        # JPEG only: decoding at a fraction of the size takes a fraction of the time.
        picture.draft(None, (LONG_SIDE_PIXELS, LONG_SIDE_PIXELS))
    picture.load()
    is_bare = not picture.getexif() and not _METADATA & picture.info.keys()
    if media_type is not None and fits and is_bare and picture.mode in _PLAIN_MODES:
        return ImageInput(name, media_type, data)
    return _written_anew(picture, name)


def _written_anew(picture: Image.Image, name: str) -> ImageInput:
    """The picture upright, small enough and without metadata."""
    is_lossless = picture.format in _LOSSLESS
    ImageOps.exif_transpose(picture, in_place=True)
    small = _with_eight_bits(picture)
    small.thumbnail((LONG_SIDE_PIXELS, LONG_SIDE_PIXELS))
    small.info = {}
    if is_lossless or "A" in small.mode:
        written = _saved(small, "PNG")
        if len(written) <= SENT_MAX_BYTES:
            return ImageInput(name, "image/png", written)
    return ImageInput(name, "image/jpeg", _as_jpeg(_on_white(small)))


def _as_jpeg(picture: Image.Image) -> bytes:
    """A JPEG small enough to be sent; the last quality makes one of any picture of that size."""
    written = b""
    for quality in JPEG_QUALITIES:
        written = _saved(picture, "JPEG", quality=quality)
        if len(written) <= SENT_MAX_BYTES:
            break
    return written


def _with_eight_bits(picture: Image.Image) -> Image.Image:
    """The picture in grey or colour of eight bits a channel, with its transparency."""
    match picture.mode:
        case "L" | "RGB" | "RGBA" if "transparency" not in picture.info:
            return picture
        case "1":
            return picture.convert("L")
        case "L" | "RGB" | "P" | "PA" | "LA" | "La" | "RGBa":
            return picture.convert("RGBA")
        case mode if mode.startswith("I"):  # 65,535 is white, and converting cuts at 255
            deep = picture.convert("F")
            # Pillow's stub names a type of numpy's, which need not be there.
            return deep.point(_eight_bits).convert("L")  # pyright: ignore[reportUnknownMemberType]
        case _:
            return picture.convert("RGB")


def _eight_bits(level: float) -> float:
    return level * (1 / 257)


def _on_white(picture: Image.Image) -> Image.Image:
    if picture.mode != "RGBA":
        return picture
    page = Image.new("RGB", picture.size, "white")
    page.paste(picture, mask=picture.getchannel("A"))
    return page


def _saved(picture: Image.Image, kind: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, format=kind, **options)
    return buffer.getvalue()
