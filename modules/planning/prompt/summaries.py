"""Texts that are too long for a prompt, shortened to what helps to answer the request.

The text is split where paragraphs end, a model notes what matters in each part, and the notes are
joined; while these are too long, they are themselves the text (map and reduce, after Dean and
Ghemawat, "MapReduce", 2004). Every bound ends in a cut that says how much is missing.

Small models obey a text that commands, and say that nothing helps, unless the request stands
behind the text; and of a text that doesn't help they invent something that would. So notes with
numbers that their part doesn't have are not believed (seen with Qwen2.5-Coder-1.5B).
"""

import asyncio
import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from core.base.frozen import frozen
from core.base.text import lazy_pattern
from core.errors import ModelUnavailable
from core.ports import CountingModel, ModelRequest
from core.run.observation import CHARACTERS_PER_TOKEN, PROMPT_TOKENS, shorten
from modules.planning.llmfunc import ReplyUnusable, llmfunc
from modules.planning.prompt.template import load_prompt

PROMPT_PATH = "prompts/summary_prompt.txt"

PART_CHARACTERS_MAX = 60_000
"""Longest part that is read at once, however large the context: longer ones are skimmed."""

PART_CHARACTERS_MIN = 2_000
"""Shortest part, however small the context is."""

CONTEXT_TOKENS_ASSUMED = 8_192
"""The context of a model of which nobody says how large it is."""

PARTS_MAX = 12
"""More parts are not read; their size is told."""

REQUESTS_AT_ONCE = 4
"""How many parts are read at the same time, where the model's own limits allow it."""

ROUNDS_MAX = 3
"""How often notes are summarised again before they are cut."""

SHRINKING = 0.9
"""A round that leaves more than this part of the text was of no use."""

CHARACTERS_PER_WORD = 6
"""An English word and the space after it."""

NOTES_CHARACTERS_MIN = 400
"""Notes on one part may always have so much ..."""

NOTES_CHARACTERS_MAX = 6_000
"""... and no more: about 1,000 words."""

OUTPUT_TOKENS_MIN = 2_000
"""Least bound on the tokens of one reply: a reasoning model's thinking may count."""

RETRIES = 1
"""How often a model is asked again that wrote nothing, as where all of it was thinking."""

REQUEST_CHARACTERS = 4_000
"""How much of the request each part is read with."""

NOTE_CHARACTERS = 100
"""Room for the statement of what was left out."""

SOURCES_ADDED = 10
"""How many source marks are put back behind notes that name none."""

OFFLINE = "offline"
"""The name of the planner that writes no texts and need not be asked."""

NOTHING = "NOTHING"
"""What a model says of a part that doesn't help."""

NOTES_CHECKED_CHARACTERS = 2 * NOTES_CHARACTERS_MAX
"""How much of notes is held against the text; no more of them is used."""

INVENTED_DIGITS_MIN = 3
"""Numbers in notes with fewer digits may count what the text lists."""

_BREAKS = ("\n\n", "\n", ". ", " ")
"""Where a text may be split, the best places first."""

_MARK = re.compile(r"\[Source: [^\]\n]{1,300}\]")
"""How document tools mark each piece of text."""

_NUMBER = lazy_pattern(r"\d+(?:[,.']\d+)*")

_MARK_AFTER_BREAK = lazy_pattern(rf"\s{{0,10}}{_MARK.pattern}")


async def summarise(model: CountingModel, request: str, text: str, room_characters: int) -> str:
    """What of `text` helps to answer `request`, in at most `room_characters`.

    A text that fits is given back as it is. Where the model makes no notes, or finds
    nothing that helps, which small ones say too soon, the text is cut.

    Raises:
        ModelUnavailable: the model can't be reached or refused.
        BudgetSpent: the run may use no more.
    """
    if len(text) <= room_characters:
        return text
    return await notes_on(model, request, text, room_characters) or _cut(text, room_characters)


async def notes_on(
    model: CountingModel,
    request: str,
    text: str,
    room_characters: int,
    prompt_path: str = PROMPT_PATH,
) -> str:
    """What the model notes of `text`, asked with the template; empty where it makes no notes.

    Raises:
        ModelUnavailable: the model can't be reached or refused.
        BudgetSpent: the run may use no more.
    """
    if model.name == OFFLINE:
        return ""
    size = _part_characters(model.traits.context_tokens)
    parts, unread = _first_parts(text, size)
    room = room_characters - NOTE_CHARACTERS
    summariser = _Summariser(model, request, prompt_path)
    try:
        notes = await summariser.notes(parts, room, size)
    except ModelUnavailable as error:
        # By its refusal the model has told how much it reads.
        smaller = _part_characters(model.traits.context_tokens)
        if not error.is_too_long or smaller >= size:
            raise
        parts, unread = _first_parts(text, smaller)
        notes = await summariser.notes(parts, room, smaller)
    if not notes:
        return ""
    told = f"\n\n[the last {unread:,} characters were not read]" if unread else ""
    return _cut(notes, room) + told


