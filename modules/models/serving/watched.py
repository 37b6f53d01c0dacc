"""One model of a chain: watched, bounded in time and number, asked again where that may help.

Its reply comes as a stream of deltas and is wanted as one piece: `collect_reply`, and `deltas_of`
the other way.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import assert_never

from config.models_file import CONCURRENT_REQUESTS, REQUEST_TIMEOUT_SECONDS, Price
from core.base.clock import Clock
from core.base.http import LONGEST_PAUSE_SECONDS
from core.base.timing import Timing, jittered
from core.errors import ModelUnavailable
from core.events import (
    Emit,
    ModelAnswered,
    ModelAsked,
    ModelEvent,
    ModelFailed,
    ModelRetried,
    ModelWriting,
)
from core.ports import (
    FinishReason,
    ModelReply,
    ModelRequest,
    NativeToolCall,
    ReplyDelta,
    ReplyEnd,
    TextDelta,
    TextModel,
    ThinkingDelta,
)
from core.run.execution import working_on_part
from core.turn import ModelPurpose, Usage
from modules.models.serving.budget import NO_LIMITS, Account, Budget, RunLimits, priced
from modules.models.thinking import without_thinking
from modules.planning.reply.closing import read_so_far

CUT_TELLING_SECONDS = 0.2
"""So long listeners have to hear of a request that was ended from outside."""

TELLING_SECONDS = 0.1
"""Shortest time between two `ModelWriting` events of a request."""

CUT = "interrupted"
"""Why a request came to no end that was ended from outside."""

WRITTEN_CHARACTERS_TOLD = 8_000
"""How much of the end of a reply that is being written is told."""

PAUSES_SECONDS = (0.5, 2.0, 8.0)
"""What is waited before each further try, the last before all that follow; some chance is added."""

RETRIES = 3
"""Further tries of a request that failed for a reason that may pass."""

MEASURED_CHARACTERS_MIN = 1_000
"""Shorter prompts say little about the length of tokens: what a chat puts around counts too."""

TOKEN_CHARACTERS = 4.0
"""How long a token is taken for before the model has counted a prompt."""

CONTEXT_TOKENS_MIN = 1_024
"""A model is not taken to read less, whatever it refuses."""

LONGEST_TOKEN_CHARACTERS = 8.0
"""Backends that count less than they read are not believed beyond this."""


MAX_REPLY_CHARACTERS = 1_000_000
"""Longest reply, and longest thinking, that is taken; a plan has some thousand characters."""

MAX_NATIVE_CALLS = 50
"""How many tool calls in the provider's form one reply may hold; more are dropped."""


def _nobody_knows() -> Price | None:
    return None


@dataclass(frozen=True)
class ChosenModel:
    """A backend that was chosen.

    `own_price` is what its entry or the backend itself says, `find_price` looks it up elsewhere.
    `output_tokens_max` is what its entry allows a reply.
    """

    model: TextModel
    own_price: Price | None = None
    timeout_seconds: float = REQUEST_TIMEOUT_SECONDS
    concurrent_requests: int = CONCURRENT_REQUESTS
    find_price: Callable[[], Price | None] = _nobody_knows
    output_tokens_max: int | None = None

    @cached_property
    def price(self) -> Price | None:
        """What it costs; None where nobody knows, which is not free. May take 0.2 s at first."""
        return self.find_price() if self.own_price is None else self.own_price

    @property
    def is_price_known(self) -> bool:
        """Whether asking for it takes no time."""
        return self.own_price is not None or "price" in self.__dict__


class ModelRun:
    """What requests of one run share.

    Attributes:
        budget: what the run has used, and may use; shared with the runs that it is a part of.
        used: what requests of this part have used, by the names of the models.
        emit: who hears of its requests; None is nobody.
        replaced: why models of the chain can't answer, by their place in it; for the whole run.
    """

    def __init__(
        self,
        emit: Emit | None = None,
        limits: RunLimits = NO_LIMITS,
        account: Account | None = None,
    ) -> None:
        self.emit = emit
        self.budget = Budget(limits, account)
        self.used: dict[str, Usage] = {}
        self.replaced: dict[int, str] = {}

    def part(self) -> "ModelRun":
        """One of several runs at once that make up this one: heard by itself, paid together."""
        part = ModelRun()
        part.budget, part.replaced = self.budget, self.replaced
        return part

    def spend(self, model: str, usage: Usage) -> None:
        """Count what a request took."""
        self.budget.spend(usage)
        self.used[model] = self.used.get(model, Usage()) + usage

    async def tell(self, event: ModelEvent) -> None:
        """Tell one event, and wait until every listener has dealt with it."""
        if self.emit is not None:
            await self.emit(event)


