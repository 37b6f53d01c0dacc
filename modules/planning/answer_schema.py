"""The form that a request's answer must have (`--json-schema`), and what becomes of another one."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from core.base.files import FileTooLarge, read_regular
from core.base.text import lazy_pattern
from core.errors import UsageError
from core.tools.schema_check import FullCheck
from core.turn import ActionResult, FinalAnswer, PlanFailed, PlanFailure, RunOutcome
from core.values import Json, JsonObject
from modules.terminal.answer import value_of

SCHEMA_BYTES_MAX: Final = 64 * 1024
"""About 16,000 tokens: the whole schema stands in the prompt."""

FAULTS_TOLD: Final = 5

_FENCED: Final = lazy_pattern(r"\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*", re.DOTALL)

_NOTE: Final = """\
The answer must be JSON that validates against this JSON Schema, and nothing beside it: no prose, no
fence, no sources. Build the value in the plan and return f"FINAL_ANSWER: {json.dumps(value)}".
"""


class AnswerSchema:
    """A JSON Schema that answers are held against; it fetches nothing."""

    def __init__(self, schema: JsonObject | bool, name: str) -> None:
        """Compile the schema; `name` is what messages call it.

        Raises:
            UsageError: it is no JSON Schema, or refers to one elsewhere.
        """
        self.name = name
        self._text = json.dumps(schema, ensure_ascii=False)
        try:
            self._check = FullCheck(schema)
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from error

    @property
    def note(self) -> str:
        """What a prompt says of it."""
        return f"{_NOTE}{self._text}"

    def faults(self, value: Json) -> list[str]:
        """What is wrong with a value, a phrase each, the first few; nothing if it validates."""
        return self._check.faults(value, FAULTS_TOLD)


def read_answer_schema(path: Path) -> AnswerSchema:
    """The schema in a file.

    Raises:
        UsageError: it can't be read, or is none.
    """
    try:
        schema = cast("Json", json.loads(read_regular(path, SCHEMA_BYTES_MAX)))
    except OSError as error:
        raise UsageError(f"--json-schema {path}: {error.strerror or error}") from error
    except FileTooLarge as error:
        raise UsageError(f"--json-schema {path}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--json-schema {path}: this is no JSON: {error}") from error
    if not isinstance(schema, dict | bool):
        raise UsageError(f"--json-schema {path}: a JSON Schema is an object, true or false")
    try:
        return AnswerSchema(schema, str(path))
    except UsageError as error:
        raise UsageError(f"--json-schema {error}") from error


class ExpectedAnswer:
    """One request's answer: a plan whose answer does not validate has failed, once."""

    def __init__(self, schema: AnswerSchema, *, may_repair: bool) -> None:
        """With `may_repair`, a further plan is told what was wrong."""
        self._schema = schema
        self._may_repair = may_repair
        self._rejected: str | None = None

    def judge(self, result: ActionResult) -> ActionResult:
        """A plan's result; in place of the first answer that does not validate, a failure."""
        if not isinstance(result, FinalAnswer):
            return result
        _, faults = self._read(result.text)
        if not faults:
            return result
        self._rejected = result.text
        if not self._may_repair:
            return result
        self._may_repair = False
        told = f"the answer does not validate against the JSON Schema: {'; '.join(faults)}"
        return PlanFailed(PlanFailure("answer", told), result.calls, result.found)

    def settle(self, outcome: RunOutcome) -> RunOutcome:
        """The outcome with its answer as JSON, or without one, and the last answer beside it."""
        if outcome.answer is None:
            return replace(outcome, rejected_answer=self._rejected)
        answer = _as_planned(outcome, outcome.answer)
        value, faults = self._read(answer)
        if not faults:
            return replace(outcome, answer=json.dumps(value, ensure_ascii=False))
        told = f"No answer: it does not validate against {self._schema.name}: {'; '.join(faults)}"
        return replace(
            outcome,
            status="no_answer",
            answer=None,
            message=told,
            rejected_answer=answer,
            grounded=None,
        )

    def _read(self, answer: str) -> tuple[Json, list[str]]:
        fenced = _FENCED.fullmatch(answer)
        value = value_of(fenced[1] if fenced else answer.strip())
        return value, self._schema.faults(value)


def _as_planned(outcome: RunOutcome, answer: str) -> str:
    """The answer as the plan gave it, without the sources that were put below it."""
    last = outcome.steps[-1].result if outcome.steps else None
    is_longer = isinstance(last, FinalAnswer) and answer.startswith(f"{last.text}\n\nSources: ")
    return last.text if isinstance(last, FinalAnswer) and is_longer else answer
