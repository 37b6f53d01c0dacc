"""Answers laid out: what each kind of block becomes, whole words, and nothing hostile."""

import time
from pathlib import Path

import pytest
from pygments.lexers import get_all_lexers
from rich.text import Text

from modules.terminal.display.markdown import (
    CELLS_MAX,
    CHARACTERS_MAX,
    DRAFT_LINES_MAX,
    Draft,
    Layout,
    NotLaidOut,
    laid_out,
)
from modules.terminal.display.page import page_text
from tests.doubles import Terminal
from tests.screens import Recorder

LABEL = "Answer:"
WIDTHS = [200, 100, 40]

PAGE = """# Title

Some **bold** words, *others*, `code` and a [link](https://example.org/page) in a long paragraph.

1. The first of two items that are long enough to be wrapped on a narrow screen
2. second
   - inner one
   - inner two

```python
def answer() -> int:
    return 42
```

| Name | Said of it | Count |
|---|---|---:|
| alpha | the first of all letters, described at such length that it wraps | 1,000 |
| beta | short | 2 |

> Quoted by somebody, at some length too, so that this goes over more than one line.

Known [Source: notes.md, ID: 7] and [Source: other.pdf, ID: 1], again [Source: notes.md, ID: 9].

Sources: https://example.org/page; notes.md
"""


def lines(markdown: str, columns: int = 100, *, has_links: bool = False) -> list[str]:
    return laid_out(markdown, Layout(columns, has_links)).plain.split("\n")


def links(text: Text) -> set[str]:
    styles = [span.style for span in text.spans if not isinstance(span.style, str)]
    return {style.link for style in styles if style.link}


class TestBlocks:
    @pytest.mark.parametrize("columns", WIDTHS)
    def test_every_line_fits_and_every_word_stays_whole(self, columns: int) -> None:
        shown = lines(PAGE, columns)
        assert all(len(line) <= columns and line == line.rstrip() for line in shown)
        words = set(" ".join(shown).split())
        wanted = "bold paragraph. narrow inner described letters, Quoted somebody, alpha 1,000"
        assert words.issuperset(wanted.split())

    def test_a_table_has_columns_as_wide_as_they_need(self) -> None:
        assert lines("| a | b |\n|---|--:|\n| one two | 3 |\n| x | 10 |") == [
            "a         b",
            "───────  ──",
            "one two   3",
            "x        10",
        ]

    def test_a_cell_wraps_in_its_column(self) -> None:
        shown = lines("| k | v |\n|---|---|\n| one | some words here |\n| two | x |", 14)
        assert shown[:5] == ["k    v", "───  ─────────", "one  some", "     words", "     here"]
        assert shown[5:] == ["", "two  x"]

    def test_a_table_whose_words_do_not_fit_becomes_a_list_of_its_rows(self) -> None:
        shown = lines("| name | value |\n|---|---|\n| abcdefghijkl | mnopqrstuvwx |", 22)
        assert shown == ["name: abcdefghijkl", "value: mnopqrstuvwx"]

    def test_lists_hang_and_nest(self) -> None:
        assert lines("9. one two three\n10. b\n    - c", 12) == [
            " 9. one two",
            "    three",
            "10. b",
            "    • c",
        ]

    def test_code_keeps_its_lines_and_spaces(self) -> None:
        assert lines("```\nif a:\n    b   # *c*\n```") == ["  if a:", "      b   # *c*"]

    def test_lines_stay_as_they_were_written(self) -> None:
        assert lines("one\ntwo") == ["one", "two"]

    def test_a_label_stands_before_a_paragraph_and_above_all_else(self) -> None:
        layout = Layout(80, has_links=False)
        assert laid_out("12 apples", layout, LABEL).plain == "Answer: 12 apples"
        assert laid_out("- a", layout, LABEL).plain == "Answer:\n• a"


LANGUAGES = ["", "no-such-language", *(name for each in get_all_lexers() for name in each[1])]

CODE = (
    """# a comment, and behind it a line that is longer than most terminals are wide
def total(prices):
\treturn sum(price * 100 / 3 for price in prices) or "nothing at all, äöü 漢字 🎉"


    <b class="x">&amp;</b>  {"a": [1, 2.5e3, null]}
$ ls -l | grep x && select * from t where a = 'b';
>>> 1 + 1
"""
    + "x" * 300
)

