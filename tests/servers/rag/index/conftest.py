"""An empty index for each test that asks for one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.rag.index.index import Index
from tests.servers.rag.index.made import FINGERPRINT


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    opened = Index.open(tmp_path, FINGERPRINT)
    yield opened
    opened.close()
