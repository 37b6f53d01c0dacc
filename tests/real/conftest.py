"""What every test with real parts needs first: that the parts are there."""

import os

import pytest

from tests.real.parts import STAMP, node


@pytest.fixture(scope="session", autouse=True)
def parts_are_installed() -> None:
    """Skip where there is no Node at all, but never in CI; fail where nothing was installed."""
    if node() is None:
        if os.environ.get("CI"):
            pytest.fail("there is no Node, and in CI no test with real servers may be skipped")
        pytest.skip("there is no Node on this machine, nor a package of it in the environment")
    if not STAMP.exists():
        pytest.fail("the real servers and tools are not installed; 'make test-real' does that")
