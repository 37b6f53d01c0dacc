"""The file of recorded requests, and how a request is found in it."""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.base.files import PRIVATE_FILE_MODE, lock
from core.base.frozen import frozen
from core.base.redaction import Redactor
from core.base.text import lazy_pattern
from core.errors import ModelUnavailable, StorageError, UsageError
from core.ports import FinishReason, ModelReply, ModelRequest, ModelTraits, NativeToolCall
from core.provenance.borders import Borders, names_in, renamed
from core.turn import ModelPurpose, Usage
from core.values import JsonObject
from modules.planning.prompt.past import MEMORIES

COMPARED_REQUESTS = 200
"""So many recorded requests, the newest, are looked at for the one that a request comes near."""

SHOWN_CHARACTERS = 80
"""How much of a line is shown where two prompts differ."""

_NOTE = re.escape(Borders("0").note).replace("0>>", r"\d+>>")
_PASSING = lazy_pattern(
    rf"\n\n{re.escape(MEMORIES)}\n(?:{_NOTE}\n)?(?:<<data \d+>>\n)?"
    r"- [^\n]*(?:\n- [^\n]*)*(?:\n<</data \d+>>)?"
    rf"| ?{_NOTE}\n{{0,2}}|<<data \d+>>\n?|\n?<</data \d+>>"
)
"""What a prompt tells of earlier sessions, and the borders that there are once it tells of any."""

SHOWN_BEFORE = 20
"""How much of that stands before the difference."""


@frozen
class Asked:
    """A request without what does not change the question; `images` are their SHA-256, in hex.

    `borders` are the random names of the borders in the prompt, for which numbers stand there.
    """

    purpose: ModelPurpose
    prompt: str
    images: tuple[str, ...] = ()
    schema: JsonObject | None = None
    borders: tuple[str, ...] = ()

    @classmethod
    def of(cls, request: ModelRequest, redactor: Redactor) -> "Asked":
        """What a request asks, with the secrets taken out."""
        # Half a character can't be written, and would make another request of the recorded one.
        prompt = redactor.text(request.prompt).encode("utf-8", "replace").decode()
        borders = names_in(prompt)
        return cls(
            request.purpose,
            renamed(prompt, numbered(borders)),
            tuple(hashlib.sha256(image.data).hexdigest() for image in request.images),
            None if request.schema is None else redactor.object(request.schema),
            borders,
        )

    @property
    def key(self) -> str:
        """What tells requests apart: the SHA-256 of all of it, in hexadecimal."""
        return self._key_with(self.prompt)

    @property
    def key_without_memories(self) -> str:
        """The same without what earlier sessions left: the recording itself may be one by now."""
        return self._key_with(" ".join(_PASSING.sub(" ", self.prompt).split()))

    def _key_with(self, prompt: str) -> str:
        asked = json.dumps([self.purpose, prompt, self.images, self.schema], sort_keys=True)
        return hashlib.sha256(asked.encode()).hexdigest()


def numbered(borders: Sequence[str]) -> dict[str, str]:
    """A number for each name of a border, by its place."""
    return {name: str(number) for number, name in enumerate(borders, start=1)}


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


MAX_RECORDING_BYTES = 64 * 1024 * 1024
"""Largest recording that is read, or written to."""

LOCK_TIMEOUT_SECONDS = 10.0
"""How long a writer waits for another process that writes to the same recording."""


