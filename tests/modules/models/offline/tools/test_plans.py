"""The offline planner with tools of any server: ranking, arguments, doubts, second tries."""

import json

import pytest

from core.ports import ModelRequest, PerceptionInputs
from core.tools.catalog import ToolCatalog
from core.turn import Attempt, Plan, PlanFailure, ToolCall
from core.values import JsonObject
from modules.models.offline.planner import OfflineModel
from modules.models.serving.watched import collect_reply
from tests.modules.models.offline.plans import (
    INTEGER,
    MATH_TOOLS,
    NUMBER,
    TEXT,
    Bench,
    echo,
    offline_reply,
    plain,
    wrapped,
)

WEB = plain(
    "web",
    "duckduckgo_search_results",
    "Search the web with DuckDuckGo and list the results.",
    {"query": TEXT, "max_results": INTEGER},
    ["query"],
    read_only=True,
)
DOCUMENTS = plain(
    "documents",
    "search_stored_documents",
    "Search the user's stored documents for passages.",
    {"query": TEXT},
    ["query"],
    read_only=True,
)
HTML = plain(
    "web",
    "download_raw_html_from_url",
    "Download the HTML of a web page.",
    {"url": TEXT},
    ["url"],
    read_only=True,
)
NOTE = plain(
    "notes",
    "create-note",
    "Write a note into a notebook.",
    {
        "title": TEXT,
        "body": TEXT,
        "color": {"type": "string", "enum": ["red", "green", "blue"]},
        "pinned": {"type": "boolean"},
    },
    ["title", "body"],
)
LIGHT = plain(
    "home",
    "set_light_level",
    "Set the brightness of the lights in a room.",
    {"room": {"enum": ["kitchen", "hall"]}, "level": INTEGER},
    ["room", "level"],
)
MEDIAN = plain(
    "stats",
    "median_value",
    "Compute the median of numbers.",
    {"values": {"type": "array", "items": NUMBER}},
    ["values"],
)

TOOLS = (*MATH_TOOLS, WEB, DOCUMENTS, HTML, NOTE, LIGHT, MEDIAN)


def bench() -> Bench:
    return Bench(TOOLS, {tool.name: echo for tool in TOOLS})


@pytest.mark.parametrize("filler", [" ", ", .", " please", "!?"])
async def test_endings_by_the_hundred_are_read_in_no_time(filler: str) -> None:
    """Forty spaces before a word once took longer than anybody waits: a regex that backtracked."""
    request_text = f"search my documents for x{filler * 300}y"[:2_000]
    perceived = ModelRequest(
        "perception",
        "",
        PerceptionInputs(request_text, {"documents": ""}, ToolCatalog([DOCUMENTS])),
    )
    model = OfflineModel()
    assert (await collect_reply(model, model.stream(perceived))).text


@pytest.mark.parametrize(
    ("request_text", "tool", "arguments"),
    [
        ("search the web for pydantic monty", WEB.name, {"query": "pydantic monty"}),
        ('search the web for "a \'b\' {c}"', WEB.name, {"query": "a 'b' {c}"}),
        ("Please search my documents for the refund policy.", DOCUMENTS.name,
         {"query": "the refund policy"}),
        ("download https://example.org/a?b=1.", HTML.name, {"url": "https://example.org/a?b=1"}),
        ("create a thumbnail of images/photo.png", "create_thumbnail",
         {"image_path": "images/photo.png"}),
        ("make... create a thumbnail of /tmp/x.jpg please", "create_thumbnail", None),
        ("set the light level in the kitchen to 40", LIGHT.name, {"room": "kitchen", "level": 40}),
        ("let's set the light level in the kitchen to 40", LIGHT.name,
         {"room": "kitchen", "level": 40}),
        ("I want you to set the light level in the hall to 7", LIGHT.name,
         {"room": "hall", "level": 7}),
        ('create a red note "Milk" "buy some"', NOTE.name,
         {"title": "Milk", "body": "buy some", "color": "red"}),
        ('create a note title="Milk" body="buy some" pinned=yes', NOTE.name,
         {"title": "Milk", "body": "buy some", "pinned": True}),
        ("compute the median of 3, 1 and 2", MEDIAN.name, {"values": [3, 1, 2]}),
        ("compute the median of [3, 1, 2.5]", MEDIAN.name, {"values": [3, 1, 2.5]}),
        ("call add with a=5 and b=7", "add", {"a": 5, "b": 7}),
        ("use the subtract tool on 9, 4", "subtract", {"a": 9, "b": 4}),
        ("add(5, 7)", "add", {"a": 5, "b": 7}),
        ("run fibonacci_numbers n=10", "fibonacci_numbers", {"n": 10}),
        ("math.multiply(6, 7)", "multiply", {"a": 6, "b": 7}),
        ("duckduckgo_search_results query=\"cats\" max_results=3", WEB.name,
         {"query": "cats", "max_results": 3}),
    ],
)  # fmt: skip
async def test_a_tool_is_found_by_words_and_its_arguments_filled(
    request_text: str, tool: str, arguments: JsonObject | None
) -> None:
    outcome = await bench().run(request_text)
    if arguments is None:
        assert outcome.declined
        return
    assert not outcome.declined, outcome.text
    assert outcome.calls == ((tool, arguments),)
    assert outcome.answer == json.dumps(list(arguments.values())), outcome.text


