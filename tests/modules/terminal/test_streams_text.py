"""Text, tables and JSON on stdout, for terminals and pipes."""

import io

import pytest

from modules.terminal.screen import screen_on, table_text
from modules.terminal.streams import (
    print_document,
    print_text,
    printable,
    shortened,
    shown_name,
)
from modules.terminal.tables import print_table, table
from tests.doubles import Terminal
from tests.screens import broken_words


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


def test_columns_are_as_wide_as_their_widest_cell_and_end_without_spaces() -> None:
    assert table([("A", "B"), ("long", ""), ("x", "y")]) == "A     B\nlong\nx     y"


ROWS = [("", "server [b]"), ("*", "m\x1b[2J"), ("", "word " * 12)]


def test_a_table_of_a_pipe_has_a_line_a_row_of_any_length() -> None:
    pipe = io.StringIO()
    print_table(ROWS, pipe)
    assert pipe.getvalue() == f"   server [b]\n*  m\x1b[2J\n   {('word ' * 12).rstrip()}\n"


def test_a_table_on_a_terminal_fits_it_and_no_cell_is_markup_or_drives_it() -> None:
    text = table_text(ROWS[:2], screen_on(Terminal(), columns=40))
    assert "server [b]" in text
    terminal = Terminal()
    print_table(ROWS, terminal)
    assert "\x1b[2J" not in terminal.getvalue()
    assert "*  m\\x1b[2J" in terminal.getvalue()
    narrow = table_text(ROWS, screen_on(Terminal(), columns=30)).splitlines()
    assert [line.strip() for line in narrow[-3:]] == ["word word word word word"] * 2 + [
        "word word"
    ]


def test_a_narrow_table_breaks_no_word_and_then_gives_each_cell_a_line() -> None:
    models = [
        ("", "NAME", "STATE", "PRICE"),
        ("*", "offline", "ready to answer", "free"),
        ("", "gemini", "its key is not set", "-"),
        ("", "weights", f"not there: {'x' * 40}", "not known"),
    ]
    beside, below = (
        [row.rstrip() for row in table_text(models, screen_on(io.StringIO(), columns)).splitlines()]
        for columns in (45, 30)
    )
    assert beside[:3] == [
        "   NAME     STATE                       PRICE",
        "*  offline  ready to answer             free",
        "   gemini   its key is not set          -",
    ]
    assert below[:7] == [
        "NAME   * offline",
        "STATE  ready to answer",
        "PRICE  free",
        "",
        "NAME   gemini",
        "STATE  its key is not set",
        "",
    ]
    assert broken_words(below, ["offline", "answer", "weights", "known"]) == []
    assert "".join(below).count("x") == "".join(beside).count("x") == 40


def test_no_color_takes_the_colours_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    assert screen_on(Terminal()).color_system == "256"
    monkeypatch.setenv("NO_COLOR", "1")
    assert screen_on(Terminal()).no_color
    monkeypatch.setenv("TERM", "dumb")
    assert screen_on(Terminal()).color_system is None


def test_of_a_shortened_text_both_ends_are_kept() -> None:
    path = "/long/way/to/node_modules/server-everything/index.js"
    assert shortened(path, 30) == f"{path[:9]}…{path[-20:]}"
    assert len(shortened(path, 30)) == 30
    assert shortened(f"a\n{path}", 100) == f"a {path}"


class TestPrintable:
    @pytest.mark.parametrize(
        ("raw", "shown"),
        [
            ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
            ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
            ("a\rb\x08\x7f\x00", r"a\rb\x08\x7f\x00"),
            ("\x9b2J\x85", r"\x9b2J\x85"),
            ("a\u2028b\u2029", r"a\u2028b\u2029"),
            ("safe\u202egnp.exe\u2066\u2069", r"safe\u202egnp.exe\u2066\u2069"),
            ("half \ud83d", r"half \ud83d"),
        ],
    )
    def test_what_could_drive_the_terminal_shows_as_an_escape(self, raw: str, shown: str) -> None:
        assert printable(raw) == shown

    @pytest.mark.parametrize(
        "text",
        [
            "a\n\tb",
            "1\u00a0000,5\u202f€",
            "👩‍💻 🏳️‍🌈",
            "می‌خواهم",
            "\u3000漢字",
            "e\u0301",
            "עברית \u200f",
            r"\x1b",
        ],
    )
    def test_what_scripts_and_emoji_need_stays(self, text: str) -> None:
        assert printable(text) == text


class TestNames:
    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("add", "add"),
            ("\u0430dd", r"\u0430dd"),
            ("math.\u0430dd", r"math.\u0430dd"),
            ("\u0441\u043e\u0440", r"\u0441\u043e\u0440"),
            ("\uff41dd", r"\uff41dd"),
            ("\U0001d41add", r"\U0001d41add"),
            ("caf\u00e9", "caf\u00e9"),
            ("добавить", "добавить"),
            ("math.добавить", "math.добавить"),
            ("search搜索", "search搜索"),
            ("a\u202eb", r"a\u202eb"),
        ],
    )
    def test_letters_that_pass_for_latin_ones_show_as_escapes(self, name: str, shown: str) -> None:
        assert shown_name(name) == shown
