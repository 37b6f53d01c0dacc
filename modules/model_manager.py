"""The models that answer a run: one, or a chain of them, each standing in for the one before it."""

import os
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace

from config.models_file import IDLE_SECONDS, models_of
from config.schema import LlmSection
from config.settings import Places
from core.base.redaction import Redactor
from core.base.timing import Timing
from core.errors import BudgetSpent, ModelUnavailable
from core.events import Emit, ModelReplaced
from core.ports import ModelReply, ModelRequest, ModelTraits, TextModel
from core.turn import Usage
from modules.models.choosing.choice import Choice, choose_models
from modules.models.choosing.names import FLAG_ORIGIN, built_in_models
from modules.models.offline.planner import OfflineModel
from modules.models.recorded.model import RecordingModel, ReplayedModel
from modules.models.scripted import ScriptedModel
from modules.models.serving.budget import FREE, NO_LIMITS, Account, Budget, RunLimits, dollars
from modules.models.serving.watched import RETRIES, ChosenModel, ModelRun, WatchedModel


class ModelManager:
    """The model that answers, what it has used so far, and why it was chosen.

    Satisfies `core.ports.CountingModel`. Without arguments it chooses automatically, by the
    environment of the process and without a models.json. Requests outside of `telling` are one
    run of their own, which nobody hears of.

    Attributes:
        models: the chain, the first choice first.
        reason: one line that says which and why.
        notes: what the user should know about the choice.
        secrets: the keys of the chain, for those who keep secrets out of what is shown.
    """

    def __init__(
        self,
        models: TextModel | Sequence[ChosenModel] | None = None,
        reason: str | None = None,
        *,
        notes: Sequence[str] = (),
        redactor: Redactor | None = None,
        secrets: Sequence[str] = (),
        retries: int = RETRIES,
        limits: RunLimits = NO_LIMITS,
        seed: int | None = None,
        timing: Timing | None = None,
    ) -> None:
        """Take a model or a chain as it is, or choose one.

        `redactor` takes secrets out of errors, and learns those in `secrets`.
        `retries` are further tries of a request; `limits` bound a run; `seed` goes to models that
        take one; `timing` is what time and chance pauses go by.

        Raises:
            ConfigurationError: the environment's key can't be one; the cost of a run is limited,
                and that of a model is not known.
        """
        if models is None:
            choice = _automatic_choice()
            chain, reason = choice.models, choice.reason
            notes, secrets = choice.notes, choice.secrets
            redactor = redactor or Redactor(os.environ)
        else:
            chain = models if isinstance(models, Sequence) else (_given(models),)
        if not chain:
            raise ValueError("a chain of models holds at least one")
        for chosen in chain:
            limits.check_price(chosen.model.name, chosen.price)
        self.models = tuple(chain)
        self.reason = reason or f"{chain[0].model.name}: given by the program"
        self.notes = tuple(notes)
        self.secrets = tuple(secrets)
        self._limits = limits
        self._seed = seed
        self._retries = retries
        self._timing = timing
        self._redactor = redactor = redactor or Redactor({})
        redactor.learn(secrets)
        self._watched = tuple(
            WatchedModel(chosen, redactor.text, retries, timing) for chosen in chain
        )
        self._account: Account | None = None
        self._outside = self._run = ModelRun(limits=limits)

    @property
    def name(self) -> str:
        """The name of the model that answers at present, such as `gemini:…` or `offline`."""
        return self._current.name

    @property
    def traits(self) -> ModelTraits:
        """What that model can do; of a chain, any model may have to read the prompt."""
        reads_text = any(chosen.model.traits.reads_text for chosen in self.models)
        current = self._current
        traits = current.chosen.model.traits
        return replace(
            traits,
            reads_text=reads_text,
            context_tokens=current.context_tokens or traits.context_tokens,
            characters_per_token=current.characters_per_token,
        )

    @property
    def usage(self) -> Usage:
        """Sum over all requests so far, with their cost; of those that were cut short too."""
        return sum((watched.usage for watched in self._watched), Usage())

    @property
    def usage_by_model(self) -> Mapping[str, Usage]:
        """The same by the names of the models; those that never wrote anything are left out."""
        used: dict[str, Usage] = {}
        for watched in self._watched:
            if watched.usage.model_calls:
                used[watched.name] = used.get(watched.name, Usage()) + watched.usage
        return used

    @property
    def leftover(self) -> int:
        """Replies of scripts that nobody asked for; 0 with every other model."""
        backends = (_inside(chosen.model) for chosen in self.models)
        return sum(each.leftover for each in backends if isinstance(each, ScriptedModel))

    @contextmanager
    def telling(self, emit: Emit) -> Generator[None]:
        """Within the `with`, one run: tell its model events, and hold it to its budget.

        It begins with the first model of the chain.

        Raises:
            RuntimeError: another run is under way.
        """
        if self._run is not self._outside:
            raise RuntimeError("a run of this model manager is under way; it has one at a time")
        self._run = ModelRun(emit, self._limits, self._account)
        try:
            yield
        finally:
            self._run = self._outside

    @contextmanager
    def paying(self, account: Account) -> Generator[None]:
        """Within the `with`, hold all requests to budgets that go beyond their run.

        Raises:
            ConfigurationError: they bound the cost, and that of a model is not known.
        """
        outside, paid = self._outside, ModelRun(limits=self._limits, account=account)
        self._check_prices(paid)
        self._account, self._outside = account, paid
        self._run = paid
        try:
            yield
        finally:
            self._account = None
            self._outside = self._run = outside

    async def generate_text(self, prompt: str) -> str:
        """The model's text for a prompt.

        Raises:
            ModelUnavailable: see `generate`.
        """
        return (await self.generate(ModelRequest("text", prompt))).text

    async def generate(self, request: ModelRequest) -> ModelReply:
        """Answer one request: by the model at hand, else by the next of the chain that can.

        A model that another had to stand in for is not asked again in this run. None stands in once
        the request's listener has heard a part of the reply.

        Raises:
            ModelUnavailable: none could; the message says of each why, without secrets.
            BudgetSpent: the run may use no more.
        """
        return await self._answer(request, self._run)

    def part(
        self, limits: RunLimits = NO_LIMITS, within: "ModelManager | None" = None
    ) -> "ModelPart":
        """The models as one of several runs asks them that make up the run under way.

        `limits` are the part's own, beside those of the run. The run is one of `within` where that
        is given: other models, paid out of its budget.

        Raises:
            ConfigurationError: the cost is limited, and that of another model is not known.
        """
        run = (within or self)._run.part()
        if within is not None:
            run.replaced = {}  # places in another chain
            self._check_prices(run)
        return ModelPart(self, run, self._answer, limits)

    async def _answer(self, request: ModelRequest, run: ModelRun) -> ModelReply:
        if self._seed is not None:
            request = replace(request, seed=self._seed)
        failed = dict[int, ModelUnavailable]()
        place = self._strongest(run) if request.prefer_strongest else self._first_in(run)
        while True:
            try:
                return await self._watched[place].answer(request, run)
            except ModelUnavailable as error:
                if request.is_heard:
                    raise
                failed[place] = error
            left = [p for p in self._left_in(run) if p not in failed]
            if not left:
                raise self._all_failed(run, failed)
            if place not in run.replaced:
                run.replaced[place] = reason = str(failed[place])
                await run.tell(
                    ModelReplaced(self._watched[place].name, self._watched[left[0]].name, reason)
                )
            place = left[0]

    def again(self, max_cost: float | None = None) -> "ModelManager":
        """Another manager of the same models, with runs and counts of its own.

        A run of it may cost `max_cost` US dollars, where that is less. One of the managers closes
        the models, when all have ended.

        Raises:
            ConfigurationError: the cost is limited, and that of a model is not known.
        """
        limits = self._limits
        if max_cost is not None:
            least = max_cost if limits.max_cost is None else min(max_cost, limits.max_cost)
            limits = replace(limits, max_cost=least)
        return ModelManager(
            self.models,
            self.reason,
            notes=self.notes,
            redactor=self._redactor,
            secrets=self.secrets,
            retries=self._retries,
            limits=limits,
            seed=self._seed,
            timing=self._timing,
        )

    async def aclose(self) -> None:
        """Release the connections of all models; safe to call twice."""
        async with AsyncExitStack() as closing:
            for chosen in self.models:
                closing.push_async_callback(chosen.model.aclose)

    def _check_prices(self, run: ModelRun) -> None:
        for chosen in self.models:
            run.budget.check_price(chosen.model.name, chosen.price)

    @property
    def _current(self) -> WatchedModel:
        return self._watched[self._first_in(self._run)]

    def _left_in(self, run: ModelRun) -> list[int]:
        """The places of the models that no other stands in for; there always is one."""
        return [place for place in range(len(self._watched)) if place not in run.replaced]

    def _first_in(self, run: ModelRun) -> int:
        return self._left_in(run)[0]

    def _strongest(self, run: ModelRun) -> int:
        """The strongest model that is left: a dear one, or where prices say nothing, by traits.

        Of equals it is the first, which would be asked anyway.
        """
        left = {place: self.models[place] for place in self._left_in(run)}
        prices = [chosen.price.output for chosen in left.values() if chosen.price is not None]
        told = prices if len(prices) == len(left) else [0.0] * len(left)
        strengths = [chosen.model.traits.strength for chosen in left.values()]
        ranks = dict(zip(left, zip(told, strengths, strict=True), strict=True))
        return max(ranks, key=ranks.__getitem__)

    def _all_failed(
        self, run: ModelRun, failed: Mapping[int, ModelUnavailable]
    ) -> ModelUnavailable:
        """The error of a chain without a model left, or that of the only model."""
        *_, last = failed.values()
        if len(self._watched) == 1:
            return last
        reasons = run.replaced | {place: str(error) for place, error in failed.items()}
        each = (f"{self._watched[place].name}: {reasons[place]}" for place in sorted(reasons))
        return ModelUnavailable(
            f"none of the {len(self._watched)} models could answer. " + " · ".join(each),
            transient=last.transient,
            retry_after_seconds=last.retry_after_seconds,
            is_too_long=all(error.is_too_long for error in failed.values()),
        )