@pytest.mark.parametrize(
    ("request_text", "reason"),
    [
        ("create a thumbnail", "image_path"),
        ("create a note \"Milk\"", "body"),
        ("search the web", "query"),
        ("set the light level in the kitchen and the hall to 40", "several values"),
        ("set the light level in the kitchen to 40 or 50", "50"),
        ("set the light level in the kitchen to 4.5", "level"),
        ("call add with a=5", "b"),
        ("call add with a=5 and c=7", "'c'"),
        ("call add with a=five and b=7", "five"),
        ("use subtract to take 5 from 9", "take"),
        ("create a thumbnail of a.png and b.png", '"a.png"'),
    ],
)  # fmt: skip
async def test_an_argument_in_doubt_is_named_and_nothing_is_called(
    request_text: str, reason: str
) -> None:
    outcome = await bench().run(request_text)
    assert outcome.declined, outcome.text
    assert reason in outcome.text.splitlines()[0]


@pytest.mark.parametrize(
    "request_text",
    [
        "delete all my files",
        "write a poem about the sea",
        "what is the capital of France?",
        "who won the match in 2010?",
        "write something nice",
        "the web is large",
        "download",
        "photo.png",
        "add 5 and banana",
        "set 5",
        '"" set the light level in the kitchen',
        "tell me set light level in the kitchen to 40",
        "I'd like to know set light levels: kitchen, 40",
    ],
)
async def test_a_weak_match_is_no_match(request_text: str) -> None:
    outcome = await bench().run(request_text)
    assert outcome.declined, outcome.text


async def test_two_tools_that_fit_alike_are_both_named() -> None:
    twins = [
        plain(server, "translate_text", "Translate text.", {"text": TEXT}, ["text"])
        for server in ("east", "west")
    ]
    outcome = await Bench(twins).run("translate the text hallo")
    assert outcome.declined
    assert "east.translate_text and west.translate_text" in outcome.text


async def test_a_shared_name_is_called_by_its_server() -> None:
    other = wrapped("abacus", "add", "Add two numbers.", {"x": NUMBER, "y": NUMBER})
    bench = Bench((*MATH_TOOLS, other))
    outcome = await bench.run("add 5 and 7")
    assert outcome.answer == "12"
    assert "tools.math.add(" in outcome.text


async def test_a_tool_of_the_right_name_with_other_parameters_is_not_taken_for_arithmetic() -> None:
    shop = plain("shop", "add", "Add an item to the basket.", {"item": TEXT}, ["item"])
    outcome = await Bench((shop,)).run("add 5 and 7")
    assert (outcome.answer, outcome.called) == ("12", [])


async def test_odd_parameter_names_and_texts_stay_data() -> None:
    odd = plain("x", "send-message", "Send a message.", {"class": TEXT}, ["class"])
    bench = Bench((odd,), {"send-message": str})
    evil = "'; import os #{x}\\"
    outcome = await bench.run(f'send a message "{evil}"')
    assert outcome.answer == evil
    assert outcome.calls == (("send-message", {"class": evil}),)


