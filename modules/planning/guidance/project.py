"""Texts of the user and of the project around the working folder: found, read, told apart.

Instructions are `CORTEX.md`, or else `AGENTS.md`, in the working folder and in those above it up
to the root of its git repository, or to the home folder; elsewhere in the working folder alone.
Skills are folders with a `SKILL.md` (agentskills.io) in `.cortex/skills`, `.agents/skills` and
`.claude/skills` of these folders: what Codex, Gemini CLI and Claude Code read. The user's own lie
under CORTEX_HOME. A project's file is read only if it lies inside of the project.
"""

import hashlib
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from config.settings import SettingsError
from core.base.frozen import frozen
from core.base.text import one_line
from modules.planning.guidance.markdown import as_text, parse_markdown, read_data

INSTRUCTIONS: Final = ("CORTEX.md", "AGENTS.md")
"""The first that a folder has counts."""

SKILL: Final = "SKILL.md"
OWN_SKILLS: Final = "skills"
PROJECT_SKILLS: Final = (".cortex/skills", ".agents/skills", ".claude/skills")

FOLDERS_MAX: Final = 32
"""So many folders are looked into, from the working folder upwards."""

SKILLS_MAX: Final = 100
"""Of one folder of skills."""

SKILL_FILES_MAX: Final = 200
SKILL_BYTES_MAX: Final = 16 * 1024 * 1024
"""A skill with more files, or more in them, is not used."""

SKILL_FOLDERS_MAX: Final = 100
"""What lies in further folders of a skill is left out."""

NAME_CHARACTERS: Final = 64
DESCRIPTION_CHARACTERS: Final = 1024
"""As the form of skills has it; what is longer is cut."""


@frozen
class GuidanceText:
    """A text for the agent: its content and a digest of all that belongs to it.

    `path` is resolved, and what is trusted: a file, or a skill's folder. `name` is how it is told
    of. A skill has a `description`, and `files` beside it by relative path; those of a project
    with their digests.
    """

    path: Path
    name: str
    text: str
    sha256: str
    size_bytes: int
    is_own: bool
    description: str = ""
    files: tuple[tuple[str, str], ...] = ()

    @property
    def is_skill(self) -> bool:
        """Whether it is a skill, else instructions."""
        return bool(self.description)

    @property
    def kind(self) -> str:
        """For messages."""
        return "skill" if self.is_skill else "instructions"


@frozen
class Found:
    """The texts of one kind, and what is to be told of those that can't be used."""

    texts: tuple[GuidanceText, ...]
    problems: tuple[str, ...] = ()


def find_instructions(home: Path, folder: Path) -> Found:
    """The user's own, then the project's, the nearest last; an empty one is none."""
    texts: dict[Path, GuidanceText] = {}
    problems: list[str] = []
    above = project_folders(folder)
    places = [(home, INSTRUCTIONS[:1], None), *((each, INSTRUCTIONS, above[0]) for each in above)]
    for where, names, root in places:
        path = next((where / name for name in names if os.path.lexists(where / name)), None)
        if path is None:
            continue
        try:
            real = _inside(path, root)
            data = read_data(real)
            text = as_text(data, path).strip()
        except SettingsError as error:
            problems.append(str(error))
            continue
        if text:
            digest = sha256_of(data)
            name = _shown(path, folder)
            texts.setdefault(
                real, GuidanceText(real, name, text, digest, len(data), is_own=root is None)
            )
    return Found(tuple(texts.values()), tuple(problems))


def find_skills(home: Path, folder: Path) -> Found:
    """The user's own, then the project's, the nearest first; of one name the first counts."""
    skills: dict[str, GuidanceText] = {}
    problems: list[str] = []
    above = project_folders(folder)
    shelves = [(each / shelf, above[0]) for each in reversed(above) for shelf in PROJECT_SKILLS]
    for shelf, root in ((home / OWN_SKILLS, None), *shelves):
        for place in _entries(shelf):
            if not os.path.lexists(place / SKILL):
                continue
            try:
                skill = read_skill(place, root)
            except SettingsError as error:
                problems.append(str(error))
                continue
            skills.setdefault(skill.name.lower(), skill)
    return Found(tuple(skills.values()), tuple(problems))