LONG = """An address https://example.org/a/very/long/path/that/no/line/of/a/terminal/holds here.

| Name | What is said of it |
|---|---:|
| `Donaudampfschifffahrtsgesellschaftskapitän` | https://example.org/of/the/captain?and=more |
| 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 | short |

- an item with `a_function_of_a_long_name(argument_one, argument_two)` in it
  > and in a quotation a wordthatislongerthanalltheothersandthenevenlonger
"""


class TestNothingIsCutOff:
    def test_code_of_every_language_stays_as_it_is_written(self) -> None:
        wanted = [f"  {line}".rstrip() for line in CODE.expandtabs(4).split("\n")]
        for language in LANGUAGES:
            assert lines(f"```{language}\n{CODE}\n```", 8) == wanted, language
        for columns in (20, 40, 80):  # which no language looks at
            assert lines(f"```python\n{CODE}\n```", columns) == wanted, columns

    @pytest.mark.parametrize("columns", [20, 40, 80])
    @pytest.mark.parametrize("page", [PAGE, LONG, f"1. x\n\n   ```python\n{CODE[:200]}\n   ```"])
    def test_every_word_stands_on_the_screen(self, page: str, columns: int) -> None:
        shown = laid_out(page, Layout(columns, has_links=False)).plain
        screen = Recorder(columns, 200)
        screen.feed(shown.replace("\n", "\r\n"))
        seen = "".join("".join(screen.screen.display).split())
        assert seen == "".join(shown.split())
        for word in page.replace("```python", "").replace("`", "").split():
            assert not word.isalpha() or word in seen.replace("│", "")


class TestSources:
    def test_marks_become_numbers_and_each_source_is_named_once(self) -> None:
        shown = lines(PAGE)
        assert "Known [2] and [3], again [2]." in shown
        assert shown[-4:] == [
            "Sources",
            "[1] https://example.org/page",
            "[2] notes.md",
            "[3] other.pdf",
        ]

    def test_a_page_is_a_link_where_the_terminal_knows_links(self) -> None:
        text = laid_out("x\n\nSources: https://e.org/a; b.md", Layout(80, has_links=True))
        assert links(text) == {"https://e.org/a"}

    def test_marks_that_end_the_text_stand_behind_its_last_word_each_source_once(self) -> None:
        marks = "[Source: a.md, ID: a_1]\n\n[Source: b.md, ID: b_7]\n[Source: a.md, ID: a_2]"
        assert lines(f"One.\n\nTwo.\n\n{marks}\n") == [
            "One.",
            "",
            "Two. [1] [2]",
            "",
            "Sources",
            "[1] a.md",
            "[2] b.md",
        ]
        assert "  code()" in lines(f"```\ncode()\n```\n{marks}")

    def test_a_file_is_a_link_if_it_is_there_and_below_a_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "documents"
        folder.mkdir()
        for file in (folder / "my notes.md", tmp_path / "secret.md"):
            file.touch()
        named = "x\n\nSources: my notes.md; gone.md; ../secret.md; \0"
        text = laid_out(named, Layout(80, has_links=True, folders=[folder]))
        assert links(text) == {(folder / "my notes.md").as_uri()}
        assert links(laid_out(named, Layout(80, has_links=False, folders=[folder]))) == set()


class TestLinks:
    def test_without_links_the_address_is_written_out(self) -> None:
        assert lines("[here](https://e.org/a)") == ["here (https://e.org/a)"]
        assert lines("<https://e.org/a>") == ["https://e.org/a"]

    def test_with_links_the_host_is_shown_so_that_no_text_hides_it(self) -> None:
        text = laid_out("[bank.example](https://evil.example/a)", Layout(80, has_links=True))
        assert text.plain == "bank.example (evil.example)"
        assert links(text) == {"https://evil.example/a"}

    @pytest.mark.parametrize("address", ["javascript:alert(1)", "file:///etc/passwd", "x:y"])
    def test_only_addresses_of_the_web_and_mail_become_links(self, address: str) -> None:
        text = laid_out(f"[a]({address})", Layout(80, has_links=True))
        assert links(text) == set()


