"""Paths in their form for comparisons, and when a text names one."""

import pytest

from core.provenance.paths import candidates, is_named, is_rooted, normal, rooted_in

HOME = "/home/ann"


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("~/a", "/home/ann/a"),
        ("/a/./b/../c/", "/a/c"),
        ("file:///a/b%20c", "/a/b c"),
        ("file://localhost/a", "/a"),
        ("C:\\a\\b", "C:/a/b"),
        ("a/../../b", "../b"),
        ("'/a b'", "/a b"),
    ],
)
def test_forms(path: str, form: str) -> None:
    assert normal(path, HOME) == form


def test_an_encoded_path_has_two_forms() -> None:
    assert [*candidates("..%2f..%2fk", HOME)] == ["..%2f..%2fk", "../../k"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/home/ann/letters/a.txt", "What is in /home/ann/letters?"),
        ("/home/ann/letters/a.txt", "the folder ~/letters/ please"),
        ("/home/ann/a.txt", "read file:///home/ann/a.txt"),
        ("docs/a.md", "everything below docs/"),
        ("docs/a.md", "look into the docs folder"),
        ("docs/a.md", "the directory docs"),
        ("rent.txt", "read rent.txt."),
        ("/my notes/a b.txt", "read '/my notes/a b.txt'"),
        ("C:/a/b", "open C:\\a\\b"),
        ("docs/a.md", "see docs/a.md:12"),
        ("docs/a.md", "see docs/a.md#part"),
        ("/a/b", "the file: /a/b"),
    ],
)
def test_a_text_names_a_path_or_a_folder_above_it(path: str, text: str) -> None:
    assert is_named(path, text, HOME)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/home/ann/letters-old/a", "/home/ann/letters"),
        ("/home/ann", "/home/ann/letters"),
        ("/etc/passwd", "either / or"),
        ("/etc/passwd", "https://a.example/etc/passwd"),
        ("/home/ann/k", "in ~ and elsewhere"),
        ("docs/a.md", "read the docs"),
        ("../k", "go to .."),
        ("rent.txt", "current.txt"),
        ("rent.txt", "rent.txt.bak"),
        ("/a/b", "open C:/a/b"),
        ("/a/b", "copy host:/a/b"),
        ("docs/a.md", "remove docs/*"),
        ("/a/" + "x" * 5_000, "/a"),
    ],
)
def test_what_only_looks_like_it_names_nothing(path: str, text: str) -> None:
    assert not is_named(path, text, HOME)


def test_paths_in_a_command() -> None:
    command = "cat /etc/passwd >~/out; ls ../x --file=/a/b 3/4 and/or https://a.example/x"
    assert [*rooted_in(command)] == ["/etc/passwd", "~/out", "../x", "/a/b"]


@pytest.mark.parametrize("text", ["/", "//a.example", "and/or", "1/2/2024", "~5", "origin/main"])
def test_what_is_no_path_from_a_root(text: str) -> None:
    assert not is_rooted(text)
