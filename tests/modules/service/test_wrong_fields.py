"""How wrong fields of a request are told."""

from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from core.values import JsonObject
from modules.service.wrong_fields import wrong_fields


def _even(number: int) -> int:
    if number % 2:
        raise ValueError("must be even.")
    return number


class _Part(BaseModel):
    text: str


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    name: str = Field(min_length=1, max_length=2_000)
    share: float = Field(0, gt=0, le=1_000_000)
    count: Annotated[int, AfterValidator(_even)] = Field(2, ge=1, lt=10)
    is_long: bool = False
    value: str | bool = ""
    code: str = Field("0", pattern="^[0-9]+$")
    when: Literal["now", "later"] = "now"
    parts: list[_Part] = Field(default_factory=list[_Part], max_length=2)
    more: JsonObject = Field(default_factory=dict)


def _told(body: bytes) -> str:
    with pytest.raises(ValidationError) as caught:
        _Sent.model_validate_json(body)
    return wrong_fields(caught.value)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("{}", "`name` is missing"),
        ("[]", "the body must be an object"),
        ("{", "the body is no JSON: EOF while parsing an object at line 1 column 1"),
        ('{"name": 5}', "`name` must be a text"),
        ('{"name": null}', "`name` must be a text"),
        ('{"name": ""}', "`name` must have a length of at least 1"),
        (f'{{"name": "{"x" * 2_001}"}}', "`name` must have at most 2,000 characters"),
        ('{"name": "x", "share": "five"}', "`share` must be a number"),
        ('{"name": "x", "share": 0}', "`share` must be above 0"),
        ('{"name": "x", "share": 1e9}', "`share` must be at most 1,000,000"),
        ('{"name": "x", "share": NaN}', "`share` must be a finite number"),
        ('{"name": "x", "count": 1.5}', "`count` must be a whole number"),
        ('{"name": "x", "count": "two"}', "`count` must be a whole number"),
        ('{"name": "x", "count": 0}', "`count` must be at least 1"),
        ('{"name": "x", "count": 10}', "`count` must be below 10"),
        ('{"name": "x", "count": 3}', "`count` must be even"),
        ('{"name": "x", "is_long": "maybe"}', "`is_long` must be true or false"),
        ('{"name": "x", "value": []}', "`value` must be a text or must be true or false"),
        ('{"name": "x", "when": "soon"}', "`when` must be 'now' or 'later'"),
        ('{"name": "x", "nmae": 1}', "`nmae` is unknown; leave it out"),
        ('{"name": "x", "str": 1}', "`str` is unknown; leave it out"),
        ('{"name": "x", "code": "ab"}', "`code` must match the pattern ^[0-9]+$"),
        ('{"name": "x", "more": []}', "`more` must be an object"),
        ('{"name": "x", "parts": {}}', "`parts` must be a list"),
        ('{"name": "x", "parts": [{"text": ""}, 5]}', "`parts[1]` must be an object"),
        ('{"name": "x", "parts": [{}]}', "`parts[0].text` is missing"),
        ('{"name": 1, "when": 2}', "`name` must be a text; `when` must be 'now' or 'later'"),
    ],
)
def test_each_mistake_is_told(body: str, told: str) -> None:
    assert _told(body.encode()) == told


def test_of_many_mistakes_the_first_are_told() -> None:
    many = ", ".join(f'"x{number}": 1' for number in range(8))
    told = _told(f'{{"name": "x", {many}}}'.encode())
    assert told.startswith("`x0` is unknown; leave it out; `x1` is unknown")
    assert told.endswith("; and 3 more mistakes")
    assert "x5" not in told


def test_a_name_of_the_sender_is_bounded_and_on_one_line() -> None:
    told = _told(b'{"name": "x", "%s\\n": 1}' % (b"long" * 100_000))
    assert len(told) < 200
    assert "\n" not in told


def test_no_value_is_quoted() -> None:
    assert "secret" not in _told(b'{"name": ["secret"], "when": "secret", "share": "secret"}')