class RequestWatch:
    """One request that is being sent, from `asked` to `answered`; close it in any case."""

    def __init__(
        self, model: str, purpose: ModelPurpose, run: ModelRun, now: Clock, span_id: str = ""
    ) -> None:
        """Tell the run; `now` gives seconds, `span_id` names the request in its trace."""
        self._span_id = span_id
        self._model = model
        self._purpose: ModelPurpose = purpose
        self._run = run
        self._now = now
        self._started = 0.0
        self._due = 0.0  # the first piece is told at once
        self._first: float | None = None
        self._pieces = self._characters = self._thinking = 0
        self._written = ""
        self._end: Usage | None = None
        self._pending = False
        self._telling: asyncio.Task[None] | None = None

    @property
    def usage(self) -> Usage | None:
        """What the request took so far, as far as is known; None if nothing came of it."""
        if self._end is None and self._pieces:
            return Usage(model_calls=1)
        return self._end

    def asked(self) -> None:
        """Tell that the request is sent now, and count its time from here."""
        self._started = self._now()
        if self._run.emit is not None:
            self._telling = asyncio.create_task(self._tell())

    def hear(self, delta: ReplyDelta) -> None:
        """Count a piece of the reply."""
        match delta:
            case TextDelta(text):
                self._characters += len(text)
                self._written = f"{self._written}{text}"[-WRITTEN_CHARACTERS_TOLD:]
            case ThinkingDelta(text):
                self._thinking += len(text)
            case NativeToolCall():
                pass
            case ReplyEnd():
                self._end = delta.usage
                return
            case _:
                assert_never(delta)
        self._pieces += 1
        now = self._now()
        if self._first is None:
            self._first = now
        if self._telling is not None and now >= self._due:
            self._due = now + TELLING_SECONDS
            self._pending = True
            if self._telling.done():
                self._telling = asyncio.create_task(self._tell_counts())

    async def told(self) -> None:
        """Tell no more counts, and wait until what was told has been dealt with."""
        self._pending = False
        if self._telling is not None:
            await self._telling
            self._telling = None

    async def answered(self, prompt: str, reply: ModelReply) -> None:
        """Tell that the reply to `prompt` is complete."""
        seconds = self._now() - self._started
        first = None if self._first is None or self._pieces < 2 else self._first - self._started
        await self.told()
        asked = (self._model, self._purpose)
        told = reply.usage, seconds, first, reply.text, prompt
        await self._run.tell(ModelAnswered(*asked, *told, self._span_id))

    async def cut(self) -> None:
        """Tell that the request was ended from outside, and what had been written.

        A listener that is busy is not waited for: whoever ends a request wants the end.
        """
        if self._telling is None:
            return  # it was not sent, or its end was told
        seconds, written = self._now() - self._started, self._written
        told = seconds, written, read_so_far(written)
        failed = ModelFailed(self._model, self._purpose, CUT, self._span_id, True, *told)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CUT_TELLING_SECONDS):
                await self.told()
                await self._run.tell(failed)

    async def aclose(self) -> None:
        """Tell nothing more; nothing of it runs afterwards."""
        if (telling := self._telling) is not None:
            self._telling = None
            telling.cancel()
            await asyncio.wait({telling})
            if not telling.cancelled():
                telling.exception()  # seen; what ended the request says more

    async def _tell(self) -> None:
        await self._run.tell(ModelAsked(self._model, self._purpose, self._span_id))
        await self._tell_counts()

    async def _tell_counts(self) -> None:
        while self._pending:
            self._pending = False
            told = ModelWriting(self._model, self._characters, self._thinking, self._written)
            await self._run.tell(told)


