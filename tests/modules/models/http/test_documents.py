"""JSON of strangers, and the error documents of all services, as far as they say something."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.values import Json
from modules.models.http.error_document import ErrorDocument, error_document
from modules.models.http.json_text import JSON_MARKS_MAX, json_value


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'{"a": NaN, "b": -Infinity, "c": 1e999}', {"a": None, "b": None, "c": None}),
        (b'{"a": "\xff"}', {"a": "\N{REPLACEMENT CHARACTER}"}),
        (rb'{"a": "\ud83d"}', {"a": "?"}),
        (b'{"a": ', None),
        (b"[" * 100_000, None),
        (b'{"a":' * 20_000, None),
        (b"[" + b"0," * JSON_MARKS_MAX + b"0]", None),
        (b'"\xff' + b"x" * 300_000 + b'"', "\N{REPLACEMENT CHARACTER}" + "x" * 300_000),
        (rb'"\ud83d' + b"x" * 300_000 + b'"', None),
        (b"9" * 5000, None),
        (b"", None),
    ],
    ids=range(13),
)
def test_json_of_strangers_is_read_as_far_as_it_says_something(data: bytes, value: Json) -> None:
    assert json_value(data) == value


@settings(max_examples=40)
@given(st.binary(max_size=60))
def test_no_bytes_break_the_reading_of_json(data: bytes) -> None:
    json.dumps(json_value(data), allow_nan=False)


@pytest.mark.parametrize(
    ("document", "error"),
    [
        (
            {"error": {"message": "m", "type": "t", "param": "p", "code": "c"}},
            ErrorDocument("m", "c", "p"),
        ),
        ({"error": {"message": "m", "code": 502}}, ErrorDocument("m", status=502)),
        ([{"error": {"message": "m", "code": 400}}], ErrorDocument("m", status=400)),
        (
            {"error": {"message": "m", "metadata": {"raw": "inner"}}},
            ErrorDocument("m: inner"),
        ),
        ({"error": "m"}, ErrorDocument("m")),
        ({"detail": "Not Found"}, ErrorDocument("Not Found")),
        (
            {"detail": [{"loc": ["body", "a", "b"], "msg": "m"}, {"loc": ["n"], "msg": "k"}, 5]},
            ErrorDocument("a.b: m; n: k", param="a.b"),
        ),
        ({"object": "error", "message": "m", "code": 400}, ErrorDocument("m", status=400)),
        ({"error": {"message": 5, "type": [], "param": {}, "code": True}}, ErrorDocument()),
        (
            {"error": {"message": "m", "details": [5, {"violations": [1, {"quotaId": 2}]}]}},
            ErrorDocument("m"),
        ),
        ({"error": 5}, None),
        ({"ok": 1}, None),
        ([5], None),
        ("text", None),
    ],
    ids=range(14),
)
def test_error_documents_of_all_services_are_understood(
    document: Json, error: ErrorDocument | None
) -> None:
    assert error_document(document) == error
