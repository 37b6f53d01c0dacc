"""An exchange goes into a chunk and comes back out of it."""

from hypothesis import given
from hypothesis import strategies as st

from core.base.memory.exchanges import DatedExchange
from core.base.memory.indexed import (
    ANSWER_CHARACTERS_MAX,
    REQUEST_CHARACTERS_MAX,
    PastExchange,
    chunk_headings,
    chunk_text,
    past_exchange,
)

EXCHANGES = st.builds(
    DatedExchange,
    st.floats(allow_nan=False),
    st.text(min_size=1, max_size=50),
    st.none() | st.text(max_size=50),
    st.lists(st.from_regex(r"[a-z_]{1,9}", fullmatch=True), max_size=4).map(tuple),
)


@given(st.builds(PastExchange, st.text(), st.text(), EXCHANGES))
def test_it_comes_back_as_it_was(past: PastExchange) -> None:
    assert past_exchange(chunk_headings(past), chunk_text(past.exchange)) == past


def test_what_is_long_comes_back_cut() -> None:
    past = PastExchange("s", "", DatedExchange(1.0, "r" * 9_000, "a" * 9_000))
    found = past_exchange(chunk_headings(past), chunk_text(past.exchange))
    assert found is not None
    assert found.exchange.request == "r" * REQUEST_CHARACTERS_MAX
    assert found.exchange.answer == "a" * ANSWER_CHARACTERS_MAX


def test_other_chunks_are_no_exchange() -> None:
    assert past_exchange(("Leases", "Notice"), "Six weeks.") is None
    assert past_exchange(("s", "soon", "-1", "", ""), "Six weeks.") is None
