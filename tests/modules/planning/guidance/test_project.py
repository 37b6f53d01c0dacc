"""Instructions and skills around a folder: where they are looked for, and what is not read."""

import os
from pathlib import Path

import pytest

from config.settings import SettingsError
from modules.planning.guidance.project import (
    SKILL_BYTES_MAX,
    SKILL_FILES_MAX,
    find_instructions,
    find_skills,
    read_beside,
)
from tests.modules.planning.guidance.places import project, put, put_skill


def test_the_users_own_come_first_and_the_nearest_last(tmp_path: Path) -> None:
    home, root, inner = project(tmp_path)
    put(home / "CORTEX.md", "mine")
    put(home / "AGENTS.md", "not read")
    put(root / "AGENTS.md", "root")
    put(inner / "AGENTS.md", "second choice")
    put(inner / "CORTEX.md", "inner")
    put(root.parent / "AGENTS.md", "above the repository")
    found = find_instructions(home, inner)
    assert [(text.text, text.is_own) for text in found.texts] == [
        ("mine", True),
        ("root", False),
        ("inner", False),
    ]
    assert [text.name for text in found.texts[1:]] == ["../AGENTS.md", "CORTEX.md"]
    assert found.problems == ()


def test_without_a_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    put(tmp_path / "AGENTS.md", "above")
    folder = tmp_path / "a" / "b"
    put(folder / "AGENTS.md", "here")
    assert [t.text for t in find_instructions(tmp_path / "home", folder).texts] == ["here"]


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    home, root, _ = project(tmp_path)
    put(root / "AGENTS.md", " \n")
    assert find_instructions(home, root).texts == ()


def test_instructions_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    home, root, inner = project(tmp_path)
    put(tmp_path / "secret", "of somebody else")
    (inner / "AGENTS.md").symlink_to(tmp_path / "secret")
    os.mkfifo(root / "CORTEX.md")
    found = find_instructions(home, inner)
    assert found.texts == ()
    pipe, link = found.problems
    assert pipe.endswith("it is not a regular file")
    assert link.endswith(f"it leads out of {root}, and is not read")


def test_a_link_inside_of_the_project_is_followed_and_read_once(tmp_path: Path) -> None:
    home, root, inner = project(tmp_path)
    put(root / "AGENTS.md", "root")
    (inner / "CORTEX.md").symlink_to(root / "AGENTS.md")
    assert [text.path for text in find_instructions(home, inner).texts] == [root / "AGENTS.md"]


def test_skills_are_found_where_agents_keep_them_and_the_users_own_win(tmp_path: Path) -> None:
    home, root, inner = project(tmp_path)
    put_skill(home / "skills", "notes", "mine")
    for shelf, name in {".claude": "one", ".agents": "two", ".cortex": "three"}.items():
        put_skill(root / shelf / "skills", name)
    put_skill(inner / ".claude" / "skills", "Notes", "theirs")
    put_skill(inner / ".claude" / "skills", "one", "nearer")
    found = {skill.name: skill for skill in find_skills(home, inner).texts}
    assert sorted(found) == ["notes", "one", "three", "two"]
    assert (found["notes"].text, found["notes"].is_own) == ("mine", True)
    assert found["one"].text == "nearer"


def test_a_digest_changes_with_any_file_of_a_skill(tmp_path: Path) -> None:
    home, root, _ = project(tmp_path)
    folder = put_skill(root / ".agents" / "skills", "forms")
    digests: set[str] = set()
    for change in (
        lambda: None,
        lambda: put(folder / "a.md", "a"),
        lambda: put(folder / "deep" / "b.md", "b"),
        lambda: put(folder / "deep" / "b.md", "c"),
        lambda: (folder / "a.md").rename(folder / "d.md"),
        lambda: put(folder / "SKILL.md", "---\nname: forms\ndescription: d\n---\nother"),
    ):
        change()
        digests.add(find_skills(home, root).texts[0].sha256)
    assert len(digests) == 6


