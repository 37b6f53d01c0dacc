"""Decision: ask a model for a `solve()` plan, and find the plan in what it wrote.

This is the one step that is no `modules.planning.llmfunc`, though it asks the same model by the
same `generate`. A plan is Python in any of a dozen forms, so `find_plan` reads it. What is wrong
with it is known only once it was prepared, and often once it ran. So its further tries are the
loop's: each takes a lifeline, is told as an event, and is asked with all that failed before.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from config.schema import AgentProfile
from core.base.frozen import frozen
from core.ports import CountingModel, DecisionInputs, ModelRequest, PlanReply
from core.run.observation import observation_room
from core.tools.catalog import ToolCatalog
from core.turn import Declined, Exchange, MemoryItem, PerceptionResult, Plan
from modules.memory.past import Past, newest_within, room_characters
from modules.planning.guidance.guide import UNGUIDED, Guided
from modules.planning.prompt.decision import decision_prompt
from modules.planning.reply.extraction import find_plan
from modules.session.attached.attachments import images_note, texts_note
from modules.session.history import exchanges

RETRY_TEMPERATURES = (0.0, 0.3, 0.6, 0.8)
"""Of a step's first plan and its retries, the last for all further ones: at 0, a model writes the
same plan again, whatever it is told."""

REPEATED_TEMPERATURE = 1.0
"""After a plan that was the same as one before."""


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
    """

    model: CountingModel
    profile: AgentProfile
    remember: Remember | None = None
    answer_note: str = ""
    guided: Guided = UNGUIDED

    async def __call__(self, inputs: DecisionInputs, prompt_path: str) -> PlanReply:
        """Fill the template at `prompt_path` with `inputs`, ask the model, find the plan.

        Raises:
            ModelUnavailable: the model can't be reached or refused.
            BudgetSpent: the run may use no more of it.
        """
        past = None
        if self.remember is not None and self.model.traits.reads_text:
            past = await self.remember(inputs.history)
        reply = await self.model.generate(self.request(inputs, prompt_path, past))
        if reply.declined:
            return Declined(reply.text.strip() or f"{self.model.name} {NO_REASON}")
        if not self.model.traits.reads_text:
            return Plan(reply.text.strip())  # it writes plans, and nothing around them
        return find_plan(reply, inputs.tools)

    def request(
        self, inputs: DecisionInputs, prompt_path: str, past: Past | None = None
    ) -> ModelRequest:
        """What the model is asked, to the letter; nothing in words if it reads none."""
        if not self.model.traits.reads_text:
            return ModelRequest("decision", "", inputs, prefer_strongest=inputs.last_try)
        sees = self.model.traits.images
        room = observation_room(self.model.traits.context_tokens)
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
        prompt = decision_prompt(inputs, prompt_path, self.profile, note, past, self.guided.section)
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
    if history and history[-1] == Exchange(user_input, None):
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
