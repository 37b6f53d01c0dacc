"""`agent.py config`: what counts, whether it is right, a value changed, a profile made."""

import json
import shutil
from pathlib import Path

import pytest

from tests.command_line import ROOT, SUMS_SERVER, agent, environment, write_profile

SHIPPED = ROOT / "config" / "profiles.yaml"


def own(home: Path) -> Path:
    """Where the profile of a home lies."""
    return home / "config" / "profiles.yaml"


def test_show_says_where_each_value_comes_from_and_masks_secrets(tmp_path: Path) -> None:
    entry = f"{SUMS_SERVER}\nenv: {{SUMS_API_KEY: 0123456789-hush}}"
    profile = write_profile(tmp_path, entry, strategy="max_steps: 5")
    done = agent(tmp_path, "config", "show", "--profile", str(profile), "--json")
    rows = {row["key"]: row for row in json.loads(done.out)}
    assert rows["strategy.max_steps"]["value"] == 5
    assert rows["strategy.max_steps"]["from"] == f"{profile}:2"
    assert rows["llm.retries"]["from"] == "default"
    assert "0123456789-hush" not in done.out
    assert rows["mcp_servers.0.env.SUMS_API_KEY"]["value"].startswith("[redacted")
    table = agent(tmp_path, "config", "show", "--profile", str(profile)).out
    assert "strategy.max_steps" in table
    assert "0123456789-hush" not in table


def test_path_says_which_files_are_read_and_which_are_there(tmp_path: Path) -> None:
    def states() -> list[tuple[str, str]]:
        rows = json.loads(agent(tmp_path, "config", "path", "--json").out)
        return [(row["file"], row["state"]) for row in rows if row["what"] == "profile"]

    assert states() == [(str(own(tmp_path)), "not there"), (str(SHIPPED), "read")]
    own(tmp_path).parent.mkdir()
    shutil.copy(SHIPPED, own(tmp_path))
    assert states() == [(str(own(tmp_path)), "read"), (str(SHIPPED), "passed over")]


def test_check_ends_with_2_at_the_first_mistake_and_names_line_and_nearest_key(
    tmp_path: Path,
) -> None:
    assert agent(tmp_path, "config", "check").code == 0
    profile = write_profile(tmp_path, strategy="max_stps: 5")
    done = agent(tmp_path, "config", "check", "--profile", str(profile))
    assert (done.code, done.out) == (2, "")
    assert f"{profile}:2: unknown key 'strategy.max_stps'" in done.err
    assert "did you mean max_steps?" in done.err
    own(tmp_path).parent.mkdir()
    (tmp_path / "config" / "mcp.json").write_text('{"mcpServers": {"a": {}}}', encoding="utf-8")
    entry = agent(tmp_path, "config", "check")
    assert (entry.code, entry.out) == (2, "")
    assert "server 'a'" in entry.err
    (tmp_path / "config" / "models.json").write_text("{", encoding="utf-8")
    assert "models.json:1" in agent(tmp_path, "config", "check").err


def test_a_value_is_set_in_a_profile_of_ones_own_and_comments_stay(tmp_path: Path) -> None:
    done = agent(tmp_path, "config", "set", "strategy.max_steps", "7")
    assert (done.code, done.out) == (0, f"strategy.max_steps is 7 in {own(tmp_path)}\n")
    assert agent(tmp_path, "config", "get", "strategy.max_steps").out == "7\n"
    shipped = SHIPPED.read_text(encoding="utf-8")
    written = own(tmp_path).read_text(encoding="utf-8")
    assert written == shipped.replace("max_steps: 10 ", "max_steps: 7 ")
    assert own(tmp_path).stat().st_mode & 0o077 == 0
    assert agent(tmp_path, "config", "set", "llm.text_generation", "offline").code == 0
    backup = own(tmp_path).with_name("profiles.yaml.before")
    assert backup.read_text(encoding="utf-8") == written
    assert agent(tmp_path, "config", "set", "agent.name", "5").code == 0
    assert agent(tmp_path, "config", "get", "agent.name").out == "5\n"
    assert backup.read_text(encoding="utf-8") == written
    assert agent(tmp_path, "add 5 and 7").out == "12\n"


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("strategy.max_steps", "lots", "it should be a valid integer"),
        ("strategy.max_steps", "-1", "strategy.max_steps is not changed: "),
        ("strategy.planning_mode", "wild", "allowed: conservative or exploratory"),
        ("strategy.max_stps", "5", "did you mean max_steps?"),
        ("agent.description", "x", "stands over several lines; edit it there"),
        ("mcp_servers.nope.disabled", "true", "there is no element 'nope' here"),
    ],
)
def test_what_cannot_be_set_changes_nothing(
    tmp_path: Path, key: str, value: str, told: str
) -> None:
    done = agent(tmp_path, "config", "set", key, value)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert not own(tmp_path).exists()


