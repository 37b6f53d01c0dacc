"""A person is asked through an MCP client: our questions as elicitations, and its replies to them.

After MCP 2025-11-25 and 2026-07-28, "Elicitation": forms are flat objects of simple values. What a
client sends back may be anything, and is held against the question.
"""

from typing import Final

from mcp_types import (
    ClientCapabilities,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
)

from core.base.frozen import frozen
from core.base.text import shorten
from core.errors import UsageError
from core.mcp.form import FormField, read_form
from core.values import Json, JsonObject
from modules.service.questions import (
    TEXT_CHARACTERS_MAX,
    PersonAnswer,
    PersonQuestion,
    check_answer,
)

ANSWER: Final = "answer"
"""The one field of a question that is no form."""


@frozen
class Means:
    """How a client's person can be asked: with forms, and by being sent to a page."""

    forms: bool = False
    pages: bool = False


def means_of(capabilities: ClientCapabilities | None) -> Means:
    """What a client says that it can do; one that names no mode means forms (MCP 2025-06-18)."""
    said = None if capabilities is None else capabilities.elicitation
    if said is None:
        return Means()
    return Means(said.form is not None or said.url is None, said.url is not None)


def elicitation_of(question: PersonQuestion, means: Means, *, has_ids: bool) -> ElicitRequest:
    """The request that puts a question; `has_ids`: the protocol names visits to pages by ids."""
    if question.url is not None and means.pages:
        return ElicitRequest(
            params=ElicitRequestURLParams(
                message=question.text,
                url=question.url,
                elicitation_id=question.id if has_ids else None,
            )
        )
    told = (question.text, question.url or "", question.detail)
    return ElicitRequest(
        params=ElicitRequestFormParams(
            message="\n\n".join(filter(None, told)), requested_schema=_schema(question)
        )
    )


def answer_of(question: PersonQuestion, reply: ElicitResult, means: Means) -> PersonAnswer | None:
    """What the person said; None where there is no answer, or none that fits the question."""
    if reply.action != "accept":
        return PersonAnswer(declined=True) if reply.action == "decline" else None
    given = reply.content or {}
    if question.kind == "form":
        content: JsonObject = {}
        for field in read_form(question.form):
            if (value := given.get(field.name)) is not None:
                content[field.name] = [*value] if isinstance(value, list) else value
        answer = PersonAnswer(content=content)
    elif question.url is not None and means.pages:
        answer = PersonAnswer("done")
    elif isinstance(said := given.get(ANSWER), str):
        answer = PersonAnswer(shorten(said, TEXT_CHARACTERS_MAX))
    else:
        return None
    try:
        check_answer(question, answer)
    except UsageError:
        return None
    return answer


def _schema(question: PersonQuestion) -> JsonObject:
    """The form that a question is: its own fields, or one field for the answer."""
    if question.kind == "form":
        fields = read_form(question.form)
        required: list[Json] = [field.name for field in fields if field.required]
        properties: JsonObject = {field.name: _property(field) for field in fields}
        return {"type": "object", "properties": properties, "required": required}
    shown: JsonObject = {"type": "string", "title": "Answer"}
    if question.options:
        shown |= {"enum": [*question.options], "enumNames": [*question.options.values()]}
    if question.default is not None and question.default in (
        question.options or [question.default]
    ):
        shown["default"] = question.default
    return {"type": "object", "properties": {ANSWER: shown}, "required": [ANSWER]}


def _property(field: FormField) -> JsonObject:
    """One field as the protocol spells it; titles of choices as clients of every revision do."""
    spelled: JsonObject = {**field.limits, "title": field.title}
    values: list[Json] = [choice.value for choice in field.choices]
    if field.kind == "choice":
        titles: list[Json] = [choice.title for choice in field.choices]
        spelled |= {"type": "string"} | ({"enumNames": titles} if titles != values else {})
    elif field.kind == "choices":
        spelled["items"] = {"type": "string", "enum": values}
    if field.description:
        spelled["description"] = field.description
    if field.default is not None:
        spelled["default"] = field.default
    return spelled
