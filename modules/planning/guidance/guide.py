"""What of the texts of user and project goes to a language model, and what is asked before.

Instructions go into each prompt as they are. Of skills, each prompt has names and purposes. Those
that fit the request by its words stand there whole, so that no model is asked which one fits. A
plan has the text of every skill, and the files beside it, as variables: a model that wants another
one, or a file, has the text brought by `FURTHER_PROCESSING_REQUIRED`, as it has that of a tool.

Nothing of an untrusted text reaches a model. A skill of the project is asked about when it fits.
"""

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from config.schema import GuidanceSection
from config.settings import SettingsError
from core.base.frozen import frozen
from core.base.text import one_line
from core.provenance.borders import harmless
from core.run.observation import CHARACTERS_PER_TOKEN, shorten
from core.tools.ranking import REQUEST_CHARACTERS_MAX, ToolIndex, stems
from core.tools.spec import ToolSpec
from core.turn import TextInput
from modules.planning.guidance.project import (
    Found,
    GuidanceText,
    find_instructions,
    find_skills,
    read_beside,
)
from modules.planning.guidance.trust import FILE_NAME, TrustStore
from modules.session.attached.text_file import variable_name

CHARACTERS_MAX: Final = 32 * 1024
"""How much of a prompt instructions take at most, and as much again the skills that fit."""

CONTEXT_SHARE: Final = 4
"""... and at most one part in so many of a model's context."""

SKILLS_SHOWN: Final = 2
"""So many skills stand whole in a prompt."""

FITTING_MATCH: Final = 2.2
"""As `core.tools.ranking.PASSING_MATCH`, for descriptions of up to 1,024 characters: of the 16
skills at github.com/anthropics/skills, those meant had 2.5 and more, others up to 2.1."""

LISTED_CHARACTERS: Final = 8 * 1024
"""What the list of skills takes at most."""

PURPOSE_CHARACTERS: Final = 300
VARIABLE_CHARACTERS: Final = 80

_USUAL_WORDS: Final = frozenset(
    ("skill", "use", "used", "user", "users", "when", "whenever", "any")
)
"""Words of most descriptions, which say nothing about what a skill is for."""

_HEED: Final = (
    "The user and the project have written this for you. Heed it, unless the request or the rules "
    "above say otherwise:"
)
_SKILLS: Final = (
    "Skills tell how something is done. A plan has each of them as a str variable. Where one fits "
    'that is not shown below, read it first: return f"FURTHER_PROCESSING_REQUIRED: {its_variable}".'
)

Confirm: TypeAlias = Callable[[GuidanceText], Awaitable[bool | None]]
"""Asks the user whether a text of the project is trusted; None if there was no answer."""

Variables: TypeAlias = Mapping[str, tuple[GuidanceText, str]]
"""Skills, and files beside them by relative path (empty: the skill's own text), by their names."""


@frozen
class Guided:
    """What the prompts of a request are given, and its plans.

    The `section` is the same for most requests, the `note` is about this one. `variables` are
    the texts of skills, and the files beside each by relative path.
    """

    section: str = ""
    note: str = ""
    variables: Variables = field(default_factory=dict[str, tuple[GuidanceText, str]])
    notices: tuple[str, ...] = ()

    def saying(self, words: str) -> "Guided":
        """The same with the user's further words for the whole conversation, behind all others."""
        heading = "The user has said this for the whole conversation. Heed it, unless the rules"
        return replace(self, section=f"{self.section}\n\n{heading} above say otherwise:\n{words}")

    async def given(self, source: str) -> tuple[TextInput, ...]:
        """The variables that a plan names; reads the files in a thread."""
        return tuple(
            [
                TextInput(name, await asyncio.to_thread(self._content, *self.variables[name]))
                for name in self.variables
                if name in source
            ]
        )

    def _content(self, skill: GuidanceText, relative: str) -> str:
        if not relative:
            return f"{skill.text}{_beside(skill, self.variables)}"
        try:
            return harmless(read_beside(skill, relative))
        except SettingsError as error:
            return f"[the file can't be read: {error}]"


UNGUIDED: Final = Guided()


