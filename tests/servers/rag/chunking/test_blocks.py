"""Blocks of markdown, as CommonMark and GitHub's tables have them, and where we are lenient."""

import pytest

from servers.rag.chunking.blocks import markdown_blocks
from servers.rag.chunking.chunker import sections


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in markdown_blocks(text)]


def titles(text: str) -> list[tuple[int, str]]:
    return [(b.level, b.title) for b in markdown_blocks(text) if b.kind == "heading"]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One", (1, "One")),
        ("   ###### Six ######  ", (6, "Six")),
        ("##\tTab", (2, "Tab")),
        ("# C#", (1, "C#")),
        ("## **Bold** `code` snake_case _it_ [link](x)", (2, "Bold code snake_case it link")),
        ("Title\n===", (1, "Title")),
        ("Sub\r\n---\r\n", (2, "Sub")),
        ("#", (1, "")),
        ("# " + "x" * 5000, (1, "x" * 200)),
    ],
)
def test_headings_are_read_with_level_and_plain_title(text: str, title: tuple[int, str]) -> None:
    assert titles(text) == [title]


@pytest.mark.parametrize(
    "text",
    [
        "#hash",
        "####### seven",
        "    # indented code",
        "```\n# in code\n```",
        "~~~\n```\n# still code\n~~~",
        "```\n# never closed",
        "---\ntitle: front matter\n---\ntext",
        "A line.\n\n---\n\nAnother.",
        "word " * 100 + "\n---",
        "- item\n\n    # in an item",
        "> # quoted",
        "| # | no |\n| --- | --- |",
    ],
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert titles(text) == []


def test_blocks_end_where_another_begins() -> None:
    text = (
        "para\nmore\n- item\nlazy\n\n  inside\n- two\n\nafter\n"
        "> quote\n> more\n```py\ncode\n\n```\n"
        "a | b\n--|--\n1 | 2\nno row\n\n* * *\n1. one\n2) two\n1986. no list\r\rold mac"
    )

    assert kinds(text) == [
        ("paragraph", "para\nmore"),
        ("list", "- item\nlazy\n\n  inside\n- two"),
        ("paragraph", "after"),
        ("quote", "> quote\n> more"),
        ("code", "```py\ncode\n\n```"),
        ("table", "a | b\n--|--\n1 | 2"),
        ("paragraph", "no row"),
        ("paragraph", "* * *"),
        ("list", "1. one\n2) two\n1986. no list"),
        ("paragraph", "old mac"),
    ]


def test_the_head_of_a_table_may_stand_right_below_a_paragraph() -> None:
    assert kinds("As follows:\n| a |\n|---|\n| 1 |") == [
        ("paragraph", "As follows:"),
        ("table", "| a |\n|---|\n| 1 |"),
    ]
    assert kinds("Two lines\na | b\n--|--")[1] == ("table", "a | b\n--|--")


def test_a_section_has_the_path_of_headings_down_to_its_own() -> None:
    text = "before\n\n# A\n\n### C\n\n## B\n\ntext\n\n#\n\nend"

    found = [
        (part.level, part.headings, len(part.blocks)) for part in sections(markdown_blocks(text))
    ]

    assert found == [
        (0, (), 1),
        (1, ("A",), 1),
        (3, ("A", "C"), 1),
        (2, ("A", "B"), 2),
        (1, (), 2),
    ]
