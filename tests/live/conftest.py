"""Which services there are, and that no report of a test shows a key of theirs."""

import os
from collections.abc import Generator

import pytest

from core.base.redaction import Redactor
from tests.live.reports import hide_keys
from tests.live.services import SERVICES, LiveService, MissingService


def pytest_configure(config: pytest.Config) -> None:
    """Leave out arguments and variables of functions, which are cut: so half a key would show."""
    pytest.register_assert_rewrite("tests.real.model_checks")
    config.option.tbstyle = "short"
    config.option.showlocals = False


@pytest.fixture(scope="session", params=SERVICES, ids=lambda find: find.__name__)
def service(request: pytest.FixtureRequest) -> LiveService:
    """One service after the other; those that can't be reached are skipped, and it is said why."""
    found: LiveService | MissingService = request.param(os.environ)
    if isinstance(found, MissingService):
        pytest.skip(found.why)
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Hide keys before anything is shown or written."""
    report = yield
    hide_keys(report, Redactor(os.environ))
    return report
