"""The reference server for files, confined to one folder: it works there, and nowhere else."""

import base64
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from core.tools.content import AudioBlock, ImageBlock, ResourceBlock
from core.values import JsonObject
from tests.real.parts import npm_server
from tests.real.sessions import Session, assert_all_described, session

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True)
class Confined:
    """The server's session, the folder it may use, and a file outside."""

    session: Session
    folder: Path
    outside: Path


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="up")
async def _up(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Confined]:
    folder = tmp_path_factory.mktemp("allowed")
    outside = tmp_path_factory.mktemp("forbidden") / "secret.txt"
    outside.write_text("not for you")
    async with session(npm_server("filesystem", str(folder))) as up:
        yield Confined(up, folder, outside)


async def test_all_tools_are_listed_and_described(up: Confined) -> None:
    assert up.session.tools_of("filesystem") == [
        "read_file",
        "read_text_file",
        "read_media_file",
        "read_multiple_files",
        "write_file",
        "edit_file",
        "create_directory",
        "list_directory",
        "list_directory_with_sizes",
        "directory_tree",
        "move_file",
        "search_files",
        "get_file_info",
        "list_allowed_directories",
    ]
    assert_all_described(up.session.multi)
    by_name = up.session.multi.tool_map
    assert by_name["read_text_file"].read_only
    assert not by_name["write_file"].read_only


async def test_files_are_written_edited_moved_listed_and_read(up: Confined) -> None:
    call = up.session.multi.call_tool
    folder = up.folder / "notes"
    note, moved = folder / "a note.txt", folder / "moved.txt"
    await call("create_directory", {"path": str(folder)})
    await call("write_file", {"path": str(note), "content": "eins\nzwei\n🌍\n"})
    assert note.read_text(encoding="utf-8") == "eins\nzwei\n🌍\n"
    edits: JsonObject = {"path": str(note), "edits": [{"oldText": "zwei", "newText": "two"}]}
    assert "+two" in (await call("edit_file", edits)).text
    await call("move_file", {"source": str(note), "destination": str(moved)})
    listed = await call("list_directory", {"path": str(folder)})
    assert listed.value == "[FILE] moved.txt", "plans get the text that is wrapped in an object"
    read = await call("read_text_file", {"path": str(moved), "head": 2})
    assert read.text == "eins\ntwo"
    assert read.structured == {"content": read.text}


async def test_a_long_file_arrives_whole(up: Confined) -> None:
    text = "".join(f"line {number}: {'x' * 80}\n" for number in range(20_000))
    (up.folder / "long.txt").write_text(text)
    read = await up.session.multi.call_tool("read_text_file", {"path": str(up.folder / "long.txt")})
    assert read.text == text
    assert read.omitted_bytes == 0


@pytest.mark.parametrize(
    ("name", "kind"),
    [("dot.png", ImageBlock), ("beep.wav", AudioBlock), ("blob.bin", ResourceBlock)],
)
async def test_a_media_file_arrives_as_its_own_kind(
    up: Confined, name: str, kind: type[ImageBlock] | type[AudioBlock] | type[ResourceBlock]
) -> None:
    data = bytes(range(256))
    (up.folder / name).write_bytes(data)
    result = await up.session.multi.call_tool("read_media_file", {"path": str(up.folder / name)})
    (block,) = result.content
    assert isinstance(block, kind)
    assert base64.b64decode(block.data or "") == data


async def test_a_path_outside_the_folder_is_refused_as_an_error_value(up: Confined) -> None:
    call = up.session.multi.call_tool
    (up.folder / "link.txt").symlink_to(up.outside)
    escapes = [up.outside, up.folder / ".." / "forbidden0" / "secret.txt", up.folder / "link.txt"]
    for path in escapes:
        refused = await call("read_text_file", {"path": str(path)})
        assert refused.is_error, path
        assert "Access denied" in refused.text
        assert "not for you" not in refused.text
    written = await call("write_file", {"path": str(up.outside), "content": "mine"})
    assert written.is_error
    assert up.outside.read_text() == "not for you"


async def test_a_missing_file_is_an_error_value(up: Confined) -> None:
    missing = await up.session.multi.call_tool(
        "read_text_file", {"path": str(up.folder / "none.txt")}
    )
    assert missing.is_error
    assert "none.txt" in missing.text
