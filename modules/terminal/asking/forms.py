"""A server's form, asked field by field, shown before it is sent."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar, assert_never

from core.base.redaction import names_a_secret
from core.base.text import lazy_pattern
from core.mcp.form import Choice, FormField
from core.values import Json, JsonObject
from modules.terminal.asking.dialogue import Cancelled, Declined, Dialogue
from modules.terminal.asking.quoting import complaint, keys, on_one_line, prompt_line, quoted

ATTEMPTS_MAX: Final = 5
"""So often a field is asked before we take it that nobody means to answer."""

DEFAULT_CHARACTERS_INLINE: Final = 60
"""A longer default is shown above the prompt."""

NUMBER_CHARACTERS_MAX: Final = 100
"""A longer number is not one that anybody means."""

_HOW_TO: Final = (
    "Enter: what stands in [ ], or skip",
    "!s: skip",
    "!d: decline",
    "Ctrl-C: end the run",
)

GIVEN_UP: Final = "  that was the last try; the question is given up\n"

LOOKS_SENSITIVE: Final = (
    "  Careful: this looks like a secret. Servers are forbidden to ask for one in this way\n"
    "  (MCP, Elicitation); !d declines. What you type does not show.\n"
)

_YES_OR_NO: Final = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}

_NUMBER: Final = lazy_pattern(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_WHOLE_NUMBER: Final = lazy_pattern(r"[+-]?\d+", re.ASCII)

_FORMATS: Final = {
    "email": "an e-mail address",
    "uri": "a URI such as https://example.org",
    "date": "a date such as 2026-01-31",
    "date-time": "a date and time such as 2026-01-31T09:30:00Z",
}
"""What fits the protocol's formats of text."""

# What people call secrets; names of fields go by `names_a_secret` as well.
_SECRET: Final = lazy_pattern(
    r"pass[\s_-]*(word|phrase|code|wd)|secret|token|credential|api[\s_-]*key|private[\s_-]*key"
    r"|\bpin\b|\bcv[vc]\b|card[\s_-]*number|\bssn\b|\botp\b",
    re.IGNORECASE,
)
_CONTROLS: Final = lazy_pattern(r"[\x00-\x08\x0b-\x1f\x7f]")

Meant = TypeVar("Meant")


class Unfit(ValueError):
    """A line that will not do; the text says why."""


async def filled_in(dialogue: Dialogue, server: str, fields: Sequence[FormField]) -> JsonObject:
    """The user's answers by field; optional ones that were skipped are left out.

    Raises:
        Declined, Cancelled: there are none.
    """
    if not fields:
        if not await is_confirmed(dialogue, "Agree?", default=False):
            raise Declined
        return {}
    dialogue.write(keys(*_HOW_TO))
    given: JsonObject = {}
    for _ in range(ATTEMPTS_MAX):
        given = await _asked(dialogue, fields, given)
        # MCP: the user must be able to review and change answers before they are sent. A
        # single one was on the screen when it was typed.
        if len(fields) == 1 or await _is_reviewed(dialogue, server, fields, given):
            return given
    dialogue.write(GIVEN_UP)
    raise Cancelled


async def is_confirmed(dialogue: Dialogue, question: str, *, default: bool) -> bool:
    """Ask y or n; Enter means `default`.

    Raises:
        Declined, Cancelled: neither.
    """
    words = {"": default, "y": True, "yes": True, "n": False, "no": False, "!d": None}
    prompt = prompt_line(question, "Y/n" if default else "y/N")
    return await _word_meant(dialogue, prompt, words, "y or n")


