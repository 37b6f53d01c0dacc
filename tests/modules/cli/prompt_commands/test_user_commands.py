"""Commands of the user's own at the prompt: found, told, completed, never in another's place."""

import os
from pathlib import Path

import pytest

from core.errors import ExitCode, UsageError
from core.ports import ModelRequest
from modules.cli.prompt_commands.command import Ask
from modules.planning.guidance.commands import COMMANDS_MAX
from modules.planning.guidance.guide import Guide
from tests.modules.cli.prompt_commands.typed import Typed
from tests.modules.planning.guidance.places import put
from tests.modules.team.test_run import JOINED, answer, by_words
from tests.modules.team.test_workflow import CITIES, kept

REVIEW = "---\ndescription: look it over\nargument-hint: FOLDER\n---\nreview $1\n"


async def test_a_command_is_asked_as_its_file_says_from_the_moment_it_is_there(
    tmp_path: Path,
) -> None:
    async with Typed(tmp_path) as typed:
        with pytest.raises(UsageError, match="there is no command /review"):
            await typed.run("/review")
        file = tmp_path / "commands" / "review.md"
        put(file, REVIEW)
        put(tmp_path / "commands" / "git" / "commit.md", "commit it")
        assert await typed.run("/Review src") == Ask("review src")
        assert await typed.run("/git:commit  all\nof it ") == Ask("commit it\n\nall\nof it")
        put(file, REVIEW.replace("review $1", "review $1 again"))
        assert await typed.run("/review src") == Ask("review src again")
        file.unlink()
        with pytest.raises(UsageError, match="there is no command /review"):
            await typed.run("/review")
        with pytest.raises(UsageError, match="did you mean /git:commit"):
            await typed.run("/git:comit")
        assert typed.said == []


async def test_they_stand_in_help_under_yours_and_complete(tmp_path: Path) -> None:
    put(tmp_path / "commands" / "review.md", REVIEW)
    async with Typed(tmp_path) as typed:
        await typed.run("/help")
        _, _, yours = typed.said[0].partition("\nYours\n")
        assert yours.split("\n")[0].split() == ["/review", "FOLDER", "look", "it", "over"]
        await typed.run("/help review")
        assert typed.said[-1] == "help: /review FOLDER: look it over"
        assert typed.proposed("/rev") == ["/review"]
        put(tmp_path / "commands" / "revise.md", "x")
        assert typed.proposed("/rev") == ["/review", "/revise"]


async def test_none_takes_the_place_of_a_command_of_ours(tmp_path: Path) -> None:
    for name in ("help", "quit", "new"):
        put(tmp_path / "commands" / f"{name}.md", "not this")
    async with Typed(tmp_path) as typed:
        assert await typed.run("/new") == ExitCode.ANSWERED
        assert await typed.run("/new") == ExitCode.ANSWERED
        told = [said for said in typed.said if "is a command of Cortex-R" in said]
        assert len(told) == 3, "each is told once"


async def test_a_broken_file_is_told_once_and_the_others_work(tmp_path: Path) -> None:
    folder = tmp_path / "commands"
    put(folder / "broken.md", "---\ndescription: x\ndescription: y\n---\ntext")
    put(folder / "good.md", "add 5 and 7")
    (folder / "bytes.md").write_bytes(b"\xff")
    (folder / "loop.md").symlink_to(folder / "loop.md")
    os.mkfifo(folder / "pipe.md")
    async with Typed(tmp_path) as typed:
        assert typed.proposed("/g") == ["/good"]
        assert typed.said == [], "nothing is told while one types"
        assert await typed.run("/good") == Ask("add 5 and 7")
        assert await typed.run("/good") == Ask("add 5 and 7")
        for _ in range(2):
            with pytest.raises(UsageError, match="key 'description' stands twice"):
                await typed.run("/broken x")
    broken = f"config: {folder}/broken.md:3: front matter: key 'description' stands twice"
    assert sum(said.startswith(broken) for said in typed.said) == 1
    assert len(typed.said) == 4


async def test_only_so_many_are_read(tmp_path: Path) -> None:
    for number in range(COMMANDS_MAX + 5):
        put(tmp_path / "commands" / f"c{number:03}.md", "x")
    async with Typed(tmp_path) as typed:
        mine = [name for name in typed.proposed("/c") if name[2:].isdigit()]
        assert len(mine) == COMMANDS_MAX
        assert await typed.run("/c000") == Ask("x")
        (told,) = typed.said
        assert f"only {COMMANDS_MAX} commands" in told


async def test_without_skills_it_is_said_where_one_goes(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        typed.conversation.guide = Guide(tmp_path, tmp_path / "work")
        await typed.run("/skills")
        place = tmp_path / "skills" / "NAME" / "SKILL.md"
        assert typed.said == [f"guidance: 0 skills; put one into {place}"]


async def test_without_a_guide_no_skill_is_listed(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        with pytest.raises(UsageError, match="no skill is used"):
            await typed.run("/skills")


class TestWorkflows:
    async def test_they_are_listed_shown_and_run(self, tmp_path: Path) -> None:
        kept(tmp_path, CITIES)
        replies = by_words(about_Oslo=answer("one"), about_Berlin=answer("two"),
                           common=JOINED)  # fmt: skip

        def reply(request: ModelRequest) -> str:
            return replies(request.prompt)

        async with Typed(tmp_path, reply, reply, reply) as typed:
            await typed.run("/workflow")
            assert "city= [other=Berlin] [most=3] [share=1]" in typed.said[-1]
            await typed.run("/workflow show cities")
            assert "\n└─ second: find" in typed.said[-1]
            outcome = await typed.answer("/workflow run cities city=Oslo")
            assert outcome.answer == "one meets two"
            assert typed.at.last_request == (
                "run the workflow cities with city=Oslo and other=Berlin and most=3 and share=1"
            )

    async def test_what_is_missing_stands_in_the_next_prompt(self, tmp_path: Path) -> None:
        kept(tmp_path, CITIES)
        async with Typed(tmp_path) as typed:
            with pytest.raises(UsageError, match="wants city"):
                await typed.run("/workflow run cities most=2")
            assert typed.at.next_text == "/workflow run cities most=2 city="
            with pytest.raises(UsageError, match="no action 'rn'; list, show, run, save"):
                await typed.run("/workflow rn")
            with pytest.raises(UsageError, match="takes a name"):
                await typed.run("/workflow run")

    async def test_names_and_parameters_complete(self, tmp_path: Path) -> None:
        kept(tmp_path, CITIES)
        async with Typed(tmp_path) as typed:
            assert typed.proposed("/workflow r") == ["run"]
            assert typed.proposed("/workflow run c") == ["cities"]
            assert typed.proposed("/workflow run cities ") == ["city=", "other=", "most=", "share="]
            assert typed.proposed("/workflow run cities city=Oslo o") == ["other="]
            assert typed.proposed("/workflow save ") == []

    async def test_the_last_request_is_saved(self, tmp_path: Path) -> None:
        async with Typed(tmp_path, answer("12")) as typed:
            await typed.ask("add 5 and 7")
            await typed.run("/workflow save sum first=5")
            assert "do: add {{first}} and 7" in (tmp_path / "workflows" / "sum.yaml").read_text()
            with pytest.raises(UsageError, match="there already"):
                await typed.run("/workflow save sum")
