"""Keys of the prompt whose effect needs no screen."""

import asyncio

from prompt_toolkit import PromptSession
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from modules.terminal.input.keys import NO_EDITOR, prompt_keys
from modules.terminal.input.pastes import Pastes
from modules.terminal.input.repl import WayOut

CTRL_G = "\x07"


async def test_without_an_editor_ctrl_g_says_so_and_leaves_the_line_as_it_is() -> None:
    told: list[str] = []
    keys = prompt_keys(Pastes(), WayOut(lambda: None), told.append, can_edit=lambda: False)
    with create_pipe_input() as keyboard:
        session: PromptSession[str] = PromptSession(
            input=keyboard, output=DummyOutput(), key_bindings=keys
        )
        keyboard.send_text(f"half{CTRL_G} a line\r")
        async with asyncio.timeout(10):
            assert await session.prompt_async("> ") == "half a line"
    assert told == [NO_EDITOR]
