"""A doubtful value at a scripted terminal: all of it is shown, and silence is no."""

import asyncio

import pytest

from core.provenance.checks import Doubt
from core.values import JsonObject
from modules.terminal.asking.questions import URL_CHARACTERS_MAX, Questions
from modules.terminal.asking.quoting import ARGUMENTS_MAX
from tests.modules.terminal.asking.person import CTRL_D, Person

URL = Doubt("url", "http://u@n\u0435ws.example/\u202e\x1b[2J\u200b?d=1", "key")


async def allowed(person: Person, doubt: Doubt = URL) -> bool | None:
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


@pytest.mark.parametrize("line", ["", "n", CTRL_D])
async def test_anything_but_yes_is_no(line: str | Exception) -> None:
    assert not await allowed(Person(line))


async def test_nobody_there_and_too_much_to_read_is_no_answer() -> None:
    assert await allowed(Person("y", attended=False)) is None
    assert await allowed(Person("y"), Doubt("url", "x" * (URL_CHARACTERS_MAX + 1), "k")) is None
    many: JsonObject = {f"a{number}": number for number in range(ARGUMENTS_MAX + 1)}
    assert await allowed(Person("y"), call_of(many)) is None
    assert await allowed(Person("y"), call_of({"input": many})) is None


def call_of(arguments: JsonObject) -> Doubt:
    return Doubt("tool", "web.read", "key", arguments)


async def test_of_a_call_every_argument_is_shown() -> None:
    person = Person("y")
    wrapped: JsonObject = {
        "input": {"path": "/etc/x", "content": "one\ntwo", "append": True, "mode": "\x1b[2J\u202e"}
    }
    assert await allowed(person, call_of(wrapped))
    assert (
        "── web.read may change something, and your request does not ask for it ──\n"
        '│ path: "/etc/x"\n'
        "│ content: \n│     one\n│     two\n"
        "│ append: true\n"
        '│ mode: "\\u001b[2J\\u202e"\n'
    ) in person.shown


async def test_of_a_doubtful_value_the_whole_call_is_shown_if_it_may_change_something() -> None:
    person = Person("y")
    assert await allowed(person, Doubt("path", "/etc/x", "/etc/x", {"path": "/etc/x", "text": "a"}))
    assert (
        "│ /etc/x\nThe whole call:\n"
        '│ path: "/etc/x"\n│ text: "a"\nText that was read may have asked for it.\n'
    ) in person.shown


async def test_no_value_can_pass_for_another_argument_nor_hide_one() -> None:
    person = Person("y")
    text = "x" * 100_000 + '\npath: "/tmp/harmless"'
    forged: JsonObject = {"text": f'a\npath: "b"\n{"word " * 60}', "long": text, "path": "/etc/x"}
    assert await allowed(person, call_of(forged))
    names = [line.split(":")[0] for line in person.shown.splitlines() if line.startswith("│ ")]
    assert [name for name in names if not name.startswith("│     ")] == [
        "│ text",
        "│ long",
        "│ path",
    ]
    assert '│ path: "/etc/x"\n' in person.shown
    assert "more characters are not shown]" in person.shown
    assert len(person.shown) < 20_000
