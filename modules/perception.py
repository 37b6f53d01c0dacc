"""Perception: what a request is about and which servers it most likely needs."""

import json
from collections.abc import Mapping
from typing import cast

from pydantic import ValidationError

from core.catalog import ToolCatalog
from core.context import AgentContext
from core.ports import ModelRequest, PerceptionInputs, TextModel
from core.turn import PerceptionResult
from modules.model_manager import ModelManager
from modules.tools import extract_json_block, fill_prompt, load_prompt

PROMPT_PATH = "prompts/perception_prompt.txt"


async def run_perception(context: AgentContext, user_input: str | None = None) -> PerceptionResult:
    """Perceive the context's request, or `user_input` in its place.

    Raises:
        ModelUnavailable: the model can't be reached or refused.
    """
    return await extract_perception(
        user_input or context.user_input,
        context.mcp_server_descriptions,
        model=context.model,
        tools=ToolCatalog(context.dispatcher.get_all_tools()),
    )


async def extract_perception(
    user_input: str,
    mcp_server_descriptions: Mapping[str, str],
    *,
    model: TextModel | None = None,
    tools: ToolCatalog | None = None,
) -> PerceptionResult:
    """Ask the model for intent, entities, a tool hint and the relevant servers.

    A reply that can't be read selects all servers; ids of servers that don't exist are
    dropped. Without `model`, the automatically chosen one answers.

    Raises:
        ModelUnavailable: the model can't be reached or refused.
    """
    servers = dict(mcp_server_descriptions)
    catalogue = "\n".join(f"- {name}: {text}" for name, text in servers.items()) or "(none)"
    prompt = fill_prompt(
        load_prompt(PROMPT_PATH), {"servers_text": catalogue, "user_input": user_input}
    )
    inputs = PerceptionInputs(user_input, servers, tools or ToolCatalog(()))
    reply = await (model or ModelManager()).generate(ModelRequest("perception", prompt, inputs))
    return parse_perception(reply.text, servers)


def parse_perception(text: str, servers: Mapping[str, str]) -> PerceptionResult:
    """The result in a model's reply; all servers are selected where it can't be read.

    An empty selection selects all as well: no request is answered by leaving every tool out.
    """
    everything = list(servers)
    try:
        document: object = json.loads(extract_json_block(text))
        if not isinstance(document, dict):
            return PerceptionResult(selected_servers=everything)
        fields = cast("dict[str, object]", document)
        result = PerceptionResult.model_validate(
            {key: value for key, value in fields.items() if value is not None}
        )
    except (ValueError, ValidationError, RecursionError):
        return PerceptionResult(selected_servers=everything)
    known = [server for server in dict.fromkeys(result.selected_servers) if server in servers]
    return result.model_copy(update={"selected_servers": known or everything})
