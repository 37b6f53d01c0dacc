"""What goes over the pipe comes through, and what a process tells is checked and bounded."""

import json
from pathlib import Path

import pytest

from servers.reading.limits import Limits
from servers.reading.process.messages import (
    Refusal,
    Reply,
    Request,
    Scans,
    read_request,
    reply_line,
    request_line,
)
from servers.reading.process.worker import BrokenReply, read_reply
from servers.reading.source import PICTURES_MAX, Extracted

LIMITS = Limits(markdown_chars=100)


def test_a_request_comes_through() -> None:
    page = Request(Path("/a\udcff"), "page", "https://ö.example/\n", "image/png", "utf-8", 3)
    for request in (page, Request(Path("/b"), is_careful=True)):
        assert read_request(request_line(7, request)) == (7, request)


@pytest.mark.parametrize(
    "reply",
    [
        Scans(3),
        Refusal("it is damaged"),
        Extracted("a\nb", "T", (0, 2), ("a note",), 0, "A", "2026-01-01", ("https://x.example/1",)),
    ],
)
def test_a_reply_comes_through(reply: Reply) -> None:
    assert read_reply(reply_line(7, reply), 7, LIMITS) == reply


@pytest.mark.parametrize(
    "told",
    [
        [],
        {"id": 8, "error": "of another"},
        {"id": 7},
        {"id": 7, "scans": -1},
        {"id": 7, "extracted": {"markdown": 5}},
        {"id": 7, "extracted": {"markdown": "a", "title": 5}},
        {"id": 7, "extracted": {"markdown": "a", "page_starts": [2, 0]}},
        {"id": 7, "extracted": {"markdown": "a", "page_starts": ["0"]}},
        {"id": 7, "extracted": {"markdown": "a", "notes": "none"}},
        {"id": 7, "extracted": {"markdown": "a", "page_starts": [0] * 200_000}},
        {"id": 7, "extracted": {"markdown": "a" * 101}},
    ],
)
def test_what_breaks_the_rules_is_no_reply(told: object) -> None:
    with pytest.raises(BrokenReply):
        read_reply(json.dumps(told).encode(), 7, LIMITS)


def test_what_a_process_tells_is_bounded_and_in_one_line() -> None:
    many = Extracted("a", "T" * 900, author="a\nb", pictures=("x" * 5_000,) * 9)
    found = read_reply(reply_line(7, many), 7, LIMITS)
    assert isinstance(found, Extracted)
    assert (len(found.title), found.author) == (500, "a b")
    assert [len(each) for each in found.pictures] == [2_000] * PICTURES_MAX
