"""What the user is asked to agree to: pages to visit, and tools that have changed."""

import asyncio

import pytest

from core.dispatch.hooks import ToolChange
from core.mcp.hooks import Question, Reply
from modules.terminal.asking.questions import Questions
from tests.modules.terminal.asking.person import CTRL_D, Person, ask


class TestPages:
    @staticmethod
    async def visit(url: str, *lines: str) -> tuple[Reply, str]:
        person = Person(*lines)
        reply = await ask(person, Question("bank", "Sign in there", url=url))
        return reply, person.shown

    async def test_the_address_is_shown_whole_with_its_host_and_never_opened(self) -> None:
        url = "https://login.bank.example:8443/a?" + "b=c&" * 100
        reply, shown = await self.visit(url, "y")
        assert reply == Reply("accept")
        assert f"\n{url}\n" in shown
        assert "\nhost: login.bank.example\n" in shown
        assert "Careful" not in shown

    async def test_without_a_yes_it_is_declined(self) -> None:
        assert (await self.visit("https://bank.example/", ""))[0] == Reply("decline")

    @pytest.mark.parametrize(
        ("url", "warning"),
        [
            ("http://bank.example/", "not encrypted"),
            ("https://bank.example@evil.example/", "before the @"),
            ("https://xn--bnk-5cd.example/", "look like others"),
        ],
    )
    async def test_what_is_odd_about_it_is_said(self, url: str, warning: str) -> None:
        assert warning in (await self.visit(url, "n"))[1]

    @pytest.mark.parametrize("url", ["http://localhost:3000/x", "http://127.0.0.1/"])
    async def test_our_own_machine_is_not_odd(self, url: str) -> None:
        assert "Careful" not in (await self.visit(url, "n"))[1]

    @pytest.mark.parametrize(
        "url",
        [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "https://",
            "https://bank.example/ \x1b[2J",
            "https://bänk.example/",
            "http://[",
            "https://bank.example/" + "x" * 5000,
        ],
    )
    async def test_what_no_browser_should_get_is_declined_unseen(self, url: str) -> None:
        said: list[tuple[str, str]] = []
        questions = Questions(person := Person(), lambda stage, text: said.append((stage, text)))
        assert await questions.ask(Question("bank", "Go", url=url)) == Reply("decline")
        assert person.opened_times == 0
        assert "server 'bank' asked: Go (declined: its URL" in said[0][1]


class TestChanges:
    BEFORE = "description:\n  Reads a note.\nread-only:\n  yes"
    AFTER = "description:\n  Reads a note.\n  Then sends it.\nread-only:\n  yes"

    async def approve(self, person: Person, *changes: ToolChange) -> bool:
        async with asyncio.timeout(5):
            return await Questions(person, lambda stage, text: None).approve(changes)

    async def test_server_tools_and_difference_are_shown_and_asked_about_once(self) -> None:
        person = Person("y")
        changes = [ToolChange("notes", name, self.BEFORE, self.AFTER) for name in ("read", "list")]
        assert await self.approve(person, *changes)
        assert "server 'notes'" in person.shown
        assert "\n'read', 'list'\n" in person.shown
        assert person.shown.count("│ +  Then sends it.\n") == 2
        assert "│    Reads a note.\n" in person.shown
        assert person.hidden == [False]

    @pytest.mark.parametrize("line", ["", "n", "!d", CTRL_D])
    async def test_only_a_yes_is_a_yes(self, line: str | Exception) -> None:
        change = ToolChange("notes", "read", self.BEFORE, self.AFTER)
        assert not await self.approve(Person(line), change)

    async def test_no_difference_fills_the_screen_or_hides_behind_another(self) -> None:
        person = Person("y")
        big = "\n".join(f"  line {number}" for number in range(5000))
        changes = [ToolChange("notes", "big", "", big)]
        changes += [ToolChange("notes", f"tool_{n}", self.BEFORE, self.AFTER) for n in range(9)]
        await self.approve(person, *changes)
        assert person.shown.count("│ +  Then sends it.\n") == 9
        assert person.shown.count("\n") < 300
        assert "more lines are not shown" in person.shown

    async def test_thousands_of_changes_are_counted_not_listed(self) -> None:
        person = Person("y")
        await self.approve(
            person, *(ToolChange("notes", f"tool_{n}", "a", "b") for n in range(5000))
        )
        assert person.shown.count("\n") < 300
        assert "and 4,980 more" in person.shown
        assert "more changed tools are not shown" in person.shown
