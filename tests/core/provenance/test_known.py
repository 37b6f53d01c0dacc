"""What a session trusts of the user's words, whoever asks for it."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from core.provenance.known import Known, ProvenancePolicy
from core.provenance.urls import parse_url

THREADS = 4


def test_those_who_ask_while_another_reads_the_users_words_know_what_stands_in_them() -> None:
    words = " ".join(f"https://a{number}.example/x" for number in range(2_000))
    known, begin = Known(ProvenancePolicy()), Barrier(THREADS)
    last = parse_url("https://a1999.example/x")
    assert last is not None

    def asked(_: int) -> bool:
        begin.wait()
        return known.is_url_known(last)

    known.user_said(words)
    with ThreadPoolExecutor(THREADS) as pool:
        assert all(pool.map(asked, range(THREADS)))


def test_words_that_come_later_are_read_too() -> None:
    known = Known(ProvenancePolicy())
    assert not known.is_address_known("bob@x.example", "bob@x.example")
    known.user_said("write to bob@x.example")
    assert known.is_address_known("bob@x.example", "bob@x.example")


def is_known(known: Known, url: str) -> bool:
    parsed = parse_url(url)
    assert parsed is not None
    return known.is_url_known(parsed)


def test_a_fork_knows_what_was_known_and_keeps_what_it_learns_until_it_is_absorbed() -> None:
    whole = Known(ProvenancePolicy())
    whole.user_said("read https://mine.example/a")
    fork, other = whole.fork(), whole.fork()
    fork.given("- https://found.example/b")
    assert is_known(fork, "https://mine.example/a")
    assert not is_known(other, "https://found.example/b")
    assert not whole.is_tainted
    whole.absorb(fork)
    assert is_known(whole, "https://found.example/b")
    assert whole.is_tainted
    assert not is_known(other, "https://found.example/b")


def test_the_plan_of_one_fork_names_nothing_to_another() -> None:
    whole = Known(ProvenancePolicy())
    fork = whole.fork()
    fork.plan_written("await tools.mail('a@plan.example')")
    assert fork.is_address_known("a@plan.example", "a@plan.example")
    assert not whole.fork().is_address_known("a@plan.example", "a@plan.example")