class _Part(BaseModel):
    """Base of all parts of a line: frozen, and deaf to keys of later versions.

    Built at first use, which is hardly ever: 10 ms of every start otherwise.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class RecordedReply(_Part):
    """A whole reply; `finish` says why it ended."""

    text: str = ""
    thinking: str = ""
    tool_calls: tuple[NativeToolCall, ...] = ()
    finish: FinishReason = "stop"
    usage: Usage = Usage(model_calls=1)

    def reply(self) -> ModelReply:
        """The reply as backends give it; a replay costs nothing."""
        return ModelReply(
            self.text,
            replace(self.usage, cost=0.0, unpriced_calls=0),
            declined=self.finish == "refused",
            thinking=self.thinking,
            tool_calls=self.tool_calls,
            truncated=self.finish == "length",
        )


class RecordedError(_Part):
    """Why there is no reply."""

    kind: Literal["unavailable"]
    message: str
    transient: bool = False
    retry_after_seconds: float | None = None

    def error(self) -> ModelUnavailable:
        """The error as backends raise it."""
        return ModelUnavailable(
            self.message,
            transient=self.transient,
            retry_after_seconds=self.retry_after_seconds,
        )


class RecordedRequest(_Part):
    """One line: a request, the model that it went to, and what came of it.

    `key` is that of `Asked`; `images` are the SHA-256 of each, in hexadecimal.
    """

    key: str
    purpose: ModelPurpose
    prompt: str
    borders: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    request_schema: JsonObject | None = Field(default=None, alias="schema")
    model: str = ""
    traits: ModelTraits = ModelTraits()
    outcome: RecordedReply | RecordedError

    @property
    def asked(self) -> Asked:
        """The request; older recordings have the borders' names in their prompts."""
        borders = self.borders or names_in(self.prompt)
        prompt = renamed(self.prompt, numbered(borders))
        return Asked(self.purpose, prompt, self.images, self.request_schema, borders)


def append_line(path: Path, line: JsonObject, max_bytes: int = MAX_RECORDING_BYTES) -> None:
    """Add what `RecordedRequest` reads to the file, which is made if need be, up to `max_bytes`.

    Only its owner may read a file that is made: prompts hold what the user wrote.

    Raises:
        StorageError: it can't be written, or has reached its bound.
    """
    # A model may write half a character, for which UTF-8 has no place.
    data = json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    try:
        descriptor = _opened(path)
        try:
            lock(descriptor, LOCK_TIMEOUT_SECONDS)
            size = os.fstat(descriptor).st_size
            if size + len(data) > max_bytes:
                raise StorageError(
                    f"the recording {path} would become larger than {max_bytes:,} bytes; go on in "
                    "another file with --model record:FILE"
                )
            _append(descriptor, size, data)
        finally:
            os.close(descriptor)  # gives the lock back as well
    except OSError as error:
        raise StorageError(
            f"the recording {path} can't be written: {error.strerror or error}; make room, or "
            "name another file with --model record:FILE"
        ) from error


def check_writable(path: Path) -> None:
    """Make sure, before a model is asked, that a recording can be kept; the file is made.

    Raises:
        UsageError: it can't.
    """
    try:
        os.close(_opened(path))
    except OSError as error:
        raise UsageError(
            f"the recording {path} can't be written: {error.strerror or error}; --model "
            "record:FILE takes a file in a folder that is there"
        ) from error


def read_requests(path: Path) -> tuple[list[RecordedRequest], int]:
    """All requests of a recording, oldest first, and the number of lines that can't be read.

    Raises:
        UsageError: the file can't be read, is too large, or holds no request.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_RECORDING_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"the recording {path} can't be read: {error.strerror or error}; --model replay:FILE "
            "takes a file that --model record:FILE wrote"
        ) from error
    if len(data) > MAX_RECORDING_BYTES:
        raise UsageError(f"the recording {path} is larger than {MAX_RECORDING_BYTES:,} bytes")
    requests, damaged = list[RecordedRequest](), 0
    for line in data.split(b"\n"):
        if line.strip():
            try:
                requests.append(RecordedRequest.model_validate_json(line))
            except ValidationError:
                damaged += 1
    if not requests:
        raise UsageError(
            f"the recording {path} holds no request; --model replay:FILE takes a file that "
            "--model record:FILE wrote"
        )
    return requests, damaged


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    return os.open(path, flags, PRIVATE_FILE_MODE)


def _append(descriptor: int, size: int, line: bytes) -> None:
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        line = b"\n" + line  # a writer was killed in the middle of its line
    while line:
        line = line[os.write(descriptor, line) :]
