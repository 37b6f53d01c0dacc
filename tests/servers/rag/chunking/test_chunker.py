"""Chunks: what they keep of any text, and how they follow the structure of a markdown one."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servers.rag.chunking.blocks import Block, markdown_blocks
from servers.rag.chunking.chunker import CHUNK_TOKENS_MAX, CHUNK_WORDS, chunk_document
from servers.rag.passages import Chunk
from servers.reading.source import Extracted
from tests.servers.rag.chunking.chunk_checks import assert_sound

SENTENCE = "The quick brown fox jumps over the lazy dog near the old river bank today. "
"""15 tokens of one sentence."""

FRAGMENTS = (
    *("# One\n", "## Two\n\n", "###### Six\r\n", "Title\n=====\n", "Sub\n---\n", "#\n", "#no\n"),
    *(
        "A sentence. ",
        "Und noch ein Satz! ",
        "e.g. this ",
        "长江是中国最长的河流。",
        "한국어 문장 ",
    ),
    *("- item\n", "  - nested\n", "1. first\n", "2) second\n", "* * *\n", "---\n", "> quoted\n"),
    *("| a | b |\n", "|---|---|\n", "a | b\n", "```\n", "```py\ncode()\n", "~~~\n", "    code\n"),
    *(
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        " ",
        "\t",
        "\x00",
        "\x0c",
        "\u2028",
        "\u00a0",
        " " * 150,
        "\ufeff",
    ),
    *(
        "word " * 30,
        "x" * 130,
        "é" * 40,
        "1234567890" * 3,
        "……",
        "?!?!?!?!",
        "中" * 60,
        "βeta",
        "한" * 9,
    ),
)


def chunks_of(text: str, tokens_max: int = CHUNK_TOKENS_MAX) -> list[Chunk]:
    extracted = Extracted(text)
    chunks = chunk_document(extracted, tokens_max=tokens_max)
    assert_sound(extracted, chunks, tokens_max)
    return chunks


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=8), max_size=25).map("".join),
    st.integers(5, 60),
    st.integers(8, 60),
    st.lists(st.integers(0, 400), max_size=4).map(sorted),
)
def test_whatever_the_text_nothing_is_lost_moved_or_over_the_limit(
    text: str, words: int, tokens_max: int, breaks: list[int]
) -> None:
    extracted = Extracted(text, page_starts=(0, *breaks))

    chunks = chunk_document(extracted, words=words, tokens_max=tokens_max, topics=breaks)

    assert_sound(extracted, chunks, tokens_max)
    for topic in map(partial(_topic_start, list(markdown_blocks(text))), breaks):
        assert all(chunk.start >= topic or chunk.end <= topic for chunk in chunks)


def _topic_start(blocks: list[Block], offset: int) -> int:
    """A topic that begins inside a heading begins with it."""
    inside = (b.start for b in blocks if b.kind == "heading" and b.start < offset < b.end)
    return next(inside, offset)


@pytest.mark.parametrize("text", ["", "\n", " \t\r\n\x0c\u2028" * 1000])
def test_a_blank_document_has_no_chunks(text: str) -> None:
    assert chunks_of(text) == []


def test_a_short_document_is_one_chunk_as_it_stands() -> None:
    text = "# Title\n\nA line.\n\n- an item\n- another\n\nThe end.\n"

    (chunk,) = chunks_of(text)

    assert chunk == Chunk(text.rstrip(), 0, len(text) - 1, 1, None, ("Title",))


def test_a_heading_begins_a_chunk_and_its_path_is_kept_beside() -> None:
    body = SENTENCE * 6
    heads = ("# Guide", "## **Set** [up](x.md) ##", "### Linux", "## Use")
    text = "\n\n".join(f"{head}\n\n{body}" for head in heads)

    found = [(chunk.text.splitlines()[0], chunk.headings) for chunk in chunks_of(text)]

    assert found == [
        ("# Guide", ("Guide",)),
        ("## **Set** [up](x.md) ##", ("Guide", "Set up")),
        ("### Linux", ("Guide", "Set up", "Linux")),
        ("## Use", ("Guide", "Use")),
    ]


def test_a_tiny_section_is_joined_to_what_lies_below_but_never_to_another_part() -> None:
    text = f"# A\n\nTiny.\n\n## B\n\n{SENTENCE * 6}\n\n### C\n\nTiny.\n\n## D\n\n{SENTENCE * 6}"

    found = [chunk.headings for chunk in chunks_of(text)]

    assert found == [("A",), ("A", "B", "C"), ("A", "D")]


def test_paragraphs_that_fit_are_not_cut() -> None:
    paragraphs = [
        SENTENCE.strip() + f" {'More of it here. ' * n}".rstrip() for n in range(1, 40, 3)
    ]

    chunks = chunks_of("\n\n".join(paragraphs))

    assert [part for chunk in chunks for part in chunk.text.split("\n\n")] == paragraphs


def test_a_long_paragraph_is_cut_between_sentences_into_like_parts() -> None:
    chunks = chunks_of(SENTENCE * 40)

    assert all(chunk.text.endswith("today.") for chunk in chunks)
    sizes = [len(chunk.text) for chunk in chunks]
    assert max(sizes) - min(sizes) <= 4 * len(SENTENCE)


@pytest.mark.parametrize(
    "sentence",
    [
        "Dr. Smith et al. saw the effect of e.g. water in Fig. 3 of the U.S. study by J. Doe. ",
        "他说：「长江是中国最长的河流！」然后他就走了。",
        "¿Qué dice usted? ",
        'He said "stop it now." ',
        "यह एक वाक्य है। ",
    ],
)
def test_sentences_end_where_they_end(sentence: str) -> None:
    chunks = chunks_of(sentence * 30, tokens_max=60)

    assert len(chunks) > 2
    assert all(len(chunk.text.replace(sentence.strip(), "").strip()) == 0 for chunk in chunks)


def test_text_without_any_seam_is_cut_at_words_then_at_characters() -> None:
    words = chunks_of("alpha beta gamma " * 400)
    characters = chunks_of("中" * 600 + "x" * 5000)

    assert {word for chunk in words for word in chunk.text.split()} == {"alpha", "beta", "gamma"}
    assert [len(chunk.text) for chunk in characters[:2]] == [250, 250]


def test_a_long_table_is_cut_between_rows_and_its_head_stays_with_the_first() -> None:
    rows = [f"| {number} | {SENTENCE.strip()} |" for number in range(40)]
    text = "\n".join(["A table:", "", "| no | what |", "| --- | --- |", *rows])

    chunks = chunks_of(text)

    assert chunks[0].text.startswith("A table:\n\n| no | what |\n| --- | --- |\n| 0 |")
    found = [line for chunk in chunks for line in chunk.text.splitlines()[-1:]]
    assert all(line in rows for line in found)


def test_code_is_kept_whole_or_cut_between_lines_with_its_indentation() -> None:
    lines = [f"    value_{number} = compute(value_{number})" for number in range(60)]
    small = "```python\ndef f():\n\n    # no heading\n    return 1\n```"
    text = f"{SENTENCE * 12}\n\n{small}\n\n```\n" + "\n".join(lines) + "\n```\n"

    chunks = chunks_of(text)

    assert sum(small in chunk.text for chunk in chunks) == 1
    assert all(chunk.headings == () for chunk in chunks)
    assert all(chunk.text.startswith("    value_") for chunk in chunks[-2:])


def test_a_list_is_cut_between_its_items() -> None:
    items = [f"{number}. {SENTENCE.strip()}\n   and more of it." for number in range(30)]

    chunks = chunks_of("\n".join(items))

    assert all(chunk.text[0].isdigit() and chunk.text.endswith("more of it.") for chunk in chunks)


def test_what_introduces_a_block_and_its_heading_stay_with_it() -> None:
    text = f"{SENTENCE * 9}\n\n## Steps\n\nDo this:\n\n" + "\n".join(
        f"- {SENTENCE}" for _ in range(30)
    )

    steps = next(chunk for chunk in chunks_of(text) if "## Steps" in chunk.text)

    assert steps.text.startswith("## Steps\n\nDo this:\n\n- The quick")


def test_lines_and_pages_tell_where_a_chunk_begins() -> None:
    pages = [f"# Page {number}\r\n\r\n{SENTENCE * 10}\r\n\r\n" for number in range(1, 4)]
    starts = tuple(sum(map(len, pages[:number])) for number in range(3))
    extracted = Extracted("".join(pages), page_starts=starts)

    chunks = chunk_document(extracted)

    assert [(chunk.line, chunk.page) for chunk in chunks] == [(1, 1), (5, 2), (9, 3)]


def test_lines_are_the_files_own_where_a_fence_was_put_before_its_first() -> None:
    code = [f"def f{number}():\n" + "    work()\n" * 30 for number in range(8)]
    extracted = Extracted(f"```python\n{''.join(code)}```\n", first_line=0)

    chunks = chunk_document(extracted)

    assert [chunk.line for chunk in chunks if chunk.text.startswith("def f6")] == [6 * 31 + 1]
    assert chunks[0].line == 1


@pytest.mark.parametrize(
    "text",
    [
        "x" * 100_000,
        "word " * 15_000,
        "a\n" * 15_000,
        "a\n\n" * 6_000,
        "\r\n" * 60_000 + "x",
        "\x00" * 15_000,
        ">" * 10_000,
        "# a\n" * 3_000,
        "|" * 10_000 + "\n|-|\n",
        "- " * 10_000,
        "[" * 15_000,
        "\n".join(" " * depth + "- a" for depth in range(500)),
        "x" + " " * 300_000 + "y",
        "。" * 10_000,
        "." * 15_000,
    ],
    ids=lambda text: repr(text[:6]),
)
def test_texts_made_to_hurt_are_cut_all_the_same(text: str) -> None:
    chunks_of(text)


@pytest.mark.parametrize(("words", "tokens_max"), [(0, CHUNK_TOKENS_MAX), (CHUNK_WORDS, 7)])
def test_limits_that_leave_no_room_are_refused(words: int, tokens_max: int) -> None:
    with pytest.raises(ValueError, match=r"0 words|7 tokens is too low"):
        chunk_document(Extracted("text"), words=words, tokens_max=tokens_max)
