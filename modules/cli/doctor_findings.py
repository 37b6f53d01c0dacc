"""Findings of `doctor`: what was looked at, how it is, and what to do about it."""

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Final, Literal, TypeAlias

from core.base.frozen import frozen
from core.errors import ExitCode
from core.values import JsonObject

Area: TypeAlias = Literal[
    "program", "sandbox", "files", "configuration", "model", "documents", "web", "servers"
]
State: TypeAlias = Literal[
    "ok",
    "note",  # worth knowing
    "missing",  # not there, and the program goes on without it
    "broken",  # needed, and doesn't work
]

_USERS: Final[frozenset[Area]] = frozenset(("configuration", "model"))
"""Where something is broken, the user has to correct it."""

_STATE_WIDTH: Final = len("missing")
_INDENT: Final = " " * (2 + _STATE_WIDTH + 2)
LEAST_COLUMNS: Final = 40


@frozen
class Check:
    """One finding; `advice` says what can be done, and is empty where nothing needs to be."""

    area: Area
    name: str
    state: State
    detail: str
    advice: str = ""


def exit_code(checks: Sequence[Check]) -> ExitCode:
    """2 where the configuration has to be corrected, else 1 where something is broken, else 0."""
    broken = {check.area for check in checks if check.state == "broken"}
    if broken & _USERS:
        return ExitCode.BAD_USAGE
    return ExitCode.WORLD_FAILED if broken else ExitCode.ANSWERED


def checks_text(checks: Sequence[Check], columns: int | None) -> str:
    """The checks by area, a line each, and a verdict; wrapped to `columns` where given."""
    lines: list[str] = []
    for area, found in groupby(checks, lambda check: check.area):
        lines.append(area)
        for check in found:
            lines += _check_lines(check, columns)
    return "\n".join([*lines, _verdict(checks)])


def check_document(check: Check) -> JsonObject:
    """A check as JSON."""
    return {**asdict(check), "advice": check.advice or None}


def _check_lines(check: Check, columns: int | None) -> list[str]:
    first, *more = f"{check.name}: {check.detail}".splitlines()
    lines = _wrapped(f"  {check.state.ljust(_STATE_WIDTH)}  {first}", columns)
    for line in [*more, *([f"→ {check.advice}"] if check.advice else [])]:
        lines += _wrapped(f"{_INDENT}{line}", columns)
    return lines


def _wrapped(line: str, columns: int | None) -> list[str]:
    if columns is None:
        return [line]
    return textwrap.wrap(
        line,
        max(columns, LEAST_COLUMNS),
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _verdict(checks: Sequence[Check]) -> str:
    broken = [f"{check.area}: {check.name}" for check in checks if check.state == "broken"]
    if broken:
        return f"broken: {', '.join(broken)}"
    missing = ", ".join(check.name for check in checks if check.state == "missing")
    return f"all that is needed works{f'; missing: {missing}' if missing else ''}"
