"""`agent.py completion`: the scripts, asked by the shells themselves where they are installed."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from modules.cli.command_line import ACTIONS, COMMANDS
from modules.cli.completion import completion_script
from tests.command_line import agent

ASK = """
source {script}
COMP_WORDS=(agent.py {words})
COMP_CWORD=$(({count}))
_shtab_agent_py agent.py "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script for bash."""
    path = tmp_path_factory.mktemp("completion") / "agent.py.bash"
    path.write_text(completion_script("bash", "agent.py"), encoding="utf-8")
    return path


def completions(script: Path, folder: Path, *words: str) -> list[str]:
    """What bash proposes for the last of the words."""
    quoted = " ".join(f"'{word}'" for word in words)
    asked = ASK.format(script=script, words=quoted, count=len(words))
    done = subprocess.run(
        ["bash", "--norc"],
        input=asked,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=20,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["sess"], ["sessions"]),
        (["--output-f"], ["--output-format"]),
        (["--output-format", ""], ["text", "json", "stream-json"]),
        (["--output-format", "s"], ["stream-json"]),
        (["mcp", "add", "--ur"], ["--url"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["schema", "l"], ["line"]),
        (["run-plan", "my"], ["my-plan.py"]),
        (["--profile", "my"], ["my-plan.py"]),
        (["--json-schema", "my"], ["my-plan.py"]),
        (["models", "pull", "--js"], ["--json"]),
    ],
)
def test_bash_completes_commands_options_choices_and_files(
    script: Path, tmp_path: Path, words: list[str], expected: list[str]
) -> None:
    (tmp_path / "my-plan.py").touch()
    assert completions(script, tmp_path, *words) == expected


def test_bash_completes_every_command_and_each_of_its_actions(script: Path, tmp_path: Path) -> None:
    assert {*COMMANDS} <= {*completions(script, tmp_path, "")}
    for command, actions in ACTIONS.items():
        assert {*completions(script, tmp_path, command, "")} == {*actions}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_their_script(tmp_path: Path, shell: str) -> None:
    text = completion_script(shell, "agent.py")
    assert all(f"'{name}" in text or f'"{name}' in text or f" {name}" in text for name in COMMANDS)
    if shutil.which(shell) is not None:
        (path := tmp_path / "script").write_text(text, encoding="utf-8")
        subprocess.run([shell, "-n", str(path)], check=True, timeout=20)


def test_the_command_prints_the_script_and_names_the_shells_that_there_are(tmp_path: Path) -> None:
    done = agent(tmp_path, "completion", "bash")
    assert (done.code, done.err) == (0, "")
    assert "complete -o" in done.out
    assert json.loads(agent(tmp_path, "completion", "zsh", "--json").out)["shell"] == "zsh"
    wrong = agent(tmp_path, "completion", "bsh")
    assert (wrong.code, wrong.out) == (2, "")
    assert "did you mean bash" in wrong.err