async def test_pictures_are_not_printed_into_the_answer() -> None:
    camera = plain("cam", "take_picture", "Take a picture.", {})
    block: JsonObject = {"type": "image", "text": None, "data": "AAAA", "mime_type": "image/png"}
    outcome = await Bench((camera,), {"take_picture": lambda: [block]}).run("take a picture")
    assert outcome.answer == "image/png"


def failed(tool: str, message: str) -> tuple[Attempt, ...]:
    call = ToolCall(tool, {}, ok=False, result=message, seconds=0.0)
    return (Attempt(Plan("…"), PlanFailure("tool", message), (call,)),)


async def test_a_failed_calculation_is_not_repeated_but_explained() -> None:
    outcome = await bench().run("5 / 0", failed=failed("math.divide", "division by zero"))
    assert outcome.declined
    assert "No answer: the tool divide failed: division by zero.\n" in outcome.text


async def test_a_failure_without_a_call_is_quoted_too() -> None:
    attempts = (Attempt(Plan("…"), PlanFailure("limit", "out of time", 2, "x = 1"), ()),)
    outcome = await bench().run("5 / 0", failed=attempts)
    assert outcome.declined
    assert "out of time" in outcome.text


LOOKUPS = (
    plain("a", "find_song", "Find a song by its title.", {"title": TEXT}, ["title"]),
    plain("b", "song_archive", "Find in an archive of songs.", {"title": TEXT}, ["title"],
          read_only=True),
)  # fmt: skip


async def test_after_a_failure_the_next_ranked_tool_is_tried() -> None:
    lookups = Bench(LOOKUPS, {tool.name: str for tool in LOOKUPS})
    first = await lookups.run('find the song by title "Hey"')
    assert first.called == ["find_song"]
    second = await lookups.run(
        'find the song "Hey"', failed=failed("a.find_song", "the archive is closed")
    )
    assert second.called == ["song_archive"]
    both = failed("a.find_song", "closed") + failed("b.song_archive", "closed too")
    third = await lookups.run('find the song "Hey"', failed=both)
    assert third.declined
    assert "closed too" in third.text


async def test_sequential_mode_has_the_next_ranked_tool_as_its_fallback() -> None:
    def down(title: str) -> str:
        raise RuntimeError(title)

    lookups = Bench(LOOKUPS, {"find_song": down, "song_archive": str})
    outcome = await lookups.run(
        'find the song by title "Hey"', planning_mode="exploratory", exploration_mode="sequential"
    )
    assert outcome.called == ["find_song", "song_archive"]
    assert outcome.answer == "Hey"


SERVERS = {
    "math": "Arithmetic",
    "web": "Web search and pages",
    "documents": "The user's documents",
    "notes": "A notebook",
    "home": "Lights",
}


@pytest.mark.parametrize(
    ("request_text", "intent", "hint", "servers"),
    [
        ("add 5 and 7", "arithmetic", "add", ["math"]),
        ("now divide that by 2", "arithmetic", "divide", ["math"]),
        ("search the web for cats", "use_tool", WEB.name, ["web"]),
        ("something about a notebook", "unknown", None, ["notes"]),
        ("zzz", "unknown", None, list(SERVERS)),
        ("", "unknown", None, list(SERVERS)),
    ],
)
async def test_perception_selects_the_servers_that_the_plan_would_use(
    request_text: str, intent: str, hint: str | None, servers: list[str]
) -> None:
    inputs = PerceptionInputs(request_text, SERVERS, bench().catalog)
    reply = await offline_reply(ModelRequest("perception", "", inputs))
    perception = json.loads(reply.text)
    assert perception["intent"] == intent
    assert perception["tool_hint"] == hint
    assert perception["selected_servers"] == servers


async def test_free_text_is_not_what_it_writes() -> None:
    model = OfflineModel()
    reply = await offline_reply(ModelRequest("text", "write a poem"))
    assert reply.declined
    assert model.name == reply.model == "offline"
    await model.aclose()
    await model.aclose()
