"""Decision: ask a model for a `solve()` plan, and find the plan in what it wrote.

This is the one step that is no `modules.planning.llmfunc`, though it asks the same model by the
same `generate`. A plan is Python in any of a dozen forms, so `find_plan` reads it. What is wrong
with it is known only once it was prepared, and often once it ran. So its further tries are the
loop's: each takes a lifeline, is told as an event, and is asked with all that failed before.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from config.schema import AgentProfile
from core.base.frozen import frozen
from core.errors import NEW_SESSION, ModelUnavailable
from core.events import Emit, Notice
from core.ports import CountingModel, DecisionInputs, ModelReply, ModelRequest, PlanReply
from core.run.observation import observation_room, shorten
from core.strategy import CHARACTERS_PER_TOKEN
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.turn import Declined, Exchange, MemoryItem, PerceptionResult, Plan
from modules.memory.past import CONTEXT_SHARE, Past, newest_within, room_characters
from modules.planning.guidance.guide import UNGUIDED, Guided
from modules.planning.prompt.decision import REQUEST_CHARACTERS, decision_prompt
from modules.planning.prompt.stubs import describe_tool
from modules.planning.reply.extraction import find_plan
from modules.session.attached.attachments import images_note, texts_note
from modules.session.history import exchanges

RETRY_TEMPERATURES = (0.0, 0.3, 0.6, 0.8)
"""Of a step's first plan and its retries, the last for all further ones: at 0, a model writes the
same plan again, whatever it is told."""

REPEATED_TEMPERATURE = 1.0
"""After a plan that was the same as one before."""


FAILED_PLAN_CHARACTERS = 1_000
"""How much of a failed plan a prompt repeats that has to be shorter."""

TOOL_TOKENS_MIN = 500
"""So much is left for the tools in such a prompt, however small the context is."""

SHARES = (1.0, 0.5, 0.25)
"""By such parts of the model's context a prompt is sized, until it fits."""

PROMPT_CHARACTERS_PER_TOKEN = 3
"""Cautiously, with room for the reply: a prompt in English has about four a token."""

SHORTER_SHARE = 0.95
"""A prompt that is not made shorter than this part of it is not sent again."""

NO_REASON = (
    "declined the request and gave no reason; put it in other words, or choose another model"
)
"""What is said for a model that declines without a word."""


Remember: TypeAlias = Callable[[Sequence[Exchange]], Awaitable[Past]]
"""What a run's prompts tell of the past, given the session's exchanges."""


@frozen
class PlanWriter:
    """Writes plans for one profile with one model; `core.ports.GeneratePlan`.

    Without `remember`, prompts tell of the newest exchanges that they have room for.
    `answer_note` says which form the answer must have. `guided` is what user and project say.
    `tell` hears when a prompt was too long for the model and is made shorter. `context_tokens` is
    what a prompt is sized by in place of the model's own.
    """

    model: CountingModel
    profile: AgentProfile
    remember: Remember | None = None
    answer_note: str = ""
    guided: Guided = UNGUIDED
    tell: Emit | None = None
    context_tokens: int | None = None

    async def __call__(self, inputs: DecisionInputs, prompt_path: str) -> PlanReply:
        """Fill the template at `prompt_path` with `inputs`, ask the model, find the plan.

        Raises:
            ModelUnavailable: the model can't be reached or refused.
            BudgetSpent: the run may use no more of it.
        """
        request = self.request(inputs, prompt_path, await self._past(inputs))
        try:
            reply = await self.model.generate(request)
        except ModelUnavailable as error:
            if not error.is_too_long or not self.model.traits.reads_text:
                raise
            reply = await self._asked_shorter(inputs, prompt_path, request, error)
        if reply.declined:
            return Declined(reply.text.strip() or f"{self.model.name} {NO_REASON}")
        if not self.model.traits.reads_text:
            return Plan(reply.text.strip())  # it writes plans, and nothing around them
        return find_plan(reply, inputs.tools)

    async def _past(self, inputs: DecisionInputs) -> Past | None:
        """What is told of the past, summarised where there is no room for it."""
        if self.remember is None or not self.model.traits.reads_text:
            return None
        return await self.remember(inputs.history)

    async def _asked_shorter(
        self,
        inputs: DecisionInputs,
        prompt_path: str,
        before: ModelRequest,
        error: ModelUnavailable,
    ) -> ModelReply:
        """The reply to the same with less around it, asked for once.

        By its refusal the model has told how much it can read: see `ModelTraits.context_tokens`.
        The request itself stays as it is.

        Raises:
            ModelUnavailable: that is too long too, or can't be made any shorter.
        """
        context_tokens = self.model.traits.context_tokens
        if context_tokens is None:
            raise error
        past, request = await self._past(inputs), before
        for share in SHARES:
            request = self._shorter(inputs, prompt_path, past, int(context_tokens * share))
            if len(request.prompt) <= context_tokens * PROMPT_CHARACTERS_PER_TOKEN:
                break
        if len(request.prompt) > len(before.prompt) * SHORTER_SHARE:
            raise error
        if self.tell is not None:
            characters = f"{len(request.prompt):,} of {len(before.prompt):,} characters"
            await self.tell(
                Notice(
                    "model",
                    f"the prompt was too long for {self.model.name}; asked again with {characters} "
                    f"(to keep prompts short, {NEW_SESSION})",
                )
            )
        return await self.model.generate(request)

    def _shorter(
        self, inputs: DecisionInputs, prompt_path: str, past: Past | None, context_tokens: int
    ) -> ModelRequest:
        """What a model with such a context would be asked."""
        room = context_tokens // CONTEXT_SHARE * CHARACTERS_PER_TOKEN
        writer = replace(
            self,
            guided=replace(self.guided, section=shorten(self.guided.section, room)),
            context_tokens=context_tokens,
        )
        inputs = _inputs_within(observation_room(context_tokens), inputs)
        return writer.request(inputs, prompt_path, past)

    def request(
        self, inputs: DecisionInputs, prompt_path: str, past: Past | None = None
    ) -> ModelRequest:
        """What the model is asked, to the letter; nothing in words if it reads none."""
        if not self.model.traits.reads_text:
            return ModelRequest("decision", "", inputs, prefer_strongest=inputs.last_try)
        sees = self.model.traits.images
        context_tokens = self.context_tokens or self.model.traits.context_tokens
        room = observation_room(context_tokens)
        notes = (
            images_note(inputs.images, seen=sees),
            texts_note(inputs.texts, room, inputs.borders),
            self.guided.note,
            self.answer_note,
            inputs.memory,
        )
        note = "\n".join(filter(None, notes))
        if past is None:
            room = room_characters(self.profile.memory.prompt_tokens, self.model.traits)
            past = Past(newest_within(inputs.history, room))
        inputs, profile = within_context(context_tokens, inputs, self.profile)
        prompt = decision_prompt(inputs, prompt_path, profile, note, past, self.guided.section)
        repeats = bool(inputs.failed) and inputs.failed[-1].failure.kind == "repeated"
        retry = min(len(inputs.failed), len(RETRY_TEMPERATURES) - 1)
        return ModelRequest(
            "decision",
            prompt.text,
            inputs,
            prefix_characters=prompt.prefix_characters,
            images=inputs.images if sees else (),
            temperature=REPEATED_TEMPERATURE if repeats else RETRY_TEMPERATURES[retry],
            prefer_strongest=inputs.last_try,
        )


