"""The index in Milvus, over a stand-in; tests/real runs the same contract over Milvus Lite."""

from pathlib import Path

import pytest

from servers.rag.errors import VectorsSettingError, VectorsUnavailable
from servers.rag.vectors.milvus_index import (
    FLUSHED_ROWS,
    IDS_A_CALL,
    LIMIT_MAX,
    ROWS_A_CALL,
    MilvusIndex,
    open_milvus,
)
from tests.servers.rag.vectors.contract import CHECKS, DIMENSION, unit_vectors
from tests.servers.rag.vectors.fake_milvus import (
    FakeLibrary,
    FakeMilvusException,
    FakeRpcError,
    FakeService,
)

SERVER = "http://db.example.org:19530"


def opened(
    service: FakeService,
    address: str = SERVER,
    owner: str = "index of this test",
    environ: dict[str, str] | None = None,
    missing: str = "",
) -> MilvusIndex:
    library = FakeLibrary(service, missing)
    return open_milvus(address, DIMENSION, environ or {}, owner, library.load)


@pytest.mark.parametrize("check", CHECKS)
def test_it_keeps_the_contract_of_an_index_of_vectors(check: str) -> None:
    CHECKS[check](lambda: opened(FakeService()))


def test_what_was_written_is_there_at_the_next_start_and_other_owners_see_none_of_it() -> None:
    service = FakeService()
    opened(service).add([1, 2], unit_vectors(2))
    assert len(opened(service)) == 2
    assert len(opened(service, owner="another index")) == 0
    assert service.sizes("create_collection") == [DIMENSION, DIMENSION]
    assert all(name.endswith(f"_{DIMENSION}") for name in service.collections)


def test_rows_and_ids_go_over_in_parts_and_no_limit_is_above_what_milvus_takes() -> None:
    service = FakeService()
    index = opened(service)
    count = 2 * ROWS_A_CALL + 5
    index.add(range(count), unit_vectors(count))
    assert service.sizes("upsert") == [ROWS_A_CALL, ROWS_A_CALL, 5]
    assert len(index.search(unit_vectors(1), 50_000, among=range(IDS_A_CALL + 1))) == count
    assert service.sizes("search") == [LIMIT_MAX, LIMIT_MAX]
    index.remove(range(IDS_A_CALL + 7))
    assert service.sizes("delete") == [IDS_A_CALL, 7]


def test_only_a_file_is_flushed_and_only_now_and_then(tmp_path: Path) -> None:
    server, lite = FakeService(), FakeService()
    half = FLUSHED_ROWS // 2
    for service, address in ((server, SERVER), (lite, str(tmp_path / "below" / "vectors.db"))):
        index = opened(service, address)
        for start in (0, half, 2 * half):
            index.add(range(start, start + half), unit_vectors(half))
    assert (len(server.sizes("flush")), len(lite.sizes("flush"))) == (0, 1)
    assert (tmp_path / "below").is_dir()


@pytest.mark.parametrize(
    "error", [FakeMilvusException("server unavailable\nmore"), FakeRpcError("Deadline Exceeded")]
)
def test_a_server_that_fails_is_told_in_one_line_without_a_password(error: Exception) -> None:
    service = FakeService()
    index = opened(service, "http://me:secret@db.example.org:19530")
    service.fails = error
    calls = [
        lambda: index.search(unit_vectors(1), 3),
        lambda: index.add([1], unit_vectors(1)),
        lambda: index.remove([1]),
        lambda: len(index),
        index.chunk_ids,
    ]
    for call in calls:
        with pytest.raises(VectorsUnavailable) as told:
            call()
        message = str(told.value)
        assert message.startswith("Milvus at db.example.org:19530 can't be used now (")
        assert "secret" not in message
        assert "\n" not in message


def test_a_server_that_is_not_there_is_told_with_what_to_do() -> None:
    with pytest.raises(VectorsUnavailable, match=r"db\.example\.org:19530 .*is it running"):
        opened(FakeService(fails=FakeMilvusException("Fail connecting")))


def test_a_file_that_another_process_has_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(VectorsUnavailable, match=r"vectors\.db .*is it open in another process"):
        opened(FakeService(fails=FakeMilvusException("locked")), str(tmp_path / "vectors.db"))


def test_a_connection_is_closed_when_the_collection_cannot_be_had() -> None:
    service = FakeService(fails=FakeMilvusException("no quota"), fails_at="create_collection")
    with pytest.raises(VectorsUnavailable, match="no quota"):
        opened(service)
    assert service.sizes("close") == [0]


@pytest.mark.parametrize(
    ("address", "missing"), [(SERVER, "pymilvus"), ("~/vectors.db", "milvus_lite")]
)
def test_a_missing_package_is_told_with_the_command_that_installs_it(
    address: str, missing: str
) -> None:
    with pytest.raises(VectorsUnavailable, match=rf"{missing}: pip install 'cortex-r\[milvus\]'"):
        opened(FakeService(), address, missing=missing)


def test_a_token_comes_from_the_environment() -> None:
    service = FakeService()
    opened(service, environ={"MILVUS_TOKEN": "root:Milvus"})
    assert service.tokens == ["root:Milvus"]
    assert service.uris == [SERVER]


@pytest.mark.parametrize(
    "address", ["", "vectors", "a\0b.db", "tcp://host:1", "http://", "http://host:port"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(VectorsSettingError, match="vectors: milvus:"):
        opened(FakeService(), address)


def test_a_filter_holds_whole_numbers_only() -> None:
    service = FakeService()
    index = opened(service)
    index.add([1, 2], unit_vectors(2))
    index.search(unit_vectors(1), 2, among=[True, 2])
    index.search(unit_vectors(1), 2)
    assert service.filters == ["id in [1,2]", ""]
