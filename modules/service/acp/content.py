"""A prompt as an editor sends it: texts, files that it names or embeds, pictures."""

import base64
import binascii
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from core.base.frozen import frozen
from core.errors import UsageError
from core.ports import ImageInput
from core.turn import TextInput
from modules.service.acp.messages import Block
from modules.session.attached.attachments import IMAGE_SUFFIXES, IMAGES_MAX, TEXTS_MAX
from modules.session.attached.image_file import FILE_SIZE_MAX_BYTES, image_of
from modules.session.attached.text_file import TEXT_SUFFIXES, variable_name
from modules.session.request import STDIN_BYTES_MAX


@frozen
class Asked:
    """A request, in which `@` stands before files, and what goes with it."""

    request: str
    texts: tuple[TextInput, ...]
    images: tuple[ImageInput, ...]


def asked_in(blocks: Sequence[Block]) -> Asked:
    """What a prompt asks. Blocks: pictures are decoded.

    Raises:
        UsageError: a part of it can't be used; the message says which and why.
    """
    said = ""
    texts: dict[str, TextInput] = {}
    images: list[ImageInput] = []
    for block in blocks:
        file = block.resource
        name = _file_name((block.uri if file is None else file.uri) or "")
        if block.type == "text":
            said += block.text
        elif block.type == "resource_link" and block.uri:
            said += f" {_mentioned(block.uri)} "
        elif block.type == "image":
            name = name or f"picture-{len(images) + 1}"
            images.append(_picture(block.data, name))
            said += f" {name} "
        elif block.type == "resource" and file is not None:
            name = name or "text"
            if file.text is not None:
                variable, text = variable_name(name, texts), file.text.replace("\r\n", "\n")
                texts[variable] = TextInput(variable, text, name)
            elif (file.mime_type or "").startswith("image/"):
                images.append(_picture(file.blob or "", name))
            else:
                raise UsageError(
                    f"{name} is neither text nor a picture; add it to your documents, which reads "
                    "many formats: agent.py docs add"
                )
            said += f" {name} "
        else:
            raise UsageError(
                f"a part of the prompt of type '{block.type[:40]}' can't be used; send text, "
                "images, links to files, or files"
            )
        if len(images) > IMAGES_MAX or len(texts) > TEXTS_MAX:
            raise UsageError(
                f"the prompt has more than {IMAGES_MAX} images or {TEXTS_MAX} files; leave some "
                "out, or ask about them one after the other"
            )
    if sum(len(text.text) for text in texts.values()) > STDIN_BYTES_MAX:
        raise UsageError(
            f"the files of the prompt hold more than {STDIN_BYTES_MAX:,} characters in all; "
            "leave some out, or name them without embedding them"
        )
    only_pictures = images and not any(block.text.strip() for block in blocks)
    said = f"What is in the picture? {said}" if only_pictures else said
    return Asked(said.strip(), tuple(texts.values()), tuple(images))


def path_of(uri: str) -> Path | None:
    """The path that a `file:` address means; None for another address."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    is_path = parts.scheme == "file" and parts.path.startswith("/")
    return Path(unquote(parts.path)) if is_path else None


def _mentioned(uri: str) -> str:
    """How a request names what is linked; a text, a picture or a folder's list goes along."""
    if (path := path_of(uri)) is None:
        return uri
    is_read = path.suffix.lower() in (*TEXT_SUFFIXES, *IMAGE_SUFFIXES) or path.is_dir()
    can_be_quoted = '"' not in str(path) and "\n" not in str(path)
    return f'@"{path}"' if is_read and can_be_quoted else str(path)


def _file_name(uri: str) -> str:
    """What an address ends with; empty where that is nothing."""
    try:
        return PurePosixPath(unquote(urlsplit(uri).path)).name
    except ValueError:
        return ""


def _picture(data: str, name: str) -> ImageInput:
    if len(data) * 3 // 4 > FILE_SIZE_MAX_BYTES:
        most = f"{FILE_SIZE_MAX_BYTES // 2**20} MB"
        raise UsageError(f"{name} is larger than {most}; send a smaller picture")
    try:
        return image_of(base64.b64decode(data, validate=True), name)
    except binascii.Error as error:
        raise UsageError(f"{name} is no base64 ({error}); send the picture again") from None