async def _is_reviewed(
    dialogue: Dialogue, server: str, fields: Sequence[FormField], given: JsonObject
) -> bool:
    """Show all answers; True if they may be sent, False to go through them again."""
    dialogue.write(f"Your answers to '{server}':\n")
    for field in fields:
        value = given.get(field.name)
        shown = "(left out)" if value is None else on_one_line(_value_text(value))
        hidden = value is not None and looks_secret(field)
        dialogue.write(f"  {on_one_line(field.title)}: {'(hidden)' if hidden else shown}\n")
    words = {"": True, "y": True, "yes": True, "e": False, "edit": False}
    words |= dict.fromkeys(("n", "no", "!d"))
    prompt = prompt_line("Send them?", "Y/n, e to edit")
    return await _word_meant(dialogue, prompt, words, "y, n or e")


async def _word_meant(
    dialogue: Dialogue, prompt: str, words: Mapping[str, bool | None], expected: str
) -> bool:
    """What the word means that is typed; None declines."""

    def read(line: str) -> bool:
        word = line.strip().lower()
        if word not in words:
            raise Unfit(f"expected: {expected}")
        if (meant := words[word]) is None:
            raise Declined
        return meant

    return await typed(dialogue, prompt, read)


async def _asked(dialogue: Dialogue, fields: Sequence[FormField], before: JsonObject) -> JsonObject:
    """A value for each field; those of `before` and the form's own are taken by Enter."""
    answers: JsonObject = {}
    for number, field in enumerate(fields, 1):
        place = f"{number}/{len(fields)} " if len(fields) > 1 else ""
        default = before.get(field.name, field.default)
        secret = looks_secret(field)
        dialogue.write(_introduction(field, place, default, secret=secret))
        read = partial(_meant, field, default)
        value = await typed(dialogue, _prompt(default, secret=secret), read, hidden=secret)
        if value is not None:
            answers[field.name] = value
    return answers


async def typed(
    dialogue: Dialogue,
    prompt: str,
    read: Callable[[str], Meant],
    *,
    hidden: bool = False,
    begun: str = "",
) -> Meant:
    """What `read` makes of a line, `begun` for the user; it says why of those that will not do.

    Raises:
        Declined, Cancelled: `read` does, nobody answers, or too many would not do.
    """
    for _ in range(ATTEMPTS_MAX):
        dialogue.write(prompt)
        line = await dialogue.read_line(hidden=hidden, begun=begun)
        try:
            return read(line)
        except Unfit as error:
            dialogue.write(complaint(str(error)))
            begun = line if begun else ""
    dialogue.write(GIVEN_UP)
    raise Cancelled


def _introduction(field: FormField, place: str, default: Json, *, secret: bool) -> str:
    """What is asked for: title, what fits, description, choices."""
    need = "required" if field.required else "optional"
    text = f"{place}{on_one_line(field.title)} ({expectation(field)}; {need})\n"
    if field.description:
        text += quoted(field.description)
    numbered = is_numbered(field.choices)
    for number, one in enumerate(field.choices, 1):
        mark = f"{number:>3}" if numbered else "  -"
        named = "" if one.title == one.value else f"  ({on_one_line(one.value)})"
        text += f"{mark}  {on_one_line(one.title)}{named}\n"
    if len(shown := _value_text(default)) > DEFAULT_CHARACTERS_INLINE:
        text += f"by default:\n{quoted(shown)}"
    return text + (LOOKS_SENSITIVE if secret else "")


def _prompt(default: Json, *, secret: bool) -> str:
    if default is None:
        return prompt_line("", "")
    shown = "hidden" if secret else on_one_line(_value_text(default))
    return prompt_line("", shown if len(shown) <= DEFAULT_CHARACTERS_INLINE else "as above")


def looks_secret(field: FormField) -> bool:
    """Whether a field seems to ask for a password, key or the like."""
    words = f"{field.name} {field.title} {field.description}"
    return field.kind == "text" and (
        names_a_secret(field.name) or _SECRET.search(words) is not None
    )


def _meant(field: FormField, default: Json, line: str) -> Json:
    """The value that a line stands for; None skips the field."""
    word = line.strip()
    if word == "!d":
        raise Declined
    if word in ("", "!s"):
        value = default if word == "" else None
        if value is None and field.required:
            raise Unfit("it is required; !d declines the whole question")
        return value
    if _CONTROLS.search(line):
        expected = f"{expectation(field)}, without control characters (arrow keys make some)"
        raise Unfit(f"expected: {expected}")
    value = fitting_answer(field, word[1:] if word in ("!!s", "!!d") else line)
    if value is None:
        raise Unfit(f"expected: {expectation(field)}")
    return value


