"""Content codings undone in small bounded pieces, so that a bomb never unfolds.

Whoever takes the pieces counts them and stops; each has at most `PIECE_BYTES` (about twice that
from brotli), whatever went in. One coding is undone and no chain of them: nobody compresses a page
twice, except to multiply a bomb.
"""

import zlib
from collections.abc import Iterator
from typing import Protocol

import brotli

ACCEPTED_CODINGS = "gzip, deflate, br"
"""For the Accept-Encoding header."""

PIECE_BYTES = 64 * 1024
GZIP_MEMBERS_MAX = 64
"""A gzip file may consist of several; thousands of empty ones only cost time."""

_GZIP_MAGIC = b"\x1f\x8b"


class Undecodable(Exception):
    """The body is not what its Content-Encoding says; the message goes on from "its answer "."""


class Decoder:
    """Takes a body piece by piece; this one undoes nothing."""

    has_begun = False

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """What a piece of the body gives; raises Undecodable."""
        self.has_begun = self.has_begun or bool(piece)
        return self._undone(piece)

    def finish(self) -> None:
        """The body is over; raises Undecodable if it was cut."""
        if self.has_begun and not self._is_whole():
            raise Undecodable("breaks off in the middle of its compressed data")

    def _undone(self, piece: bytes) -> Iterator[bytes]:
        yield piece

    def _is_whole(self) -> bool:
        return True


class Gzip(Decoder):
    """RFC 1952, with several members; what follows the last one is left out, as gzip does."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._member: _Inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._members = 1
        self._held = b""
        self._is_over = False

    def _undone(self, piece: bytes) -> Iterator[bytes]:
        data, self._held = self._held + piece, b""
        while data and not self._is_over:
            if self._member.eof:
                if data == _GZIP_MAGIC[:1]:
                    self._held = data
                    return
                self._begin_another(data)
            else:
                yield from _inflated(self._member, data)
                data = self._member.unused_data

    def _is_whole(self) -> bool:
        return self._member.eof

    def _begin_another(self, data: bytes) -> None:
        """Go on to the next member, or to the end if what follows is none."""
        if not data.startswith(_GZIP_MAGIC):
            self._is_over = True
        elif self._members == GZIP_MEMBERS_MAX:
            raise Undecodable("consists of more compressed parts than are read")
        else:
            self._members += 1
            self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)


class Deflate(Decoder):
    """RFC 1950, and the raw RFC 1951 that some servers send under the same name."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._held = b""
        self._stream: _Inflater | None = None

    def _undone(self, piece: bytes) -> Iterator[bytes]:
        if self._stream is None:
            self._held += piece
            if len(self._held) < 2:
                return
            self._stream = zlib.decompressobj(_deflate_bits(self._held))
            piece = self._held
        if not self._stream.eof:
            yield from _inflated(self._stream, piece)

    def _is_whole(self) -> bool:
        return self._stream is not None and self._stream.eof


class Brotli(Decoder):
    """RFC 7932, with the bounded output that the `brotli` package has since 1.2."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._stream = brotli.Decompressor()

    def _undone(self, piece: bytes) -> Iterator[bytes]:
        while not self._stream.is_finished():
            try:
                made = self._stream.process(piece, output_buffer_limit=PIECE_BYTES)
            except brotli.error as error:
                raise Undecodable("is not compressed as it says (br)") from error
            if not made:
                return  # it wants more input
            yield made
            piece = b""

    def _is_whole(self) -> bool:
        return self._stream.is_finished()


DECODERS: dict[str, type[Decoder]] = {
    "": Decoder,
    "identity": Decoder,
    "gzip": Gzip,
    "x-gzip": Gzip,
    "deflate": Deflate,
    "br": Brotli,
}


def decoder_for(coding: str) -> Decoder:
    """The decoder of a Content-Encoding header.

    Raises:
        Undecodable: of none that is known, or of a chain of them.
    """
    plain = coding.strip().lower()
    if plain not in DECODERS:
        named = "".join(char for char in plain if char.isprintable())[:40]
        raise Undecodable(f"is compressed in a way that can't be undone ({named})")
    return DECODERS[plain]()


class _Inflater(Protocol):
    """What `zlib.decompressobj` gives; its class has no public name."""

    @property
    def unconsumed_tail(self) -> bytes: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _inflated(stream: _Inflater, data: bytes) -> Iterator[bytes]:
    """What zlib makes of some input, a bounded piece at a time."""
    made = b""
    # At its end zlib may keep the tail of its input for ever, so the end is looked for first.
    while not stream.eof and (data or len(made) == PIECE_BYTES):
        try:
            made = stream.decompress(data, PIECE_BYTES)
        except zlib.error as error:
            raise Undecodable("is not compressed as it says") from error
        if made:
            yield made
        data = stream.unconsumed_tail


def _deflate_bits(head: bytes) -> int:
    """The window size that zlib is told: negative for a raw stream (RFC 1950, 2.2)."""
    is_wrapped = head[0] & 0x0F == 8 and int.from_bytes(head[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if is_wrapped else -zlib.MAX_WBITS
