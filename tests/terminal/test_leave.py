"""A doubtful value at a scripted terminal: all of it is shown, and silence is no."""

import asyncio

import pytest

from core.provenance.doubts import Doubt
from modules.terminal.questions import URL_CHARACTERS_MAX, Questions
from tests.terminal.person import CTRL_C, CTRL_D, Person

URL = Doubt("url", "http://u@n\u0435ws.example/\u202e\x1b[2J\u200b?d=1", "key")


async def allowed(person: Person | None, doubt: Doubt = URL) -> bool:
    async with asyncio.timeout(5):
        return await Questions(person, lambda stage, text: None).allow("web.read", doubt)


async def test_the_whole_value_is_shown_with_what_would_hide_in_it() -> None:
    person = Person("y")
    assert await allowed(person)
    assert "── web.read wants this address, which neither you nor" in person.shown
    unfolded = person.shown.replace("\n│ ", "")
    assert "http://u@n\u0435ws.example/\\u202e\\x1b[2J\\u200b?d=1\n" in unfolded
    assert "Careful: the connection is not encrypted." in person.shown
    assert "Careful: what stands before the @ is not the host." in person.shown
    assert "characters that may look like others" in person.shown


@pytest.mark.parametrize("line", ["", "n", CTRL_C, CTRL_D])
async def test_anything_but_yes_is_no(line: str | Exception) -> None:
    assert not await allowed(Person(line))


async def test_nobody_there_and_too_long_to_read_is_no() -> None:
    assert not await allowed(None)
    assert not await allowed(Person("y", attended=False))
    assert not await allowed(Person("y"), Doubt("url", "x" * (URL_CHARACTERS_MAX + 1), "k"))


async def test_of_a_tool_its_name_is_enough() -> None:
    person = Person("y")
    assert await allowed(person, Doubt("tool", "web.read", "web.read"))
    assert (
        "── web.read may change something, and your request does not ask for it ──" in person.shown
    )
    assert "│" not in person.shown
