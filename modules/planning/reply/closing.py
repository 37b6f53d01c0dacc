"""The answer in a reply that is still being written, where the reply says it word for word.

A plan that only returns a text, `return "FINAL_ANSWER: Bonjour !"`, and a reply that begins with
the verdict itself have their answer in them from the first word on. Any other plan has to run.
"""

import ast
import re
from typing import Final

from core.base.text import lazy_pattern
from core.turn import FINAL_ANSWER
from modules.planning.reply.text import answer_part
from modules.sandbox.language import ENTRY_POINT, NotParsed, parse

_PLAN: Final = lazy_pattern(
    r"\s*(?:[^`]{0,400}```(?:python|py)?[ \t]*\n\s*)?"  # a few words, and the fence
    rf"async def {ENTRY_POINT}\(\)(?: -> str)?:[ \t]*\n(?:[ \t]*(?:#[^\n]*)?\n){{0,20}}"
    rf"[ \t]+return[ \t]+(?P<quote>\"\"\"|'''|\"|'){FINAL_ANSWER}"
)

_SPOKEN: Final = lazy_pattern(rf"\s*{FINAL_ANSWER}")

_IMAGE: Final = lazy_pattern(r"!(?:\[|\Z)|<")
"""May begin an image, whose address could carry off what was read: whether it may be shown is known
when the plan has run."""


def answer_so_far(reply: str) -> str:
    """How the answer begins, as far as it can be told; empty where the reply has to run first.

    It grows with the reply, but what comes later may take it back.
    """
    text = answer_part(reply)
    if (plan := _PLAN.match(text)) is not None:
        said = _quoted(text[plan.end() :], plan["quote"])
    elif (spoken := _SPOKEN.match(text)) is not None:
        said = text[spoken.end() :].partition("```")[0].rstrip("`")  # a plan may follow
    else:
        return ""
    image = _IMAGE.search(said)
    return said[: image.start() if image is not None else None].strip()


def read_so_far(reply: str) -> str:
    """What of a reply that was cut a person can read: its answer, or all of it if it is prose."""
    answer = answer_so_far(reply)
    is_prose = not answer and "```" not in reply and f"def {ENTRY_POINT}" not in reply
    return reply.strip() if is_prose else answer


def _quoted(text: str, quote: str) -> str:
    """What a text behind its opening quote says; empty where it is not all that is returned."""
    marks = re.finditer(rf"\\.|{quote}", text, re.DOTALL)
    end = next((mark for mark in marks if mark.group() == quote), None)
    if end is None:
        return _value(text.rstrip(quote[0]), quote)
    behind = text[end.end() :].strip()
    return "" if behind and not behind.startswith("`") else _value(text[: end.start()], quote)


def _value(written: str, quote: str) -> str:
    """The text that Python reads; an escape that is half written at its end is left out."""
    for source in (written, written.rpartition("\\")[0]):
        try:
            statement = parse(f"{quote}{source}{quote}").body[0]
        except (SyntaxError, NotParsed):
            continue
        match statement:
            case ast.Expr(ast.Constant(str(said))):
                return said
            case _:
                return ""
    return ""
