"""What the user has stated and wants kept: `user.facts.json` in the memory folder.

A newer fact about the same subject replaces the older one, whose text and date stay with it until
it is forgotten. The file is replaced as a whole under the folder's lock, so that processes that
write at once lose nothing.
"""

import json
import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from typing import Final

from core.base.clock import Clock
from core.base.files import (
    FileTooLarge,
    folder_locked,
    read_regular,
    reserve_damaged_name,
    write_atomically,
)
from core.base.frozen import frozen
from core.base.json_text import Json
from core.base.memory.statements import FACT_CHARACTERS_MAX, bare_fact, subject_of
from core.base.redaction import Redactor
from core.base.text import listed, shorten

FACTS_FILE: Final = "user.facts.json"
"""No session has a name with a dot in it."""

FORMAT: Final = 1
"""Stands in the file, under `format`."""

FACTS_MAX: Final = 1_000
OLDER_MAX: Final = 5
"""So many older texts stay with a fact, the newest ones."""

FILE_BYTES_MAX: Final = 16 * 1024 * 1024
"""More than that many facts of that length have."""

_NAMED_MAX: Final = 5
_NAMED_CHARACTERS: Final = 60
_SESSION_CHARACTERS_MAX: Final = 200
_ID_BYTES: Final = 3
_SMALL_WORDS = (
    "a about am an and any are be been do does don't for from has have i i'm i've in is it me my "
    "not of on or our so that the this to was we what where who with you your fact facts"
)
_NOT_TELLING: Final = frozenset(_SMALL_WORDS.split())


class FactError(ValueError):
    """A fact can't be kept or forgotten; the text says what to do."""


@frozen
class OlderFact:
    """What a fact replaced; `when` is Unix time in seconds."""

    text: str
    when: float


@frozen
class Fact:
    """What the user has stated; `when` is Unix time in seconds.

    `older` are the texts that it replaced, the newest first. `session_id` is that of the session
    in which it was said, or empty.
    """

    fact_id: str
    text: str
    subject: str
    when: float
    session_id: str = ""
    older: tuple[OlderFact, ...] = ()


class FactStore:
    """The facts in one memory folder; may be used by several processes and threads at once.

    Attributes:
        notes: what the user should know about the file, such as that it was damaged.
    """

    def __init__(self, folder: Path, redactor: Redactor, clock: Clock = time.time) -> None:
        """Read nothing yet. What `redactor` knows as a secret is masked before it is written."""
        self.path = folder / FACTS_FILE
        self.notes: list[str] = []
        self._redactor = redactor
        self._clock = clock

    def all(self) -> tuple[Fact, ...]:
        """All facts, in the order in which they were stated; a damaged file is set aside.

        Raises:
            OSError: the file can't be read, or is damaged and can't be set aside.
            FactError: a later version has written it.
        """
        try:
            facts, problem = self._read()
        except FileNotFoundError:
            return ()
        if problem is None:
            return facts
        with folder_locked(self.path):
            return self._current()

    def keep(self, text: str, session_id: str = "") -> Fact:
        """Keep what `text` states; a fact that stands already stays as it is.

        Raises:
            FactError: it is empty or too long, or there are too many facts.
            OSError: the file can't be written.
        """
        with folder_locked(self.path):
            facts = self._current()
            kept, after = self._with(facts, text, session_id)
            if after is not facts:
                self._write(after)
        return kept

    def all_with(self, texts: Iterable[str]) -> tuple[Fact, ...]:
        """All facts, as they would be if these were kept; nothing is written for them.

        Raises:
            FactError: as `keep` does, and `all`.
            OSError: as `all` does.
        """
        facts = self.all()
        for text in texts:
            _, facts = self._with(facts, text, "")
        return facts

    def _with(
        self, facts: tuple[Fact, ...], text: str, session_id: str
    ) -> tuple[Fact, tuple[Fact, ...]]:
        """What keeps `text`, and all facts with it: the same ones where it stands already.

        Raises:
            FactError: it is empty or too long, or there are too many facts.
        """
        said = self._redactor.text(bare_fact(text))
        if not said:
            raise FactError("there is nothing to remember: say what, in a sentence")
        if len(said) > FACT_CHARACTERS_MAX:
            raise FactError(
                f"a fact has at most {FACT_CHARACTERS_MAX} characters, and this one has "
                f"{len(said):,}: say it in a sentence or two"
            )
        subject = subject_of(said)
        before = next((fact for fact in facts if fact.subject == subject), None)
        if before is not None and _plain(before.text) == _plain(said):
            return before, facts
        if before is None and len(facts) >= FACTS_MAX:
            raise FactError(
                f"there are {FACTS_MAX:,} facts, which is all that is kept: forget some first"
            )
        older: tuple[OlderFact, ...] = ()
        if before is not None:
            older = (OlderFact(before.text, before.when), *before.older)[:OLDER_MAX]
        kept = Fact(
            _free_id(facts) if before is None else before.fact_id,
            said,
            subject,
            self._clock(),
            session_id[:_SESSION_CHARACTERS_MAX],
            older,
        )
        return kept, (*(fact for fact in facts if fact is not before), kept)

    def find(self, words: str) -> tuple[Fact, ...]:
        """The facts that hold all telling words of `words`, or that it names by their id.

        All facts if it has no such words.
        """
        return tuple(fact for fact in self.all() if _fits(fact, words))

    def forget(self, words: str) -> tuple[Fact, ...]:
        """Forget the fact that `words` mean, its older texts too; empty if there is none.

        They are its id, what it says, or words of it that no other fact has. An older text that is
        meant goes alone.

        Raises:
            FactError: several facts fit.
            OSError: the file can't be written.
        """
        with folder_locked(self.path):
            facts = self._current()
            said = _plain(bare_fact(words))
            meant = [
                fact
                for fact in facts
                if said in (_plain(fact.text), fact.fact_id, fact.subject, f"my {fact.subject}")
            ] or [fact for fact in facts if _telling(words) and _fits(fact, words)]
            if len(meant) > 1:
                few = (
                    f"{fact.fact_id} ({shorten(fact.text, _NAMED_CHARACTERS)})"
                    for fact in meant[:_NAMED_MAX]
                )
                raise FactError(f"several facts fit; say which: {listed(few, len(meant))}")
            if meant:
                self._write([fact for fact in facts if fact is not meant[0]])
                return tuple(meant)
            return self._forget_older(facts, words)

    def _forget_older(self, facts: Iterable[Fact], words: str) -> tuple[Fact, ...]:
        """Forget older texts that fit; the facts that replaced them stay."""
        left: list[Fact] = []
        forgotten: list[Fact] = []
        for fact in facts:
            gone = [old for old in fact.older if _telling(words) and _holds(old.text, words)]
            stays = tuple(old for old in fact.older if old not in gone)
            left.append(replace(fact, older=stays) if gone else fact)
            forgotten += (replace(fact, text=old.text, when=old.when, older=()) for old in gone)
        if forgotten:
            self._write(left)
        return tuple(forgotten)

    def _current(self) -> tuple[Fact, ...]:
        """What the file holds now, while the folder is locked; a damaged file is set aside."""
        try:
            facts, problem = self._read()
        except FileNotFoundError:
            return ()
        if problem is not None:
            aside = reserve_damaged_name(self.path, self._clock())
            if facts:
                # A copy, so that there is no moment without a file that holds the good facts.
                aside.write_bytes(self.path.read_bytes())
                self._write(facts)
            else:
                self.path.replace(aside)  # only our own empty file is overwritten
            self.notes.append(
                f"the facts in {self.path} were damaged ({problem}); the file is set aside as "
                f"{aside.name}, and {len(facts):,} of them go on in its place"
            )
        return facts

    def _read(self) -> tuple[tuple[Fact, ...], str | None]:
        """The facts that can be read, and what is wrong with the file (None: nothing)."""
        try:
            data: Json = json.loads(read_regular(self.path, FILE_BYTES_MAX))
        except FileTooLarge as error:
            return (), str(error)
        except (ValueError, RecursionError):
            return (), "it is not JSON"
        if not isinstance(data, dict) or not isinstance(listed_facts := data.get("facts"), list):
            return (), "it holds no list of facts"
        if isinstance(made := data.get("format"), int) and made > FORMAT:
            raise FactError(
                f"{self.path} was written by a later version (format {made}); update this program"
            )
        facts = {fact.fact_id: fact for each in listed_facts if (fact := _fact(each)) is not None}
        bad = len(listed_facts) - len(facts)
        kept = tuple(facts.values())[:FACTS_MAX]
        return kept, f"{bad} of its facts can't be read" if bad else None

    def _write(self, facts: Iterable[Fact]) -> None:
        document = {"format": FORMAT, "facts": [asdict(fact) for fact in facts]}
        text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
        write_atomically(self.path, f"{text}\n".encode())


