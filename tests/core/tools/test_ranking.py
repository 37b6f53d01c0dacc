"""Ranking tools by the words of a request: Okapi BM25 over what tools say of themselves."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.tools.catalog import ToolCatalog
from core.tools.ranking import ToolIndex, stem
from core.tools.spec import ToolSpec
from core.values import JsonObject
from tests.doubles import tool


def described(name: str, description: str, server: str = "s", **parameters: str) -> ToolSpec:
    """A tool with parameters of these descriptions."""
    properties: JsonObject = {n: {"description": text} for n, text in parameters.items()}
    return ToolSpec(server, name, description, {"type": "object", "properties": properties})


def ranked(request: str, tools: Sequence[ToolSpec]) -> list[ToolSpec]:
    return ToolIndex(tools).search(request, len(tools))


TOOLS = [
    described("sendMessage", "Sends an e-mail", "mail", recipient="address of a person"),
    described("list_events", "What stands in a calendar", "calendar", since="first day"),
    described("delete-event", "Takes an appointment out of the calendar", "calendar"),
    described("convert", "Turns money of one kind into another", "bank", currency="such as EUR"),
    described("upload", "Stores a file", "files", path="where it lies"),
]


@pytest.mark.parametrize(
    ("request_text", "best"),
    [
        ("send a message to Ana", "sendMessage"),
        ("which EVENTS are listed?", "list_events"),
        ("deleting events", "delete-event"),
        ("cancel my appointments", "delete-event"),
        ("how many Swiss francs is one euro? currency", "convert"),
        ("storing files", "upload"),
        ("the address", "sendMessage"),
    ],
)
def test_names_descriptions_and_parameters_are_matched_by_stem(
    request_text: str, best: str
) -> None:
    assert ranked(request_text, TOOLS)[0].name == best


def test_a_servers_name_counts_as_a_word_of_its_tools() -> None:
    assert {t.server for t in ranked("my calendar", TOOLS)} == {"calendar"}


def test_the_inner_parameters_of_a_wrapped_tool_count() -> None:
    wrapped = tool("x", "s", "Does it.", altitude="number")
    assert ranked("at which altitude?", [*TOOLS, wrapped]) == [wrapped]


def test_a_rare_word_says_more_than_a_common_one() -> None:
    tools = [described(f"page{n}", "shows a page") for n in range(9)]
    tools.append(described("print", "puts a page on paper"))
    assert ranked("page paper", tools)[0].name == "print"


def test_more_of_the_same_word_counts_less_and_less() -> None:
    stuffed = described("a", "ticket " * 200)
    honest = described("b", "books a ticket for a train")
    assert ranked("book a train ticket", [stuffed, honest]) == [honest, stuffed]


def test_equal_tools_keep_their_order() -> None:
    alike = [described(name, "zebra") for name in ("z", "y", "x")]
    assert ranked("zebra", alike) == alike
    assert ToolIndex([]).scores("words") == {}


def test_a_search_gives_only_what_shares_a_word() -> None:
    index = ToolIndex(TOOLS)
    assert [t.name for t in index.search("calendar", 10)] == ["list_events", "delete-event"]
    assert len(index.search("calendar", 1)) == 1
    assert index.search("zebra", 10) == []
    assert index.search("the of a", 10) == []


LEDGERS = [described(f"get_ledger_{n}", f"Gives ledger {n}.", "accounts") for n in range(150)]


@pytest.mark.parametrize(
    "words",
    [
        *("get_ledger_137", "accounts.get_ledger_137", "getLedger137", "Get ledger 137"),
        *("get-ledger-137", "137", "ledger 137", "find the tool `get_ledger_137`, please"),
    ],
)
def test_a_search_for_a_name_or_a_number_in_it_gives_that_tool_first(words: str) -> None:
    assert ToolIndex(LEDGERS).search(words, 3)[0].name == "get_ledger_137"
    catalog = ToolCatalog(LEDGERS).offering([])
    assert catalog.search(words, 1)[0].name == "get_ledger_137"


MIXED = [
    *(described(name, "does it") for name in ("s3_put", "base64_encode", "listV2", "oauth2login")),
    *(described(name, "does it") for name in ("render3d", "hash_sha256", "v1_list")),
    described("buckets", "what the user's account has in S3, 3 of them"),
]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("s3", ["s3_put", "buckets"]),
        ("base64", ["base64_encode"]),
        ("base 64", ["base64_encode"]),
        ("v2", ["listV2"]),
        ("3d", ["render3d"]),
        ("sha256", ["hash_sha256"]),
        ("SHA 256", ["hash_sha256"]),
        ("OAuth2", ["oauth2login"]),
        ("19 plus 3", []),
    ],
)
def test_letters_with_digits_are_one_word_and_numbers_count_in_names_alone(
    words: str, found: list[str]
) -> None:
    assert [tool.name for tool in ToolIndex(MIXED).search(words, 10)] == found


@pytest.mark.parametrize("words", ["a" * 100_000, "a1" * 50_000, "a_" * 50_000, "1" * 100_000])
def test_words_without_end_are_read_in_part(words: str) -> None:
    assert ToolIndex(LEDGERS).search(words, 3) == []


def test_a_passing_word_of_a_description_is_not_near_and_a_name_is() -> None:
    others = [described(f"t{n}", f"thing {n}") for n in range(20)]
    index = ToolIndex([*others, described("read_file", "Read a text; the most that fits.")])
    assert not index.is_near("which language do most people speak?")
    assert not index.is_near("who wrote Hamlet?")
    assert index.is_near("what does the file say?")
    assert not ToolIndex([]).is_near("read the file")


def test_a_catalogue_ranks_what_it_knows_not_only_what_it_offers() -> None:
    catalog = ToolCatalog(TOOLS).offering(TOOLS[:1])
    assert [t.name for t in catalog] == ["sendMessage"]
    assert [t.name for t in catalog.search("upload", 3)] == ["upload"]
    assert set(catalog.rank("upload")) == {"files.upload"}


def test_huge_texts_are_read_in_part() -> None:
    late = described("a", "x " * 1_000 + "zebra", p="y " * 200 + "zebra")
    assert ToolIndex([late]).scores("zebra") == {}
    assert ToolIndex([late]).scores("q " * 3_000 + "x") == {}


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [("files", "fil"), ("filing", "fil"), ("Currencies", "currency"), ("add", "add"), ("as", "as")],
)
def test_stemming_takes_endings_only(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


@given(st.text(max_size=60), st.lists(st.text(max_size=30), max_size=6))
def test_any_request_orders_any_tools(request_text: str, descriptions: list[str]) -> None:
    tools = [described(f"t{n}", text) for n, text in enumerate(descriptions)]
    scores = ToolIndex(tools).scores(request_text)
    assert all(score > 0 for score in scores.values())
    found = [scores[tool.qualified_name] for tool in ranked(request_text, tools)]
    assert found == sorted(scores.values(), reverse=True)
