"""Replies of OpenAI's protocol, and of all who speak it in their own way, as deltas."""

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ModelUnavailable
from core.ports import (
    FinishReason,
    NativeToolCall,
    ReplyDelta,
    ReplyEnd,
    TextDelta,
    ThinkingDelta,
)
from core.turn import Usage
from core.values import Json, JsonObject
from modules.models.hosted.model import sees_images
from modules.models.hosted.openai_reply import (
    WITHHELD,
    OpenAIReply,
    usage_in,
)
from modules.models.http.errors import ServiceErrors
from modules.models.http.json_text import ARGUMENT_CHARACTERS_MAX
from modules.models.http.reply import ServiceReply
from modules.models.serving.watched import MAX_NATIVE_CALLS
from tests.modules.models.http.chat_server import ADVICE, chunk, counted, whole
from tests.modules.models.http.chat_server import call_piece as piece


def reader() -> OpenAIReply:
    """A reader of a reply whose service says that it is done."""
    errors = ServiceErrors("model x", "http://x", ADVICE, None, 1)
    reply = ServiceReply(httpx2.Response(200), errors)
    reply.is_done = True
    return OpenAIReply(reply)


def read(*documents: JsonObject) -> list[ReplyDelta]:
    """The deltas of a reply that came in these documents, but for its end."""
    reply = reader()
    deltas = [delta for document in documents for delta in reply.feed(document)]
    *rest, end = reply.end()
    assert isinstance(end, ReplyEnd)
    return [*deltas, *rest]


def end_of(*documents: JsonObject) -> ReplyEnd:
    """How it ends."""
    reply = reader()
    for document in documents:
        reply.feed(document)
    *_, end = reply.end()
    assert isinstance(end, ReplyEnd)
    return end


@pytest.mark.parametrize(
    ("delta", "thought"),
    [
        ({"reasoning_content": "hm"}, "hm"),
        ({"reasoning": "hm"}, "hm"),
        ({"reasoning": "hm", "reasoning_content": "hm"}, "hm"),
        ({"content": "<think>hm</think>"}, "hm"),
        (
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
            "hm",
        ),
    ],
)
def test_thinking_is_kept_apart_in_every_form(delta: JsonObject, thought: str) -> None:
    expected = [ThinkingDelta(thought), TextDelta("so")]
    choices: list[Json] = [{"delta": delta}]
    assert read({"choices": choices}, chunk(content="so")) == expected


def test_content_may_come_in_parts() -> None:
    parts: list[Json] = [{"type": "text", "text": "a"}, {"type": "odd"}, 5, {"type": "text"}]
    assert read(chunk(content=parts)) == [TextDelta("a")]


def test_tool_calls_are_put_together_by_index() -> None:
    assert read(
        piece("math.add", "", id="call_1"),
        piece(None, '{"a": 1,'),
        piece("search", '{"q"', index=1),
        piece(None, ' "b": 2}'),
        piece(None, ': "x"}', index=1),
    ) == [
        NativeToolCall("math.add", {"a": 1, "b": 2}),
        NativeToolCall("search", {"q": "x"}),
    ]


def test_tool_calls_without_an_index_follow_each_other() -> None:
    assert read(
        piece("a", '{"x"', index=None),
        piece(None, ": 1}", index=None),
        piece("b", {"y": 2}, index=None),
        piece("c", None, index=None),
    ) == [NativeToolCall("a", {"x": 1}), NativeToolCall("b", {"y": 2}), NativeToolCall("c", {})]


def test_arguments_that_were_quoted_once_more_are_read_and_others_come_as_text() -> None:
    assert read(piece("a", '"{\\"x\\": 1}"')) == [NativeToolCall("a", {"x": 1})]
    assert read(piece("a", '{"x": ')) == [TextDelta('a{"x": ')]
    assert read(piece("a", "[1]")) == [TextDelta("a[1]")]