def read_skill(place: Path, root: Path | None) -> GuidanceText:
    """The skill in a folder; `root` is the project's, None for the user's own.

    Raises:
        SettingsError: it can't be used.
    """
    folder = _inside(place, root)
    main = _inside(folder / SKILL, folder)
    data = read_data(main)
    document = parse_markdown(as_text(data, place / SKILL), place / SKILL)
    name = one_line(document.value("name") or place.name, NAME_CHARACTERS)
    description = one_line(document.value("description"), DESCRIPTION_CHARACTERS)
    if not description:
        raise SettingsError.at(place / SKILL, None, "the front matter has no 'description'")
    whole, size_bytes = hashlib.sha256(data), len(data)
    files: list[tuple[str, str]] = []
    for relative, path in _files_beside(folder):
        if len(files) == SKILL_FILES_MAX:
            raise SettingsError.at(place, None, f"it has more than {SKILL_FILES_MAX} files")
        digest = ""
        if root is not None:
            content = read_data(path, SKILL_BYTES_MAX)
            size_bytes += len(content)
            digest = sha256_of(content)
        if size_bytes > SKILL_BYTES_MAX:
            raise SettingsError.at(place, None, f"its files have over {SKILL_BYTES_MAX:,} bytes")
        files.append((relative, digest))
        whole.update(f"\n{relative}\0{digest}".encode("utf-8", "surrogateescape"))
    return GuidanceText(
        folder,
        name,
        document.body.strip(),
        whole.hexdigest(),
        size_bytes,
        is_own=root is None,
        description=description,
        files=tuple(files),
    )


def read_beside(skill: GuidanceText, relative: str) -> str:
    """The text of a file of a skill; of a project's, if it is still what it was.

    Raises:
        SettingsError: it is not, lies elsewhere, or is no text.
    """
    path = _inside(skill.path / relative, skill.path)
    data = read_data(path)
    digest = dict(skill.files).get(relative)
    if digest is None:
        raise SettingsError.at(path, None, "it is no file of the skill")
    if digest and sha256_of(data) != digest:
        raise SettingsError.at(path, None, "it has changed since the skill was read")
    return as_text(data, path)


def sha256_of(data: bytes) -> str:
    """What tells whether a text is still the same."""
    return hashlib.sha256(data).hexdigest()


def project_folders(folder: Path) -> tuple[Path, ...]:
    """The project's root, and those below it down to the working folder."""
    folder = Path(os.path.realpath(folder))
    try:
        user_home = Path(os.path.realpath(Path.home()))
    except RuntimeError:  # nobody knows
        user_home = None
    above: list[Path] = []
    for each in islice((folder, *folder.parents), FOLDERS_MAX):
        above.append(each)
        if os.path.lexists(each / ".git") or each == user_home:
            return tuple(reversed(above))
    return (folder,)


def _inside(path: Path, root: Path | None) -> Path:
    """The path without links.

    Raises:
        SettingsError: it leads out of the root, where there is one.
    """
    real = Path(os.path.realpath(path))
    if root is not None and not real.is_relative_to(root):
        raise SettingsError.at(path, None, f"it leads out of {root}, and is not read")
    return real


def _entries(shelf: Path) -> list[Path]:
    """What lies in a folder of skills, in order."""
    try:
        with os.scandir(shelf) as found:
            names = [entry.name for entry in islice(found, SKILLS_MAX)]
    except OSError:
        return []
    return [shelf / name for name in sorted(names) if not name.startswith(".")]


def _files_beside(folder: Path) -> Iterator[tuple[str, Path]]:
    """Regular files of a skill by relative path, in order; hidden ones and links are left out."""
    for where, folders, names in islice(os.walk(folder), SKILL_FOLDERS_MAX):  # enters no links
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(where) / name
            relative = str(path.relative_to(folder))
            is_plain = path.is_file() and not path.is_symlink() and not name.startswith(".")
            if is_plain and relative != SKILL:
                yield relative, path


def _shown(path: Path, folder: Path) -> str:
    """A path from the working folder where that is short, else from the home folder."""
    relative = os.path.relpath(path, os.path.realpath(folder))
    return one_line(relative if relative.count("..") < 3 else str(path), 200)
