"""What a model is asked, as recordings know it, and where two such requests differ."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from core.base.redaction import Redactor
from core.ports import ModelRequest
from core.turn import ModelPurpose
from core.values import JsonObject

COMPARED_REQUESTS = 200
"""So many recorded requests, the newest, are looked at for the one that a request comes near."""

SHOWN_CHARACTERS = 80
"""How much of a line is shown where two prompts differ."""

SHOWN_BEFORE = 20
"""How much of that stands before the difference."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request without what does not change the question; `images` are their SHA-256, in hex."""

    purpose: ModelPurpose
    prompt: str
    images: tuple[str, ...] = ()
    schema: JsonObject | None = None

    @classmethod
    def of(cls, request: ModelRequest, redactor: Redactor) -> "Asked":
        """What a request asks, with the secrets taken out."""
        return cls(
            request.purpose,
            redactor.text(request.prompt),
            tuple(hashlib.sha256(image.data).hexdigest() for image in request.images),
            None if request.schema is None else redactor.object(request.schema),
        )

    @property
    def key(self) -> str:
        """What tells requests apart: the SHA-256 of all of it, in hexadecimal."""
        asked = json.dumps([self.purpose, self.prompt, self.images, self.schema], sort_keys=True)
        return hashlib.sha256(asked.encode()).hexdigest()


def difference(asked: Asked, recorded: Sequence[Asked]) -> str:
    """How a request differs from the one of `recorded` that it comes nearest to, as a phrase.

    The nearest shares most lines of its prompt. Takes time in proportion to all prompts together.
    """
    alike = [other for other in recorded if other.purpose == asked.purpose]
    if not alike:
        counted = Counter(other.purpose for other in recorded)
        held = ", ".join(f"{number} for {purpose}" for purpose, number in counted.items())
        return f"no request for {asked.purpose} was recorded, but {held}"
    lines = asked.prompt.splitlines()
    mine = Counter(lines)

    def shared_lines(other: Asked) -> int:
        return (mine & Counter(other.prompt.splitlines())).total()

    nearest = max(reversed(alike[-COMPARED_REQUESTS:]), key=shared_lines)
    for number, (new, old) in enumerate(zip_longest(lines, nearest.prompt.splitlines()), 1):
        if new != old:
            here, there = _around_difference(new, old), _around_difference(old, new)
            return f"line {number} of its prompt is {here}, and was {there} when it was recorded"
    other = (
        "its images" if asked.images != nearest.images else "the form that its reply should have"
    )
    return f"{other} changed, its prompt did not"


def _around_difference(line: str | None, other: str | None) -> str:
    """`line` from shortly before its first character that `other` has not, in quotes."""
    if line is None:
        return "missing"
    pairs = enumerate(zip(line, other or "", strict=False))
    at = next((place for place, (a, b) in pairs if a != b), min(len(line), len(other or "")))
    begin = max(at - SHOWN_BEFORE, 0)
    shown = line[begin : begin + SHOWN_CHARACTERS]
    before, after = "…" * (begin > 0), "…" * (begin + SHOWN_CHARACTERS < len(line))
    return f"{before}{shown!r}{after}"
