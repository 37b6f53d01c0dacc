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