def test_files_beside_are_read_and_nothing_else(tmp_path: Path) -> None:
    home, root, _ = project(tmp_path)
    folder = put_skill(root / ".agents" / "skills", "forms")
    put(folder / "deep" / "a.md", "all of a")
    put(root / "secret", "no file of the skill")
    (folder / "link.md").symlink_to(root / "secret")
    (folder / "above").symlink_to(root)
    (folder / "round").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    put(folder / ".env", "hidden")
    skill = find_skills(home, root).texts[0]
    assert [name for name, _ in skill.files] == ["deep/a.md"]
    assert read_beside(skill, "deep/a.md") == "all of a"
    for name in ("link.md", "above/secret", "../../../secret", "/etc/passwd", "pipe", ".env", "no"):
        with pytest.raises(SettingsError):
            read_beside(skill, name)
    put(folder / "deep" / "a.md", "changed since it was trusted")
    with pytest.raises(SettingsError, match="has changed"):
        read_beside(skill, "deep/a.md")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no front matter", "the front matter has no 'description'"),
        ("---\nname: x\n---\n", "the front matter has no 'description'"),
        ("---\nname: x\nmetadata: [\n---\n", "front matter: "),
        ("---\ndescription: {a: b}\n---\n", "'description' is a section"),
    ],
)
def test_a_broken_skill_is_told_and_left_out(text: str, told: str, tmp_path: Path) -> None:
    home, root, _ = project(tmp_path)
    put(root / ".agents" / "skills" / "x" / "SKILL.md", text)
    found = find_skills(home, root)
    assert found.texts == ()
    assert told in found.problems[0]


def test_skills_of_any_size_or_place_are_bounded(tmp_path: Path) -> None:
    home, root, _ = project(tmp_path)
    shelf = root / ".agents" / "skills"
    many = put_skill(shelf, "many")
    for number in range(SKILL_FILES_MAX + 1):
        put(many / f"{number}.txt", "")
    large = put_skill(shelf, "large")
    with (large / "data").open("wb") as file:
        file.truncate(SKILL_BYTES_MAX)
    elsewhere = put_skill(tmp_path / "elsewhere", "outside")
    (shelf / "outside").symlink_to(elsewhere)
    (shelf / "round").symlink_to(shelf / "round")
    put_skill(tmp_path / "elsewhere", "evil")
    put_skill(shelf, "main").joinpath("SKILL.md").unlink()
    (shelf / "main" / "SKILL.md").symlink_to(tmp_path / "elsewhere" / "evil" / "SKILL.md")
    found = find_skills(home, root)
    assert found.texts == ()
    large_told, main_told, many_told, outside_told = sorted(found.problems)
    assert "bytes" in large_told
    assert "leads out of" in main_told
    assert f"more than {SKILL_FILES_MAX} files" in many_told
    assert "leads out of" in outside_told


def test_the_users_own_skills_may_be_links_to_anywhere(tmp_path: Path) -> None:
    home, root, _ = project(tmp_path)
    (home / "skills").mkdir(parents=True)
    (home / "skills" / "x").symlink_to(put_skill(tmp_path / "elsewhere", "x"))
    assert [skill.name for skill in find_skills(home, root).texts] == ["x"]


def test_names_cannot_drive_a_terminal(tmp_path: Path) -> None:
    home, root, _ = project(tmp_path)
    put(
        root / ".agents" / "skills" / "a\x1b[2Jb" / "SKILL.md",
        '---\nname: "x\\e[2J\\ny"\ndescription: "d\\a\\u202e"\n---\ntext',
    )
    put(root / "a\nb\x1b" / "AGENTS.md", "deep")
    (skill,) = find_skills(home, root).texts
    assert skill.name.isprintable()
    assert skill.description.isprintable()
    found = find_instructions(home, root / "a\nb\x1b" / "c")
    assert all(text.name.isprintable() for text in found.texts)