def test_tool_calls_are_bounded_in_number_and_size() -> None:
    calls = [piece(f"t{n}", "{}", index=n) for n in range(MAX_NATIVE_CALLS + 5)]
    assert len(read(*calls)) == MAX_NATIVE_CALLS
    long = "x" * (ARGUMENT_CHARACTERS_MAX // 2 + 1)
    assert read(piece("a", long), piece(None, long)) == [TextDelta("a" + long)]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        *[(reason, "length") for reason in ("length", "MAX_TOKENS", "model_length")],
        *[(reason, "refused") for reason in ("content_filter", "sensitive")],
        *[(reason, "stop") for reason in ("stop", "tool_calls", "function_call", "eos")],
    ],
)
def test_why_a_reply_ended_is_known(reason: str, finish: FinishReason) -> None:
    assert end_of(chunk(content="a"), chunk(reason)).finish == finish


@pytest.mark.parametrize(
    "reason", ["error", "ERROR", "network_error", "insufficient_system_resource", "abort"]
)
def test_a_reply_that_its_service_broke_off_is_none(reason: str) -> None:
    reply = reader()
    reply.feed(chunk(content="async def solve():"))
    with pytest.raises(ModelUnavailable, match=f"stopped it .finish_reason {reason.lower()}") as it:
        reply.feed(chunk(reason))
    assert it.value.transient


@pytest.mark.parametrize("document", [{"id": "1", "choices": []}, {"hello": 1}, counted()])
def test_what_holds_no_choice_is_no_reply(document: JsonObject) -> None:
    reply = reader()
    reply.feed(document)
    with pytest.raises(ModelUnavailable, match="can't be read"):
        list(reply.end())


def test_a_whole_body_is_over_though_nobody_says_why() -> None:
    reply = reader()
    reply.reply.is_done = False
    body = whole("Hello")
    assert isinstance(body["choices"], list)
    body["choices"] = [{"message": {"content": "Hello"}}]
    assert reply.feed(body) == [TextDelta("Hello")]
    *_, end = reply.end()
    assert end == ReplyEnd(Usage(1, 9, 3))


@pytest.mark.parametrize(
    "content",
    [
        "a",
        {"type": "text", "text": "a"},
        {"text": "a"},
        [{"type": "output_text", "text": "a"}],
        [{"type": "text", "text": {"value": "a", "annotations": []}}],
        [{"text": "a"}],
        ["a"],
        [{"type": "reasoning", "text": "hm"}, {"type": "output_text", "text": "a"}],
    ],
)
def test_content_is_read_in_every_form(content: Json) -> None:
    assert [one for one in read(chunk(content=content)) if isinstance(one, TextDelta)] == [
        TextDelta("a")
    ]


def test_content_that_is_an_object_is_the_reply_as_json() -> None:
    assert read(chunk(content={"action": "final", "answer": "a"})) == [
        TextDelta('{"action":"final","answer":"a"}')
    ]


def test_the_text_of_a_completion_that_is_no_chat_is_read() -> None:
    assert read({"choices": [{"text": "a", "finish_reason": "stop"}]}) == [TextDelta("a")]


def test_the_old_function_call_is_a_call() -> None:
    assert read(
        chunk(function_call={"name": "add", "arguments": '{"a": 5,'}),
        chunk(function_call={"arguments": ' "b": 7}'}),
    ) == [NativeToolCall("add", {"a": 5, "b": 7})]


def test_a_refusal_is_text_that_declines() -> None:
    documents = (chunk(refusal="I can"), chunk(refusal="not."), chunk("stop"))
    assert read(*documents) == [TextDelta("I can"), TextDelta("not.")]
    assert end_of(*documents).finish == "refused"


