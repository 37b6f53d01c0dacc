"""Words: what becomes of any human text, in the index and in a question."""

from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from servers.rag.index.index import Index
from servers.rag.index.words import QUERY_TERMS_MAX, indexed, query_terms
from tests.servers.rag.index.made import found, put

ODD = [
    '"',
    '""',
    '"unfinished',
    "AND OR NOT NEAR(a b, 2)",
    "c0:text",
    "words : x",
    "a* ^b -c +d {e} (f",
    "'; DROP TABLE words; --",
    "\0",
    "\ud800",
    "%_\\",
    "* * *",
    "…—·",
    "💥",
    "\u0301\u0308",
    "ﷺ",
    "NULL",
]


def test_odd_questions_are_no_syntax_errors(index: Index) -> None:
    put(index, "a.md", "nothing of it")
    for query in ODD:
        index.search_words(query, 5)
        index.search_words(query, 5, "a.md")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(query=st.text(max_size=40) | st.text('"*():^-+{}ab 東', max_size=30))
def test_no_question_at_all_is_a_syntax_error(index: Index, query: str) -> None:
    index.search_words(query, 5)


def test_a_question_of_many_words_is_cut() -> None:
    long = " ".join(f"word{number}" for number in range(10_000))
    assert len(query_terms(long)) == QUERY_TERMS_MAX
    (only,) = query_terms("a" * 100_000)
    assert len(only) < 100


def test_stop_words_are_dropped_only_where_others_remain() -> None:
    assert query_terms("What is the Airspeed of a swallow?") == ['"airspeed"', '"swallow"']
    assert query_terms("To be, or not to be") == ['"to"', '"be"', '"or"', '"not"']
    assert query_terms("?!") == []


def test_what_is_quoted_is_a_term_besides_its_words() -> None:
    assert query_terms('the "golden gate" bridge') == [
        '"golden gate"',
        '"golden"',
        '"gate"',
        '"bridge"',
    ]


def test_a_quoted_phrase_lifts_the_text_that_has_it(index: Index) -> None:
    put(index, "a.md", "the gate was golden and old", "past the golden gate we sailed")
    put(index, "b.md", "unrelated words here and there", "something else altogether")
    assert found(index, "“golden gate”")[0] == "past the golden gate we sailed"


def test_case_accents_endings_and_ligatures_do_not_matter(index: Index) -> None:
    put(index, "a.md", "Der Müller fand einen ﬁsh", "ＷＩＤＥ letters", "She was running")
    assert found(index, "muller") == ["Der Müller fand einen ﬁsh"]
    assert found(index, "FISHES") == ["Der Müller fand einen ﬁsh"]
    assert found(index, "wide") == ["ＷＩＤＥ letters"]
    assert found(index, "runs") == ["She was running"]


def test_east_asian_text_is_written_as_pairs() -> None:
    assert indexed("東京都is 大").split() == ["東京", "京都", "都", "is", "大"]
    assert indexed("plain") == "plain"


def test_east_asian_words_are_found_within_sentences(index: Index) -> None:
    put(index, "zh.md", "我们明天去北京大学上课。", "上海的天气很好")
    put(index, "ja.md", "東京タワーは高い", "ｶﾀｶﾅ 水")
    put(index, "ko.md", "대한민국의 수도는 서울이다")
    assert found(index, "北京大学在哪里") == ["我们明天去北京大学上课。"]
    assert found(index, "天气") == ["上海的天气很好"]
    assert found(index, "東京") == ["東京タワーは高い"]
    assert found(index, "カタカナ") == ["ｶﾀｶﾅ 水"]
    assert found(index, "서울") == ["대한민국의 수도는 서울이다"]
    assert found(index, "水") == ["ｶﾀｶﾅ 水"]
    assert found(index, "课") == ["我们明天去北京大学上课。"]


def test_words_with_vowel_signs_stay_whole(index: Index) -> None:
    put(index, "hi.md", "हिन्दी भाषा", "किताब")
    assert found(index, "हिन्दी") == ["हिन्दी भाषा"]


def test_characters_beyond_the_basic_plane_are_found(index: Index) -> None:
    put(index, "a.md", "𠮷野家 is a place")
    assert found(index, "𠮷野") == ["𠮷野家 is a place"]


def test_more_of_the_asked_words_are_better_and_scores_fall(index: Index) -> None:
    put(index, "a.md", "red apples", "green apples", "red bricks", "grey stones", "blue sky")
    put(index, "b.md", "red apples and more red apples", "white clouds", "black cats")
    hits = index.search_words("red apples", 10)
    assert all(hit.score > 0 for hit in hits)
    assert all(one.score >= other.score for one, other in pairwise(hits))
    assert "red" in found(index, "red apples")[0]
    assert "apples" in found(index, "red apples")[0]
    assert len(index.search_words("red apples", 2)) == 2


def test_a_file_can_be_named(index: Index) -> None:
    put(index, "a.md", "red apples")
    put(index, "b.md", "red bricks")
    assert found(index, "red", "b.md") == ["red bricks"]
    assert found(index, "red", "missing.md") == []


def test_only_words_that_few_texts_have_are_rare(index: Index) -> None:
    put(index, "a.md", *(f"common word number {number}" for number in range(40)))
    put(index, "b.md", "common zirconium", "common beryllium place")
    (zirconium,) = index.search_words("zirconium", 5)
    assert zirconium.rare
    assert not any(hit.rare for hit in index.search_words("common", 5))
    assert not any(hit.rare for hit in index.search_words("which place", 5))
    hits = index.search_words("common zirconium", 50)
    assert [hit.rare for hit in hits] == [True] + [False] * 41
