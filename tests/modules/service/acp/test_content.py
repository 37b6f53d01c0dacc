"""Prompts of editors as requests with what goes along."""

from pathlib import Path

import pytest

from core.errors import UsageError
from modules.service.acp.content import asked_in, path_of
from modules.service.acp.messages import Block, Resource


def linked(path: Path) -> Block:
    return Block(type="resource_link", uri=path.as_uri())


def test_a_link_to_a_text_is_attached_and_one_to_anything_else_named(tmp_path: Path) -> None:
    asked = asked_in(
        [
            Block(type="text", text="compare"),
            linked(tmp_path / "my notes.md"),
            Block(type="text", text="with"),
            linked(tmp_path / "program.bin"),
            linked(tmp_path),
            Block(type="resource_link", uri="https://example.com/a"),
        ]
    )
    assert asked.request.split("  ") == [
        f'compare @"{tmp_path}/my notes.md" with {tmp_path}/program.bin',
        f'@"{tmp_path}"',
        "https://example.com/a",
    ]


def test_embedded_files_are_variables_of_their_names() -> None:
    first = Resource(uri="file:///a/notes.md", text="one\r\ntwo")
    second = Resource(uri="file:///b/notes.md", text="three")
    asked = asked_in(
        [Block(type="resource", resource=first), Block(type="resource", resource=second)]
    )
    assert [(text.name, text.text) for text in asked.texts] == [
        ("notes_md", "one\ntwo"),
        ("notes_md_2", "three"),
    ]


@pytest.mark.parametrize(
    ("block", "told"),
    [
        (Block(type="audio", data="aGk="), "type 'audio' can't be used"),
        (Block(type="image", data="no base64!"), "is no base64"),
        (Block(type="image", data="aGk="), "is not an image that can be read"),
        (Block(type="image", data="A" * 30_000_000), "larger than 20 MB"),
        (
            Block(type="resource", resource=Resource(uri="file:///a.pdf", blob="aGk=")),
            "a.pdf is neither text nor a picture",
        ),
    ],
)
def test_what_can_not_be_used_is_told(block: Block, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        asked_in([Block(type="text", text="see"), block])


def test_a_prompt_brings_no_more_than_a_request_may() -> None:
    resource = Resource(uri="file:///a.txt", text="x")
    with pytest.raises(UsageError, match="more than 5 images or 10 files"):
        asked_in([Block(type="resource", resource=resource)] * 11)


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a%20b/c.txt", Path("/a b/c.txt")),
        ("zed:///agent/thread", None),
        ("https://example.com/a", None),
        ("file://[", None),
    ],
)
def test_only_file_addresses_are_paths(uri: str, path: Path | None) -> None:
    assert path_of(uri) == path
