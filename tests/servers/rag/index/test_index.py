"""Documents and chunks: written whole, changed in part, renamed, removed, read back."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from servers.rag.errors import IndexUnusable
from servers.rag.index.index import Index
from servers.rag.index.text_blocks import BLOCK_CHARACTERS
from servers.rag.passages import Chunk
from servers.reading.source import Extracted
from tests.servers.rag.index.made import FINGERPRINT, cut, entry, found, put


def test_a_document_is_read_back_as_it_was_written(index: Index) -> None:
    extracted = Extracted("# Tea\n\nGreen tea.", "Tea", (0, 7))
    chunk = Chunk("Green tea.", 7, 17, 3, 2, ("Tea", 'of "leaves"'))
    written = replace(entry("a/tea.md", modified_ns=2**62), note="one image without text")
    index.replace_document(written, "abc", extracted, [chunk])
    assert index.entry("a/tea.md") == replace(written, chunks=1, title="Tea")
    assert index.content_hash("a/tea.md") == "abc"
    assert index.text("a/tea.md") == extracted.markdown
    (chunk_id,) = index.chunk_ids("a/tea.md")
    (stored,) = index.chunks([chunk_id, 999])
    assert (stored.file, stored.ordinal, stored.chunk) == ("a/tea.md", 0, chunk)
    assert index.documents() == [index.entry("a/tea.md")]


def test_what_is_not_there_is_none_and_empty(index: Index) -> None:
    assert index.entry("nothing.md") is None
    assert index.text("nothing.md") is None
    assert index.content_hash("nothing.md") is None
    assert index.chunk_ids("nothing.md") == []
    assert index.chunks([1, 2]) == []
    index.remove_document("nothing.md")
    index.rename_document("nothing.md", "something.md", "/something.md", 1)
    assert index.documents() == []


def test_a_new_version_keeps_the_chunks_whose_text_is_the_same(index: Index) -> None:
    one, two, three = put(index, "a.md", "apples are red", "bananas are yellow", "cherries")
    new = put(index, "a.md", "an introduction", "cherries", "apples are red", "bananas are green")
    assert new[1:3] == [three, one]
    assert two not in new
    assert found(index, "bananas") == ["bananas are green"]
    assert found(index, "yellow") == []
    (moved,) = index.chunks([three])
    assert (moved.ordinal, moved.chunk.line, moved.chunk.text) == (1, 3, "cherries")
    (document,) = index.documents()
    assert document.chunks == 4


def test_chunks_with_the_same_text_are_told_apart(index: Index) -> None:
    first = put(index, "a.md", "same", "same", "same")
    assert len({*first}) == 3
    assert put(index, "a.md", "same", "same") == first[:2]
    assert len(index.search_words("same", 10)) == 2


def test_ids_are_never_given_twice(index: Index) -> None:
    (first,) = put(index, "a.md", "apples")
    index.remove_document("a.md")
    (second,) = put(index, "a.md", "apples")
    assert second > first


def test_a_removed_document_leaves_nothing(index: Index) -> None:
    put(index, "a.md", "apples", "bananas")
    put(index, "b.md", "cherries")
    index.remove_document("a.md")
    assert [each.file for each in index.documents()] == ["b.md"]
    assert found(index, "apples bananas cherries") == ["cherries"]
    counts = index.counts()
    assert (counts.documents, counts.chunks, counts.chunks_without_vectors) == (1, 1, 1)
    assert index.check()


def test_a_renamed_document_keeps_its_chunks_and_replaces_the_one_of_that_name(
    index: Index,
) -> None:
    ids = put(index, "a.md", "apples")
    put(index, "b.md", "bananas")
    index.rename_document("a.md", "b.md", "/elsewhere/b.md", 7)
    (only,) = index.documents()
    assert (only.file, only.path, only.modified_ns) == ("b.md", "/elsewhere/b.md", 7)
    assert index.chunk_ids("b.md") == ids
    assert found(index, "apples bananas") == ["apples"]


def test_new_times_are_noted_without_touching_the_text(index: Index) -> None:
    ids = put(index, "a.md", "apples")
    index.rename_document("a.md", "a.md", "/a.md", 9)
    (touched,) = index.documents()
    assert (touched.path, touched.modified_ns) == ("/a.md", 9)
    assert index.chunk_ids("a.md") == ids


def test_a_file_that_fails_loses_its_old_text(index: Index) -> None:
    put(index, "a.pdf", "apples")
    index.replace_document(replace(entry("a.pdf"), status="failed", note="encrypted"), "other")
    (failed,) = index.documents()
    assert (failed.status, failed.note, failed.chunks) == ("failed", "encrypted", 0)
    assert found(index, "apples") == []


def test_names_and_texts_that_are_no_unicode_are_kept_or_replaced(index: Index) -> None:
    odd = replace(entry("caf\udce9.md"), path="/documents/caf\udce9.md", note="\udcff")
    extracted, chunks = cut(["broken \ud800 text", "with a \0 in it"])
    index.replace_document(odd, "hash", extracted, chunks)
    (document,) = index.documents()
    assert (document.file, document.note) == ("caf?.md", "?")
    assert document.path == odd.path
    assert found(index, "broken") == [chunks[0].text]
    assert found(index, "with") == [chunks[1].text]
    index.remove_document("caf\udce9.md")
    assert index.documents() == []


def test_a_passage_far_into_a_long_text_is_found_where_it_is(index: Index) -> None:
    filler = "x" * (BLOCK_CHARACTERS - 5)
    markdown = filler + "needle in the haystack" + filler + filler
    start = len(filler)
    chunk = Chunk(markdown[start : start + 22], start, start + 22, 1)
    last = Chunk(markdown[-3:], len(markdown) - 3, len(markdown), 1)
    index.replace_document(entry("long.txt"), "hash", Extracted(markdown), [chunk, last])
    assert found(index, "needle") == ["needle in the haystack"]
    texts = [each.chunk.text for each in index.chunks(index.chunk_ids("long.txt"))]
    assert texts == ["needle in the haystack", "xxx"]
    assert index.text("long.txt") == markdown


WORDS = st.sampled_from(["apple", "banana", "cherry", "東京都", "ﬁg", "damson 1", ""])
VERSIONS = st.lists(st.lists(st.lists(WORDS, max_size=3).map(" ".join), max_size=5), max_size=4)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(versions=VERSIONS)
def test_after_any_versions_the_words_found_are_those_of_the_last(
    index: Index, versions: list[list[str]]
) -> None:
    index.remove_document("a.md")
    for version in versions:
        put(index, "a.md", *version)
    last = versions[-1] if versions else []
    for word, stem in (("apple", "apple"), ("東京", "東京"), ("fig", "ﬁg"), ("1", "1")):
        expected = sorted(text for text in last if stem in text)
        assert sorted(found(index, word)) == expected
    assert index.counts().chunks == len(last)


def test_all_is_there_when_the_index_is_opened_again(tmp_path: Path) -> None:
    first = Index.open(tmp_path, FINGERPRINT)
    ids = put(first, "a.md", "apples")
    identity = first.identity
    first.close()
    second = Index.open(tmp_path, FINGERPRINT)
    assert (second.chunk_ids("a.md"), second.identity, second.notice) == (ids, identity, "")
    second.close()


def test_a_closed_index_says_so(index: Index) -> None:
    index.close()
    with pytest.raises(IndexUnusable, match="closed"):
        index.documents()
    with pytest.raises(IndexUnusable, match="closed"):
        index.remove_document("a.md")
