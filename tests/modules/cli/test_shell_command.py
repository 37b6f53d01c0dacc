"""`!command`: refused unless the profile allows it, and without keys in its environment."""

from pathlib import Path

import pytest

from config.schema import TerminalSection
from core.errors import UsageError
from modules.cli.shell_command import without_keys
from tests.doubles import profile
from tests.modules.cli.prompt_commands.typed import Typed

ALLOWED = profile().model_copy(update={"terminal": TerminalSection.model_validate({"shell": True})})


@pytest.mark.parametrize("line", ["!ls", "  ! ls", "!", "!important: sum up @notes.txt"])
async def test_switched_off_it_says_how_to_switch_it_on_and_asks_nobody(
    line: str, tmp_path: Path
) -> None:
    async with Typed(tmp_path) as typed:
        with pytest.raises(UsageError, match=r"agent\.py config set terminal\.shell true"):
            await typed.run(line)
        assert typed.model.requests == []


async def test_from_a_pipe_nothing_is_run(tmp_path: Path) -> None:
    async with Typed(tmp_path, profile=ALLOWED) as typed:
        with pytest.raises(UsageError, match="wants a terminal"):
            await typed.run(f"!touch {tmp_path / 'made'}")
        assert not (tmp_path / "made").exists()


async def test_without_a_command_there_is_nothing_to_run(tmp_path: Path) -> None:
    async with Typed(tmp_path, profile=ALLOWED) as typed:
        typed.at.is_typed = True
        with pytest.raises(UsageError, match="say what to run"):
            await typed.run("! ")


def test_keys_and_what_servers_were_told_stay_out_of_its_environment() -> None:
    environ = {
        "PATH": "/bin",
        "LANG": "C",
        "SSH_AUTH_SOCK": "/run/agent",
        "GEMINI_API_KEY": "AIza",
        "MY_MODEL": "plain name of a key in models.json",
        "NOTES": "the password is swordfish, says the server's entry",
    }
    assert without_keys(environ, {"MY_MODEL"}, {"swordfish"}) == {
        "PATH": "/bin",
        "LANG": "C",
        "SSH_AUTH_SOCK": "/run/agent",
    }
