"""Front matter and text of markdown files: read as others write them, hostile ones told."""

import os
from pathlib import Path

import pytest

from config.settings import SettingsError
from modules.planning.guidance.markdown import (
    FRONT_CHARACTERS_MAX,
    TEXT_BYTES_MAX,
    as_text,
    parse_markdown,
    read_text,
)

FILE = Path("x.md")


def bomb(levels: int) -> str:
    """Merge keys of aliases: each level holds ten times what the one before does."""
    lines = ["a0: &a0 {x: 1}"]
    for n in range(1, levels):
        aliases = ", ".join([f"*a{n - 1}"] * 10)
        lines.append(f"a{n}: &a{n}\n  <<: [{aliases}]")
    return "\n".join(lines)


def test_front_matter_and_text_are_told_apart() -> None:
    found = parse_markdown("---\ndescription: >\n  two\n  lines\nn: 5\n---\n\ntext\n---\n", FILE)
    assert (found.value("description"), found.value("n"), found.value("no")) == (
        "two lines",
        "5",
        "",
    )
    assert found.body == "text\n---\n"
    assert parse_markdown("no front\n---\n", FILE).body == "no front\n---\n"
    assert parse_markdown("---\n---\ntext", FILE).body == "text"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("argument-hint: [file] [line]", "[file] [line]"),
        ("argument-hint: [file, line]", "[file, line]"),
        ("description: Note: ask first", "Note: ask first"),
        ('description: "quoted: once"', "quoted: once"),
    ],
)
def test_values_as_other_agents_files_have_them_are_read(line: str, value: str) -> None:
    found = parse_markdown(f"---\n{line}\nallowed-tools: Bash(git add:*), Read\n---\nx", FILE)
    assert found.value(line.partition(":")[0]) == value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("---\nname: x\n", "x.md:1: the front matter has no end"),
        ("---", "x.md:1: the front matter has no end"),
        (f"---\n{'# x' * FRONT_CHARACTERS_MAX}\n---\n", "x.md:1: the front matter has no end"),
        ("---\nname: x\nfoo: [\n---\n", "x.md:4: front matter: "),
        ("---\nname: x\nname: y\n---\n", "x.md:3: front matter: key 'name' stands twice"),
        ("---\n- a\n---\n", "x.md:2: the front matter is a list, not a section"),
        (f"---\n{'- ' * 5000}\n---\n", "x.md:2: front matter: nested deeper"),
        (f"---\n{bomb(12)}\n---\n", "x.md:4: front matter: the alias *a0 may not stand here"),
        ("---\na: !!python/object/apply:os.getcwd []\n---\n", "x.md:2: front matter: could not"),
    ],
)
def test_a_broken_front_matter_is_told_with_its_line(text: str, told: str) -> None:
    with pytest.raises(SettingsError) as error:
        parse_markdown(text, FILE)
    assert str(error.value).startswith(told)


def test_a_value_that_is_no_text_is_told() -> None:
    with pytest.raises(SettingsError, match="'name' is a section; it should be text"):
        parse_markdown("---\nname: {a: b}\n---\n", FILE).value("name")


def test_what_is_no_plain_text_file_is_told_and_nothing_waits(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "loop.md").symlink_to(tmp_path / "loop.md")
    (tmp_path / "folder.md").mkdir()
    with (tmp_path / "huge.md").open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    for name, told in {
        "pipe": "not a regular file",
        "loop": "symbolic links",
        "folder": "s a directory",
        "huge": f"over {TEXT_BYTES_MAX:,} bytes",
        "gone": "No such file",
    }.items():
        with pytest.raises(SettingsError, match=told):
            read_text(tmp_path / f"{name}.md")


def test_bytes_that_are_no_utf_8_are_told() -> None:
    assert as_text(b"\xef\xbb\xbfa\r\nb", FILE) == "a\nb"
    for data, told in {b"ab\xff": r"byte 2", b"a\0b": "NUL"}.items():
        with pytest.raises(SettingsError, match=told):
            as_text(data, FILE)