def within_context(
    context_tokens: int | None, inputs: DecisionInputs, profile: AgentProfile
) -> tuple[DecisionInputs, AgentProfile]:
    """Inputs and profile with no more tools than a small context has room for, the best first."""
    if context_tokens is None:
        return inputs, profile
    most = max(context_tokens // CONTEXT_SHARE, TOOL_TOKENS_MIN)
    if profile.strategy.tool_prompt_tokens <= most:
        return inputs, profile
    profile = profile.with_strategy(tool_prompt_tokens=most)
    return replace(inputs, tools=_tools_within(most * CHARACTERS_PER_TOKEN, inputs)), profile


def _tools_within(room: int, inputs: DecisionInputs) -> ToolCatalog:
    """The tools that fit the request best, as many as there is room for; else all."""
    catalog = inputs.tools
    if sum(len(describe_tool(tool, catalog)) + 1 for tool in catalog) <= room:
        return catalog
    scores = catalog.rank(inputs.user_input[:REQUEST_CHARACTERS])
    ranked = sorted(catalog, key=lambda tool: -scores.get(tool.qualified_name, 0.0))
    kept: list[ToolSpec] = []
    for tool in ranked:
        room -= len(describe_tool(tool, catalog)) + 1
        if room < 0:
            break
        kept.append(tool)
    return catalog.offering(kept or ranked[:1])


def _inputs_within(room_characters: int, inputs: DecisionInputs) -> DecisionInputs:
    """The inputs with less of the text that was got, and of the plans that failed."""
    user_input, observation = inputs.user_input, inputs.observation
    if observation is not None and len(observation) > room_characters:
        shown = shorten(observation, room_characters)
        user_input, observation = user_input.replace(observation, shown), shown
    failed = tuple(
        replace(
            attempt,
            plan=replace(attempt.plan, source=shorten(attempt.plan.source, FAILED_PLAN_CHARACTERS)),
        )
        for attempt in inputs.failed
    )
    return replace(inputs, user_input=user_input, observation=observation, failed=failed)


async def generate_plan(
    user_input: str,
    perception: PerceptionResult,
    memory_items: Sequence[MemoryItem],
    tool_descriptions: ToolCatalog,
    prompt_path: str,
    step_num: int = 1,
    max_steps: int = 3,
    *,
    model: CountingModel,
    profile: AgentProfile,
) -> PlanReply:
    """One plan from loose values, the mission's form of the decision step.

    `memory_items` reach the prompt as the session's earlier exchanges; `tool_descriptions` is
    the catalogue of the tools that the plan may call.

    Raises:
        ModelUnavailable: the model can't be reached or refused.
    """
    history = exchanges(memory_items)
    if history and (history[-1].request, history[-1].answer) == (user_input, None):
        history = history[:-1]  # the request that is being planned
    inputs = DecisionInputs(
        user_input=user_input,
        tools=tool_descriptions,
        perception=perception,
        history=history,
        plan_style=profile.strategy.plan_style,
        planning_mode=profile.strategy.planning_mode,
        exploration_mode=profile.strategy.exploration_mode,
        max_tool_calls=profile.sandbox.tool_calls,
        step=step_num,
        max_steps=max_steps,
    )
    return await PlanWriter(model, profile)(inputs, prompt_path)
