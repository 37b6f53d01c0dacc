"""Perception: what a request is about and which servers it most likely needs.

A hint that ranks tools and hides none while they fit the prompt, so a model is asked for it only
where it can matter; else, and where a model gives no readable answer, the request's words decide.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import assert_never

from core.context import AgentContext
from core.errors import ModelUnavailable
from core.ports import ModelRequest, PerceptionInputs
from core.strategy import CHARACTERS_PER_TOKEN
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.turn import PerceptionResult
from core.values import JsonObject
from modules.model_manager import ModelManager
from modules.models.offline.planner import perceive
from modules.models.offline.quotes.documents_hint import hint_at_documents
from modules.planning.llmfunc import ReplyingModel, ReplyUnusable, llmfunc
from modules.planning.prompt.template import load_prompt

PROMPT_PATH = "prompts/perception_prompt.txt"

PERCEPTION_RETRIES = 1
"""How often a model is asked again: its answer is a hint, and the ranking by words is at hand."""

PERCEPTION_OUTPUT_TOKENS = 1_000
"""Bound on a first reply, which takes about 100; lists without end are what a model may write."""

_NULLS = frozenset({"", "null", "none"})


async def run_perception(
    context: AgentContext, user_input: str | None = None, *, index_folder: Path | None = None
) -> PerceptionResult:
    """Perceive the context's request, or `user_input` in its place, as the profile says.

    `strategy.perception: auto` asks the model where not all tools fit into the prompt, `always`
    at every step, `never` not at all. The ranking by words answers in the model's place, and the
    index of documents, in `index_folder`, says whether they are to be read first.

    Raises:
        ModelUnavailable: the model can't be reached or refused.
        BudgetSpent: the run may use no more.
    """
    inputs = PerceptionInputs(
        user_input or context.user_input,
        context.mcp_server_descriptions,
        context.dispatcher.catalog,
    )
    if _asks_model(context, inputs.tools):
        try:
            return await _perception_of(context.model, inputs)
        except ModelUnavailable as error:
            if not (isinstance(error, ReplyUnusable) or error.is_too_long):
                raise
    if user_input is not None and user_input == context.user_input_override:
        # The words that matter are the user's; a later step's input holds a page of text, too.
        inputs = replace(inputs, user_input=context.user_input)
    perception = await asyncio.to_thread(_by_words, inputs)
    if context.model.name == "offline" or context.user_input_override is not None:
        return perception  # offline plans search for themselves; later steps have found something
    return await hint_at_documents(perception, inputs, context.dispatcher, index_folder)


async def extract_perception(
    user_input: str,
    mcp_server_descriptions: Mapping[str, str],
    *,
    model: ReplyingModel | None = None,
    tools: ToolCatalog | None = None,
) -> PerceptionResult:
    """Ask the model for intent, entities, a tool hint and the relevant servers.

    A reply that can't be read, once asked for again, selects all servers; ids of servers that
    don't exist are dropped. Without `model`, the automatically chosen one answers.

    Raises:
        ModelUnavailable: the model can't be reached or refused.
        BudgetSpent: the run may use no more.
    """
    if model is None:
        model = ModelManager()
    servers = dict(mcp_server_descriptions)
    try:
        return await _perception_of(
            model, PerceptionInputs(user_input, servers, tools or ToolCatalog(()))
        )
    except ReplyUnusable:
        return PerceptionResult(selected_servers=list(servers))


async def _perception_of(model: ReplyingModel, inputs: PerceptionInputs) -> PerceptionResult:
    """The model's perception.

    Raises:
        ReplyUnusable: it can't be read.
        ModelUnavailable: the model can't be reached or refused.
    """
    catalogue = "\n".join(f"- {name}: {text}" for name, text in inputs.servers.items()) or "(none)"
    asked = load_prompt(PROMPT_PATH)
    perceived = llmfunc(
        ModelRequest("perception", asked, inputs, max_output_tokens=PERCEPTION_OUTPUT_TOKENS),
        model=model,
        shape=PerceptionResult,
        lenient=_without_nulls,
        retries=PERCEPTION_RETRIES,
        show_schema=False,
        changing="user_input",
    )
    result = await perceived(servers_text=catalogue, user_input=inputs.user_input)
    return _of_known_servers(result, inputs.servers)


def _by_words(inputs: PerceptionInputs) -> PerceptionResult:
    """What the offline planner perceives; takes long where a thousand tools have much in common."""
    return PerceptionResult.model_validate_json(perceive(inputs))


def _asks_model(context: AgentContext, tools: ToolCatalog) -> bool:
    strategy = context.agent_profile.strategy
    match strategy.perception:
        case "always":
            return True
        case "never":
            return False
        case "auto":
            room = strategy.tool_prompt_tokens * CHARACTERS_PER_TOKEN
            reads_text = context.model.traits.reads_text
            return reads_text and not _all_fit(tools, context.parts.describe_tool, room)
        case _:
            assert_never(strategy.perception)


def _all_fit(
    tools: ToolCatalog, describe: Callable[[ToolSpec, ToolCatalog], str], room_characters: int
) -> bool:
    """Whether a prompt has room for all tools, and so for whatever perception would choose."""
    for tool in tools:
        room_characters -= len(describe(tool, tools)) + 1
        if room_characters < 0:
            return False
    return True


def _without_nulls(document: JsonObject) -> JsonObject:
    """The fields that say something; null, which small models write as text, is the default."""
    return {
        key: value
        for key, value in document.items()
        if value is not None and not (isinstance(value, str) and value.lower() in _NULLS)
    }


def _of_known_servers(result: PerceptionResult, servers: Mapping[str, str]) -> PerceptionResult:
    known = [server for server in dict.fromkeys(result.selected_servers) if server in servers]
    return result.model_copy(update={"selected_servers": known or list(servers)})
