"""The baseline: the same model calls the same tools one JSON object after the other.

A plain loop of ours, as most agents have it: the tools as JSON schemas, calls sent through the same
dispatcher, results given back as messages, until the model writes an answer. It has as many
rounds as a run has plans at most, errors come back to be put right, and after an error it is asked
at the same temperatures as a plan's retry.
"""

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.errors import CallRefused, ModelUnavailable, ServerError
from core.ports import CountingModel, Dispatcher, ModelRequest
from core.tools.spec import ToolSpec
from core.turn import Usage
from core.values import JsonObject
from modules.decision import RETRY_TEMPERATURES
from modules.tools import get_tool_map
from tests.evals.answered import WROTE_CHARACTERS, Answered
from tests.evals.dialogue import Form, Said
from tests.evals.questions import Question
from tests.evals.tool_call_texts import Unreadable, WrittenCall, calls_in

ROUNDS = 12
"""Three steps of four plans each is what the profile gives a run."""

RESULT_CHARACTERS = 8_000
"""How much of a result the model is shown; a plan's text for the next step is bounded alike."""

ANSWER_TOKENS = 1_024

LAST_ROUNDS = 2
"""In these the model is told to answer with what it has."""

ENOUGH = "You have these results already. Write the answer now, in one sentence, without any call."
"""What helps a small model out of making the same calls for ever."""


class JsonWay:
    """One model and one dispatcher, both open, under a name."""

    def __init__(
        self,
        name: str,
        model: CountingModel,
        dispatcher: Dispatcher,
        tools: Sequence[ToolSpec],
        form: Form,
    ) -> None:
        """Talk with `model` in the `form` that it knows best, about these tools."""
        self.name = name
        self._model = model
        self._dispatcher = dispatcher
        self._form = form
        self._tools = get_tool_map(tools)

    @property
    def model(self) -> str:
        """The model that calls."""
        return self._model.name

    async def answer(self, question: Question, asked: str, before: tuple[str, ...]) -> Answered:
        """Talk until there is an answer; of earlier requests, the answers are what is kept."""
        said: list[Said] = []
        for request in before:
            earlier = await self._talk([*said, Said("user", request)])
            said += [Said("user", request), Said("assistant", earlier.text)]
        return await self._talk([*said, Said("user", asked)])

    async def _talk(self, said: Sequence[Said]) -> Answered:
        talk = _Talk(list(said))
        used = self._model.usage
        try:
            text = await self._rounds(talk)
        except ModelUnavailable as error:
            return talk.ended("failed", str(error), self._model.usage - used)
        status = "done" if text is not None else "no_answer"
        answer = text if text is not None else f"no answer within {ROUNDS} rounds"
        return talk.ended(status, answer, self._model.usage - used)

    async def _rounds(self, talk: "_Talk") -> str | None:
        """The answer, or None when the rounds are spent."""
        functions = [function_of(name, tool) for name, tool in self._tools.items()]
        for left in range(ROUNDS, 0, -1):
            if left <= LAST_ROUNDS:
                talk.messages.append(Said("user", ENOUGH))
            text = await self._written(talk, functions)
            calls = calls_in(text)
            if not calls and text.strip():
                return text.strip()
            talk.messages.append(Said("assistant", as_written_best(calls) or text))
            if not calls:
                talk.failed("no_plan", "You wrote nothing. Call a function, or write the answer.")
            failures = len(talk.failures)
            for call in calls:
                await self._make(call, talk)
            talk.bad_rounds += len(talk.failures) > failures
            repeats = talk.failures[failures:] == ["repeated"] * len(calls)
            if calls and repeats and left - 1 > LAST_ROUNDS:
                talk.messages.append(Said("user", ENOUGH))
        return None

    async def _written(self, talk: "_Talk", functions: Sequence[JsonObject]) -> str:
        texts = self._form.texts(functions, talk.messages)
        temperature = RETRY_TEMPERATURES[min(talk.bad_rounds, len(RETRY_TEMPERATURES) - 1)]
        request = ModelRequest(
            "text",
            texts.system + texts.user,
            prefix_characters=len(texts.system),
            temperature=temperature,
            max_output_tokens=ANSWER_TOKENS,
        )
        text = (await self._model.generate(request)).text
        talk.wrote.append(text[:WROTE_CHARACTERS])
        return text

    async def _make(self, call: WrittenCall | Unreadable, talk: "_Talk") -> None:
        """Send one call, and put what comes of it into the talk."""
        if isinstance(call, Unreadable):
            talk.failed("syntax", f"Error: {call.why}. Write it again.")
            return
        if (tool := self._tools.get(call.name)) is None:
            talk.failed("error", self._unknown(call.name))
            return
        shown = f"{call.name} {json.dumps(call.arguments, sort_keys=True)}"
        if (earlier := talk.results.get(shown)) is not None:
            talk.failed("repeated", f"This call was made before, and its result was: {earlier}")
            return
        try:
            bound = tool.bind_raw(call.arguments)
            result = await self._dispatcher.call_tool(tool.qualified_name, bound)
        except (CallRefused, ServerError) as error:
            talk.failed("tool", f"Error: {error}")
            return
        talk.called.append(tool.qualified_name)
        text = result.text[:RESULT_CHARACTERS]
        if result.is_error:
            talk.failed("tool", f"Error: {text}")
        else:
            talk.results[shown] = text
            talk.messages.append(Said("tool", text))

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._tools, n=3)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        return f"Error: there is no function {name[:100]!r}.{hint}"


def as_written_best(calls: Sequence[WrittenCall | Unreadable]) -> str:
    """The calls in the form that was taught, whatever form they came in; empty if one is broken.

    A model goes on as it finds that it began, and in this form it knows what comes next.
    """
    lines: list[str] = []
    for call in calls:
        if isinstance(call, Unreadable):
            return ""
        written = json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
        lines.append(f"<tool_call>\n{written}\n</tool_call>")
    return "\n".join(lines)


def function_of(name: str, tool: ToolSpec) -> JsonObject:
    """A tool as the function lists of providers have it, the bundled servers' wrapper left out."""
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": tool.description,
            "parameters": {**tool.arguments_schema},
        },
    }


@dataclass
class _Talk:
    """What was said, and what went wrong, in one run."""

    messages: list[Said]
    failures: list[str] = field(default_factory=list[str])
    bad_rounds: int = 0
    called: list[str] = field(default_factory=list[str])
    wrote: list[str] = field(default_factory=list[str])
    results: dict[str, str] = field(default_factory=dict[str, str])

    def failed(self, kind: str, message: str) -> None:
        """Note a failure, and let the model know."""
        self.failures.append(kind)
        self.messages.append(Said("tool", message))

    def ended(self, status: str, text: str, usage: Usage) -> Answered:
        """How it ended."""
        return Answered(
            status,
            text,
            usage,
            retries=self.bad_rounds,
            steps=len(self.wrote),
            failures=tuple(self.failures),
            tools_called=tuple(self.called),
            wrote=tuple(self.wrote),
        )
