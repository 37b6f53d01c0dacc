"""Answers, their pieces and models as OpenAI's API tells them."""

import time
import uuid
from typing import Final

from core.base.frozen import frozen
from core.turn import RunOutcome, Usage, Verdict
from core.values import Json, JsonObject
from modules.service.http.problems import Refused
from modules.service.openai_form.asked import Asked, Body
from modules.service.openai_form.errors import Unfit
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
        verdict: how the answer was judged; None where nobody did.
        grounded: false of an answer that is from the model's own knowledge; None without one.
    """

    text: str
    is_refusal: bool
    status: str
    usage: Usage
    trace_id: str
    verdict: Verdict | None = None
    grounded: bool | None = None

    @property
    def used(self) -> JsonObject:
        """Tokens, in OpenAI's words."""
        told: JsonObject = {
            "prompt_tokens": self.usage.input_tokens,
            "completion_tokens": self.usage.output_tokens,
            "total_tokens": self.usage.tokens,
        }
        return {**told, "prompt_tokens_details": {"cached_tokens": self.usage.cached_tokens}}

    @property
    def ours(self) -> JsonObject:
        """What the API has no place for."""
        told: JsonObject = {"status": self.status, "trace_id": self.trace_id}
        if self.grounded is not None:
            told["grounded"] = self.grounded
        return {"cortex_r": told | ({"verdict": self.verdict} if self.verdict else {})}


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
        raise Refused(problem.kind, problem.detail)
    text = outcome.message if text is None else text
    ends = [at for stop in asked.body.stop if stop and (at := text.find(stop)) >= 0]
    is_refusal = asked.schema is not None and status != "done"
    shown = text[: min(ends, default=None)]
    judged = outcome.verdict, outcome.grounded
    return Answer(shown, is_refusal, status, outcome.usage, trace_id, *judged)


def stopped() -> Unfit:
    """Somebody else ended the run: the service ends, say."""
    return Unfit("the run was stopped; ask again", code="interrupted", kind="unavailable")


@frozen
class Completion:
    """One completion: its pieces have the same id, time and model."""

    id: str
    created: int
    model: str
    tells_usage: bool

    @classmethod
    def of(cls, body: Body) -> "Completion":
        """The completion of a request that comes in now."""
        tells_usage = body.stream_options is not None and bool(body.stream_options.include_usage)
        return cls(f"chatcmpl-{uuid.uuid4().hex}", int(time.time()), body.model, tells_usage)

    def whole(self, answer: Answer, reasoning: str) -> JsonObject:
        """All of it in one piece."""
        message: JsonObject = {"role": "assistant", "content": answer.text, "refusal": None}
        if answer.is_refusal:
            message |= {"content": None, "refusal": answer.text}
        if reasoning:
            message["reasoning_content"] = reasoning
        told = self._told("chat.completion", [_choice("message", message, "stop")])
        return {**told, "usage": answer.used, **answer.ours}

    def piece(self, delta: JsonObject, finish_reason: str | None = None) -> JsonObject:
        """A piece of a stream: who speaks, some of the reasoning, or the answer."""
        told = self._told("chat.completion.chunk", [_choice("delta", delta, finish_reason)])
        return {**told, "usage": None} if self.tells_usage else told

    def rest(self, answer: Answer) -> list[JsonObject]:
        """The answer, its end, and what was used if that is told."""
        spoken: JsonObject = {"refusal" if answer.is_refusal else "content": answer.text}
        pieces = [self.piece(spoken), self.piece({}, "stop") | answer.ours]
        if self.tells_usage:
            pieces.append({**self._told("chat.completion.chunk", []), "usage": answer.used})
        return pieces

    def _told(self, kind: str, choices: list[Json]) -> JsonObject:
        head: JsonObject = {"id": self.id, "object": kind, "created": self.created}
        return {**head, "model": self.model, "choices": choices}


def _choice(key: str, said: JsonObject, finish_reason: str | None) -> JsonObject:
    return {"index": 0, key: said, "logprobs": None, "finish_reason": finish_reason}
