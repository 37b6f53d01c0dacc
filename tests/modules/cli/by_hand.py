"""Commands run in this process, with a home of their own and fixture servers."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from config.settings import ROOT, Places, SettingsError
from core.errors import CortexError, ExitCode, UserError
from core.values import Json, JsonObject
from modules.cli.command_line import parse_command, run_command
from modules.cli.surroundings import Surroundings
from modules.terminal.streams import Complaints
from tests.command_line import NO_MODEL_SERVER, Finished, write_profile

SERVERS = Path(__file__).parents[2] / "fixtures" / "servers"


def said(*words: str) -> dict[str, object]:
    """What a command line says, but for options that it leaves out."""
    found = vars(parse_command(words))
    left_out = {"run", "parser", "command", "action"}
    return {key: value for key, value in found.items() if key not in left_out and value}


def prepared(home: Path, environ: Mapping[str, str], *words: str) -> Surroundings:
    """What a command line says, and what its command works in, with all state under `home`."""
    return Surroundings(parse_command(words), Places(ROOT, home), Complaints(environ), environ)


@dataclass(frozen=True)
class Hand:
    """Runs commands on a profile; what `run_agent` does with errors is done here too."""

    home: Path
    capsys: pytest.CaptureFixture[str]
    environ: Mapping[str, str]

    def run(self, *words: str) -> Finished:
        """Run one command line, such as `run("mcp", "list")`."""
        complaints = Complaints(self.environ)
        try:
            end = words.index("--") if "--" in words else len(words)
            profile = ["--profile", str(self.home / "profile.yaml")]
            found = parse_command([*words[:end], *profile, *words[end:]])
            code = run_command(found, Places(ROOT, self.home), complaints, self.environ)
        except (SettingsError, UserError) as error:
            code = complaints.fail(str(error), ExitCode.BAD_USAGE)
        except CortexError as error:
            code = complaints.fail(str(error), ExitCode.WORLD_FAILED)
        told = self.capsys.readouterr()
        return Finished(int(code), told.out, told.err)

    def object(self, *words: str) -> JsonObject:
        """The object that a command with `--json` prints, as its one line."""
        found: JsonObject = json.loads(self._line(*words))
        assert isinstance(found, dict)
        return found

    def objects(self, *words: str) -> list[JsonObject]:
        """The same for a command that prints an array of objects."""
        found: list[JsonObject] = json.loads(self._line(*words))
        assert isinstance(found, list)
        return found

    def _line(self, *words: str) -> str:
        done = self.run(*words, "--json")
        assert done.out.count("\n") == 1, done
        return done.out

    def write_profile(self, *servers: str) -> None:
        """Replace the profile by one with these servers."""
        write_profile(self.home, *servers).replace(self.home / "profile.yaml")

    def write_mcp_json(self, **servers: Json) -> Path:
        """Write `config/mcp.json` under the home."""
        path = self.home / "config" / "mcp.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        return path


def entry(name: str, *arguments: str, id: str | None = None, more: str = "") -> str:
    """A fixture server as a profile entry."""
    words = json.dumps(arguments)
    return f"id: {id or name}\nscript: {SERVERS / name}_server.py\nargs: {words}\n{more}"


def mcp_entry(name: str, *arguments: str) -> dict[str, Json]:
    """A fixture server as an entry of an `mcp.json`."""
    words: list[Json] = [str(SERVERS / f"{name}_server.py"), *arguments]
    return {"command": sys.executable, "args": words}


def a_hand(home: Path, capsys: pytest.CaptureFixture[str]) -> Hand:
    """A hand with no server configured."""
    hand = Hand(
        home,
        capsys,
        {"PATH": os.environ["PATH"], "MY_TOKEN": "sekret-value-123", **NO_MODEL_SERVER},
    )
    hand.write_profile()
    return hand
