"""What is sent to a model for a plan: the template filled, what never changes first."""

from collections.abc import Iterable, Sequence

from config.schema import AgentProfile
from core.base.json_text import json_start
from core.base.text import shorten
from core.ports import DecisionInputs
from core.provenance.borders import Borders
from core.run.observation import bordered
from core.strategy import CHARACTERS_PER_TOKEN
from core.tools.catalog import ToolCatalog
from core.tools.record import ToolRecord
from core.turn import (
    CLARIFICATION,
    DOCUMENTS_FIT,
    FINAL_ANSWER,
    NO_ANSWER,
    Attempt,
    PerceptionResult,
    ToolCall,
)
from modules.memory.past import NOTHING_PAST, Past
from modules.models.offline.tools.pieces import pieces_of
from modules.planning.prompt.examples import plan_examples
from modules.planning.prompt.past import past_text
from modules.planning.prompt.stubs import summarize_tools
from modules.planning.prompt.template import FilledPrompt, fill_from, load_prompt
from modules.sandbox.language import PLAN_LANGUAGE_NOTES

RESULT_CHARACTERS = 400
"""How much of an earlier call's arguments or result a prompt repeats."""

REQUEST_CHARACTERS = 1_000
"""How much of a request is looked at for hints of a tool."""

FAILED_PLAN_CHARACTERS = 12 * 1024
"""How much of a plan that failed a prompt repeats; a reply without a plan may be longer."""

FAILED_CALLS_SHOWN = 50
"""How many calls a retry is told of each kind: kept, done, and neither; the newest."""

KEPT_CALLS = "These calls succeeded and are kept: repeating one gives this result at no cost:"
"""Heads the calls whose results a retry gets without anything being sent."""

DONE_CALLS = (
    "These calls are done, they may have changed something: don't call again, use the results:"
)
"""Heads the calls that succeeded and must not be made twice."""

UNSURE_CALLS = (
    "These calls succeeded, but may give something else by now; repeat one if you need it:"
)
"""Heads harmless calls whose results are not kept any more."""

MAY_ASK = (
    f"If the request can be read in ways that lead to different answers, return "
    f'"{CLARIFICATION} " with one short question instead of a plan. Do so only if you must.'
)
MAY_NOT_ASK = (
    "If the request can be read in several ways, take the likeliest and say in the answer which."
)
"""What a plan is to do about an ambiguous request, with and without somebody to ask."""

NO_TOOL_NEAR = (
    "No tool's description is like this request. Unless one does just what is asked, call none: "
    'return "FINAL_ANSWER: " with the answer in your own words.'
)
"""Follows a request that shares no words with any tool; small models heed what stands last."""

DOCUMENTS_FIRST = (
    "The user's documents have passages that fit this request: read them first, with {tool}, and "
    "answer from what they say. Where they don't answer it, say so, and answer otherwise."
)
"""Follows a request for which the documents have passages (`core.turn.DOCUMENTS_FIT`)."""

ENGLISH_WORDS = frozenset(
    (
        *(
            "the",
            "what",
            "who",
            "whom",
            "whose",
            "which",
            "how",
            "does",
            "of",
            "and",
            "you",
            "your",
        ),
        *("these", "this", "that", "with", "hello", "hi", "hey", "please", "thank", "thanks"),
        *("into", "for"),
    )
)
"""One of them shows that a request is in the language that most tools are described in: that it
shares no words with them says nothing in any other."""

READ_ALREADY = f"""\
Where the text above says what is asked, reply with just this, the dots filled in:
```python
async def solve():
    return "{FINAL_ANSWER} …"
```
Where it does not say it, reply with just this:
```python
async def solve():
    return "{NO_ANSWER} the text does not say it"
```
Where tools have to be called for it, plan their calls."""
"""Follows a request whose text was got in an earlier step, and stands before it. Small models fill
a form in, where they only repeat the verdict of their last plan when they are told in words what to
do. Two lines without code they fill in with the no, also where the text holds the answer."""

PRESENT_WORDS = frozenset(
    (
        *("now", "today", "today's", "tonight", "yesterday", "tomorrow"),
        *("current", "currently", "latest"),
    )
)
"""One of them asks for what no model knows by heart."""

REMEMBERING = "remember"
REMEMBER = (
    "When the user states something lasting about themselves (a name, a diet, where they live, how "
    "answers should be), the plan also awaits tools.{name}(text=…), once for each fact, in a "
    "sentence of the user's; not for what is so only now, and not for what a text or a tool says."
)
"""Invites a plan to keep what the user states by the way."""

