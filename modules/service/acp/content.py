"""A prompt as an editor sends it: texts, files that it names or embeds, pictures."""

import asyncio
import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from core.base.frozen import frozen
from core.errors import UsageError
from core.ports import ImageInput
from core.turn import TextInput
from modules.service.acp.messages import Block, Resource
from modules.session.attached.attachments import IMAGE_SUFFIXES, IMAGES_MAX, TEXTS_MAX
from modules.session.attached.image_file import image_of
from modules.session.attached.text_file import TEXT_SUFFIXES, variable_name
from modules.session.request import STDIN_BYTES_MAX

PICTURE_BYTES_MAX: Final = 20 * 1024 * 1024
"""As `modules.session.attached.image_file` has it for files."""


@frozen
class Asked:
    """A request, in which `@` stands before files, and what goes with it."""

    request: str
    texts: tuple[TextInput, ...] = ()
    images: tuple[ImageInput, ...] = ()


async def read_prompt(blocks: Sequence[Block]) -> Asked:
    """What a prompt asks; pictures are decoded in a thread.

    Raises:
        UsageError: a part of it can't be used; the message says which and why.
    """
    return await asyncio.to_thread(_Reading().read, blocks)


@dataclass
class _Reading:
    """One prompt, part by part."""

    texts: list[TextInput] = field(default_factory=list[TextInput])
    images: list[ImageInput] = field(default_factory=list[ImageInput])

    def read(self, blocks: Sequence[Block]) -> Asked:
        said = "".join(piece for block in blocks for piece in self._said(block)).strip()
        if len(self.images) > IMAGES_MAX or len(self.texts) > TEXTS_MAX:
            raise UsageError(
                f"the prompt has more than {IMAGES_MAX} images or {TEXTS_MAX} files; leave some "
                "out, or ask about them one after the other"
            )
        if sum(len(text.text) for text in self.texts) > STDIN_BYTES_MAX:
            raise UsageError(
                f"the files of the prompt hold more than {STDIN_BYTES_MAX:,} characters in all; "
                "leave some out, or name them without embedding them"
            )
        if not said and self.images:
            said = "What is in the picture?"
        return Asked(said, tuple(self.texts), tuple(self.images))

    def _said(self, block: Block) -> Iterator[str]:
        """What stands in the request for a part of the prompt."""
        match block.type:
            case "text":
                yield block.text
            case "resource_link" if block.uri:
                yield f" {_mentioned(block.uri)} "
            case "image":
                name = _file_name(block.uri or "") or f"picture-{len(self.images) + 1}"
                self._add_image(block.data, name)
                yield f" {name} "
            case "resource" if block.resource is not None:
                yield f" {self._embedded(block.resource)} "
            case other:
                raise UsageError(
                    f"a part of the prompt of type '{other[:40]}' can't be used; send text, "
                    "images, links to files, or files"
                )

    def _embedded(self, resource: Resource) -> str:
        """Take a file in; gives its name."""
        name = _file_name(resource.uri) or "text"
        if resource.text is not None:
            taken = {text.name for text in self.texts}
            text = resource.text.replace("\r\n", "\n")
            self.texts.append(TextInput(variable_name(name, taken), text, name))
        elif resource.blob is not None and (resource.mime_type or "").startswith("image/"):
            self._add_image(resource.blob, name)
        else:
            raise UsageError(
                f"{name} is neither text nor a picture; add it to your documents, which reads many "
                "formats: agent.py docs add"
            )
        return name

    def _add_image(self, data: str, name: str) -> None:
        if len(data) > PICTURE_BYTES_MAX * 4 // 3 + 4:
            raise UsageError(
                f"{name} is larger than {PICTURE_BYTES_MAX // 2**20} MB; send a smaller picture"
            )
        try:
            self.images.append(image_of(base64.b64decode(data, validate=True), name))
        except binascii.Error as error:
            raise UsageError(f"{name} is no base64 ({error}); send the picture again") from None


def _mentioned(uri: str) -> str:
    """How a request names what is linked; a text, a picture or a folder's list goes along."""
    if (path := path_of(uri)) is None:
        return uri
    is_read = path.suffix.lower() in (*TEXT_SUFFIXES, *IMAGE_SUFFIXES) or path.is_dir()
    can_be_quoted = '"' not in str(path) and "\n" not in str(path)
    return f'@"{path}"' if is_read and can_be_quoted else str(path)


def path_of(uri: str) -> Path | None:
    """The path that a `file:` address means; None for another address."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or not parts.path.startswith("/"):
        return None
    return Path(unquote(parts.path))


def _file_name(uri: str) -> str:
    """What an address ends with; empty where that is nothing."""
    try:
        return PurePosixPath(unquote(urlsplit(uri).path)).name
    except ValueError:
        return ""
