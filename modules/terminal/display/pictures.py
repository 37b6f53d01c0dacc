"""Pictures of tools and answers: drawn where the terminal can, else a file that can be opened.

Anybody may have made them: each is decoded and written anew, under the bounds of attachments.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from core.base.files import FileTooLarge, make_private_folder, read_regular, write_atomically
from core.base.frozen import frozen
from core.base.text import lazy_pattern
from core.errors import UsageError
from core.tools.content import ImageBlock
from modules.session.attached.attachments import IMAGE_SUFFIXES
from modules.terminal.display.terminals import PictureForm, picture_form

FILES_KEPT: Final = 50
"""So many pictures of tools are kept; of more, the oldest goes."""

ANSWER_PICTURES_MAX: Final = 3
"""So many pictures that an answer names are drawn."""

ANSWER_CHARACTERS: Final = 20_000
"""How much of an answer is looked through for names of pictures."""

FILE_BYTES_MAX: Final = 20 * 1024 * 1024

SIDE_PIXELS: Final = 640
"""Longest side of what is drawn."""

_ROWS_MAX: Final = 20
_CELL_PIXELS: Final = (10, 20)
"""About as wide and high as a cell is; where it is not, the picture is a little larger or less."""

_CHUNK: Final = 4096
"""How much base64 one command of kitty's protocol may hold."""

_NAMED: Final = lazy_pattern(r"[(<\"'`]([^()<>\"'`\n]{1,300})[)>\"'`]|([^\s()<>\"'`]{1,300})")


@frozen
class Pictures:
    """Keeps the pictures of tools in a folder of their own, and draws them.

    `environ` tells what the terminal can; the folder is made at the first picture.
    """

    folder: Path
    environ: Mapping[str, str]

    def keep(self, block: ImageBlock, columns: int) -> tuple[Path, str] | None:
        """The file of a picture, and what draws it in so many columns; None if it is none.

        Blocks, up to a second or two for the largest; an empty text draws nothing.
        """
        from modules.session.attached.image_file import image_of  # late: it brings Pillow

        if len(block.data) * 3 // 4 > FILE_BYTES_MAX:
            return None
        try:
            image = image_of(base64.b64decode(block.data, validate=True), "picture")
            make_private_folder(self.folder)
            suffix = image.media_type.partition("/")[2]
            path = self.folder / f"{hashlib.sha256(image.data).hexdigest()[:16]}.{suffix}"
            write_atomically(path, image.data, is_lasting=False)
            by_age = sorted(self.folder.glob("*.*"), key=lambda file: -file.stat().st_mtime)
            for file in by_age[FILES_KEPT:]:
                file.unlink(missing_ok=True)
        except (binascii.Error, UsageError, OSError):
            return None
        return path, drawn(image.data, picture_form(self.environ), columns)


def pictures_in(answer: str, environ: Mapping[str, str], columns: int) -> str:
    """What draws the pictures that an answer names, as files that are there; blocks likewise."""
    if (form := picture_form(environ)) is None:
        return ""
    found = (_content(name) for name in dict.fromkeys(_names(answer[:ANSWER_CHARACTERS])))
    shown = (drawn(data, form, columns) for data in found if data is not None)
    return "\n".join(islice(filter(None, shown), ANSWER_PICTURES_MAX))


def drawn(data: bytes, form: PictureForm | None, columns: int) -> str:
    """The sequences that draw a picture where the cursor is; empty if it is none."""
    if form is None:
        return ""
    from modules.session.attached.image_file import small_png  # late: it brings Pillow

    try:
        png, (width, height) = small_png(data, SIDE_PIXELS)
    except UsageError:
        return ""
    rows = max(height / _CELL_PIXELS[1], 1)
    cells = max(1, min(columns, round(width / _CELL_PIXELS[0] * min(1, _ROWS_MAX / rows))))
    text = base64.b64encode(png).decode("ascii")
    if form == "iterm":
        return f"\x1b]1337;File=inline=1;size={len(png)};width={cells}:{text}\a"
    first = f"a=T,f=100,q=2,c={cells},"
    chunks = [text[start : start + _CHUNK] for start in range(0, len(text), _CHUNK)]
    return "".join(
        f"\x1b_G{'' if number else first}m={int(number < len(chunks) - 1)};{chunk}\x1b\\"
        for number, chunk in enumerate(chunks)
    )


def _names(answer: str) -> Iterator[str]:
    for found in _NAMED.finditer(answer):
        name = (found[1] or found[2]).strip().removeprefix("file://").strip("*_,;:!?").rstrip(".")
        if name.lower().endswith(IMAGE_SUFFIXES):
            yield name


def _content(name: str) -> bytes | None:
    try:
        return read_regular(Path(name).expanduser(), FILE_BYTES_MAX)
    except (OSError, ValueError, RuntimeError, FileTooLarge):  # also: no home, a zero byte
        return None
