"""Compressed data is undone in bounded pieces, wherever the network cuts it."""

import gzip
import zlib
from collections.abc import Callable, Iterator

import brotli
import pytest

from servers.web.fetching.decoding import (
    ACCEPTED_CODINGS,
    PIECE_BYTES,
    Brotli,
    Decoder,
    Deflate,
    Gzip,
    Undecodable,
    decoder_for,
)

TEXT = bytes(range(256)) * 400


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


CODINGS: dict[str, tuple[Callable[[], Decoder], Callable[[bytes], bytes]]] = {
    "gzip": (Gzip, gzip.compress),
    "gzip in members": (Gzip, lambda data: gzip.compress(data[:99]) + gzip.compress(data[99:])),
    "deflate": (Deflate, zlib.compress),
    "raw deflate": (Deflate, raw_deflate),
    "br": (Brotli, brotli.compress),
}


def undone(decoder: Decoder, data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield from decoder.feed(data[start : start + size])
    decoder.finish()


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("name", CODINGS)
def test_what_was_compressed_comes_back_however_it_is_cut(name: str, size: int) -> None:
    make, pack = CODINGS[name]
    text = TEXT if size > 1 else TEXT[:3_000]
    assert b"".join(undone(make(), pack(text), size)) == text


@pytest.mark.parametrize("name", CODINGS)
def test_a_bomb_comes_in_small_pieces(name: str) -> None:
    make, pack = CODINGS[name]
    pieces = make().feed(pack(bytes(2_000_000)))
    assert max(len(next(pieces)) for _ in range(3)) <= 2 * PIECE_BYTES


@pytest.mark.parametrize("name", CODINGS)
def test_what_is_cut_or_none_of_it_is_told(name: str) -> None:
    make, pack = CODINGS[name]
    with pytest.raises(Undecodable, match="breaks off"):
        list(undone(make(), pack(TEXT)[:-3], 50_000))
    with pytest.raises(Undecodable):
        list(undone(make(), b"\xff\xff no such thing" * 9, 50_000))


def test_a_thousand_members_are_not_opened() -> None:
    with pytest.raises(Undecodable, match="more compressed parts"):
        list(undone(Gzip(), gzip.compress(b"") * 1_000, 50_000))


def test_what_follows_the_last_member_is_left_out() -> None:
    data = gzip.compress(TEXT) + b"\x1f" + bytes(9) + gzip.compress(b"more")
    for size in (1, len(data)):
        assert b"".join(undone(Gzip(), data, size)) == TEXT


def test_what_is_accepted_can_be_undone() -> None:
    for coding in ACCEPTED_CODINGS.split(", "):
        decoder_for(coding.upper())
    with pytest.raises(Undecodable, match="zstd"):
        decoder_for("zstd")
