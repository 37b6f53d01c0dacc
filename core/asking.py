"""What a person is asked while a request is answered: the same facts at every door.

A plan asks back, a server wants a form filled in, a call needs leave, a server's tools have
changed, a part of a graph needs a word: each is a `Question`. A door shows it to its `Person`, and
gives the `Answer`. Texts in a question may be written by anybody: doors show them as text.

A question for leave tells each call whole, and behind each value where it comes from. Its answer is
a yes for these calls or some of them, for once or by a rule that is kept, or a no with words for
the model.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Final, Literal, Protocol, TypeAlias

from core.base.frozen import frozen
from core.base.redaction import Redactor
from core.base.text import shorten
from core.errors import UsageError
from core.provenance.rules import RuleError, read_rule
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


QuestionKind: TypeAlias = Literal["question", "form", "visit", "approval", "changed_tools", "part"]
"""A plan's own; a form or a page of a server; leave for calls; tools that changed; a part's."""


@frozen
class Question:
    """A question to the person whose request is answered.

    Attributes:
        id: unique; the answer names it.
        kind: what asks.
        text: what is asked.
        detail: what belongs to it: what a part would do, definitions before and after.
        options: the answers there are, by their values, with words for people; none where the
            answer is a text or a form.
        form: JSON Schema of the object that is asked for.
        url: the page that a server sends the person to; it is not opened by us.
        default: what stands for no answer.
        tool: what needs leave, as `server.tool`; empty for other kinds.
        step: the part of a graph that asks; empty where that is none, or a server asks.
        calls, why, rules: of the calls that need leave, as `LeaveQuestion` has them.
    """

    id: str
    kind: QuestionKind
    text: str
    detail: str = ""
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    form: JsonObject = field(default_factory=dict[str, Json])
    url: str | None = None
    default: str | None = None
    tool: str = ""
    step: str = ""
    calls: tuple[AskedCall, ...] = ()
    why: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


@frozen
class Answer:
    """What the person said: one of the options or a text, or the values of a form.

    `declined`: the person does not want to answer. To a question for leave, `rule` is one that is
    kept in place of the question's, and `only` are the numbers of the calls that are allowed, from
    0; None: all of them.
    """

    text: str = ""
    content: JsonObject = field(default_factory=dict[str, Json])
    declined: bool = False
    rule: str = ""
    only: tuple[int, ...] | None = None


class Person(Protocol):
    """Who is asked, through one door."""

    async def __call__(self, question: Question, /) -> Answer | None:
        """The answer; None where nobody is there, or answers."""
        ...


_HOLDS: Final[Mapping[str, Holds]] = {
    "": "no",
    "n": "no",
    "no": "no",
    "y": "once",
    "yes": "once",
    "once": "once",
    "session": "session",
    "always": "always",
}
"""What an answer to a question for leave means; other words are those of a no."""


def leave_of(question: Question | LeaveQuestion, answer: Answer) -> Leave:
    """What an answer to a question for leave allows.

    Raises:
        UsageError: it can't be meant so: no such rule, no such call, a yes and more.
    """
    if answer.declined:
        return Leave("no")
    said = answer.text.strip()
    word = said.lower()
    if (holds := _HOLDS.get(word)) is None and word.partition(" ")[0].rstrip(",.!;:") in YES:
        meant = shorten(said, 80)
        raise UsageError(f"{meant!r} is more than a yes; say 'yes' alone, or a no in other words")
    lasts = holds in ("session", "always")
    if answer.rule and not lasts:
        raise UsageError("a rule is kept with 'session' or 'always'; say one of them with it")
    if lasts and not (answer.rule or question.rules):
        raise UsageError("these calls are too long for a rule; write one, or say 'once'")
    if answer.only is not None and (holds in (None, "no") or not answer.only):
        raise UsageError("some of the calls are allowed with a yes; say it, and name at least one")
    number = len(question.calls)
    if any(not 0 <= each < number for each in answer.only or ()):
        raise UsageError(f"there are {number} calls, numbered from 0")
    return Leave(
        holds or "no",
        said if holds is None else "",
        edited_rule(question.tool, answer.rule) if answer.rule else "",
        None if answer.only is None else frozenset(answer.only),
    )


def edited_rule(tool: str, text: str) -> str:
    """The rule that a person has written for a tool (`server.tool`), in its usual form.

    Raises:
        UsageError: it is none, or one for another tool.
    """
    try:
        rule = read_rule(text.strip())
    except RuleError as error:
        raise UsageError(str(error)) from None
    if not rule.is_for(tool):
        raise UsageError(f"the rule is for {shorten(rule.tool, 80)}; write one for {tool}")
    return str(rule)


ORIGINS: Final[Mapping[str, str]] = {
    "words": "your words",
    "profile": "your profile",
    "plan": "the plan, written before anything was read",
    "computed": "computed",
    "default": "the tool's own default",
    "none": "no value",
    "unknown": "unknown",
}
"""Where values come from that stand in no result that was read."""