def test_a_key_that_is_not_there_is_asked_back(tmp_path: Path) -> None:
    done = agent(tmp_path, "config", "get", "strategy.maxsteps")
    assert (done.code, done.out) == (2, "")
    assert "did you mean strategy.max_steps" in done.err
    assert json.loads(agent(tmp_path, "config", "get", "memory.storage").out)["sync"] == "item"
    assert agent(tmp_path, "config", "get", "mcp_servers.math.id").out == "math\n"


class TestInit:
    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        """A home with the files of other programs, one of them broken."""
        sums = {"command": "python", "args": ["sums.py"]}
        files = {
            ".config/Claude/claude_desktop_config.json": json.dumps({"mcpServers": {"sums": sums}}),
            ".claude.json": json.dumps({"numStartups": 4, "mcpServers": {"notes": sums}}),
            ".cursor/mcp.json": "{",
            ".config/Code/User/mcp.json": '{"servers": {"sums": {"command": "x"}}} // ours',
            ".codex/config.toml": '[mcp_servers.tickets]\nurl = "https://tickets.example/mcp"\n',
        }
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / "Documents").mkdir()
        return tmp_path

    def test_without_a_terminal_it_says_what_it_would_do(self, home: Path) -> None:
        done = agent(home, "config", "init")
        assert done.code == 0
        assert "nothing is written; --yes writes the profile and imports 3 servers" in done.out
        assert "sums (Claude Desktop), notes (Claude Code), tickets (Codex)" in done.out
        assert f"passed over: {home / '.cursor/mcp.json'}" in done.out
        assert not own(home).exists()

    def test_with_yes_it_writes_a_profile_that_works_and_imports_servers(self, home: Path) -> None:
        done = agent(home, "config", "init", "--yes", "--json")
        told = json.loads(done.out)
        assert (done.code, told["written"]) == (0, True)
        folders = json.loads(agent(home, "config", "get", "documents.folders").out)
        assert folders == [str(home / "Documents")]
        servers = {row["id"] for row in json.loads(agent(home, "mcp", "list", "--json").out)}
        assert {"sums", "notes", "tickets", "math"} <= servers
        assert agent(home, "config", "check").code == 0
        assert agent(home, "add 5 and 7").out == "12\n"
        again = agent(home, "config", "init", "--yes")
        assert (again.code, "is there already" in again.err) == (2, True)

    def test_servers_can_be_left_and_a_folder_named(self, home: Path) -> None:
        folder = home / "papers"
        done = agent(home, "config", "init", "--yes", "--no-servers", "--documents", str(folder))
        assert done.code == 0
        assert not (home / "config" / "mcp.json").exists()
        assert str(folder) in agent(home, "config", "get", "documents.folders").out

    def test_secrets_of_other_programs_are_copied_into_a_file_of_this_user_alone(
        self, home: Path
    ) -> None:
        entry = {"command": "python", "env": {"NOTES_TOKEN": "0123456789-hush"}}
        text = json.dumps({"mcpServers": {"notes": entry}})
        (home / ".claude.json").write_text(text, encoding="utf-8")
        done = agent(home, "config", "init", "--yes", env=environment(home))
        assert "0123456789-hush" not in done.out + done.err
        file = home / "config" / "mcp.json"
        assert "0123456789-hush" in file.read_text(encoding="utf-8")
        assert file.stat().st_mode & 0o077 == 0
