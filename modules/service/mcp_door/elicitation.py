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
from core.mcp.form import Choice, FormError, FormField, read_form
from core.values import Json, JsonObject
from modules.service.questions import TEXT_CHARACTERS_MAX, PersonAnswer, PersonQuestion

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
    if reply.action == "cancel":
        return None
    if reply.action == "decline":
        return PersonAnswer(declined=True)
    given = reply.content or {}
    if question.kind == "form":
        return _filled_in(question.form, {name: _json(value) for name, value in given.items()})
    if question.url is not None and means.pages:
        return PersonAnswer("done")
    said = given.get(ANSWER)
    if not isinstance(said, str) or (question.options and said not in question.options):
        return None
    return PersonAnswer(shorten(said, TEXT_CHARACTERS_MAX))


def _schema(question: PersonQuestion) -> JsonObject:
    """The form that a question is: its own fields, or one field for the answer."""
    if question.kind == "form":
        fields = _fields(question.form)
        required: list[Json] = [field.name for field in fields if field.required]
        properties: JsonObject = {field.name: _property(field) for field in fields}
        return {"type": "object", "properties": properties, "required": required}
    choices = tuple(Choice(value, words) for value, words in question.options.items())
    field = FormField(ANSWER, "Answer", "", True, "choice" if choices else "text", {}, choices)
    shown: JsonObject = {**_property(field), "type": "string"}
    if question.default is not None and (not choices or question.default in question.options):
        shown["default"] = question.default
    return {"type": "object", "properties": {ANSWER: shown}, "required": [ANSWER]}


def _property(field: FormField) -> JsonObject:
    """One field as the protocol spells it; titles of choices as clients of every revision do."""
    values: list[Json] = [choice.value for choice in field.choices]
    titles: list[Json] = [choice.title for choice in field.choices]
    spelled: JsonObject = {}
    match field.kind:
        case "choice":
            spelled = {"type": "string", "enum": values}
            if titles != values:
                spelled["enumNames"] = titles
        case "choices":
            spelled = {**field.limits, "items": {"type": "string", "enum": values}}
        case "yes or no":
            spelled = {"type": "boolean"}
        case _:
            spelled = dict(field.limits)
    spelled["title"] = field.title
    if field.description:
        spelled["description"] = field.description
    if field.default is not None:
        spelled["default"] = field.default
    return spelled


def _filled_in(form: JsonObject, given: JsonObject) -> PersonAnswer | None:
    """The values that the form asks for; None where one does not fit, or is missing."""
    fields = _fields(form)
    content = {field.name: given[field.name] for field in fields if field.name in given}
    for field in fields:
        if field.name in content and not field.fits(content[field.name]):
            return None
        if field.required and field.name not in content:
            return None
    return PersonAnswer(content=content)


def _fields(form: JsonObject) -> tuple[FormField, ...]:
    try:
        return read_form(form)
    except FormError:  # it was read before it became a question
        return ()


def _json(value: str | int | float | bool | list[str] | None) -> Json:
    return [*value] if isinstance(value, list) else value