def fitting_answer(field: FormField, text: str) -> Json:
    """The value that a typed text means; None where it is none, or the field does not allow it."""
    value = _typed_value(field, text)
    return value if value is not None and field.fits(value) else None


def _typed_value(field: FormField, text: str) -> Json:
    typed = text.strip()
    match field.kind:
        case "text":
            return typed if "format" in field.limits else text
        case "number" | "integer":
            return _number(typed, _WHOLE_NUMBER if field.kind == "integer" else _NUMBER)
        case "yes or no":
            return _YES_OR_NO.get(typed.lower())
        case "choice":
            return _choice(field.choices, typed)
        case "choices":
            return _choices(field.choices, typed)
        case _:
            assert_never(field.kind)


def _number(text: str, form: re.Pattern[str]) -> int | float | None:
    if len(text) > NUMBER_CHARACTERS_MAX or form.fullmatch(text) is None:
        return None
    number = int(text) if _WHOLE_NUMBER.fullmatch(text) else float(text)
    return number if math.isfinite(number) else None


def _choice(choices: Sequence[Choice], text: str) -> str | None:
    """The value that is meant by value, title or number; case counts only where it must."""
    for fold in (str, str.casefold):
        for one in choices:
            if fold(text) in (fold(one.value), fold(one.title)):
                return one.value
    if is_numbered(choices) and text.isdecimal() and 1 <= int(text[:9]) <= len(choices):
        return choices[int(text[:9]) - 1].value
    return None


def _choices(choices: Sequence[Choice], text: str) -> list[Json] | None:
    """The values that are meant, each once."""
    whole = _choice(choices, text)  # a value may have a comma in it
    parts = [part.strip() for part in text.split(",") if part.strip()]
    found = [whole] if whole is not None else [_choice(choices, part) for part in parts]
    return None if None in found else list[Json](dict.fromkeys(found))


def is_numbered(choices: Sequence[Choice]) -> bool:
    """Whether choices may be answered by number: unless one looks like a number itself."""
    return not any(text.strip().isdecimal() for one in choices for text in (one.value, one.title))


def expectation(field: FormField) -> str:
    """What fits the field, in a few words."""
    limits = field.limits
    match field.kind:
        case "text":
            kind = _FORMATS.get(str(limits.get("format")), "text")
            length = _count_of(limits.get("minLength"), limits.get("maxLength"))
            return f"{kind} of {length}characters" if length else kind
        case "number" | "integer":
            kind = "a whole number" if field.kind == "integer" else "a number"
            low = f" from {limits['minimum']}" if "minimum" in limits else ""
            high = f" up to {limits['maximum']}" if "maximum" in limits else ""
            return f"{kind}{low}{high}"
        case "yes or no":
            return "y or n"
        case "choice":
            return "one of them" + (", or its number" if is_numbered(field.choices) else "")
        case "choices":
            count = _count_of(limits.get("minItems"), limits.get("maxItems"))
            what = "values or numbers" if is_numbered(field.choices) else "values"
            return f"{count}{what}, with commas between"
        case _:
            assert_never(field.kind)


def _count_of(least: Json, most: Json) -> str:
    """`2 to 4 `, `at least 2 `, `at most 4 ` or nothing."""
    if most is None:
        return f"at least {least} " if least else ""
    if not least:
        return f"at most {most} "
    return f"{least} " if least == most else f"{least} to {most} "


def _value_text(value: Json) -> str:
    """A value as people would type it."""
    match value:
        case None:
            return ""
        case bool():
            return "y" if value else "n"
        case str():
            return value
        case list():
            return ", ".join(map(_value_text, value))
        case _:
            return json.dumps(value)
