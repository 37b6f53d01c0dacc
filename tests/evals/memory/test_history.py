"""The made-up history is the same each time, and each question has one answer."""

from collections import Counter

from tests.evals.memory.history import CHANGED, EXCHANGES, NOW, QUESTIONS, SESSIONS, history


def test_it_is_as_large_as_it_says_and_the_same_each_time() -> None:
    made = history()
    assert made == history()
    assert made != history(1)
    assert len(made.sessions) == SESSIONS
    assert sum(map(len, made.sessions.values())) == EXCHANGES
    assert len(made.questions) == QUESTIONS
    assert len({each.text for each in made.questions}) == QUESTIONS
    moments = [each.asked_at for session in made.sessions.values() for each in session]
    assert moments == sorted(moments)
    assert max(moments) <= NOW


def test_each_question_is_answered_by_one_exchange_or_two_where_that_is_meant() -> None:
    made = history()
    every = [each for session in made.sessions.values() for each in session]
    times = Counter(each.request for each in every)
    assert all(times[each.request] == 1 for each in made.questions)
    answers = {each.answer: each for each in every}
    assert len(made.changed) == CHANGED
    for changed in made.changed:
        newer = answers[changed.newer_answer]
        older = [each for each in every if each.request == newer.request and each != newer]
        assert [each.asked_at < newer.asked_at for each in older] == [True]


def test_no_question_is_its_request() -> None:
    for each in history().questions:
        assert each.text.lower() != each.request.lower()
