"""Answers, their pieces and models as OpenAI's API tells them."""

import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Final

from core.base.frozen import frozen
from core.turn import RunOutcome, Usage
from core.values import Json, JsonObject
from modules.service.openai_form.asked import Asked
from modules.service.openai_form.errors import refused_for, stopped
from modules.service.pool import DEFAULT_PROFILE
from modules.service.served.problems import problem_of_outcome

MODEL: Final = "cortex-r"
"""The model that is the usual profile; another profile is `cortex-r/NAME`."""


def model_named(profile: str) -> str:
    """The id of the model that a profile is."""
    return MODEL if profile == DEFAULT_PROFILE else f"{MODEL}/{profile}"


def model_told(profile: str, changed_at: float) -> JsonObject:
    """A model in the list; it was made when its profile was written."""
    made: JsonObject = {"id": model_named(profile), "object": "model", "created": int(changed_at)}
    return {**made, "owned_by": MODEL}


@frozen
class Answer:
    """What the client gets.

    Attributes:
        text: the answer; where there is none, the question of a plan, or why there is none.
        is_refusal: the text is not in the form that was asked for.
        status: "done", "no_answer", or "question".
        usage: what models have used.
        trace_id: under which the run is traced.
    """

    text: str
    is_refusal: bool
    status: str
    usage: Usage
    trace_id: str


def answer_of(outcome: RunOutcome, question: str | None, asked: Asked, trace_id: str) -> Answer:
    """What a run comes to; `question` is what a plan asked back, with which it ended.

    Raises:
        Refused: the run failed, was stopped, or could not be paid for.
    """
    status, text = str(outcome.status), outcome.answer
    problem = problem_of_outcome(outcome)
    if question is not None and text is None:
        status, text = "question", question
    elif outcome.status == "interrupted":
        raise stopped()
    elif problem is not None and problem.kind != "no-answer":
        raise refused_for(problem)
    text = _until_stop(outcome.message if text is None else text, asked.stops)
    is_refusal = asked.schema is not None and status != "done"
    return Answer(text, is_refusal, status, outcome.usage, trace_id)


def _until_stop(text: str, stops: Iterable[str]) -> str:
    """The text before the first place where one of the stops stands."""
    return text[: min((at for stop in stops if (at := text.find(stop)) >= 0), default=len(text))]


@frozen
class Completion:
    """One completion: its pieces have the same id, time and model."""

    id: str
    created: int
    model: str
    tells_usage: bool

    @classmethod
    def of(cls, asked: Asked) -> "Completion":
        """The completion of a request that comes in now."""
        id_ = f"chatcmpl-{uuid.uuid4().hex}"
        return cls(id_, int(time.time()), asked.model, asked.tells_usage)

    def whole(self, answer: Answer, reasoning: str) -> JsonObject:
        """All of it in one piece."""
        message: JsonObject = {"role": "assistant", "content": answer.text, "refusal": None}
        if answer.is_refusal:
            message |= {"content": None, "refusal": answer.text}
        if reasoning:
            message["reasoning_content"] = reasoning
        choice: JsonObject = {"index": 0, "message": message, "logprobs": None}
        choices: list[Json] = [{**choice, "finish_reason": "stop"}]
        used = _usage(answer.usage)
        return {**self._head("chat.completion"), "choices": choices, "usage": used, **_ours(answer)}

    def first(self) -> JsonObject:
        """The piece that says who speaks."""
        return self._piece({"role": "assistant", "content": ""})

    def thought(self, text: str) -> JsonObject:
        """A piece of the reasoning, as many front ends show it apart."""
        return self._piece({"reasoning_content": text})

    def rest(self, answer: Answer) -> Sequence[JsonObject]:
        """The answer, its end, and what was used if that is told."""
        spoken: JsonObject = {"refusal" if answer.is_refusal else "content": answer.text}
        pieces = [self._piece(spoken), self._piece({}, "stop") | _ours(answer)]
        if self.tells_usage:
            pieces.append({**self._piece(None), "usage": _usage(answer.usage)})
        return pieces

    def _piece(self, delta: JsonObject | None, finish_reason: str | None = None) -> JsonObject:
        choices: list[Json] = []
        if delta is not None:
            choice: JsonObject = {"index": 0, "delta": delta, "logprobs": None}
            choices.append({**choice, "finish_reason": finish_reason})
        told: JsonObject = {**self._head("chat.completion.chunk"), "choices": choices}
        return {**told, "usage": None} if self.tells_usage else told

    def _head(self, kind: str) -> JsonObject:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def _usage(used: Usage) -> JsonObject:
    told: JsonObject = {
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "total_tokens": used.tokens,
    }
    return {**told, "prompt_tokens_details": {"cached_tokens": used.cached_tokens}}


def _ours(answer: Answer) -> JsonObject:
    """What the API has no place for."""
    return {MODEL.replace("-", "_"): {"status": answer.status, "trace_id": answer.trace_id}}
