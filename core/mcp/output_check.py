"""Results against their tool's output schema (MCP 2025-11-25, "Output Schema").

Schema and result both come from the server; `core.schema_check` bounds what their check costs.
"""

from collections.abc import Iterable

from core.content import ToolResult
from core.schema_check import CompiledSchema, compile_schema
from core.tool_spec import ToolSpec
from core.values import JsonObject


class OutputChecks:
    """The output schemas of one session's tools; a validator is made when it is first needed."""

    def __init__(self) -> None:
        """Know no schema."""
        self._schemas: dict[str, JsonObject] = {}
        self._compiled: dict[str, CompiledSchema | None] = {}

    def learn(self, tools: Iterable[ToolSpec]) -> None:
        """Note the schemas of a new listing."""
        self._schemas = {t.name: t.output_schema for t in tools if t.output_schema is not None}
        self._compiled = {}

    def breach(self, tool: str, result: ToolResult) -> str | None:
        """What a result breaks of its tool's promise, as far as that can be told quickly."""
        if tool not in self._schemas or result.is_error or result.omitted_bytes:
            return None
        if tool not in self._compiled:
            self._compiled[tool] = compile_schema(self._schemas[tool])
        compiled = self._compiled[tool]
        if compiled is None:
            return None
        if result.structured is None:
            return "it has no structured content"
        breach = compiled.breach(result.structured)
        return None if breach is None else str(breach)
