"""The requests that are asked, as `requests/*.toml` has them: words, the right tools, the checks.

`{files}` and `{repo}` in a text stand for the folders of the workplace.
"""

import re
import tomllib
from collections.abc import Sequence
from datetime import time
from pathlib import Path
from typing import Literal, TypeAlias, get_args
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

FOLDER = Path(__file__).with_name("requests")

Part: TypeAlias = Literal["tuning", "report", "held-out"]
"""Whether prompts are made with a request in view, are judged by it, or by one never looked at."""

PARTS: tuple[Part, ...] = get_args(Part)

ALTERNATIVES = "|"
"""Between the names of tools of which any one does."""


class Question(BaseModel):
    """One request; `before` are requests of the same session that come first.

    `tools` are the right ones, all of them, alternatives with `|` between. What is said of numbers,
    words and times must hold of the answer, what is said of files and git of the workplace;
    `final_number` is the last number of the answer, whatever the request has. With
    `may_fail`, a run that ends without an answer is judged by what it says instead.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    part: Part
    group: str
    ask: str = Field(min_length=1)
    tools: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    may_fail: bool = False
    number: int | float | None = None
    final_number: int | float | None = None
    numbers: tuple[int | float, ...] = ()
    sequence: tuple[int | float, ...] = ()
    tolerance: float | None = Field(default=None, gt=0, le=0.01)
    contains: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    matches: str | None = None
    clock: time | None = None
    now_in: tuple[str, ...] = ()
    weekday_in: str | None = None
    date_in: str | None = None
    file: str | None = None
    file_contains: str | None = None
    file_lacks: str | None = None
    no_file: str | None = None
    git: tuple[str, ...] = ()
    git_contains: str | None = None

    @field_validator("matches")
    @classmethod
    def _is_a_pattern(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            re.compile(pattern)
        return pattern

    @model_validator(mode="after")
    def _can_be_judged(self) -> "Question":
        zones = (*self.now_in, self.weekday_in, self.date_in)
        for zone in zones:
            if zone is not None:
                ZoneInfo(zone)
        if (self.git_contains is None) != (not self.git):
            raise ValueError("git and git_contains go together")
        checks = (
            self.number,
            self.final_number,
            self.matches,
            self.clock,
            self.file,
            self.no_file,
            *zones,
        )
        lists = (self.numbers, self.sequence, self.contains, self.any_of, self.git)
        if all(check is None for check in checks) and not any(lists):
            raise ValueError("a request needs a check")
        return self

    @property
    def key(self) -> str:
        """What names it in results."""
        return f"{self.group}/{self.id}"

    def right_tools(self) -> list[frozenset[str]]:
        """The qualified names of the right tools: of each set, one must be there."""
        return [frozenset(names.split(ALTERNATIVES)) for names in self.tools]


def load_questions(folder: Path = FOLDER) -> list[Question]:
    """All requests, in the order of the files' names and the files.

    Raises:
        ValueError: a file has an entry that can't be used, or two of one name.
    """
    questions: list[Question] = []
    for file in sorted(folder.glob("*.toml")):
        entries: list[dict[str, object]] = tomllib.loads(file.read_text("utf-8"))["request"]
        questions += [Question.model_validate({"group": file.stem, **entry}) for entry in entries]
    keys = [question.key for question in questions]
    if twice := {key for key in keys if keys.count(key) > 1}:
        raise ValueError(f"requests with the same name: {', '.join(sorted(twice))}")
    return questions


def choose(
    questions: Sequence[Question], *, parts: Sequence[Part], only: str = "", limit: int | None
) -> list[Question]:
    """Those of the parts whose key matches `only`; at most `limit`, spread over all of them."""
    pattern = re.compile(only)
    chosen = [q for q in questions if q.part in parts and pattern.search(q.key)]
    return spread_out(chosen, limit)


def spread_out(questions: Sequence[Question], limit: int | None) -> list[Question]:
    """At most `limit` of them, evenly from beginning to end; the same ones each time."""
    if limit is None or limit >= len(questions):
        return list(questions)
    return [questions[index * len(questions) // limit] for index in range(limit)]
