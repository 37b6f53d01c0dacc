"""Thinking is told from the reply wherever the deltas cut the text."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.ports import TextDelta, ThinkingDelta
from modules.models.thinking import BLANKS_MAX, ThinkingSplitter, without_thinking


def split(*pieces: str, opened: bool = False) -> tuple[str, str]:
    """Thinking and text."""
    splitter = ThinkingSplitter(opened=opened)
    deltas = [delta for piece in pieces for delta in splitter.feed(piece)] + splitter.end()
    assert all(delta.text for delta in deltas)
    return (
        "".join(delta.text for delta in deltas if isinstance(delta, ThinkingDelta)),
        "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)),
    )


@pytest.mark.parametrize(
    ("text", "thinking", "reply"),
    [
        ("plain", "", "plain"),
        ("<think>why</think>\n\nso", "why", "so"),
        ("\n <thinking>why</thinking>so", "why", "so"),
        ("<think>a</thinking>b</think>c", "a</thinking>b", "c"),
        ("<think>never ends", "never ends", ""),
        ("<think></think>x", "", "x"),
        ("so <think>no</think>", "", "so <think>no</think>"),
        ("<thin", "", "<thin"),
        ("  <b>x", "", "  <b>x"),
        ("<think>a</thi", "a</thi", ""),
        ("<think>a</think>  b </think> c", "a", "b </think> c"),
        ("", "", ""),
    ],
)
def test_thinking_is_what_stands_between_the_tags_at_the_beginning(
    text: str, thinking: str, reply: str
) -> None:
    assert split(text) == (thinking, reply)
    assert split(*text) == (thinking, reply)


PIECES = st.sampled_from(["<think>", "</think>", "<thinking>", "</thinking>", "<", "th", " ", "a"])


@settings(max_examples=40)
@given(st.lists(PIECES, max_size=12).map("".join), st.lists(st.integers(1, 9), max_size=30))
def test_it_does_not_matter_how_the_text_is_cut(text: str, cuts: list[int]) -> None:
    pieces, rest = list[str](), text
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    assert split(*pieces, rest) == split(text)


def test_a_text_whose_prompt_opened_the_thinking_begins_within_it() -> None:
    assert split("why</th", "ink>so", opened=True) == ("why", "so")


def test_thinking_comes_as_it_is_written() -> None:
    splitter = ThinkingSplitter()
    assert splitter.feed("<think>a") == [ThinkingDelta("a")]
    assert splitter.feed("b") == [ThinkingDelta("b")]


def test_blanks_are_not_waited_through_for_ever() -> None:
    assert ThinkingSplitter().feed(" " * (BLANKS_MAX + 1)) == [TextDelta(" " * (BLANKS_MAX + 1))]


DRAFT = (
    "A guess:\n```python\nasync def solve():\n    return 'FINAL_ANSWER: 99'\n```\nI ask instead.\n"
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<think>", "</think>"),
        ("<THINK>\n", "</THINK>\n"),
        ('<thinking mode="deep">', "</thinking>"),
        ("<thinking>", "</think>"),
        ("<thought>", "</thought>"),
        ("<thoughts>", "</thoughts>"),
        ("<reasoning>", "</reasoning>"),
        ("<reflection>", "</reflection>"),
        ("<scratchpad>", "</scratchpad>"),
        ("<inner_monologue>", "</inner_monologue>"),
        ("<seed:think>", "</seed:think>"),
        ("<longcat_think>", "</longcat_think>"),
        ("[THINK]", "[/THINK]"),
        ("◁think▷", "◁/think▷"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<|channel>thought\n", "<channel|>"),
        ("<unused94>thought\n", "<unused95>"),
        ("Here is my thought process:\n", "Here is my response:\n"),
        ("Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]\n"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        ("<|channel|>commentary<|message|>", "<|end|><|channel|>final<|message|>"),
        ("analysis", "assistantfinal"),
        ("", "</think>"),
        ("", "</thinking>\n"),
        ("", "[/THINK]"),
        ("<think>once<think>more</think>", "</think>"),
        ("Okay.\n<thinking>\n", "</thinking>\n"),
        ("Okay. <think>", "</think>"),
        ("I don't know. <think>", "</think>"),
        ('He said: "<think>', "</think>"),
        ('<think>a "word</think>', '5" of it</think>'),
    ],
)
def test_whatever_marks_thinking_has_none_of_it_is_in_the_reply(before: str, after: str) -> None:
    said, thought = without_thinking(f"{before}{DRAFT}{after}PLAN")
    assert said.endswith("PLAN")
    assert "99" not in said
    assert "99" in thought


@pytest.mark.parametrize("text", [f"{DRAFT}</think>", f"<think>{DRAFT}", f"Okay.\n<think>{DRAFT}"])
def test_a_reply_that_only_thought_says_nothing_of_it(text: str) -> None:
    assert "99" not in without_thinking(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        "no marks",
        "Between `<think>` and `</think>` models think.",
        'async def solve():\n    return "FINAL_ANSWER: use <think>…</think>"',
        "async def solve():\n    return text.split('</think>')[1]",
        'async def solve():\n    return """FINAL_ANSWER:\n<analysis>x</analysis>\n"""',
        'print("<|channel|>analysis<|message|>")',
        "Here is my response: 4",
    ],
)
def test_words_about_marks_are_no_marks(text: str) -> None:
    assert without_thinking(text) == (text, "")


def test_a_call_in_harmonys_form_is_kept_and_one_that_is_only_thought_of_is_not() -> None:
    head = "<|channel|>analysis<|message|>I may call {}<|end|><|start|>assistant"
    call = '<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a": 5}<|call|>'
    assert without_thinking(head + call)[0] == '{"name": "add", "arguments": {"a": 5}}'
    as_role = ' to=functions.add<|channel|>commentary json<|message|>{"a": 5}<|call|>'
    assert without_thinking(head + as_role)[0] == '{"name": "add", "arguments": {"a": 5}}'


@pytest.mark.parametrize(
    "unit",
    ["<|channel|>a\n", "<|channel|>", "<|start|>", "<think", "analysis", '"""<think>', "'<think>"],
)
def test_no_reply_takes_long_however_many_marks_it_has(unit: str) -> None:
    began = time.perf_counter()
    without_thinking(unit * (1_000_000 // len(unit)))
    assert time.perf_counter() - began < 5, "it takes some 0.1 s"


def test_a_reply_full_of_marks_takes_no_time_and_is_all_thinking() -> None:
    text = "<think>\"'</think>" * 50_000
    assert without_thinking(text) == ("", text)
