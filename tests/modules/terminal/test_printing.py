"""Text, tables and JSON on stdout, for terminals and pipes."""

import io
import math

import pytest

from core.values import Json
from modules.terminal.printing import (
    json_safe,
    one_line,
    print_document,
    print_text,
    shortened,
    table,
)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_text_that_cannot_drive_it_and_a_pipe_gets_it_bare() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        print_text("a\x1b[2J", stream)
    assert terminal.getvalue() == "a\\x1b[2J\n"
    assert pipe.getvalue() == "a\x1b[2J\n"


def test_a_document_is_one_line_that_the_stream_can_write() -> None:
    unicode = io.StringIO()
    print_document({"a": "grün\n"}, unicode)
    assert unicode.getvalue() == '{"a": "grün\\n"}\n'
    raw = io.BytesIO()
    latin = io.TextIOWrapper(raw, encoding="latin-1")
    print_document({"a": "→"}, latin)
    assert raw.getvalue() == b'{"a": "\\u2192"}\n'


@pytest.mark.parametrize(
    ("value", "safe"),
    [
        (math.inf, "inf"),
        ([math.nan, 1.5], ["nan", 1.5]),
        ({"a": 2**20_000}, {"a": hex(2**20_000)}),
        (True, True),
        (None, None),
    ],
    ids=["infinity", "not a number", "digits", "truth", "nothing"],
)
def test_what_strict_readers_refuse_becomes_text(value: Json, safe: Json) -> None:
    assert json_safe(value) == safe


def test_columns_are_as_wide_as_their_widest_cell_and_end_without_spaces() -> None:
    assert table([("A", "B"), ("long", ""), ("x", "y")]) == "A     B\nlong\nx     y"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n b\t\tc\r\n", "a b c"),
        ("", ""),
        ("x" * 10, "x" * 10),
        ("x" * 11, "x" * 9 + "…"),
        ("a " + " " * 100_000 + "b", "a…"),
    ],
)
def test_a_line_is_one_line_and_bounded(text: str, line: str) -> None:
    assert one_line(text, 10) == line


def test_of_a_shortened_text_both_ends_are_kept() -> None:
    path = "/long/way/to/node_modules/server-everything/index.js"
    assert shortened(path, 30) == f"{path[:9]}…{path[-20:]}"
    assert len(shortened(path, 30)) == 30
    assert shortened(f"a\n{path}", 100) == f"a {path}"
