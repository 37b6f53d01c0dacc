"""The tools of an agent's servers, lent to a client under one roof.

A client's model writes the calls, and nothing in them is known to be its user's words. So a call is
held to what holds for a plan to which the user has said nothing: an address, a path or a name has
to stem from an earlier result, and what may change something needs the person's yes.
"""

import asyncio
import re
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import asdict
from hashlib import blake2b
from typing import Final

from mcp_types import CallToolResult, Tool, ToolAnnotations
from mcp_types import ContentBlock as McpBlock
from pydantic import TypeAdapter

from core.errors import CallRefused, ServerError
from core.provenance.guard import Provenance, ProvenanceGuard
from core.provenance.known import Known
from core.provenance.permissions import Permissions
from core.tools.content import ContentBlock, LinkBlock, ResourceBlock, ToolResult
from core.tools.spec import ToolSpec
from modules.asking import Asker
from modules.provenance_policy import provenance_policy
from modules.service.agents import Agent
from modules.service.mcp_door.work import Work, failure

NAME_CHARACTERS_MAX: Final = 64
"""The protocol allows dots and 128 characters; Claude Desktop, Codex and services of models take
`[a-zA-Z0-9_-]{1,64}` alone."""

JOINT: Final = "__"
"""Between server and tool: no name of ours has it."""

NOBODY_THERE: Final = (
    "this client can't ask its person for leave (elicitation); docs/mcp.md says what else allows it"
)
"""Behind the reason of a refusal."""

_BLOCK: Final = TypeAdapter[McpBlock](McpBlock)
_DIGEST_BYTES: Final = 4
_NOT_IN_NAMES: Final = re.compile("[^a-zA-Z0-9_-]")


class Gateway:
    """The servers of one agent as its clients see them: one agent's clients are of one user."""

    def __init__(self, agent: Agent, list_seconds: float) -> None:
        """Know nothing but the configuration yet; a list waits so long for servers that start."""
        self._list_seconds = list_seconds
        setting = agent.setting
        policy = provenance_policy(
            setting.profile, agent.servers.specs, setting.places, setting.approve
        )
        self._agent = agent
        self._starting: asyncio.Task[None] | None = None
        self._known = Known(policy)
        self._permissions = Permissions(
            setting.places.permissions_file, setting.profile.agent.id, setting.redactor
        )

    async def tools(self) -> list[Tool]:
        """The tools of all servers that can be used; starts those whose tools nobody knows.

        Whoever takes longer than a client may wait for a list is told of later, as a change.
        """
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._agent.dispatcher.initialize())
        await asyncio.wait({self._starting}, timeout=self._list_seconds)
        return self.known_tools()

    def known_tools(self) -> list[Tool]:
        """Those that are known without asking any server."""
        return [_lent(name, tool) for name, tool in self._by_name().items()]

    async def call(self, work: Work) -> CallToolResult:
        """What a server gives for a call; its person is asked where leave is needed.

        Raises:
            CallRefused: there is no such tool, it may not be called, or the arguments don't fit.
            ServerError: the server did not start, died, or did not answer in time.
        """
        dispatcher, setting = self._agent.dispatcher, self._agent.setting
        name = work.call.name
        if (tool := self._by_name().get(name)) is None:
            await dispatcher.initialize()
            tool = self._by_name().get(name)
        if tool is None:
            raise CallRefused(f"there is no tool '{name[:80]}'; list the tools again")
        dispatcher.begin_run()
        arguments = tool.bind_raw(work.call.arguments)
        questions = None
        if work.put_question is not None:
            seconds = setting.profile.team.ask_seconds
            questions = Asker(work.put_question, setting.redactor, nullcontext, seconds)
        leave = None if questions is None else questions.allow
        provenance = Provenance(self._known, leave, self._permissions)
        guard = ProvenanceGuard(provenance, lambda: dispatcher.catalog, ())
        if (refused := await guard.refusal(tool, arguments)) is not None:
            nobody = "" if leave is not None else f"; {NOBODY_THERE}"
            raise CallRefused(f"{refused.reason}{nobody}")

        with self._agent.calling(tool.server, questions):
            await dispatcher.prepare(tool)
            try:
                result = await dispatcher.send(tool, arguments, work.tell_progress)
            except ServerError:
                guard.note_failure(tool)
                raise
        await guard.note(tool, arguments, result.error_text if result.is_error else result.value)
        return _handed_on(tool, result)

    def _by_name(self) -> dict[str, ToolSpec]:
        return lent_names(self._agent.dispatcher.catalog)


def lent_names(tools: Iterable[ToolSpec]) -> dict[str, ToolSpec]:
    """The tools by the names that they are lent under; no two have the same."""
    named: dict[str, ToolSpec] = {}
    for tool in tools:
        whole = f"{tool.server}{JOINT}{tool.name}"
        name = _NOT_IN_NAMES.sub("_", whole)
        if len(name) > NAME_CHARACTERS_MAX or name in named:
            digest = blake2b(whole.encode(), digest_size=_DIGEST_BYTES).hexdigest()
            name = f"{name[: NAME_CHARACTERS_MAX - len(digest) - 1]}_{digest}"
        named[name] = tool
    return named


def _lent(name: str, tool: ToolSpec) -> Tool:
    """A tool as its server describes it, as far as we keep that."""
    output = tool.output_schema
    return Tool(
        name=name,
        title=tool.qualified_name,
        description=tool.description,
        input_schema={"type": "object", **tool.input_schema},
        output_schema=output if output is not None and output.get("type") == "object" else None,
        annotations=ToolAnnotations(
            read_only_hint=tool.read_only if tool.says_effects else None,
            idempotent_hint=tool.idempotent or None,
        ),
    )


def _handed_on(tool: ToolSpec, result: ToolResult) -> CallToolResult:
    """A server's result; it was bounded when it came."""
    if result.omitted_bytes and tool.output_schema is not None and not result.is_error:
        # Clients hold a result against its schema, and what was cut fits none.
        return failure(f"the result is larger than this agent hands on: {result.text}")
    return CallToolResult(
        content=[_block(block) for block in result.content],
        structured_content=result.structured,
        is_error=result.is_error,
    )


def _block(block: ContentBlock) -> McpBlock:
    """A block as the protocol has it."""
    held = {"type": block.type, **asdict(block)}
    match block:
        case ResourceBlock(text=None):
            held["resource"] = {**held, "blob": block.data}
        case ResourceBlock():
            held["resource"] = held.copy()
        case LinkBlock():
            held["description"] = block.text
        case _:
            pass
    return _BLOCK.validate_python(held, by_name=True)
