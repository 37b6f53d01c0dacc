"""A person is asked through an MCP client: our questions as elicitations, and its replies to them.

After MCP 2025-11-25 and 2026-07-28, "Elicitation": forms are flat objects of simple values. What a
client sends back may be anything, and is held against the question.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from mcp_types import (
    ClientCapabilities,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
)

from core.asking import Answer, Question
from core.base.frozen import frozen
from core.base.text import shorten
from core.mcp.form import FormField, read_form
from core.values import Json, JsonObject
from modules.asking import TEXT_CHARACTERS_MAX, calls_text

ANSWER: Final = "answer"
"""The field of a question that is no form."""

RULE: Final = "rule"
WORDS: Final = "words"
ONLY: Final = "only"
"""Further fields of a question for leave."""


_Content: TypeAlias = Mapping[str, str | int | float | bool | list[str] | None]


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


def elicitation_of(question: Question, means: Means, *, has_ids: bool) -> ElicitRequest:
    """The request that puts a question; `has_ids`: the protocol names visits to pages by ids."""
    if question.url is not None and means.pages:
        return ElicitRequest(
            params=ElicitRequestURLParams(
                message=question.text,
                url=question.url,
                elicitation_id=question.id if has_ids else None,
            )
        )
    calls = calls_text(question) if question.calls else ""
    told = (question.text, question.url or "", question.detail, calls)
    return ElicitRequest(
        params=ElicitRequestFormParams(
            message="\n\n".join(filter(None, told)), requested_schema=_schema(question)
        )
    )


def answer_of(question: Question, reply: ElicitResult, means: Means) -> Answer | None:
    """What the person said, which may not fit the question; None where there is no answer."""
    if reply.action != "accept":
        return Answer(declined=True) if reply.action == "decline" else None
    given = reply.content or {}
    if question.kind == "form":
        content: JsonObject = {}
        for field in read_form(question.form):
            if (value := given.get(field.name)) is not None:
                content[field.name] = [*value] if isinstance(value, list) else value
        return Answer(content=content)
    if question.url is not None and means.pages:
        return Answer("done")
    said = given.get(ANSWER)
    if not isinstance(said, str):
        return None
    said = shorten(said, TEXT_CHARACTERS_MAX)
    return _leave(said, given, question) if question.kind == "approval" else Answer(said)


def _leave(
    said: str, given: Mapping[str, str | int | float | bool | list[str] | None], question: Question
) -> Answer:
    """An answer to a question for leave; fields that do not belong to it count for nothing."""
    rule, words, only = given.get(RULE), given.get(WORDS), given.get(ONLY)
    if said == "no" and isinstance(words, str) and words.strip():
        return Answer(shorten(words, TEXT_CHARACTERS_MAX))
    is_own = isinstance(rule, str) and rule.strip() not in ("", *question.rules)
    lasts = said in ("session", "always")
    numbers = only if isinstance(only, list) and said != "no" else []
    chosen = [int(each) - 1 for each in map(str, numbers) if each.isdecimal() and each.isascii()]
    return Answer(said, rule=str(rule) if is_own and lasts else "", only=tuple(chosen) or None)


def _schema(question: Question) -> JsonObject:
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
    more = _leave_fields(question) if question.kind == "approval" else {}
    return {"type": "object", "properties": {ANSWER: shown, **more}, "required": [ANSWER]}


def _leave_fields(question: Question) -> JsonObject:
    """What may be said to a question for leave beside the answer."""
    rule: JsonObject = {"type": "string", "title": "The rule that 'session' and 'always' keep"}
    if len(question.rules) == 1:
        rule["default"] = question.rules[0]
    elif question.rules:
        rule["description"] = "Left empty: the rules that are shown"
    words: JsonObject = {"type": "string", "title": "With a no: words for the model"}
    fields: JsonObject = {RULE: rule, WORDS: words}
    if (number := len(question.calls)) > 1:
        numbers: list[Json] = [str(each) for each in range(1, number + 1)]
        fields[ONLY] = {
            "type": "array",
            "title": "With a yes: only these calls",
            "items": {"type": "string", "enum": numbers},
        }
    return fields


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
