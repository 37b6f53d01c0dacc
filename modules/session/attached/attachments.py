"""Files in requests: `what is in @photo.png?` attaches that file, and the text keeps its name.

A word that begins with @ and names an image, a text file or a folder is an attachment; quotes take
a path with spaces: `@"my photo.png"`. Anything else with an @ stays text: e-mail addresses, @names.
"""

import asyncio
import re
import stat
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from core.base.frozen import frozen
from core.base.text import lazy_pattern, near_names
from core.errors import UsageError
from core.ports import ImageInput
from core.provenance.borders import Borders
from core.run.observation import shorten
from core.turn import TextInput
from modules.session.attached.text_file import TEXT_SUFFIXES, list_folder, read_text
from modules.session.request import STDIN_BYTES_MAX

IMAGE_SUFFIXES: Final = (
    *(".png", ".jpg", ".jpeg", ".webp", ".gif"),
    *(".bmp", ".tif", ".tiff", ".avif"),
)
"""How names of image files end that can be read."""

IMAGES_MAX: Final = 5
"""How many images one request may have."""

TEXTS_MAX: Final = 10
"""How many text files and folders it may have."""

FILES_COMPARED: Final = 1_000
"""So many names beside a path that is not there are compared with it."""

_PATH_BEGINS: Final = ("./", "../", "~/", "/")

_ATTACHED = lazy_pattern(
    r"""(?<![^\s(\[{,;:"'“‘«])      # an @ at the beginning of a word
        @(?: "(?P<double>[^"\n]{1,4096})" | '(?P<single>[^'\n]{1,4096})'
           | (?P<word>[^\s"'][^\s]{0,4095}) )""",
    re.VERBOSE,
)
_CLOSING = ".,;:!?)]}>\"'”’»…。、，；：！？）」』】"
"""What may stand behind a path without belonging to it."""

_URL = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://")


@frozen
class Attached:
    """A request without the @ before each file, and the files in the order of the text."""

    text: str
    images: tuple[ImageInput, ...] = ()
    texts: tuple[TextInput, ...] = ()


async def read_attachments(request: str, folder: Path) -> Attached:
    """The request's files, read and checked in a thread; relative paths start at `folder`.

    Raises:
        UsageError: one isn't there, can't be read, is damaged or too large, or there are too many.
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


def _image_file():
    """What reads images; imported at the first one."""
    from modules.session.attached import image_file  # late: it brings Pillow

    return image_file


def _read(request: str, folder: Path) -> Attached:
    images: dict[Path, str] = {}  # each file once, by its name as it was first written
    others: dict[Path, str] = {}
    pieces: list[str] = []
    end = 0
    for found in _ATTACHED.finditer(request):
        if (name := _image_name(found)) is not None:
            images.setdefault(_image_path(name, folder), name)
        elif (name := _file_name(found, folder)) is not None:
            others.setdefault(_path(name, folder), name)
        else:
            continue
        for files, most, kind in ((images, IMAGES_MAX, "images"), (others, TEXTS_MAX, "files")):
            if len(files) > most:
                raise UsageError(
                    f"the request has more than {most} {kind}; leave some out, or ask about "
                    "them one after the other"
                )
        pieces += [request[end : found.start()], found.group().removeprefix("@")]
        end = found.end()
    seen = tuple(_image_file().read_image(path, name) for path, name in images.items())
    return Attached("".join([*pieces, request[end:]]), seen, _texts(others))


def _texts(paths: Mapping[Path, str]) -> tuple[TextInput, ...]:
    """What stands in the files, and what lies in the folders."""
    texts: list[TextInput] = []
    for path, name in paths.items():
        read = list_folder if path.is_dir() else read_text
        texts.append(read(path, name, {text.name for text in texts}))
    if sum(len(text.text) for text in texts) > STDIN_BYTES_MAX:
        raise UsageError(
            f"the files of the request hold more than {STDIN_BYTES_MAX:,} characters in all; "
            "leave some out, or add them to your documents: agent.py docs add"
        )
    return tuple(texts)


def _image_name(found: re.Match[str]) -> str | None:
    """The path that a word with an @ means if it looks like that of an image."""
    name = found["double"] or found["single"] or found["word"].rstrip(_CLOSING)
    looks_like_one = name.lower().endswith(IMAGE_SUFFIXES) and _URL.match(name) is None
    return name if looks_like_one else None


def _file_name(found: re.Match[str], folder: Path) -> str | None:
    """The path that a word with an @ means, if that is there, or looks like that of a file."""
    name = found["double"] or found["single"] or found["word"]
    if _URL.match(name) is not None:
        return None
    for tried in (name, name.rstrip(_CLOSING)):
        if tried and _is_there(tried, folder):
            return tried
    name = name if found["word"] is None else name.rstrip(_CLOSING)
    looks_like_one = Path(name).suffix.lower() in TEXT_SUFFIXES or name.startswith(_PATH_BEGINS)
    return name if looks_like_one else None


def _is_there(name: str, folder: Path) -> bool:
    try:
        return (folder / Path(name).expanduser()).exists()
    except (OSError, ValueError, RuntimeError):
        return False


def _path(name: str, folder: Path) -> Path:
    """The file or folder that a path means.

    Raises:
        UsageError: there is none; the message gives the nearest names beside it.
    """
    path = folder / name
    try:
        path = folder / Path(name).expanduser()
        path.stat()
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        near = _near_files(path)
        meant = f"did you mean {' or '.join(near)}? Else correct" if near else "correct"
        raise UsageError(
            f"@{name} can't be attached: {why} ({path}); {meant} the path, or leave out the @ if "
            "no file is meant"
        ) from None
    return path


def _near_files(path: Path) -> list[str]:
    """Names beside a path that are like its own."""
    try:
        beside = [entry.name for entry in islice(path.parent.iterdir(), FILES_COMPARED)]
    except (OSError, ValueError):
        return []
    return near_names(path.name, beside, form=str.lower)


def _image_path(name: str, folder: Path) -> Path:
    """The image file that a path means.

    Raises:
        UsageError: there is none.
    """
    path = _path(name, folder)
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"@{name} can't be attached: {path} is not a file")
    return path


def _described(image: ImageInput) -> str:
    kind = image.media_type.removeprefix("image/").upper()
    width, height = _image_file().size_of(image)
    return f"{image.name} ({kind}, {width} × {height})"