class ModelPart:
    """A manager's models for one of several runs at once, such as those of a team.

    Satisfies `core.ports.CountingModel`. What it counts is its own; the budget is that of the run
    of which it is a part.

    Attributes:
        spent: why the whole run may use no more, once it has been told so.
    """

    def __init__(
        self,
        whole: ModelManager,
        run: ModelRun,
        answer: Callable[[ModelRequest, ModelRun], Awaitable[ModelReply]],
        limits: RunLimits = NO_LIMITS,
    ) -> None:
        """Ask by `answer`, in `run`, which is a part of another; `limits` are its own."""
        self._whole = whole
        self._run = run
        self._answer = answer
        self._own = Budget(limits)
        self.spent: BudgetSpent | None = None

    @property
    def name(self) -> str:
        """As of the whole."""
        return self._whole.name

    @property
    def traits(self) -> ModelTraits:
        """As of the whole."""
        return self._whole.traits

    @property
    def usage(self) -> Usage:
        """Sum over the requests of this part."""
        return sum(self._run.used.values(), Usage())

    @property
    def usage_by_model(self) -> Mapping[str, Usage]:
        """The same by the names of the models."""
        return dict(self._run.used)

    @contextmanager
    def telling(self, emit: Emit) -> Generator[None]:
        """Within the `with`, `emit` hears of this part's requests."""
        self._run.emit = emit
        try:
            yield
        finally:
            self._run.emit = None

    async def generate(self, request: ModelRequest) -> ModelReply:
        """As `ModelManager.generate`; what it may use by itself is checked before.

        That is over when it is reached: `spent` stays None, as others of the run may go on.
        """
        self._own.spent = self.usage
        if self._own.exhausted is not None:
            raise BudgetSpent(
                f"the role's own limit is reached: {self._own.spent.tokens:,} tokens, "
                f"{dollars(self._own.spent.cost)}; allow more with its max_tokens or max_cost "
                "under team.roles in the profile"
            )
        try:
            return await self._answer(request, self._run)
        except BudgetSpent as error:
            self.spent = error
            raise


