"""What a person is asked before a call is sent: the same facts at every door.

A question tells each call whole, and behind each value where it comes from. Its answer is a yes for
these calls or some of them, for once or by a rule that is kept, or a no with words for the model.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal, Protocol, TypeAlias

from core.base.frozen import frozen
from core.base.redaction import Redactor
from core.values import Json, JsonObject

Holds: TypeAlias = Literal["no", "once", "session", "always"]
"""For how long a yes holds."""

YES: Final = frozenset({"y", "yes"})
"""What a person types who means yes."""


@frozen
class ShownValue:
    """One argument of a call as a person sees it.

    `name` is the argument's. `origin` says in words where the value comes from: "your words",
    "line 3 of bill.txt", "unknown".
    """

    name: str
    value: Json
    origin: str


@frozen
class AskedCall:
    """A call that waits for leave: its tool as `server.tool`, and all its values.

    `arguments` are those that would be sent.
    """

    tool: str
    values: tuple[ShownValue, ...]
    arguments: JsonObject


@frozen
class LeaveQuestion:
    """Whether calls of one tool may be sent.

    `calls` are those of one plan that wait at the same time, at least one. `why` says in words why
    somebody is asked. `rules` are what an answer for longer than once would keep, in the form of
    `core.provenance.rules`, one for each call that differs; the person may write one in their
    place. None: they are too long to be checked by eye.
    """

    calls: tuple[AskedCall, ...]
    why: tuple[str, ...]
    rules: tuple[str, ...]

    @property
    def tool(self) -> str:
        """The tool that all the calls are of."""
        return self.calls[0].tool

    def redacted(self, redactor: Redactor) -> "LeaveQuestion":
        """The same without secrets."""
        calls = tuple(
            AskedCall(
                call.tool,
                tuple(replace(v, value=redactor.json(v.value)) for v in call.values),
                redactor.object(call.arguments),
            )
            for call in self.calls
        )
        why, rules = (tuple(map(redactor.text, each)) for each in (self.why, self.rules))
        return LeaveQuestion(calls, why, rules)


@frozen
class Leave:
    """The person's answer.

    `words` are said beside a no. `rule` is what is to be kept where the person has written another
    than the question's. `only` are the numbers of the calls that a yes is for, from 0; None: all.
    """

    holds: Holds
    words: str = ""
    rule: str = ""
    only: frozenset[int] | None = None

    def allows(self, number: int) -> bool:
        """Whether the call of this number may be sent."""
        return self.holds != "no" and (self.only is None or number in self.only)


class AskLeave(Protocol):
    """Puts a question for leave to the person."""

    async def __call__(self, question: LeaveQuestion) -> Leave | None:
        """The answer; None where nobody is there."""
        ...


ORIGINS: Final[Mapping[str, str]] = {
    "words": "your words",
    "profile": "your profile",
    "plan": "the plan, written before anything was read",
    "computed": "computed",
    "none": "no value",
    "unknown": "unknown",
}
"""Where values come from that stand in no result that was read."""