class TestHostileText:
    def test_entities_make_no_control_characters(self) -> None:
        shown = "\n".join(lines("a &#8238;b &#12; &#x9b; `&#27;` [c](https://e.org/&#8238;)"))
        assert "\u202e" not in shown
        assert shown.isprintable()

    def test_html_is_text(self) -> None:
        assert lines("a List<int> <b>x</b>") == ["a List<int> <b>x</b>"]
        assert lines("<div>\nx\n</div>") == ["<div>", "x", "</div>"]

    @pytest.mark.parametrize("text", ["2*3*4 = 24", "a_b_c", "f(**kwargs)", "C:\\temp\\new"])
    def test_what_is_no_markdown_stays(self, text: str) -> None:
        assert lines(text) == [text]

    @pytest.mark.parametrize(
        "text",
        [
            "x" * (CHARACTERS_MAX + 1),
            "|a" * 3_000 + "\n" + "|-" * 3_000 + "\n" + "x\n" * 9_000,
            "|a|b|\n|-|-|\n" + "|a|b|\n" * (CELLS_MAX // 3),
        ],
    )
    def test_what_would_take_too_long_is_not_laid_out(self, text: str) -> None:
        with pytest.raises(NotLaidOut):
            lines(text)
        assert page_text(text, Terminal(), LABEL, {"TERM": "xterm"}) is None

    @pytest.mark.parametrize(
        "text", [">" * 39_000, "![" * 19_000, "- " * 19_000, "[[[a]" * 7_000, "`" * 39_000]
    )
    def test_nothing_keeps_the_parser_busy_for_long(self, text: str) -> None:
        began = time.process_time()
        page_text(text, Terminal(), LABEL, {"TERM": "xterm"})
        assert time.process_time() - began < 10, "1 s is usual"


@pytest.mark.parametrize(
    "environ", [{"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": ""}]
)
def test_without_colours_no_escape_sequence_is_written(environ: dict[str, str]) -> None:
    text = page_text(PAGE, Terminal(), LABEL, environ)
    assert text is not None
    assert "\x1b" not in text
    assert "Title" in text


class TestDrafts:
    @pytest.mark.parametrize(
        "page", [PAGE.partition("\n\nSources:")[0], LONG, "One word.", "- a\n"]
    )
    def test_what_is_written_is_laid_out_as_it_will_be(self, page: str) -> None:
        draft = Draft(Layout(90, has_links=False), LABEL)
        for end in range(0, len(page), 7):
            draft.lines(page[:end])
        whole = laid_out(page, Layout(90, has_links=False), LABEL).plain.partition("\n\nSources")[0]
        assert [line.plain for line in draft.lines(page)] == whole.split("\n")

    @pytest.mark.parametrize("columns", [8, 40])
    def test_every_line_fits_those_of_code_too(self, columns: int) -> None:
        shown = Draft(Layout(columns, has_links=False)).lines(f"```python\n{CODE}\n```")
        assert all(line.cell_len <= columns for line in shown)
        assert "x" * 300 in "".join(line.plain for line in shown)

    @pytest.mark.parametrize(
        "text",
        [
            "```python\n" + "value = f(1)  # a comment\n" * 1_400,
            "| a | b |\n|---|---|\n" + "| one two | three |\n" * 1_900,
            "word " * 7_900,
            PAGE.partition("\n\nSources:")[0] * 30,
        ],
    )
    def test_more_of_a_long_text_costs_no_more_than_of_a_short_one(self, text: str) -> None:
        def seconds(draft: Draft, ends: range) -> float:
            began = time.process_time()
            for end in ends:
                draft.lines(text[:end])
            return time.process_time() - began

        draft = Draft(Layout(90, has_links=False))
        seconds(draft, range(0, 8_000, 400))
        middle = seconds(draft, range(8_000, 12_000, 200))
        last = len(text)
        assert seconds(draft, range(last - 4_000, last, 200)) < 4 * middle + 0.1
        assert len(draft.lines(text)) <= DRAFT_LINES_MAX
