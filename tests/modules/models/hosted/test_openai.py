"""The backend for OpenAI's protocol against a real server on loopback: what it sends and reads."""

import json
from dataclasses import replace

import pytest

from config.models_file import ModelEntry
from core.errors import ModelUnavailable
from core.ports import ImageInput, ModelRequest
from core.turn import Usage
from core.values import Json, JsonObject
from modules.models.hosted.model import HostedModel
from tests.modules.models.http.chat_server import KEY, asked, chunk, streams, talking, text, whole
from tests.modules.models.service import Exchange, Handler, refuses, sends

REQUEST = ModelRequest("decision", "You plan.\nAdd 1 and 2.", prefix_characters=10)


async def failure(handler: Handler) -> ModelUnavailable:
    """The failure of a request that a handler answers."""
    async with talking(handler) as (_, model):
        with pytest.raises(ModelUnavailable) as caught:
            await asked(model, REQUEST)
    assert str(caught.value).startswith("model openai:test-model ")
    return caught.value


async def test_a_prompt_goes_out_with_its_stable_part_first() -> None:
    async with talking(max_output_tokens=50) as (server, model):
        assert (await asked(model, REQUEST)).text == "Hello"
        assert [seen.path for seen in server.seen] == ["/v1/chat/completions"]
        assert server.seen[-1].headers["authorization"] == f"Bearer {KEY.value}"
        assert server.bodies == [
            {
                "model": "test-model",
                "messages": [
                    {"role": "system", "content": "You plan.\n"},
                    {"role": "user", "content": "Add 1 and 2."},
                ],
                "stream": True,
                "stream_options": {"include_usage": True},
                "temperature": 0.0,
                "max_tokens": 50,
            }
        ]


async def test_a_prompt_without_a_stable_part_is_the_users_and_a_server_may_want_no_key() -> None:
    async with talking(key=None, thinking="low") as (server, model):
        bounded = ModelRequest("text", "Hi", max_output_tokens=20, hard_output_tokens=9)
        await asked(model, replace(bounded, temperature=0.5, seed=7))
        assert server.bodies[0]["messages"] == [{"role": "user", "content": "Hi"}]
        assert server.bodies[0]["max_tokens"] == 9
        assert (server.bodies[0]["temperature"], server.bodies[0]["seed"]) == (0.5, 7)
        assert server.bodies[0]["reasoning_effort"] == "low"
        assert "authorization" not in server.seen[-1].headers


async def test_images_go_as_data_urls_behind_the_text() -> None:
    image = ImageInput("a.png", "image/png", b"\x89PNG")
    async with talking() as (server, model):
        await asked(model, ModelRequest("text", "What is it?", images=(image,)))
        assert server.bodies[0]["messages"] == [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is it?"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
                ],
            }
        ]


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8"])
async def test_a_server_that_does_not_stream_is_understood(kind: str) -> None:
    body = json.dumps(whole("<think>well</think>\nyes", reasoning_content="hm, ")).encode()
    async with talking(sends(body, kind)) as (_, model):
        reply = await asked(model, REQUEST)
    assert (reply.thinking, reply.text) == ("hm, well", "yes")
    assert reply.usage == Usage(1, 9, 3)


async def test_a_stream_that_ends_without_done_is_whole_once_it_said_why() -> None:
    events = "".join(f"data: {json.dumps(value)}\n\n" for value in text("a"))
    async with talking(sends(events)) as (_, model):
        assert (await asked(model, REQUEST)).text == "a"


async def test_a_stream_that_said_done_is_whole_without_a_reason() -> None:
    async with talking(streams(chunk(content="a"))) as (_, model):
        assert (await asked(model, REQUEST)).text == "a"


