"""What pytest says of a test, without the keys that tests of real services work with."""

import pytest

from core.base.redaction import Redactor


def hide_keys(report: pytest.TestReport, redactor: Redactor) -> None:
    """Take secrets out of a failure and of what was captured; a report without stays as it is."""
    if report.longrepr is not None and not isinstance(report.longrepr, tuple):
        text = str(report.longrepr)
        if (shown := redactor.text(text)) != text:
            report.longrepr = shown
    report.sections = [(title, redactor.text(text)) for title, text in report.sections]
