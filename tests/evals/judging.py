"""Asks every request of a list in one way, judges the answers, and keeps what came of them."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.evals.answered import Answered, Way
from tests.evals.checks import what_is_wrong
from tests.evals.options import Shard
from tests.evals.questions import Question
from tests.evals.records import Record, Results, Verdict
from tests.evals.stage import say
from tests.evals.workplace import Workplace

REQUEST_SECONDS = 900.0
"""Bound on one request, on a slow machine that others use too."""

OUTAGES_IN_A_ROW = 3
"""After so many requests that a model or server did not answer, it is of no use to go on."""

ANSWER_CHARACTERS = 4_000
"""How much of an answer is kept."""


class Outage(Exception):
    """Model or servers are down: what was measured so far is kept, the rest is not measured."""


@dataclass(frozen=True)
class Judge:
    """Where answers are checked and kept; `code` names the program that is measured.

    Of the requests that are not known, those of `shard` are asked.
    """

    workplace: Workplace
    results: Results
    code: str
    shard: Shard = field(default_factory=Shard)

    async def ask_all(self, way: Way, questions: Sequence[Question]) -> dict[str, Record]:
        """The records of all questions in this way; those that are known are not asked again.

        Raises:
            Outage: several requests after one another were not answered at all.
        """
        known = self.results.of(way.name, way.model, [q.key for q in questions])
        mine = questions[self.shard.index :: self.shard.count]
        left = [question for question in mine if question.key not in known]
        if left:
            say(f"{way.name}: {len(left)} requests to {way.model}")
        outages = 0
        for number, question in enumerate(left, 1):
            record = await self._asked(way, question)
            if record.status == "failed":
                outages += 1
                say(f"  {question.key}: {record.answer}")
                if outages == OUTAGES_IN_A_ROW:
                    raise Outage(f"{way.name}: {record.answer}")
                continue  # an outage says nothing about plans; it is asked again another time
            outages = 0
            self.results.add(record)
            say(f"  {number}/{len(left)} {_line(record)}")
        return self.results.of(way.name, way.model, [q.key for q in questions])

    async def _asked(self, way: Way, question: Question) -> Record:
        self.workplace.fill()
        asked = self.workplace.filled(question.ask)
        before = tuple(map(self.workplace.filled, question.before))
        started = time.perf_counter()
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                given = await way.answer(question, asked, before)
        except TimeoutError:
            given = Answered("timeout", f"no answer within {REQUEST_SECONDS:g} s")
        seconds = time.perf_counter() - started
        verdict, why = self._verdict(question, asked, given)
        return Record(
            way=way.name,
            key=question.key,
            part=question.part,
            model=way.model,
            code=self.code,
            ask=asked,
            answer=given.text[:ANSWER_CHARACTERS],
            status=given.status,
            verdict=verdict,
            why=why,
            first_try=verdict == "right" and not given.failures and not given.retries,
            retries=given.retries,
            steps=given.steps,
            seconds=round(seconds, 3),
            model_calls=given.usage.model_calls,
            input_tokens=given.usage.input_tokens,
            output_tokens=given.usage.output_tokens,
            cached_tokens=given.usage.cached_tokens,
            failures=given.failures,
            tools_called=given.tools_called,
            wrote=given.wrote,
            parts=given.parts,
        )

    def _verdict(
        self, question: Question, asked: str, given: Answered
    ) -> tuple[Verdict, str | None]:
        is_answer = given.status == "done"
        if not is_answer and not (question.may_fail and given.status == "no_answer"):
            return "none", given.status
        asked_so = question.model_copy(update={"ask": asked})
        wrong = what_is_wrong(asked_so, given.text, self.workplace)
        if wrong is None:
            return "right", None
        return ("wrong" if is_answer else "none"), wrong


def _line(record: Record) -> str:
    detail = "" if record.is_right else f" ({record.why}): {record.answer[:120]!r}"
    retried = f", {record.retries} retried" if record.retries else ""
    return f"{record.verdict:5} {record.key} {record.seconds:.1f} s{retried}{detail}"
