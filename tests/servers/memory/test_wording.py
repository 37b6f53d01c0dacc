"""What the memory tools say."""

from core.base.memory.exchanges import DatedExchange
from core.base.memory.facts import Fact, OlderFact
from core.base.memory.indexed import PastExchange
from servers.memory.ranking import Memory
from servers.memory.wording import NOTHING_FOUND, facts_text, memories_text
from servers.rag.passages import NOTHING_FITS

DAY = 86_400.0


def test_a_memory_has_date_session_request_answer_and_tools() -> None:
    exchange = DatedExchange(
        20_000 * DAY, "is the\nroof red?", "Yes. [Source: a.md, ID: 3]", ("look",)
    )
    text = memories_text([Memory(PastExchange("s-1", "Roofs", exchange), 0.5, 3)], ["by words"])
    note, blank, head, *rest = text.splitlines()
    assert (note, blank) == ("Note: by words", "")
    assert head.startswith("1. 2024-10-0")
    assert head.endswith(', session s-1 "Roofs", asked 3 times (score 0.50)')
    assert rest == [
        "Asked: is the",
        "roof red?",
        "Answered: Yes. (Source: a.md, ID: 3]",
        "With: look",
    ]


def test_an_answer_that_there_was_not_and_long_ones() -> None:
    none = Memory(PastExchange("s", "", DatedExchange(1e300, "x" * 9_000, None)), 1.0)
    text = memories_text([none], [])
    assert "at an unknown time" in text
    assert text.endswith("…\nIt got no answer.")
    assert len(text) < 700


def test_nothing_found_is_said_once() -> None:
    assert memories_text([], [NOTHING_FITS]) == NOTHING_FOUND


def test_facts_come_with_dates_and_what_they_replaced() -> None:
    facts = [
        Fact("aa", "I ski", "ski", 20_000.4 * DAY),
        Fact(
            "bb", "I live in Rome", "home", 20_001.4 * DAY, "", (OlderFact("in Oslo", 1.5 * DAY),)
        ),
    ]
    assert facts_text(facts, (), "none").splitlines() == [
        "- I live in Rome (2024-10-05; before: in Oslo, 1970-01-02) [id bb]",
        "- I ski (2024-10-04) [id aa]",
    ]
    assert facts_text([], ["damaged"], "none") == "Note: damaged\nnone"
