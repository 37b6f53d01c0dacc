"""A server's form, asked field by field, shown before it is sent."""

import json
import re
from collections.abc import Sequence

from core.base.redaction import names_a_secret
from core.mcp.form import (
    ChoiceField,
    ChoicesField,
    FormField,
    TextField,
    Unfit,
    expectation,
    fitting_answer,
    fitting_default,
    is_numbered,
)
from core.values import Json, JsonObject
from modules.terminal.console import Cancelled, Console, Declined
from modules.terminal.quoting import on_one_line, quoted

ATTEMPTS_MAX = 5
"""So often a field is asked before we take it that nobody means to answer."""

DEFAULT_CHARACTERS_INLINE = 60
"""A longer default is shown above the prompt."""

HOW_TO = "Enter takes what stands in [ ], or skips; !s skips, !d declines, Ctrl-C ends the run.\n"

GIVEN_UP = "  that was the last try; the question is given up\n"

LOOKS_SENSITIVE = (
    "  Careful: this looks like a secret. Servers are forbidden to ask for one in this way\n"
    "  (MCP, Elicitation); !d declines. What you type does not show.\n"
)

# What people call secrets; names of fields go by `names_a_secret` as well.
_SECRET = re.compile(
    r"pass[\s_-]*(word|phrase|code|wd)|secret|token|credential|api[\s_-]*key|private[\s_-]*key"
    r"|\bpin\b|\bcv[vc]\b|card[\s_-]*number|\bssn\b|\botp\b",
    re.IGNORECASE,
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def looks_secret(field: FormField) -> bool:
    """Whether a field seems to ask for a password, key or the like."""
    labels = field.labels
    words = f"{labels.name} {labels.title} {labels.description}"
    is_secret = names_a_secret(labels.name) or _SECRET.search(words) is not None
    return is_secret and isinstance(field, TextField)


async def filled_in(console: Console, server: str, fields: Sequence[FormField]) -> JsonObject:
    """The user's answers by field; optional ones that were skipped are left out.

    Raises:
        Declined, Cancelled: there are none.
    """
    if not fields:
        if not await is_confirmed(console, "Agree? [y/N] ", default=False):
            raise Declined
        return {}
    console.write(HOW_TO)
    given: JsonObject = {}
    for _ in range(ATTEMPTS_MAX):
        given = await _asked(console, fields, given)
        # MCP: the user must be able to review and change answers before they are sent. A
        # single one was on the screen when it was typed.
        if len(fields) == 1 or await _is_reviewed(console, server, fields, given):
            return given
    console.write(GIVEN_UP)
    raise Cancelled


async def is_confirmed(console: Console, prompt: str, *, default: bool) -> bool:
    """Ask y or n; Enter means `default`.

    Raises:
        Declined, Cancelled: neither.
    """
    for _ in range(ATTEMPTS_MAX):
        console.write(prompt)
        match (await console.read_line()).strip().lower():
            case "":
                return default
            case "y" | "yes":
                return True
            case "n" | "no":
                return False
            case "!d":
                raise Declined
            case _:
                console.write("  expected: y or n\n")
    console.write(GIVEN_UP)
    raise Cancelled


async def _asked(console: Console, fields: Sequence[FormField], before: JsonObject) -> JsonObject:
    answers: JsonObject = {}
    for number, field in enumerate(fields, 1):
        place = f"{number}/{len(fields)} " if len(fields) > 1 else ""
        default = before.get(field.labels.name, fitting_default(field))
        value = await _answer(console, field, place, default)
        if value is not None:
            answers[field.labels.name] = value
    return answers


async def _answer(console: Console, field: FormField, place: str, default: Json) -> Json:
    """One field's value; None where it is skipped."""
    secret = looks_secret(field)
    console.write(_introduction(field, place, default, secret=secret))
    prompt = _prompt(default, secret=secret)
    for _ in range(ATTEMPTS_MAX):
        console.write(prompt)
        text = await console.read_line(hidden=secret)
        try:
            value = _meant(field, text, default)
        except Unfit as error:
            console.write(f"  expected: {error}\n")
            continue
        if value is not None or not field.labels.required:
            return value
        console.write("  it is required; !d declines the whole question\n")
    console.write(GIVEN_UP)
    raise Cancelled


def _meant(field: FormField, text: str, default: Json) -> Json:
    match text.strip():
        case "":
            return default
        case "!s":
            return None
        case "!d":
            raise Declined
        case "!!s" | "!!d" as literal:
            return fitting_answer(field, literal[1:])
        case _ if _CONTROLS.search(text):
            raise Unfit(f"{expectation(field)}, without control characters (arrow keys make some)")
        case _:
            return fitting_answer(field, text)


def _introduction(field: FormField, place: str, default: Json, *, secret: bool) -> str:
    """What is asked for: title, what fits, description, choices."""
    labels = field.labels
    need = "required" if labels.required else "optional"
    text = f"{place}{on_one_line(labels.title)} ({expectation(field)}; {need})\n"
    if labels.description:
        text += quoted(labels.description)
    if isinstance(field, ChoiceField | ChoicesField):
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
        return "> "
    shown = "hidden" if secret else on_one_line(_value_text(default))
    return f"[{shown if len(shown) <= DEFAULT_CHARACTERS_INLINE else 'as above'}] > "


async def _is_reviewed(
    console: Console, server: str, fields: Sequence[FormField], given: JsonObject
) -> bool:
    """Whether to send the answers; False to go through them again."""
    console.write(f"Your answers to '{server}':\n")
    for field in fields:
        value = given.get(field.labels.name)
        shown = "(left out)" if value is None else on_one_line(_value_text(value))
        hidden = value is not None and looks_secret(field)
        console.write(f"  {on_one_line(field.labels.title)}: {'(hidden)' if hidden else shown}\n")
    for _ in range(ATTEMPTS_MAX):
        console.write("Send them? [Y/n, e to edit] ")
        match (await console.read_line()).strip().lower():
            case "" | "y" | "yes":
                return True
            case "n" | "no" | "!d":
                raise Declined
            case "e" | "edit":
                return False
            case _:
                console.write("  expected: y, n or e\n")
    console.write(GIVEN_UP)
    raise Cancelled


def _value_text(value: Json) -> str:
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
