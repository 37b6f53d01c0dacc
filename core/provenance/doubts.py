"""What is doubtful about a call, and how the model is told.

The words for the user stand in the terminal, which alone knows how to show what others wrote.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, assert_never

from core.dispatch.hidden_text import with_hidden_shown
from core.values import Json, JsonObject

DoubtKind: TypeAlias = Literal["url", "path", "address", "tool", "name"]

SHOWN_CHARACTERS: Final = 200
"""How much of a value the model is told; it wrote it itself."""

DOUBTS_TOLD: Final = 5
"""How many doubtful values of one call are looked for."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A value, or the call itself ("tool"), that nobody who is trusted has asked for.

    `value` is as the plan wrote it, for "tool" the qualified name; `key` is the form in which an
    answer about it is remembered. `arguments` are those of the call, if it may change something.
    """

    kind: DoubtKind
    value: str
    key: str
    arguments: JsonObject = field(default_factory=dict[str, Json])


def refusal(tool: str, doubts: Sequence[Doubt], *, was_asked: bool = False) -> str:
    """What the plan is told: what was refused, why, and what it can do otherwise.

    `was_asked`: the user has said no to it.
    """
    if was_asked:
        named = " and ".join(_named(doubt) for doubt in doubts)
        return f"{tool} was not called: the user did not allow {named}; answer without it"
    reasons = dict.fromkeys(_reason(doubt) for doubt in doubts)
    return f"{tool} was not called: {'; '.join(reasons)}"


def _named(doubt: Doubt) -> str:
    if doubt.kind == "tool":
        return "this call"
    return f"the {'e-mail address' if doubt.kind == 'address' else doubt.kind} {_shown(doubt)}"


def _shown(doubt: Doubt) -> str:
    shown = with_hidden_shown(doubt.value[:SHOWN_CHARACTERS])
    cut = "…" if len(doubt.value) > SHOWN_CHARACTERS else ""
    return f"{' '.join(shown.split())}{cut}"


def _reason(doubt: Doubt) -> str:
    value = _shown(doubt)
    match doubt.kind:
        case "url":
            return (
                f"the address {value} stands neither in the request, nor in a list of search "
                "results, nor on a page of that site that was read; search for it first, or ask "
                "the user to name it in the request"
            )
        case "path":
            return (
                f"the path {value} is neither named in the request nor below a folder that is, and "
                "no list of files has it; list the folder first, or ask the user to name it"
            )
        case "address":
            return (
                f"the e-mail address {value} does not come from the user; answer without it, or "
                "ask the user to name it in the request"
            )
        case "tool":
            return (
                "it may change something, the request does not ask for it, and nobody is there to "
                f"allow it (--approve {shlex.quote(value)} does); answer without it, or say so"
            )
        case "name":
            return (
                f"the name {value} of a tool or server does not come from the user; ask the user "
                "to name it in the request"
            )
        case _:
            assert_never(doubt.kind)