def test_a_reply_that_was_withheld_says_so() -> None:
    assert read(chunk("content_filter")) == [TextDelta(WITHHELD)]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 3}, Usage(1, 9, 3)),
        (
            {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}},
            Usage(1, 9, cached_tokens=4),
        ),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}, Usage(1, 9, cached_tokens=4)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 40}, Usage(1, 9, cached_tokens=9)),
        (
            {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 112},
            Usage(1, 9, 103),
        ),
        ({"prompt_tokens": True, "completion_tokens": -3, "total_tokens": "x"}, Usage(1)),
        ({"prompt_tokens": 10**18, "completion_tokens": 1.5}, Usage(1)),
        ({"prompt_tokens_details": []}, Usage(1)),
    ],
)
def test_tokens_are_counted_as_they_are_billed(usage: JsonObject, expected: Usage) -> None:
    assert usage_in(usage) == expected
    assert end_of(chunk("stop", content="a"), counted(**usage)).usage == expected


def test_a_reply_without_a_count_took_one_call() -> None:
    assert end_of(chunk("stop"), {"usage": None}).usage == Usage(1)


def test_a_whole_body_is_read_like_a_stream_of_one() -> None:
    call: JsonObject = {"id": "1", "type": "function"}
    call["function"] = {"name": "add", "arguments": '{"a": 1}'}
    assert read(whole("yes", tool_calls=[call])) == [
        TextDelta("yes"),
        NativeToolCall("add", {"a": 1}),
    ]
    assert read(whole(None)) == []


NAMES = [
    "choices",
    "delta",
    "message",
    "content",
    "type",
    "text",
    "thinking",
    "reasoning",
    "tool_calls",
    "index",
    "function",
    "name",
    "arguments",
    "finish_reason",
    "usage",
    "prompt_tokens",
    "refusal",
    "prompt_tokens_details",
    "cached_tokens",
]
JUNK: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(NAMES),
            inner,
            max_size=4,
        )
    ),
    max_leaves=6,
)


@settings(max_examples=20)
@given(st.lists(st.dictionaries(st.sampled_from(["delta", "message", "finish_reason"]), JUNK)))
def test_nothing_of_the_wrong_type_breaks_the_reading(choices: list[JsonObject]) -> None:
    for choice in choices:
        beside: list[Json] = [choice]
        read({"choices": beside, "usage": choice.get("delta")})


@settings(max_examples=20)
@given(st.lists(JUNK, max_size=4))
def test_no_tool_calls_of_the_wrong_type_break_the_reading(pieces: list[Json]) -> None:
    read(chunk(tool_calls=pieces), chunk(tool_calls=[{"function": part} for part in pieces]))


SEEING = [
    "gpt-4o-mini",
    "gpt-4.1",
    "gpt-5.1",
    "o1",
    "o3",
    "o4-mini",
    "openai/gpt-5-mini",
    "llava:7b",
    "anthropic/claude-sonnet-5",
    "google/gemini-3-pro",
    "gemma3:4b",
    "gemma-3-27b-it",
    "qwen2.5vl:7b",
    "Qwen/Qwen3-VL-8B-Instruct",
    "pixtral-12b",
    "llama3.2-vision",
    "meta-llama/Llama-4-Scout-17B",
    "moondream",
    "minicpm-v:8b",
    "phi-3.5-vision-instruct",
]

BLIND = [
    "gpt-3.5-turbo",
    "gpt-4",
    "gpt-4-0613",
    "o1-mini",
    "o1-preview",
    "o3-mini",
    "gpt-oss:20b",
    "llama3.2:3b",
    "deepseek-r1:8b",
    "qwen2.5-coder-1.5b",
    "gemma3:1b",
    "gemma-3-270m-it",
    "gemma2:9b",
    "mistral-7b",
    "phi-4",
    "solo3",
    "turbo1",
    "gpt-4o-audio-preview",
]


@pytest.mark.parametrize(("name", "sees"), [(n, n in SEEING) for n in SEEING + BLIND])
def test_models_that_see_are_known_by_name(name: str, sees: bool) -> None:
    assert sees_images(name) is sees
