import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest

from modules.service.http.tokens import read_tokens
from tests.command_line import ROOT
from tests.modules.service.http.served import WAIT_SECONDS, served, until


async def test_a_document_is_kept_and_listed(tmp_path: Path) -> None:
    async with served(tmp_path, []) as service:
        made = await service.client.put("/documents/Überblick%20Ä.md", content=b"# Lease")
        listed = (await service.client.get("/documents")).json()
    file = tmp_path / "documents" / "Überblick Ä.md"
    assert made.status_code == 201
    assert made.json()["size_bytes"] == 7
    assert file.read_bytes() == b"# Lease"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each["name"] for each in listed["documents"]] == [file.name]


SCRIPT = ROOT / "servers" / "documents_server.py"
DOCUMENTS_SERVER = f"id: documents\nscript: {SCRIPT}\ndescription: d"


async def test_a_document_is_told_with_its_state_in_the_index(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "empty.txt").touch()
    words_alone = "[documents], embedder: none"
    async with served(tmp_path, [], DOCUMENTS_SERVER, documents=words_alone) as service:
        before = (await service.client.get("/documents")).json()["documents"]
        await service.client.put("/documents/broken.pdf", content=b"no pdf")
        await service.client.put("/documents/lease.md", content=b"# Lease")
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                found = (await service.client.get("/documents")).json()["documents"]
                if all(each["state"] != "waiting" for each in found):
                    break
        replaced = await service.client.put("/documents/lease.md?replace=yes", content=b"# Other")
    assert [each["state"] for each in before] == ["waiting"]
    told = {each["name"]: (each["state"], each["why"]) for each in found}
    assert told["lease.md"] == ("indexed", None)
    assert told["empty.txt"][0] == "unreadable"
    assert told["broken.pdf"][0] == "unreadable"
    assert "damaged" in told["broken.pdf"][1]
    assert replaced.json()["state"] in ("indexed", "waiting")


async def test_without_a_server_for_documents_nothing_is_waited_for(tmp_path: Path) -> None:
    async with served(tmp_path, []) as service:
        made = (await service.client.put("/documents/a.md", content=b"x")).json()
    assert made["state"] == "waiting"
    assert "no documents server" in made["why"]


async def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    async with served(tmp_path, []) as service:
        path = "/documents/a.md"
        assert (await service.client.put(path, content=b"one")).status_code == 201
        again = await service.client.put(path, content=b"two")
        assert again.status_code == 409
        assert "?replace=true" in again.json()["detail"]
        assert (tmp_path / "documents" / "a.md").read_bytes() == b"one"
        replaced = await service.client.put(f"{path}?replace=true", content=b"two")
    assert replaced.status_code == 200
    assert (tmp_path / "documents" / "a.md").read_bytes() == b"two"


@pytest.mark.parametrize(
    "name",
    [
        *("..", ".hidden", "a/b", "../a", "..\\a", "a\nb", "a\x00b", " a", "a ", " ", "x" * 201),
        *("a\u202etxt.exe", "é" * 101, "/etc/passwd"),
    ],
)
async def test_a_name_is_a_plain_one(tmp_path: Path, name: str) -> None:
    async with served(tmp_path, []) as service:
        response = await service.client.put(f"/documents/{quote(name, safe='')}", content=b"x")
    assert response.status_code in (400, 404, 405)
    assert contents(tmp_path).isdisjoint({b"x"})


def contents(folder: Path) -> set[bytes]:
    """What the files below a folder hold."""
    return {path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "a.md").symlink_to(outside)
    async with served(tmp_path, []) as service:
        assert (await service.client.put("/documents/a.md", content=b"x")).status_code == 409
        await service.client.put("/documents/a.md?replace=true", content=b"x")
    assert outside.read_bytes() == b"mine"


async def test_an_upload_that_breaks_leaves_nothing(tmp_path: Path) -> None:
    async with served(tmp_path, []) as service:
        host, _, port = service.url.removeprefix("http://").partition(":")
        _, writer = await asyncio.open_connection(host, int(port))
        head = b"PUT /documents/a.md HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf"
        writer.write(head)
        folder = tmp_path / "documents"
        await until(lambda: bool([*folder.glob(".*")]))
        writer.close()
        await until(lambda: not [*folder.iterdir()])


async def test_many_pieces_make_one_file(tmp_path: Path) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for number in range(1_000):
            yield f"{number}\n".encode()

    async with served(tmp_path, []) as service:
        assert (await service.client.put("/documents/n.txt", content=pieces())).status_code == 201
    lines = (tmp_path / "documents" / "n.txt").read_text().split()
    assert lines == [*map(str, range(1_000))]


async def test_a_user_writes_to_a_home_of_its_own(tmp_path: Path) -> None:
    token = "token-of-alice-0123456789"  # noqa: S105 - of this test alone
    tokens = read_tokens(["A=alice"], {"A": token})[0]
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        served(tmp_path, [], tokens=tokens) as service,
        httpx2.AsyncClient(base_url=service.url, headers=headers) as hers,
    ):
        assert (await hers.put("/documents/a.md", content=b"x")).status_code == 201
    assert (tmp_path / "users" / "alice" / "documents" / "a.md").exists()
    assert not (tmp_path / "documents" / "a.md").exists()


async def test_a_folder_that_users_share_is_not_written_to(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (tmp_path / "profile.yaml").touch()
    token = "token-of-alice-0123456789"  # noqa: S105 - of this test alone
    tokens = read_tokens(["A=alice"], {"A": token})[0]
    headers = {"Authorization": f"Bearer {token}"}
    home = tmp_path / "home"
    async with (
        served(home, [], tokens=tokens, documents=f"[{shared}]") as service,
        httpx2.AsyncClient(base_url=service.url, headers=headers) as hers,
    ):
        refused = await hers.put("/documents/a.md", content=b"x")
    assert refused.status_code == 403
    assert [*shared.iterdir()] == []