class WatchedModel:
    """Asks one backend.

    Attributes:
        chosen: the backend, and what is known of it.
        usage: what it has used so far, in all runs.
        characters_per_token: of the prompts that it has read so far; None before it counted one.
        context_tokens: how much it can read, as far as its refusals tell; None before the first.
    """

    def __init__(
        self,
        chosen: ChosenModel,
        redact: Callable[[str], str],
        retries: int = RETRIES,
        timing: Timing | None = None,
    ) -> None:
        """Take a backend; `redact` takes secrets out of its errors, pauses go by `timing`."""
        self.chosen = chosen
        self.usage = Usage()
        self.characters_per_token: float | None = None
        self.context_tokens: int | None = None
        self._redact = redact
        self._retries = retries
        self._timing = timing or Timing()
        self._slots = asyncio.Semaphore(chosen.concurrent_requests)

    @property
    def name(self) -> str:
        """The backend's name."""
        return self.chosen.model.name

    async def answer(self, request: ModelRequest, run: ModelRun) -> ModelReply:
        """The whole reply, from the first request that succeeds.

        What a request that failed had written is forgotten, but not what it took. It is not sent
        again where a listener has heard some of it.

        Raises:
            ModelUnavailable: none did, for a reason without secrets in it.
            BudgetSpent: the run may use no more.
            StorageError: what others have spent can't be read.
        """
        with working_on_part() as span_id:
            return await self._answer(request, run, span_id)

    async def _answer(self, request: ModelRequest, run: ModelRun, span_id: str) -> ModelReply:
        tries = 0
        while True:
            tries += 1
            try:
                return await self._ask(request, run, span_id)
            except ModelUnavailable as error:
                asked_for = max(error.retry_after_seconds or 0.0, 0.0)
                own = PAUSES_SECONDS[min(tries, len(PAUSES_SECONDS)) - 1]
                pause = jittered(max(asked_for, own), self._timing.draw)
                reason = self._redact(str(error))
                if error.is_too_long:
                    self._learn_context(request, error.limit_tokens)
                # Written so that a pause that is no number is not waited for either.
                too_long = not asked_for <= LONGEST_PAUSE_SECONDS
                is_final = too_long or request.is_heard or not error.transient
                if is_final or tries > self._retries:
                    # A reply of no use may be one that the budget cut off.
                    await run.tell(ModelFailed(self.name, request.purpose, reason, span_id))
                    spent = run.budget.exhausted
                    # A cause could hold what the redactor takes out.
                    raise spent or self._given_up(error, reason, tries) from None
            await run.tell(ModelRetried(self.name, reason, tries, pause, span_id))
            await self._timing.sleep(pause)

    def _given_up(self, error: ModelUnavailable, reason: str, tries: int) -> ModelUnavailable:
        """The error that says why no further request is sent."""
        if tries > 1:
            reason += f" (asked {tries} times)"
        return ModelUnavailable(
            reason,
            transient=error.transient,
            retry_after_seconds=error.retry_after_seconds,
            is_too_long=error.is_too_long,
            limit_tokens=error.limit_tokens,
        )

    async def _ask(self, request: ModelRequest, run: ModelRun, span_id: str) -> ModelReply:
        """Send one request as soon as the backend has room for it."""
        watch = RequestWatch(self.name, request.purpose, run, self._timing.now, span_id)
        async with contextlib.aclosing(watch):
            try:
                async with self._slots:
                    await run.budget.account.check()
                    tokens = self.estimated_tokens(request)
                    admitted = run.budget.admit(request, self.chosen.price, tokens)
                    watch.asked()
                    reply = await self._read(admitted, watch, run)
            except ModelUnavailable:
                await watch.told()
                raise
            except asyncio.CancelledError:
                await watch.cut()
                raise
            await run.budget.account.keep()
            await watch.answered(request.prompt, reply)
            return reply

    async def _read(self, request: ModelRequest, watch: RequestWatch, run: ModelRun) -> ModelReply:
        """The whole reply to one request, within its time; what it took is kept in any case."""
        model, seconds = self.chosen.model, self.chosen.timeout_seconds
        if not self.chosen.is_price_known:  # while the model is at work, so that nobody waits
            asyncio.get_running_loop().run_in_executor(None, lambda: self.chosen.price)
        bound = asyncio.timeout(seconds)
        took = Usage()

        def hear(delta: ReplyDelta) -> None:
            watch.hear(delta)
            if request.listener is not None:
                request.listener.hear(delta)

        try:
            async with bound:
                reply = await collect_reply(model, model.stream(request), hear)
        except TimeoutError:
            if not bound.expired():
                raise
            raise ModelUnavailable(
                f"model {self.name} did not answer within {seconds:g} s; "
                "try again, or choose another with --model"
            ) from None
        finally:
            if watch.usage is not None:
                took = priced(watch.usage, self.chosen.price)
                self.usage += took
                run.spend(self.name, took)
                self._measure(request, took.input_tokens)
        limit = self._limit_of(request) if reply.truncated else ""
        return replace(reply, usage=took, limit=limit)

    def _limit_of(self, request: ModelRequest) -> str:
        """Which limit has cut off a reply, and how to allow more, for a person."""
        own, hard = self.chosen.output_tokens_max, request.hard_output_tokens
        if hard is not None and (own is None or hard < own):
            return f"the run may write {hard:,} more: allow more with --max-tokens or --max-cost"
        if own is not None:
            return f"max_output_tokens of {self.name} is {own:,} in config/models.json: raise it"
        return (
            f"{self.name} has that limit by itself: set max_output_tokens for it in "
            "config/models.json, or a larger context_tokens where its context is full"
        )

    def _learn_context(self, request: ModelRequest, limit_tokens: int | None) -> None:
        """Know how much the model reads from what it refused: half of that, if it does not say."""
        tokens = self.estimated_tokens(request)
        # What it says may count the reply as well, or be a number of another kind.
        is_less = limit_tokens is not None and limit_tokens <= tokens * 2
        read = limit_tokens if is_less and limit_tokens is not None else tokens // 2
        before = self.context_tokens or self.chosen.model.traits.context_tokens or read
        self.context_tokens = max(min(read, before), CONTEXT_TOKENS_MIN)

    def estimated_tokens(self, request: ModelRequest) -> int:
        """About how many tokens the text of a request has for this model."""
        return int(len(request.prompt) / (self.characters_per_token or TOKEN_CHARACTERS))

    def _measure(self, request: ModelRequest, tokens: int) -> None:
        """Learn how long this model's tokens are from one prompt; the latest says it best."""
        if tokens and not request.images and len(request.prompt) >= MEASURED_CHARACTERS_MIN:
            measured = len(request.prompt) / tokens
            self.characters_per_token = min(max(measured, 1.0), LONGEST_TOKEN_CHARACTERS)


