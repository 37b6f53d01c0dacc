"""What the tests of processes share with those of commands, and terminals with a screen."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.command_line import ROOT, environment, write_profile
from tests.modules.cli.conftest import hand
from tests.screens import ScreenTerminal

__all__ = ["hand"]

OpenScreen: TypeAlias = Callable[..., ScreenTerminal]

PROMPT = "cortex-r>"
GATED = ROOT / "tests" / "fixtures" / "servers" / "gated_server.py"


@pytest.fixture
def open_screen(tmp_path: Path) -> Iterator[OpenScreen]:
    """Runs `agent.py` at a terminal with a screen, closed afterwards; `extra` is environment."""
    opened: list[ScreenTerminal] = []

    def open_one(
        *arguments: str, columns: int = 100, loses_output: bool = True, **extra: str
    ) -> ScreenTerminal:
        environ = environment(tmp_path, **{"TERM": "xterm", "XTERM_VERSION": "XTerm(390)", **extra})
        opened.append(
            ScreenTerminal(
                *arguments,
                environ=environ,
                cwd=tmp_path,
                columns=columns,
                loses_output=loses_output,
            )
        )
        return opened[-1]

    yield open_one
    for terminal in opened:
        terminal.close()


@pytest.fixture
def open_prompt(open_screen: OpenScreen) -> OpenScreen:
    """The same, once the prompt stands there."""

    def open_one(*arguments: str, columns: int = 100, **extra: str) -> ScreenTerminal:
        terminal = open_screen(*arguments, columns=columns, **extra)
        terminal.shows(PROMPT)
        return terminal

    return open_one


@pytest.fixture
def gates(tmp_path: Path) -> Path:
    """The folder in which a file lets a call of the gated server end."""
    folder = tmp_path / "gates"
    folder.mkdir()
    return folder


@pytest.fixture
def gated(tmp_path: Path, gates: Path) -> list[str]:
    """Options for a profile with the gated server, `gate`, alone."""
    server = f"id: gate\nscript: {GATED}\nargs: [{gates}]\ndescription: waits at gates"
    profile = write_profile(tmp_path, server)
    return ["--profile", str(profile), "--approve", "gate.hold(*)"]
