"""Where Milvus is: a server, or a file that Milvus Lite keeps in this process."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from servers.rag.vectors.errors import VectorsSettingError

SCHEMES = ("http", "https")
FILE_SUFFIX = ".db"
OWNER_DIGITS = 16
"""Hexadecimal digits of an owner's hash in a collection's name."""


@dataclass(frozen=True, slots=True)
class Address:
    """What pymilvus gets as `uri`, and how people are told of it, without a password."""

    uri: str
    told: str
    is_file: bool


def parsed_address(text: str) -> Address:
    """What comes after `milvus:` in the setting.

    Raises:
        VectorsSettingError: it is neither.
    """
    if "://" not in text:
        return _file(text)
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _wrong(text.rpartition("@")[2], str(error)) from None
    if parts.scheme not in SCHEMES or host is None:
        raise _wrong(text.rpartition("@")[2], "a server's address starts with http:// or https://")
    return Address(text, host if port is None else f"{host}:{port}", is_file=False)


def collection_name(owner: str, dimension: int) -> str:
    """The collection of this owner's vectors: letters, digits and underscores, as Milvus asks."""
    digest = sha256(owner.encode()).hexdigest()[:OWNER_DIGITS]
    return f"cortex_r_{digest}_{dimension}"


def _file(text: str) -> Address:
    if not text.endswith(FILE_SUFFIX) or "\0" in text:
        raise _wrong(text, f"the name of a Milvus Lite file ends in {FILE_SUFFIX}")
    path = Path(text).expanduser().absolute()
    return Address(str(path), path.name, is_file=True)


def _wrong(text: str, why: str) -> VectorsSettingError:
    return VectorsSettingError(f"vectors: milvus:{text}: {why}")
