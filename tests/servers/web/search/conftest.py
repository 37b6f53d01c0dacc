"""A web on loopback for search engines."""

from collections.abc import AsyncGenerator

import pytest

from tests.servers.web.loopback import LoopbackWeb, loopback_web


@pytest.fixture
async def web() -> AsyncGenerator[LoopbackWeb]:
    async with loopback_web() as server:
        yield server