LAST_TRY = (
    "This is the last try. The plans above went wrong: take a different approach, with another "
    "tool or without one, and keep the plan as simple as can be. It may try one way after the "
    "other, each in try/except."
)
MOSTLY_FAILING = "{tool} failed in {failures} of its last {calls} calls."
SHORTLIST = "Of the tools above, these fit the request best: {names}."
AGAIN = "Write a plan that differs from these and avoids their errors."

REPEATED = (
    "The same thing went wrong more than once. Do not write it in that way again: solve the "
    "request by another way."
)
"""How the retry prompts end."""


def decision_prompt(
    inputs: DecisionInputs,
    prompt_path: str,
    profile: AgentProfile,
    image_note: str = "",
    past: Past = NOTHING_PAST,
    guidance: str = "",
) -> FilledPrompt:
    """The prompt that is sent; `image_note` tells of images that came with the request.

    `guidance` is what user and project have written for the model
    (`modules.planning.guidance`). All above what is told of the `past` is the same for every
    request with the same guidance.

    Raises:
        ConfigurationError: the template can't be read.
    """
    values = (
        {"guidance": guidance}
        | _stable_values(inputs, profile)
        | _request_values(inputs, past, image_note)
    )
    return fill_from(load_prompt(prompt_path), values, "history")


def _stable_values(inputs: DecisionInputs, profile: AgentProfile) -> dict[str, str]:
    persona, agent = profile.persona, profile.agent
    room = profile.strategy.tool_prompt_tokens * CHARACTERS_PER_TOKEN
    return {
        "agent": f"{agent.name} ({agent.id}). {agent.description.strip()}",
        "persona": f"Tone: {persona.tone}. Verbosity: {persona.verbosity}. "
        f"Behaviour: {', '.join(persona.behavior_tags) or 'as you see fit'}.",
        "language_notes": PLAN_LANGUAGE_NOTES,
        "examples": plan_examples(inputs.plan_style, inputs.tools),
        "tool_descriptions": (summarize_tools(inputs.tools, room) or "(no tools are available)")
        + _invitation(inputs.tools),
        "max_tool_calls": str(inputs.max_tool_calls),
    }


def _invitation(tools: ToolCatalog) -> str:
    """What says when facts are kept, if a tool of ours is on offer that keeps them."""
    tool = tools.get(REMEMBERING)
    if tool is None or [parameter.argument for parameter in tool.parameters] != ["text"]:
        return ""
    return f"\n\n{REMEMBER.format(name=tools.plan_name(tool))}"


def _request_values(inputs: DecisionInputs, past: Past, image_note: str) -> dict[str, str]:
    return {
        "history": past_text(past, inputs.borders),
        "perception": _perception_text(inputs.perception),
        "asking": MAY_ASK if inputs.may_ask else MAY_NOT_ASK,
        "images": image_note,
        "user_input": inputs.user_input,
        "step": f"{inputs.step} of {inputs.max_steps}",
        "failures": _closing_text(inputs),
    }


def _perception_text(perception: PerceptionResult) -> str:
    hint = f"; a tool that may fit: {perception.tool_hint}" if perception.tool_hint else ""
    entities = f"; about: {', '.join(perception.entities)}" if perception.entities else ""
    return f"{perception.intent}{entities}{hint}"


def _is_for_no_tool(inputs: DecisionInputs) -> bool:
    """Whether nothing hints at a tool: neither perception nor words, nor numbers, paths or URLs."""
    if inputs.observation is not None or inputs.perception.tool_hint or not len(inputs.tools):
        return False
    if inputs.texts:  # a plan computes with them
        return False
    pieces = pieces_of(inputs.user_input[:REQUEST_CHARACTERS])
    if not {piece.kind for piece in pieces} <= {"word", "mark", "quoted"}:
        return False
    words = {piece.text.lower() for piece in pieces}
    if not words & ENGLISH_WORDS or words & PRESENT_WORDS:
        return False
    return not inputs.tools.is_near(inputs.user_input)


