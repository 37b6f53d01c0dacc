"""What needs no service: which one is missing is said, and no key is ever shown."""

from pathlib import Path

import pytest

from core.base.redaction import Redactor
from modules.models.credentials import USUAL_VARIABLES
from tests.command_line import NO_MODEL_SERVER
from tests.live.reports import hide_keys
from tests.live.services import SERVICES, LiveService, MissingService, local

KEY = "sk-live-0123456789abcdefghij"


def test_each_service_that_is_missing_names_what_it_wants() -> None:
    found = [find(NO_MODEL_SERVER) for find in SERVICES]
    reasons = [each.why for each in found if isinstance(each, MissingService)]
    wanted = [*USUAL_VARIABLES.values(), "OLLAMA_HOST", "LLAMA_SERVER_URL", "CORTEX_LOCAL_MODEL"]
    assert len(reasons) == len(found)
    assert all(any(name in reason for reason in reasons) for name in wanted)


def test_a_variable_that_names_no_file_is_told(tmp_path: Path) -> None:
    found = local({"CORTEX_LOCAL_MODEL": str(tmp_path / "none.gguf")})
    assert isinstance(found, MissingService)
    assert "none.gguf" in found.why


@pytest.mark.parametrize("variable", USUAL_VARIABLES.values())
def test_a_key_is_kept_in_the_environment_alone(variable: str) -> None:
    (service,) = [
        found
        for find in SERVICES
        if isinstance(found := find({**NO_MODEL_SERVER, variable: KEY}), LiveService)
    ]
    assert KEY not in repr(service) + service.models().model_dump_json()
    assert service.environ({variable: KEY, "OTHER_API_KEY": "x"}) == {variable: KEY}


def test_a_key_is_hidden_in_a_failure_and_in_what_was_captured() -> None:
    report = pytest.TestReport(
        "test_it",
        ("test_it.py", 1, "test_it"),
        {},
        "failed",
        f"assert '{KEY}' == ''",
        "call",
        sections=[("Captured stdout call", f"key: {KEY}")],
    )
    hide_keys(report, Redactor({"OPENAI_API_KEY": KEY}))
    assert KEY not in str(report.longrepr)
    assert "assert" in str(report.longrepr)
    assert KEY not in str(report.sections)
