"""The first run: a profile of one's own, offered once, and made by `/init`."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from core.base.files import make_private_file, make_private_folder
from core.errors import ExitCode, UsageError
from modules.cli.prompt_commands.command import AtPrompt, prompt_command
from modules.cli.shell_command import run_at_terminal
from modules.cli.switching import use_model, use_profile
from modules.models.choosing.names import AUTO

OFFER: Final = (
    "no profile of yours and no model so far. Enter sets them up: documents, a key, servers of "
    "other programs; n goes on with the offline planner; or just type a request"
)
HINT: Final = "no profile of yours so far: /init makes one"
GOES_ON: Final = "goes on with the offline planner; /init sets things up at any time"

_PROFILE: Final = "profiles.yaml"
_OFFERED: Final = "init_offered"
"""A file under CORTEX_HOME: nobody is asked each time."""

_OFFLINE: Final = "offline"


def first_words(at: AtPrompt) -> str | None:
    """What is said where there is no profile of one's own; None where there is, or one is named."""
    if at.setting.arguments.profile is not None or _own_profile(at) is not None:
        return None
    if at.conversation.model.name != _OFFLINE or at.setting.arguments.model is not None:
        return HINT
    return HINT if (at.setting.places.home / _OFFERED).exists() else OFFER


async def answered(at: AtPrompt, lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """The lines, of which the first may be the answer to the offer."""
    async for line in lines:
        await asyncio.to_thread(_remember, at.setting.places.home)
        word = line.strip().lower()
        if word in ("", "y", "yes"):
            yield "/init"
        elif word in ("n", "no"):
            at.say("config", GOES_ON)
        else:
            yield line
        break
    async for line in lines:
        yield line


def _remember(home: Path) -> None:
    with suppress(OSError):  # then it is asked once more
        make_private_folder(home)
        make_private_file(home / _OFFERED)


def _own_profile(at: AtPrompt) -> Path | None:
    file = at.setting.places.config_file(_PROFILE)
    return file if file.is_relative_to(at.setting.places.home / "config") else None


@prompt_command(
    "init",
    "Settings",
    "a profile of your own: documents, a key, servers of other programs",
    details="As agent.py config init. What it writes counts from the next request on.",
)
async def _init(at: AtPrompt, words: str) -> ExitCode:
    """`agent.py config init`, with the terminal to itself; what it writes counts at once.

    Raises:
        UsageError: nobody types here.
        UserError, SettingsError: what it wrote can't be used.
    """
    if not at.is_typed:
        raise UsageError("/init asks at a terminal; from a pipe: agent.py config init --yes")
    before = _own_profile(at)
    program = [sys.executable, str(at.setting.places.root / "agent.py"), "config", "init"]
    code = await run_at_terminal(program, at.environ)
    made = _own_profile(at)
    if before is None and made is not None:
        await use_profile(at, made)
        if at.conversation.model.name == _OFFLINE:
            await use_model(at, AUTO)  # a key may be there now
        at.say("config", f"{made} counts from the next request on")
    return ExitCode.ANSWERED if code == 0 else ExitCode.BAD_USAGE


FIRST_RUN_COMMANDS: Final = (_init,)