async def test_bytes_that_are_no_utf_8_and_numbers_that_are_none_cost_no_reply() -> None:
    events = (
        b'data: {"choices": [{"delta": {"content": "a\xff"}, "logprobs": NaN}]}\n\n'
        b'data: {"choices": [{"delta": {"content": "\\ud83d"}, "finish_reason": "stop"}]}\n\n'
        b'data: {"choices": [], "usage": {"prompt_tokens": 1e999}}\n\n'
    )
    async with talking(sends(events)) as (_, model):
        reply = await asked(model, REQUEST)
    assert reply.text == "a\N{REPLACEMENT CHARACTER}?"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (b"\\ud83d", b"\\ude00"),
        (b"\xf0\x9f\x98", b"\x80"),
        (b"\xf0\x9f", b"\x98\x80"),
        (b"\xf0", b"\x9f\x98\x80"),
    ],
)
async def test_two_halves_of_an_emoji_in_two_events_are_one_character(
    first: bytes, second: bytes
) -> None:
    events = (
        b'data: {"choices": [{"delta": {"content": "a' + first + b'"}}]}\n\n'
        b'data: {"choices": [{"delta": {"content": "'
        + second
        + b' b"}, "finish_reason": "stop"}]}\n\n'
    )
    async with talking(sends(events)) as (_, model):
        assert (await asked(model, REQUEST)).text == "a\N{GRINNING FACE} b"


async def test_tokens_that_a_stream_does_not_tell_are_estimated_and_said_to_be() -> None:
    events = b'data: {"choices": [{"delta": {"content": "Hello!"}, "finish_reason": "stop"}]}\n\n'
    async with talking(sends(events)) as (_, model):
        usage = (await asked(model, REQUEST)).usage
    assert usage == Usage(1, input_tokens=6, output_tokens=2, estimated_calls=1)


async def test_a_reply_that_ends_with_the_services_error_is_no_reply() -> None:
    failed = await failure(streams(chunk(content="async def solve():\n    ret"), chunk("error")))
    assert "the service stopped it (finish_reason error)" in str(failed)
    assert failed.transient


async def test_an_error_within_a_choice_is_a_failure() -> None:
    choice: JsonObject = {"delta": {}, "error": {"message": "Behind", "code": 500}}
    failed = await failure(streams(chunk(content="a"), {"choices": [choice]}))
    assert "Behind" in str(failed)
    assert failed.transient


@pytest.mark.parametrize(
    ("handler", "transient", "says"),
    [
        (sends("data: [1, 2]\n\n"), False, "can't be read ([1, 2])"),
        (sends('{"ok": true}', "application/json"), False, 'can\'t be read ({"ok": true})'),
        (sends('{"error": {"message": "No", "code": 503}}', "application/json"), True, "No"),
        (refuses(404), False, "which mostly ends in /v1"),
    ],
    ids=range(4),
)
async def test_what_is_no_reply_says_what_to_do(
    handler: Handler, transient: bool, says: str
) -> None:
    failed = await failure(handler)
    assert says in str(failed)
    assert failed.transient is transient


SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
FORMS: list[Json] = [
    {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}},
    {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA}},
    {"type": "json_object", "schema": SCHEMA},
    None,
]


async def test_a_schema_is_sent_in_weaker_forms_until_one_is_taken_and_that_is_kept() -> None:
    refused = refuses(400, param="response_format")
    async with talking(refused, refused, refused, streams(*text("{}"))) as (server, model):
        request = ModelRequest("text", "Hi", schema=SCHEMA)
        assert (await asked(model, request)).text == "{}"
        assert [body.get("response_format") for body in server.bodies] == FORMS
        await asked(model, request)
        assert len(server.bodies) == 5


LLAMA_CPP_SERVER: JsonObject = {
    "error": {
        "message": "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', "
        "'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\"}",
        "type": "internal_server_error",
        "param": None,
        "code": None,
    }
}
"""What llama_cpp.server 0.3.36 says, with HTTP 500."""


async def test_llama_cpp_server_gets_the_form_that_it_knows() -> None:
    refused = refuses(500, LLAMA_CPP_SERVER)
    async with talking(refused, refused, streams(*text("{}"))) as (server, model):
        await asked(model, ModelRequest("text", "Hi", schema=SCHEMA))
        assert server.bodies[-1]["response_format"] == FORMS[2]


