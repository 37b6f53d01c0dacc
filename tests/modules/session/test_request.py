"""What a request may hold, what is taken out of it, and what is refused."""

import io
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UsageError
from modules.session.request import MAX_REQUEST_CHARACTERS, clean_request, read_request


@pytest.mark.parametrize(
    "request_text",
    [
        "add 5 and 7",
        "what is {a} and {{b}} and }{?",
        "run `ls` and ```python\nprint(1)\n```",
        "say \"\"\"this\"\"\" and '''that''' and \\n and \\",
        "a\tb\n\nc",
        "grüße 漢字 🎉 👩‍💻 ‏עברית",
        "100% of $HOME; rm -rf / && echo `id`",
        "-2^2",
        "-",
    ],
)
def test_text_of_all_kinds_stays_as_it_is(request_text: str) -> None:
    assert clean_request(request_text) == request_text


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("  add 1\n", "add 1"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\x01b", "a b"),
        ("\x1b[2J\x07add", "[2J add"),
        ("a\x7fb\x9b31mc\x85d", "a b 31mc d"),
        ("a\x0bb\x0cc", "a b c"),
        ("caf\udce9", "caf\ufffd"),
        ("caf\udcc3\udca9 \udcf0\udc9f\udc8e\udc89", "café 🎉"),
        ("\ud83d", "\ufffd"),
        ("é\udfff\udcff", "é\ufffd\ufffd"),
    ],
)
def test_control_characters_and_half_characters_go(raw: str, clean: str) -> None:
    assert clean_request(raw) == clean


@pytest.mark.parametrize("empty", ["", " ", "\n\t\r\n", "\x01\x1b", "\u3000\u00a0"])
def test_a_request_of_nothing_says_what_to_do(empty: str) -> None:
    with pytest.raises(UsageError, match="the request is empty; say what you want"):
        clean_request(empty)


def test_the_longest_request_passes_and_one_more_character_does_not() -> None:
    longest = "x" * MAX_REQUEST_CHARACTERS
    assert clean_request(longest) == longest
    with pytest.raises(UsageError, match="more than 100,000 characters; shorten it"):
        clean_request(longest + "x")


@given(st.text(max_size=200))
def test_what_is_left_can_be_stored_printed_and_cleaned_again(raw: str) -> None:
    try:
        clean = clean_request(raw)
    except UsageError:
        return
    assert clean.encode("utf-8").decode("utf-8") == clean
    assert not any(ord(c) < 32 and c not in "\n\t" for c in clean)
    assert clean_request(clean) == clean


class TestStdin:
    def test_bytes_are_read_as_utf_8(self) -> None:
        assert read_request(io.BytesIO("grüße\n".encode())) == "grüße"

    def test_bytes_that_are_not_utf_8_become_marks_and_the_rest_stays(self) -> None:
        assert read_request(io.BytesIO(b"caf\xe9 add \xff1")) == "caf\ufffd add \ufffd1"

    def test_a_byte_order_mark_goes(self) -> None:
        assert read_request(io.BytesIO(b"\xef\xbb\xbfadd 1")) == "add 1"

    def test_an_empty_stdin_is_an_empty_request(self) -> None:
        with pytest.raises(UsageError, match="empty"):
            read_request(io.BytesIO())

    @pytest.mark.parametrize("character", ["x", "é", "漢", "🎉"])
    def test_the_limit_counts_characters_not_bytes(self, character: str) -> None:
        longest = character * MAX_REQUEST_CHARACTERS
        assert read_request(io.BytesIO(longest.encode())) == longest
        with pytest.raises(UsageError, match="more than"):
            read_request(io.BytesIO(f"{longest}{character}".encode()))

    def test_a_megabyte_is_refused_and_hardly_read(self) -> None:
        stream = io.BytesIO(b"x" * 1024 * 1024)
        with pytest.raises(UsageError, match="more than"):
            read_request(stream)
        assert stream.tell() <= 4 * MAX_REQUEST_CHARACTERS + 1

    def test_a_stdin_without_end_is_refused_too(self) -> None:
        with Path("/dev/zero").open("rb") as endless, pytest.raises(UsageError, match="more than"):
            read_request(endless)

    def test_a_directory_as_stdin_is_a_clear_mistake(self) -> None:
        """A stream that opened well and fails at the first read, as a lost terminal does too."""
        directory = os.open(".", os.O_RDONLY)
        with Path(os.devnull).open("rb") as stream:
            os.dup2(directory, stream.fileno())
            os.close(directory)
            with pytest.raises(UsageError, match="stdin can't be read: Is a directory; pipe"):
                read_request(stream)


@pytest.mark.parametrize("text", ["a\0b", "\0", "add 5 and 7\0", "a\0d\0d\0"])
def test_a_nul_is_said_for_what_holds_one_is_no_text(text: str) -> None:
    for read in (lambda: clean_request(text), lambda: read_request(io.BytesIO(text.encode()))):
        with pytest.raises(UsageError, match="holds a NUL, as binary data and UTF-16 do"):
            read()