def choose_model(
    flag: str | None,
    llm: LlmSection,
    places: Places,
    environ: Mapping[str, str],
    redactor: Redactor | None = None,
    *,
    max_cost: float | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
    flag_origin: str = FLAG_ORIGIN,
    idle_seconds: float = IDLE_SECONDS,
) -> ModelManager:
    """The manager of the models that `modules.models.choosing.choice.choose_models` finds.

    It takes as long as keyrings and services do. Models and their keys are those of `places`.
    `flag` (of `--model`, or `flag_origin`) goes before `llm.text_generation`, and `max_cost` and
    `max_tokens` before the profile's own. `redactor`, by default one that knows the secrets of
    `environ`, goes over errors, and learns the keys of the models.

    Raises:
        SettingsError: models.json can't be used.
        UserError: what was asked for can't be used.
    """
    models = models_of(places)
    choice = choose_models(
        flag,
        llm.text_generation,
        models,
        environ,
        places.home,
        flag_origin=flag_origin,
        idle_seconds=idle_seconds,
    )
    return ModelManager(
        choice.models,
        choice.reason,
        notes=choice.notes,
        secrets=choice.secrets,
        redactor=redactor or Redactor(environ),
        retries=llm.retries,
        limits=RunLimits(
            llm.max_cost if max_cost is None else max_cost,
            llm.max_tokens if max_tokens is None else max_tokens,
        ),
        seed=seed,
    )


def _automatic_choice() -> Choice:
    """What a manager without arguments takes, and why."""
    return choose_models(None, "auto", built_in_models(), os.environ)


def _given(model: TextModel) -> ChosenModel:
    """A model from the program itself; of others than these, nobody knows what it costs."""
    is_free = isinstance(_inside(model), OfflineModel | ReplayedModel | ScriptedModel)
    return ChosenModel(model, FREE if is_free else None)


def _inside(model: TextModel) -> TextModel:
    """The model that a recording goes round, else the model itself."""
    return model.recorded if isinstance(model, RecordingModel) else model
