"""As much of lxml 6 as is used; it ships no types."""

from collections.abc import Iterator
from typing import Self

class ParserError(Exception): ...

class _Element:
    tag: object
    """Of comments no text."""

    text: str | None
    tail: str | None

    def __iter__(self) -> Iterator[Self]: ...
    def iter(self, *tags: str) -> Iterator[Self]: ...
    def iterancestors(self, *tags: str) -> Iterator[Self]: ...
    def itertext(self) -> Iterator[str]: ...
    def getparent(self) -> Self | None: ...
    def get(self, key: str) -> str | None: ...
    def set(self, key: str, value: str) -> None: ...

class XMLParser:
    def __init__(
        self,
        *,
        encoding: str,
        resolve_entities: bool,
        no_network: bool,
        load_dtd: bool,
        huge_tree: bool,
        recover: bool,
    ) -> None: ...

def fromstring(text: bytes, parser: XMLParser) -> _Element | None: ...