async def collect_reply(
    model: TextModel,
    deltas: AsyncGenerator[ReplyDelta, None],
    on_delta: Callable[[ReplyDelta], None] | None = None,
) -> ModelReply:
    """The whole reply of `model.stream(…)`; the stream is closed, whatever happens.

    `on_delta` sees every delta first.

    Raises:
        ModelUnavailable: what the stream raises; a reply that is too long, or that just ends.
    """
    text: list[str] = []
    thinking: list[str] = []
    calls: list[NativeToolCall] = []
    end: ReplyEnd | None = None
    room = MAX_REPLY_CHARACTERS
    async with contextlib.aclosing(deltas):
        async for delta in deltas:
            if on_delta is not None:
                on_delta(delta)
            match delta:
                case TextDelta(piece):
                    text.append(piece)
                    room -= len(piece)
                case ThinkingDelta(piece):
                    thinking.append(piece)
                    room -= len(piece)
                case NativeToolCall():
                    calls = [*calls, delta][:MAX_NATIVE_CALLS]
                case ReplyEnd():
                    end = delta
            if room < 0:
                raise ModelUnavailable(
                    f"model {model.name} sent more than the {MAX_REPLY_CHARACTERS:,} characters "
                    "that a reply may have; choose another with --model"
                )
    if end is None:
        raise ModelUnavailable(
            f"model {model.name} ended its reply before it was complete; try again", transient=True
        )
    said, thought = without_thinking("".join(text))
    return ModelReply(
        said,
        end.usage,
        declined=end.finish == "refused",
        thinking="\n".join(filter(None, ("".join(thinking), thought))),
        tool_calls=tuple(calls),
        truncated=end.finish == "length",
        model=model.name,
    )


def deltas_of(reply: ModelReply) -> Iterator[ReplyDelta]:
    """The deltas that `collect_reply` puts together to `reply`, each part in one piece."""
    if reply.thinking:
        yield ThinkingDelta(reply.thinking)
    if reply.text:
        yield TextDelta(reply.text)
    yield from reply.tool_calls
    yield ReplyEnd(reply.usage, finish_of(reply))


def finish_of(reply: ModelReply) -> FinishReason:
    """Why a reply ended."""
    if reply.declined:
        return "refused"
    return "length" if reply.truncated else "stop"