@frozen
class _Summariser:
    """Reads the parts of a text for one request."""

    model: CountingModel
    request: str
    prompt_path: str

    async def notes(self, parts: Sequence[str], room: int, size: int) -> str | None:
        """The notes on all parts, if need be summarised again; None if the model makes none."""
        joined: str | None = None
        for _ in range(ROUNDS_MAX):
            written = await self._read_all(parts, room)
            if written is None:
                break
            before, joined = sum(map(len, parts)), "\n\n".join(filter(None, written))
            if len(joined) <= room or len(joined) > SHRINKING * before:
                break
            parts, unread = _first_parts(joined, size)
            if unread:
                break
        return joined

    async def _read_all(self, parts: Sequence[str], room: int) -> list[str] | None:
        """The notes on each part, several read at once; None if there are none on any.

        A part on which the model makes no notes of use is represented by its beginning. The first
        outage ends all.
        """
        limit = asyncio.Semaphore(REQUESTS_AT_ONCE)
        share = room // len(parts) - len("\n\n")
        longest = max(NOTES_CHARACTERS_MIN, min(share, NOTES_CHARACTERS_MAX))

        async def read(part: str) -> str | None:
            async with limit:
                return await self._read(part, longest)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(read(part)) for part in parts]
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        written = [task.result() for task in tasks]
        if all(notes is None for notes in written):
            return None
        return [
            _cut(part, longest) if notes is None else notes
            for part, notes in zip(parts, written, strict=True)
        ]

    async def _read(self, part: str, longest: int) -> str | None:
        """Notes on one part, empty if it doesn't help; None if the model makes none."""
        if not part.strip():
            return ""
        bound = max(OUTPUT_TOKENS_MIN, longest)
        read = llmfunc(
            ModelRequest("summary", load_prompt(self.prompt_path), max_output_tokens=bound),
            model=self.model,
            retries=RETRIES,
            changing="border",
        )
        try:
            notes = await read(
                words=longest // CHARACTERS_PER_WORD,
                border=_border(part),
                request=shorten(self.request, REQUEST_CHARACTERS),
                text=part,
            )
        except ReplyUnusable:
            return None
        return _usable(notes, part, longest)


def _usable(notes: str, part: str, longest: int) -> str | None:
    """Notes with the part's source marks behind them if they name none.

    None if they are not to be believed.
    """
    if _invents(notes, part):
        return None
    if notes.strip(".!\"'*` ").upper() == NOTHING:
        return ""
    # Twice what was asked for is let pass: joined notes are summarised again if need be.
    notes = _cut(notes, 2 * longest)
    marks = list(dict.fromkeys(_MARK.findall(part)))[:SOURCES_ADDED]
    return f"{notes}\n{' '.join(marks)}" if marks and not _MARK.search(notes) else notes


def _invents(notes: str, part: str) -> bool:
    """Whether the notes have a long number that the part doesn't.

    "1,250,000", "1250000" and the "1.25" of a million count as the same.
    """
    known = sorted(set(_numbers(part)))

    def is_known(number: str) -> bool:
        at = bisect_left(known, number)  # what begins with it sorts right behind it
        return at < len(known) and known[at].startswith(number)

    def is_told(number: str) -> bool:
        round_part = number.rstrip("0")
        at = bisect_left(known, round_part)
        is_rounded = len(round_part) > 1 and known[at : at + 1] == [round_part]
        return is_known(number) or is_rounded

    long = [n for n in _numbers(notes[:NOTES_CHECKED_CHARACTERS]) if len(n) >= INVENTED_DIGITS_MIN]
    return not all(map(is_told, long))


def _numbers(text: str) -> list[str]:
    """The digits of each number in a text."""
    return [re.sub(r"\D", "", number) for number in _NUMBER.findall(text)]


def _part_characters(context_tokens: int | None) -> int:
    """How much text a prompt may hold beside all else, and beside the notes on it."""
    tokens = context_tokens or CONTEXT_TOKENS_ASSUMED
    room = max(tokens - PROMPT_TOKENS, tokens // 4) * CHARACTERS_PER_TOKEN
    return max(PART_CHARACTERS_MIN, min(room, PART_CHARACTERS_MAX))


def _first_parts(text: str, size: int) -> tuple[list[str], int]:
    """The first parts of a text, and how many characters come after them."""
    parts: list[str] = []
    end = 0
    for end in _ends(text, size):
        parts.append(text[sum(map(len, parts)) : end])
        if len(parts) == PARTS_MAX:
            break
    return parts, len(text) - end


def _ends(text: str, size: int) -> Iterator[int]:
    """Where the parts of a text end: no more than about `size` apart, where a paragraph does.

    A source mark stays with the text before it, whose source it names.
    """
    start = 0
    while start < len(text):
        end = len(text)
        if end - start > size:
            end = _best_break(text, start, start + size)
            if (mark := _MARK_AFTER_BREAK.match(text, end)) is not None:
                end = mark.end()
        yield end
        start = end


def _best_break(text: str, start: int, end: int) -> int:
    """The end of the last paragraph, line, sentence or word in the second half of a window."""
    for mark in _BREAKS:
        if (found := text.rfind(mark, start + (end - start) // 2, end)) >= 0:
            return found + len(mark)
    return end


def _border(text: str) -> str:
    """A line that the text can't hold, as it is made of the text; the same for the same text."""
    return f"=== DATA {hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:24]} ==="


def _cut(text: str, characters: int) -> str:
    """The beginning of a text and how much is missing, in no more than so many characters."""
    if len(text) <= characters:
        return text
    return shorten(text, max(0, characters - NOTE_CHARACTERS))
