"""Questions as elicitations, and what clients send back."""

from dataclasses import replace

import pytest
from mcp_types import (
    ClientCapabilities,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
)

from core.asking import Answer, AskedCall, Question, ShownValue
from core.values import JsonObject
from modules.service.mcp_door.elicitation import Means, answer_of, elicitation_of, means_of

FORM: JsonObject = {
    "type": "object",
    "properties": {
        "guests": {"type": "integer", "minimum": 1, "maximum": 12},
        "seat": {"type": "string", "enum": ["w", "t"], "default": "w"},
        "mail": {"type": "string", "format": "email", "pattern": "(a+)+$"},
        "days": {"type": "array", "items": {"enum": ["sat", "sun"]}, "minItems": 1},
        "pets": {"type": "boolean", "title": "Pets?", "description": "dogs alone"},
    },
    "required": ["guests"],
}
TABLE = Question("1", "form", "which table?", form=FORM)
CALL = AskedCall("files.write", (ShownValue("path", "x", "your words"),), {})
OPTIONS = {"once": "yes, once", "no": "no"}
LEAVE = Question(
    "2", "approval", "may it?", options=OPTIONS, calls=(CALL,), why=("so",), rules=("files.write",)
)
PLAIN = Question("3", "question", "which colour?", default="blue")
VISIT = Question(
    "4",
    "visit",
    "grant access",
    options={"done": "I have been there", "no": "I will not go there"},
    url="https://bank.example/grant",
)
FORMS = Means(forms=True)


def form_of(question: Question, means: Means = FORMS) -> ElicitRequestFormParams:
    params = elicitation_of(question, means, has_ids=True).params
    assert isinstance(params, ElicitRequestFormParams)
    return params


@pytest.mark.parametrize(
    ("elicitation", "means"),
    [
        (None, Means()),
        ({}, Means(forms=True)),
        ({"form": {}}, Means(forms=True)),
        ({"url": {}}, Means(pages=True)),
        ({"form": {}, "url": {}}, Means(forms=True, pages=True)),
    ],
)
def test_what_a_client_can_do_is_what_it_says(elicitation: JsonObject | None, means: Means) -> None:
    said = ClientCapabilities.model_validate({"elicitation": elicitation})
    assert means_of(said) == means
    assert means_of(None) == Means()


def test_a_form_keeps_what_the_protocol_knows_of_its_fields() -> None:
    assert form_of(TABLE).requested_schema == {
        "type": "object",
        "properties": {
            "guests": {"type": "integer", "minimum": 1, "maximum": 12, "title": "guests"},
            "seat": {"type": "string", "enum": ["w", "t"], "title": "seat", "default": "w"},
            "mail": {"type": "string", "format": "email", "title": "mail"},
            "days": {
                "type": "array",
                "items": {"type": "string", "enum": ["sat", "sun"]},
                "minItems": 1,
                "title": "days",
            },
            "pets": {"type": "boolean", "title": "Pets?", "description": "dogs alone"},
        },
        "required": ["guests"],
    }


def test_leave_is_a_choice_beside_which_a_rule_and_words_may_stand() -> None:
    assert form_of(LEAVE).requested_schema["properties"] == {
        "answer": {
            "type": "string",
            "enum": ["once", "no"],
            "enumNames": ["yes, once", "no"],
            "title": "Answer",
        },
        "rule": {
            "type": "string",
            "title": "The rule that 'session' and 'always' keep",
            "default": "files.write",
        },
        "words": {"type": "string", "title": "With a no: words for the model"},
    }
    several = form_of(replace(LEAVE, calls=(CALL, CALL), rules=("a", "b"))).requested_schema
    properties = several["properties"]
    assert properties["only"]["items"] == {"type": "string", "enum": ["1", "2"]}
    assert "default" not in properties["rule"]


def test_a_page_is_visited_where_the_client_can_and_told_where_it_can_not() -> None:
    visit = elicitation_of(VISIT, Means(forms=True, pages=True), has_ids=True).params
    assert isinstance(visit, ElicitRequestURLParams)
    assert (visit.url, visit.elicitation_id) == ("https://bank.example/grant", "4")
    assert "https://bank.example/grant" in form_of(VISIT).message
    accepted = ElicitResult(action="accept")
    assert answer_of(VISIT, accepted, Means(pages=True)) == Answer("done")
    assert answer_of(VISIT, accepted, FORMS) is None


@pytest.mark.parametrize(
    ("question", "content", "answer"),
    [
        (PLAIN, {"answer": "red"}, Answer("red")),
        (PLAIN, {"answer": 7}, None),
        (PLAIN, {}, None),
        (LEAVE, {"answer": "once"}, Answer("once")),
        (LEAVE, {"answer": "no", "words": "ask Ann"}, Answer("ask Ann")),
        (LEAVE, {"answer": "once", "rule": "files.write", "words": "x"}, Answer("once")),
        (LEAVE, {"answer": "once", "rule": "files.write(*)"}, Answer("once")),
        (LEAVE, {"answer": "always", "rule": "b"}, Answer("always", rule="b")),
        (LEAVE, {"answer": "once", "only": ["1", "x"]}, Answer("once", only=(0,))),
        (LEAVE, None, None),
        (VISIT, {"answer": "no"}, Answer("no")),
        (TABLE, {"guests": 3, "more": "x"}, Answer(content={"guests": 3})),
        (
            TABLE,
            {"guests": 3, "days": ["sun"]},
            Answer(content={"guests": 3, "days": ["sun"]}),
        ),
    ],
)
def test_an_answer_is_read_from_the_fields_that_the_question_has(
    question: Question, content: JsonObject | None, answer: Answer | None
) -> None:
    reply = ElicitResult.model_validate({"action": "accept", "content": content})
    assert answer_of(question, reply, FORMS) == answer


@pytest.mark.parametrize("question", [TABLE, LEAVE, PLAIN, VISIT])
def test_who_declines_has_answered_and_who_turns_away_has_not(question: Question) -> None:
    declined, turned_away = ElicitResult(action="decline"), ElicitResult(action="cancel")
    assert answer_of(question, declined, FORMS) == Answer(declined=True)
    assert answer_of(question, turned_away, FORMS) is None