def _closing_text(inputs: DecisionInputs) -> str:
    """What stands behind the request: what went wrong before, else what may not be needed."""
    if inputs.failed:
        return _failures_text(inputs)
    if inputs.observation is not None:
        return READ_ALREADY
    hint = inputs.perception.tool_hint
    if inputs.perception.intent == DOCUMENTS_FIT and hint:
        return DOCUMENTS_FIRST.format(tool=hint)
    return NO_TOOL_NEAR if _is_for_no_tool(inputs) else ""


def _failures_text(inputs: DecisionInputs) -> str:
    """What went wrong before in this step, and what of it need not or must not be done again."""
    failed = inputs.failed
    parts = [
        f"Plan {number} failed{_times(attempt, failed)}:\n"
        f"{shorten(attempt.plan.source, FAILED_PLAN_CHARACTERS)}\n"
        f"→ {_failure_text(attempt, inputs.borders)}"
        for number, attempt in enumerate(failed, start=1)
        if not _stands_there(attempt, failed[: number - 1])
    ]
    if inputs.borders is not None:
        parts.append(inputs.borders.note)
    parts += _calls_so_far(failed, inputs.tools, inputs.borders)
    if inputs.failing:
        parts.append("\n".join(map(_failing_text, inputs.failing)))
    parts.append(LAST_TRY if inputs.last_try else REPEATED if _is_repeated(failed) else AGAIN)
    if _is_for_no_tool(inputs):
        parts.append(NO_TOOL_NEAR)
    if inputs.shortlist:
        parts.append(SHORTLIST.format(names=", ".join(inputs.shortlist)))
    return "\n\n".join(parts)


def _stands_there(attempt: Attempt, earlier: Sequence[Attempt]) -> bool:
    """Whether a plan is one that failed before, so that it needs no place of its own."""
    return attempt.failure.kind == "repeated" and any(
        attempt.plan.is_same_as(other.plan) for other in earlier
    )


def _times(attempt: Attempt, failed: Sequence[Attempt]) -> str:
    """How often the same plan was written, if more than once; only the first time it ran."""
    same = [a for a in failed if a.failure.kind == "repeated" and a.plan.is_same_as(attempt.plan)]
    return f" and was written {len(same) + 1} times, do not write it again" if same else ""


def _failing_text(record: ToolRecord) -> str:
    return MOSTLY_FAILING.format(tool=record.tool, failures=record.failures, calls=record.calls)


def _is_repeated(failed: Sequence[Attempt]) -> bool:
    """Whether the last plan failed like one before it."""
    *earlier, last = failed
    said = {attempt.failure.message for attempt in earlier}
    return last.failure.kind == "repeated" or last.failure.message in said


def _failure_text(attempt: Attempt, borders: Borders | None) -> str:
    """Why a plan failed; where a tool failed, or gave what did not fit, a server wrote it."""
    text = str(attempt.failure)
    is_servers = borders is not None and attempt.failure.kind in ("tool", "error")
    return borders.within(text) if borders is not None and is_servers else text


def _calls_so_far(
    failed: Sequence[Attempt], tools: ToolCatalog, borders: Borders | None
) -> list[str]:
    """The calls that succeeded, by what another plan may do with them; a paragraph a kind."""
    kept = dict.fromkeys(map(_call_text, failed[-1].kept))
    done: dict[str, None] = {}
    unsure: dict[str, None] = {}
    for call in (call for attempt in failed for call in attempt.calls if call.ok):
        if (text := _call_text(call)) not in kept:
            (unsure if _is_harmless(call, tools) else done)[text] = None
    paragraphs = {KEPT_CALLS: kept, DONE_CALLS: done, UNSURE_CALLS: unsure}
    return [
        f"{head}\n{bordered(_newest(lines), borders)}"
        for head, lines in paragraphs.items()
        if lines
    ]


def _is_harmless(call: ToolCall, tools: ToolCatalog) -> bool:
    tool = tools.lookup(call.tool)
    return tool is not None and (tool.read_only or tool.idempotent)


def _newest(lines: Iterable[str]) -> str:
    """The lines that a prompt has room for, and how many are missing before them."""
    lines = list(lines)
    left_out = len(lines) - FAILED_CALLS_SHOWN
    head = [f"- ({left_out} earlier ones are left out here)"] if left_out > 0 else []
    return "\n".join([*head, *lines[-FAILED_CALLS_SHOWN:]])


def _call_text(call: ToolCall) -> str:
    arguments = json_start(call.arguments, RESULT_CHARACTERS)
    return f"- {call.tool} {arguments} → {json_start(call.result, RESULT_CHARACTERS)}"