def _fact(value: Json) -> Fact | None:
    """The fact that stands in the file; None if it is none."""
    if not isinstance(value, dict):
        return None
    fact_id, text, when = value.get("fact_id"), _text(value.get("text")), _time(value.get("when"))
    if not isinstance(fact_id, str) or not re.fullmatch(r"[a-z0-9]{1,20}", fact_id):
        return None
    if text is None or when is None:
        return None
    older = value.get("older")
    subject, session_id = value.get("subject"), value.get("session_id")
    return Fact(
        fact_id,
        text,
        subject if isinstance(subject, str) else subject_of(text),
        when,
        session_id[:_SESSION_CHARACTERS_MAX] if isinstance(session_id, str) else "",
        tuple(_older(older))[:OLDER_MAX] if isinstance(older, list) else (),
    )


def _older(values: Iterable[Json]) -> Iterable[OlderFact]:
    for value in values:
        if isinstance(value, dict):
            text, when = _text(value.get("text")), _time(value.get("when"))
            if text is not None and when is not None:
                yield OlderFact(text, when)


def _text(value: Json) -> str | None:
    """A text that may be a fact's; None for others, also for what can't be written again."""
    if not isinstance(value, str) or not 0 < len(value) <= FACT_CHARACTERS_MAX:
        return None
    with suppress(UnicodeEncodeError):
        value.encode()
        return value
    return None


def _time(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e12 and isfinite(value) else None


def _free_id(facts: Iterable[Fact]) -> str:
    taken = {fact.fact_id for fact in facts}
    while (made := os.urandom(_ID_BYTES).hex()) in taken:
        pass
    return made


def _fits(fact: Fact, words: str) -> bool:
    return words.strip() == fact.fact_id or _holds(f"{fact.text} {fact.subject}", words)


def _holds(text: str, words: str) -> bool:
    """Whether a text has all telling words of `words`."""
    return _telling(words) <= _telling(text)


def _telling(text: str) -> set[str]:
    """The words that tell something, as they compare: small, without a plural's or verb's s."""
    words = re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text.lower().replace("’", "'"))
    return {word.removesuffix("'s").removesuffix("s") for word in words if word not in _NOT_TELLING}


def _plain(text: str) -> str:
    """The text as it compares."""
    return " ".join(text.lower().replace("’", "'").split()).replace("i am ", "i'm ").rstrip(" .!")
