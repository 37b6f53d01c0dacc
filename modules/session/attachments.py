"""Images in requests: `what is in @photo.png?` attaches that file, and the text keeps its name.

A word that begins with @ and names an image file is an attachment; quotes take a path with
spaces: `@"my photo.png"`. Anything else with an @ stays text: e-mail addresses, @names, and files
that are no images.
"""

import asyncio
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from core.base.frozen import frozen
from core.errors import UsageError
from core.ports import ImageInput, TextInput
from core.provenance.borders import Borders
from core.run.observation import shorten

IMAGE_SUFFIXES: Final = (
    *(".png", ".jpg", ".jpeg", ".webp", ".gif"),
    *(".bmp", ".tif", ".tiff", ".avif"),
)
"""How names of image files end that can be read."""

IMAGES_MAX: Final = 5
"""How many images one request may have."""

_ATTACHED = re.compile(
    r"""(?<![^\s(\[{,;:"'“‘«])      # an @ at the beginning of a word
        @(?: "(?P<double>[^"\n]{1,4096})" | '(?P<single>[^'\n]{1,4096})'
           | (?P<word>[^\s"'][^\s]{0,4095}) )""",
    re.VERBOSE,
)
_CLOSING = ".,;:!?)]}>\"'”’»…。、，；：！？）」』】"
"""What may stand behind a path without belonging to it."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://")


@frozen
class Attached:
    """A request without the @ before each image, and the images in the order of the text."""

    text: str
    images: tuple[ImageInput, ...] = ()


async def read_attachments(request: str, folder: Path) -> Attached:
    """The request's images, read and checked in a thread; relative paths start at `folder`.

    Raises:
        UsageError: an image isn't there, can't be read, is damaged or too large, or there are
            too many.
    """
    if _ATTACHED.search(request) is None:
        return Attached(request)
    return await asyncio.to_thread(_read, request, folder)


def images_note(images: Sequence[ImageInput], *, seen: bool) -> str:
    """What a prompt says of the images; `seen` tells whether the model is given them.

    One that isn't should say so rather than guess.
    """
    if not images:
        return ""
    listed = "; ".join(map(_described, images))
    if seen:
        return f"The user attached, in this order: {listed}."
    it = "it" if len(images) == 1 else "them"
    return (
        f"The user attached {listed}; you can't see {it}, so say so if the answer depends on {it}."
    )


def texts_note(
    texts: Sequence[TextInput], room_characters: int, borders: Borders | None = None
) -> str:
    """What a prompt says of the texts that go with a request, and as much of them as it has room.

    `borders` go around text that nobody vouches for.
    """
    parts = [borders.note] if texts and borders is not None else []
    for text in texts:
        shown = shorten(text.text, room_characters)
        parts.append(
            f"With the request came {text.described}. The plan has all of it as the variable "
            f"`{text.name}`, a str: compute with that, don't copy it. It reads:\n"
            f"{borders.around(shown) if borders is not None else shown}"
        )
    return "\n".join(parts)


def _read(request: str, folder: Path) -> Attached:
    from modules.session.image_file import read_image  # late: it brings Pillow

    paths: dict[Path, str] = {}  # each file once, by its name as it was first written
    pieces: list[str] = []
    end = 0
    for found in _ATTACHED.finditer(request):
        if (name := _image_name(found)) is None:
            continue
        paths.setdefault(_image_path(name, folder), name)
        if len(paths) > IMAGES_MAX:
            raise UsageError(
                f"the request has more than {IMAGES_MAX} images; leave some out, or ask about "
                "them one after the other"
            )
        pieces += [request[end : found.start()], found.group().removeprefix("@")]
        end = found.end()
    images = tuple(read_image(path, name) for path, name in paths.items())
    return Attached("".join([*pieces, request[end:]]), images)


def _image_name(found: re.Match[str]) -> str | None:
    """The path that a word with an @ means if it looks like that of an image."""
    name = found["double"] or found["single"] or found["word"].rstrip(_CLOSING)
    looks_like_one = name.lower().endswith(IMAGE_SUFFIXES) and _URL.match(name) is None
    return name if looks_like_one else None


def _image_path(name: str, folder: Path) -> Path:
    """The file that a path means.

    Raises:
        UsageError: there is none.
    """
    path = folder / name
    try:
        path = folder / Path(name).expanduser()
        status = path.stat()
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"@{name} can't be attached: {why} ({path}); correct the path, or leave out the @ if "
            "no image is meant"
        ) from None
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"@{name} can't be attached: {path} is not a file")
    return path


def _described(image: ImageInput) -> str:
    from modules.session.image_file import size_of  # late: it brings Pillow

    kind = image.media_type.removeprefix("image/").upper()
    width, height = size_of(image)
    return f"{image.name} ({kind}, {width} × {height})"
