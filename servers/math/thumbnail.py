"""Thumbnails of image files, as PNG. Imported at the first one, with Pillow.

What is refused before a pixel is decoded: anything but a regular file, files and pictures beyond
the bounds below, and every format outside `FORMATS` (Pillow would hand EPS to an outside program).
"""

import io
import math
import stat
import warnings
from array import array
from pathlib import Path

from PIL import Image, UnidentifiedImageError
from PIL.Image import Transpose

from core.base.frozen import frozen
from servers.shared.errors import ToolInputError

SIDE_MAX_PIXELS = 100
"""A thumbnail is at most this wide and this high."""

FILE_SIZE_MAX_BYTES = 50 * 1024 * 1024
"""Largest file that is opened."""

PICTURE_MAX_PIXELS = 64_000_000
"""Largest picture that is decoded: about 8,000 by 8,000, at most 256 MB in memory."""

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO", "PPM", "TGA", "AVIF", "JPEG2000")
"""Pillow's names of the formats that are read."""

SIXTEEN_BIT_MAX = 65535
"""White in a picture with 16-bit grey levels."""

EXIF_ORIENTATION = 0x0112
"""Tag of the camera's orientation, 1 (upright) to 8; EXIF 2.32, table 4."""


@frozen
class Thumbnail:
    """A PNG with its own size and that of the picture it was made from, in pixels."""

    png: bytes
    width: int
    height: int
    original_width: int
    original_height: int


def make_thumbnail(image_path: str) -> Thumbnail:
    """A PNG of the picture (of an animation, its first frame), at most 100 by 100 pixels.

    Proportions are kept, small pictures are not enlarged, the camera's orientation (EXIF) is
    applied, and no metadata is copied. `~` stands for the home folder.

    Raises:
        ToolInputError: no such file, not a picture, damaged, or too large.
    """
    path = _checked_file(image_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about large and damaged files; both are dealt with here
        picture, (width, height), orientation = _decoded(path)
        small = _resizable(picture)
        small.thumbnail((SIDE_MAX_PIXELS, SIDE_MAX_PIXELS))
        small = _upright(_with_eight_bits(small, picture.mode), orientation)
        # Pixels only: place and time of a photo, colour profile and text stay behind.
        small.info = {}
        buffer = io.BytesIO()
        small.save(buffer, format="PNG", optimize=True)
    return Thumbnail(buffer.getvalue(), small.width, small.height, width, height)


def _checked_file(image_path: str) -> Path:
    """The path, if it leads to a regular file of bearable size that may be read."""
    try:
        path = Path(image_path).expanduser()
        status = path.stat()
    except FileNotFoundError:
        raise ToolInputError(
            f"there is no file {image_path} (looked in {Path.cwd()}); give the path of an image"
        ) from None
    except (OSError, ValueError, RuntimeError) as error:
        raise ToolInputError(f"can't open {image_path!r}: {_reason(error)}") from error
    if stat.S_ISDIR(status.st_mode):
        raise ToolInputError(f"{image_path} is a folder; give the path of an image file in it")
    if not stat.S_ISREG(status.st_mode):
        raise ToolInputError(f"{image_path} is not a regular file; give the path of an image file")
    if status.st_size > FILE_SIZE_MAX_BYTES:
        raise ToolInputError(
            f"{image_path} has {status.st_size / 2**20:.0f} MB, more than the "
            f"{FILE_SIZE_MAX_BYTES // 2**20} MB that are read; give a smaller file"
        )
    return path


def _decoded(path: Path) -> tuple[Image.Image, tuple[int, int], int]:
    """The loaded picture, its size as the file gives it, and its EXIF orientation."""
    try:
        with path.open("rb") as file:
            picture = Image.open(file, formats=FORMATS)
            size = picture.size
            if size[0] * size[1] <= PICTURE_MAX_PIXELS:
                # JPEG only: decoding at a fraction of the size takes a fraction of the time.
                picture.draft(None, (2 * SIDE_MAX_PIXELS, 2 * SIDE_MAX_PIXELS))
                picture.load()
                return picture, size, picture.getexif().get(EXIF_ORIENTATION, 1)
    except UnidentifiedImageError:
        raise ToolInputError(
            f"{path} is not an image in a known format; give one of {', '.join(FORMATS)}"
        ) from None
    except Exception as error:  # whatever: on damaged data each decoder raises its own kind
        raise ToolInputError(
            f"can't read the image {path}: {_reason(error)}; check that the file is whole"
        ) from error
    raise ToolInputError(
        f"{path} has {size[0]} by {size[1]} pixels, more than the "
        f"{PICTURE_MAX_PIXELS // 1_000_000} million that are read; give a smaller picture"
    )


def _resizable(picture: Image.Image) -> Image.Image:
    """The picture in a mode that can be resampled with proper colours."""
    match picture.mode:
        case "1":
            return picture.convert("L")
        case "P" | "PA" | "LA" | "La" | "RGBa":
            return picture.convert("RGBA")
        case "RGB" | "L" if "transparency" in picture.info:
            return picture.convert("RGBA")
        case "L" | "RGB" | "RGBA" | "F":
            return picture
        case mode if mode.startswith("I"):
            return picture.convert("I").convert("F")
        case _:
            return picture.convert("RGB")


def _with_eight_bits(small: Image.Image, original_mode: str) -> Image.Image:
    """The picture with levels 0 … 255, where Pillow's own conversion would cut off what is above.

    Whole-number levels (mode `I…`) count from 0 to 65535 or to the brightest, fractional ones
    (`F`) from the darkest to the brightest; NaN and infinity are shown as 0.
    """
    if small.mode != "F":
        return small
    levels = [each if math.isfinite(each) else 0.0 for each in array("f", small.tobytes())]
    low, high = min(levels), max(levels)
    if original_mode.startswith("I"):
        low, high = 0.0, max(float(SIXTEEN_BIT_MAX), high)
    span = (high - low) or 1.0
    scaled = bytes(min(255, max(0, round(255 * (level - low) / span))) for level in levels)
    return Image.frombytes("L", small.size, scaled)


def _upright(small: Image.Image, orientation: int) -> Image.Image:
    """The picture turned and mirrored as the camera's orientation asks."""
    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    turn = turns.get(orientation)
    return small if turn is None else small.transpose(turn)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