@pytest.mark.parametrize(
    ("refused", "without"),
    [
        (refuses(400, param="temperature", code="unsupported_value"), "temperature"),
        (refuses(400, {"error": "temperature is not supported"}), "temperature"),
        (refuses(400, param="stream_options"), "stream_options"),
        (
            refuses(422, {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs"}]}),
            "stream_options",
        ),
        (refuses(400, param="reasoning_effort"), "reasoning_effort"),
        (refuses(400, param="reasoning.effort"), "reasoning_effort"),
    ],
)
async def test_a_parameter_that_is_refused_is_left_out_from_then_on(
    refused: Handler, without: str
) -> None:
    async with talking(refused, streams(*text("Hello")), thinking="high") as (server, model):
        assert (await asked(model, REQUEST)).text == "Hello"
        await asked(model, REQUEST)
        first, second, third = server.bodies
        assert without in first
        assert second == third == {k: v for k, v in first.items() if k != without}


async def test_the_bound_on_tokens_has_two_names() -> None:
    refused = refuses(400, {"error": "Use 'max_completion_tokens' instead of 'max_tokens'."})
    async with talking(refused, streams(*text("Hello")), max_output_tokens=70) as (server, model):
        await asked(model, REQUEST)
        assert server.bodies[0]["max_tokens"] == 70
        assert "max_tokens" not in server.bodies[1]
        assert server.bodies[1]["max_completion_tokens"] == 70


async def test_a_request_that_is_too_long_does_not_cost_later_ones_their_bound() -> None:
    told = "max_tokens is too large: this model's maximum context length is 4096 tokens"
    plays = (refuses(400, {"error": told}), streams(*text("Hello")))
    async with talking(*plays, max_output_tokens=70) as (server, model):
        for _ in range(2):
            assert (await asked(model, REQUEST)).text == "Hello"
        assert server.bodies[2] == server.bodies[0]


async def test_thinking_that_can_not_be_put_off_is_made_short() -> None:
    refused = refuses(400, param="reasoning_effort")
    async with talking(refused, refused, streams(*text("Hello")), thinking="off") as (
        server,
        model,
    ):
        await asked(model, REQUEST)
        efforts = [body.get("reasoning_effort") for body in server.bodies]
        assert efforts == ["none", "minimal", None]


async def test_a_model_that_may_not_be_streamed_answers_in_one_piece() -> None:
    body = json.dumps(whole("yes")).encode()
    play = (refuses(400, param="stream"), sends(body, "application/json"))
    async with talking(*play) as (server, model):
        assert (await asked(model, REQUEST)).text == "yes"
        assert not {"stream", "stream_options"} & server.bodies[1].keys()


async def test_a_model_without_a_system_role_gets_one_message() -> None:
    refused = refuses(400, {"error": {"message": "System role not supported"}})
    async with talking(refused, streams(*text("x"))) as (server, model):
        await asked(model, REQUEST)
        assert server.bodies[1]["messages"] == [{"role": "user", "content": REQUEST.prompt}]


@pytest.mark.parametrize(
    "refused",
    [
        refuses(400),
        refuses(400, param="messages"),
        refuses(400, {"error": "Error while reading the stream"}),
        refuses(400, {"error": "The system role is not ours"}),
        refuses(500, {"error": "temperature of the machine is too high"}),
        refuses(404, param="temperature"),
    ],
    ids=range(6),
)
async def test_a_refusal_that_names_no_parameter_is_not_asked_again(refused: Handler) -> None:
    async with talking(refused) as (server, model):
        with pytest.raises(ModelUnavailable):
            await asked(model, ModelRequest("text", "without a stable part"))
        assert len(server.bodies) == 1


async def test_a_server_that_refuses_everything_is_given_up() -> None:
    async def play(exchange: Exchange) -> None:
        names = list(exchange.body)
        await exchange.json({"error": " ".join(f"'{name}'" for name in names)}, 400)

    async with talking(play, thinking="off", max_output_tokens=99) as (server, model):
        with pytest.raises(ModelUnavailable, match="HTTP 400"):
            await asked(model, ModelRequest("text", "Hi", schema=SCHEMA))
    assert server.bodies[-1].keys() == {"model", "messages", "stream"}


def test_the_key_shows_in_no_repr_and_openai_wants_its_own_name_for_the_bound() -> None:
    model = HostedModel(ModelEntry(type="openai", model="gpt-5.1", context_tokens=4096), KEY)
    assert repr(model) == "HostedModel(openai:gpt-5.1)"
    assert model.name == "openai:gpt-5.1"
    assert model.traits.images
    assert model.traits.context_tokens == 4096


def test_an_entry_knows_better_than_the_name_whether_images_are_seen() -> None:
    entry = ModelEntry(type="openai", model="llava:7b", images=False)
    assert not HostedModel(entry, None).traits.images
