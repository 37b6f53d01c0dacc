"""What the memory tools say: past exchanges, and facts."""

import json
from collections.abc import Sequence
from typing import Final

from core.base.clock import moment
from core.base.memory.facts import Fact
from core.base.text import one_line, shorten
from servers.memory.ranking import Memory
from servers.rag.passages import NOTHING_FITS

REQUEST_SHOWN: Final = 500
ANSWER_SHOWN: Final = 1_200
"""Characters; the session's file has all of it."""

NOTHING_FOUND: Final = "Nothing that was asked or answered before fits the query."
NO_FACTS: Final = "No facts or preferences are kept yet."

_MARK: Final = "[Source:"
"""How passages of documents name their source: an old answer's is no source of a new one."""


def memories_text(memories: Sequence[Memory], notes: Sequence[str]) -> str:
    """The memories, best first, with what is to be known about the search before them."""
    told = [f"Note: {said}" for note in notes if (said := note.replace(NOTHING_FITS, "").strip())]
    if not memories:
        return "\n".join([*told, NOTHING_FOUND])
    found = [_memory(number, each) for number, each in enumerate(memories, 1)]
    return "\n\n".join([*(["\n".join(told)] if told else []), *found])


def memories_json(memories: Sequence[Memory], notes: Sequence[str]) -> str:
    """The same for programs: `memories`, none where nothing fits the query, and `notes`."""
    fits = not any(NOTHING_FITS in note for note in notes)
    found = [
        {
            "session": memory.past.session_id,
            "title": memory.past.title,
            "asked_at": memory.past.exchange.asked_at,
            "request": memory.past.exchange.request,
            "answer": memory.past.exchange.answer,
            "tools": memory.past.exchange.tools,
            "times": memory.times,
            "score": round(memory.score, 4),
        }
        for memory in (memories if fits else ())
    ]
    told = [said for note in notes if (said := note.replace(NOTHING_FITS, "").strip())]
    return json.dumps({"memories": found, "notes": told}, ensure_ascii=False)


def facts_text(facts: Sequence[Fact], notes: Sequence[str], otherwise: str) -> str:
    """A line a fact, the newest first, or `otherwise` where there is none."""
    told = [f"Note: {note}" for note in notes]
    newest = sorted(facts, key=lambda fact: -fact.when)
    return (
        "\n".join([*told, *(fact_line(fact) for fact in newest)])
        if facts
        else "\n".join([*told, otherwise])
    )


def fact_line(fact: Fact) -> str:
    """A fact with its date and id, and what it replaced."""
    before = "; ".join(f"before: {old.text}, {day(old.when)}" for old in fact.older)
    return (
        f"- {fact.text} ({'; '.join(filter(None, (day(fact.when), before)))}) [id {fact.fact_id}]"
    )


def day(unix_seconds: float) -> str:
    """A day as this machine's clock has it."""
    return moment(unix_seconds)[:10]


def _memory(number: int, memory: Memory) -> str:
    exchange = memory.past.exchange
    times = f", asked {memory.times} times" if memory.times > 1 else ""
    title = f' "{one_line(memory.past.title, 60)}"' if memory.past.title else ""
    head = (
        f"{number}. {moment(exchange.asked_at)}, session {memory.past.session_id}{title}{times} "
        f"(score {memory.score:.2f})"
    )
    lines = [head, f"Asked: {_shown(exchange.request, REQUEST_SHOWN)}"]
    if exchange.answer is None:
        lines.append("It got no answer.")
    else:
        lines.append(f"Answered: {_shown(exchange.answer, ANSWER_SHOWN)}")
    if exchange.tools:
        lines.append(f"With: {', '.join(exchange.tools)}")
    return "\n".join(lines)


def _shown(text: str, characters: int) -> str:
    return shorten(text.strip().replace(_MARK, "(Source:"), characters)