@dataclass
class Guide:
    """The texts around one working folder, for the requests of one process.

    `home` is CORTEX_HOME. Without `confirm` nobody can be asked.
    """

    home: Path
    folder: Path
    confirm: Confirm | None = None
    _left_out: set[tuple[Path, str]] = field(init=False, default_factory=set[tuple[Path, str]])
    _told: set[str] = field(init=False, default_factory=set[str])
    _notices: list[str] = field(init=False, default_factory=list[str])

    async def for_request(
        self, request: str, wanted: GuidanceSection, context_tokens: int | None
    ) -> Guided:
        """What prompts are given; asks where a text is new or has changed."""
        instructions, skills = await asyncio.to_thread(self.find, wanted)
        for problem in (*instructions.problems, *skills.problems):
            self._tell(problem)
        used = [text for text in instructions.texts if await self._is_trusted(text)]
        near = [skill for skill in _near(skills.texts, request) if await self._is_trusted(skill)]
        known = [skill for skill in skills.texts if self.verdict(skill)]
        labels = [f"{text.kind} {text.name}" for text in (*used, *near)]
        self._tell("; ".join(label for label in labels if label not in self._told))
        self._told.update(labels)
        room = CHARACTERS_MAX
        if context_tokens is not None:
            room = min(room, context_tokens // CONTEXT_SHARE * CHARACTERS_PER_TOKEN)
        variables = _variables(known)
        notices, self._notices = tuple(self._notices), []
        return Guided(
            _instructions_text(used, room) + _skills_text(variables),
            "\n".join(_skill_text(skill, room // len(near), variables) for skill in near),
            variables,
            notices,
        )

    def find(self, wanted: GuidanceSection) -> tuple[Found, Found]:
        """Instructions and skills, trusted or not; reads the disk."""
        nothing = Found(())
        return (
            find_instructions(self.home, self.folder) if wanted.instructions else nothing,
            find_skills(self.home, self.folder) if wanted.skills else nothing,
        )

    def verdict(self, text: GuidanceText) -> bool | None:
        """Whether a text is trusted, as far as the user has said."""
        return text.is_own or TrustStore(self.home / FILE_NAME).verdict(text.path, text.sha256)

    async def _is_trusted(self, text: GuidanceText) -> bool:
        """The same; asks where nothing was said, once in this process."""
        verdict, key = self.verdict(text), (text.path, text.sha256)
        if verdict is not None or key in self._left_out:
            return bool(verdict)
        said = await self.confirm(text) if self.confirm is not None else None
        self._left_out.add(key)
        if said is None:
            how = f"agent.py trust {shlex.quote(str(text.path))}"
            self._tell(f"{text.kind} {text.name} left out, not trusted yet; to trust: {how}")
            return False
        try:
            TrustStore(self.home / FILE_NAME).decide(text.path, text.sha256, is_trusted=said)
        except OSError as error:
            self._tell(f"not remembered for the next time: {error.strerror or error}")
        return said

    def _tell(self, line: str) -> None:
        """Tell something with the next request, once."""
        if line and line not in self._told:
            self._told.add(line)
            self._notices.append(line)


def _near(skills: Sequence[GuidanceText], request: str) -> list[GuidanceText]:
    """The skills that fit a request by its words: it names them, or they rank high as tools do."""
    asked = {*stems(request[:REQUEST_CHARACTERS_MAX])}
    named = [skill for skill in skills if (name := {*stems(skill.name)}) and name <= asked]
    by_name = {skill.name: skill for skill in skills}
    index = ToolIndex(
        ToolSpec(server="", name=skill.name, description=_telling(skill), input_schema={})
        for skill in skills
    )
    near = [by_name[spec.name] for spec in index.near(request, SKILLS_SHOWN, FITTING_MATCH)]
    return [*named, *(skill for skill in near if skill not in named)][:SKILLS_SHOWN]


def _telling(skill: GuidanceText) -> str:
    """The words of a description that say what the skill is for."""
    words = skill.description.split()
    return " ".join(word for word in words if word.lower().strip(",.:;") not in _USUAL_WORDS)


def _variables(skills: Sequence[GuidanceText]) -> dict[str, tuple[GuidanceText, str]]:
    """Names for the texts of skills, then for their files."""
    made: dict[str, tuple[GuidanceText, str]] = {}
    texts = [(skill, "") for skill in skills]
    files = [(skill, relative) for skill in skills for relative, _ in skill.files]
    for skill, relative in texts + files:
        name = variable_name(f"skill {skill.name} {relative}", made, VARIABLE_CHARACTERS)
        made[name] = (skill, relative)
    return made


def _instructions_text(texts: Sequence[GuidanceText], room: int) -> str:
    """Instructions under their names; where room is short, the nearest are whole."""
    parts: list[str] = []
    for text in reversed(texts):
        if room > 0:
            parts.append(f"--- {text.name} ---\n{shorten(harmless(text.text), room)}")
            room -= len(text.text)
    return "\n".join(["", "", _HEED, *reversed(parts)]) if parts else ""


def _skills_text(variables: Variables) -> str:
    lines: list[str] = []
    room = LISTED_CHARACTERS
    for name, (skill, relative) in variables.items():
        line = f"- `{name}`: {one_line(harmless(skill.description), PURPOSE_CHARACTERS)}"
        room -= len(line)
        if not relative and room > 0:
            lines.append(line)
    return "\n".join(["", "", _SKILLS, *lines]) if lines else ""


def _skill_text(skill: GuidanceText, room: int, variables: Variables) -> str:
    text = shorten(harmless(skill.text), room)
    return (
        f"The skill {skill.name} fits this request. Do as it says:\n"
        f"--- {skill.name} ---\n{text}{_beside(skill, variables)}\n---"
    )


def _beside(skill: GuidanceText, variables: Variables) -> str:
    """The files beside a skill's text, and how a plan has them."""
    names = [
        f"`{name}` ({relative})"
        for name, (each, relative) in variables.items()
        if relative and each.path == skill.path
    ]
    told = "Files beside it, which a plan has as str variables and reads in the same way"
    return f"\n{told}: {', '.join(names)}" if names else ""
