"""`trust`: what a project has written is trusted, listed and taken back."""

import json
from pathlib import Path

import pytest

from core.errors import ExitCode
from tests.modules.cli.by_hand import Hand
from tests.modules.planning.guidance.places import project, put, put_skill


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with instructions and two skills, of which one is a link; we are in it."""
    _, root, inner = project(tmp_path)
    put(root / "AGENTS.md", "be brief")
    put(inner / "CORTEX.md", "be kind")
    shelf = root / ".agents" / "skills"
    put_skill(shelf, "forms")
    (root / ".claude" / "skills").mkdir(parents=True)
    put_skill(root / "kept", "notes")
    (root / ".claude" / "skills" / "notes").symlink_to(root / "kept" / "notes")
    monkeypatch.chdir(root)
    return root


def states(hand: Hand) -> dict[str, object]:
    texts = hand.object("trust", "--list")["texts"]
    assert isinstance(texts, list)
    return {str(each["path"]): each["state"] for each in texts if isinstance(each, dict)}


def test_a_folder_means_all_that_its_project_has(hand: Hand, root: Path) -> None:
    done = hand.run("trust")
    assert done.code == ExitCode.ANSWERED
    assert done.out.splitlines() == [
        f"trusted: instructions {root}/AGENTS.md (8 bytes)",
        f"trusted: skill {root}/.agents/skills/forms (52 bytes)",
        f"trusted: skill {root}/kept/notes (52 bytes)",
    ]
    assert set(states(hand).values()) == {"trusted"}


@pytest.mark.parametrize(
    ("path", "trusted"),
    [
        ("AGENTS.md", "AGENTS.md"),
        ("inner/CORTEX.md", "inner/CORTEX.md"),
        (".agents/skills/forms", ".agents/skills/forms"),
        ("inner/../.agents/skills/forms/SKILL.md", ".agents/skills/forms"),
        (".claude/skills/notes", "kept/notes"),
    ],
)
def test_a_path_means_that_text_alone(path: str, trusted: str, hand: Hand, root: Path) -> None:
    assert hand.object("trust", path) == {"trusted": [str(root / trusted)]}
    assert hand.object("trust", "--revoke", path) == {"revoked": str(root / trusted)}
    assert states(hand) == {}


def test_the_list_tells_what_still_holds(hand: Hand, root: Path) -> None:
    assert "nothing was decided yet" in hand.run("trust", "--list").out
    hand.run("trust")
    put(root / "AGENTS.md", "be long")
    put(root / ".agents" / "skills" / "forms" / "more.md", "new")
    (root / "kept" / "notes" / "SKILL.md").unlink()
    assert states(hand) == {
        f"{root}/AGENTS.md": "changed since",
        f"{root}/.agents/skills/forms": "changed since",
        f"{root}/kept/notes": "gone, or can't be read",
    }
    assert "changed since" in hand.run("trust", "--list").out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("AGENTS.md",), "nothing to trust at AGENTS.md: no CORTEX.md"),
        (("kept/notes",), "nothing to trust at kept/notes"),
        (("nowhere",), "nothing to trust at nowhere"),
        (("--revoke", "AGENTS.md"), "nothing was decided about AGENTS.md; agent.py trust --list"),
        (("AGENTS.md", "--list"), "AGENTS.md stands beside --list or --revoke"),
    ],
)
def test_what_cannot_be_done_is_told(
    words: tuple[str, ...], told: str, hand: Hand, root: Path
) -> None:
    (root / "AGENTS.md").rename(root / "kept.md")
    done = hand.run("trust", *words)
    assert done.code == ExitCode.BAD_USAGE
    assert told in done.err
    assert states(hand) == {}


def test_a_record_that_cannot_be_written_is_told(hand: Hand, root: Path) -> None:
    (hand.home / "trusted.json").mkdir()
    done = hand.run("trust", "AGENTS.md")
    assert done.code == ExitCode.WORLD_FAILED
    assert f"{hand.home}/trusted.json can't be written" in done.err


def test_prompt_shows_what_is_trusted_unless_it_is_left_out(hand: Hand, root: Path) -> None:
    (hand.home / "config").mkdir()
    free = {"type": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
    (hand.home / "config" / "models.json").write_text(json.dumps({"models": {"blind": free}}))
    words = ("prompt", "17 times 23", "--model", "blind")
    first = hand.run(*words)
    assert "be brief" not in first.out
    assert "[guidance] instructions AGENTS.md left out, not trusted yet" in first.err
    hand.run("trust")
    shown = hand.run(*words)
    assert "--- AGENTS.md ---\nbe brief\n" in shown.out.partition("user message")[0]
    assert "[guidance] instructions AGENTS.md\n" in shown.err
    left_out = hand.run(*words, "--no-instructions")
    assert "be brief" not in left_out.out
    assert "AGENTS.md" not in left_out.err
