"""What the tools of the bundled servers share above the MCP SDK: clear errors, and hints.

Importing this costs what importing `mcp` costs (about a second).
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from core.base.redaction import Redactor
from servers.shared.errors import ToolInputError

ToolContext = Context[Any, Any]

PROBLEMS_SHOWN_MAX = 3
"""How many wrong arguments one error message lists."""


class ExplainedTool(Tool):
    """A tool whose errors are one readable sentence for the model or person who called it.

    The SDK withholds the text of exceptions that it doesn't know, and shows a `ValidationError`
    with type codes and a link to Pydantic's site.
    """

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,
    ) -> Any:
        """Run the tool as `Tool.run` does.

        Raises:
            ToolError: the caller must change something; the message says what.
            UnexpectedToolError: a bug of ours; logged by the server with its traceback.
        """
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            match error.__cause__:
                case ToolInputError() as cause:
                    # A service may quote the key that it was sent.
                    said = Redactor(os.environ).text(str(cause))
                    raise ToolError(f"{self.name}: {said}") from cause
                case ValidationError() as cause:
                    raise ToolError(explain(self.name, cause.errors())) from cause
                case _:
                    raise


def explain(tool: str, problems: Sequence[ErrorDetails]) -> str:
    """One sentence that names each wrong argument and what it should be."""
    sentences = [_sentence(problem) for problem in problems[:PROBLEMS_SHOWN_MAX]]
    if (more := len(problems) - PROBLEMS_SHOWN_MAX) > 0:
        sentences.append(f"and {more} more")
    return f"{tool}: {'; '.join(sentences)}"


def _sentence(problem: ErrorDetails) -> str:
    """What is wrong with one argument; its place is `("input", name, index…)`."""
    name = ".".join(str(part) for part in problem["loc"][1:])
    match problem["type"]:
        case "missing" | "model_type" if not name:
            return 'the arguments must be wrapped in one object: {"input": {…}}'
        case "missing":
            return f"the argument {name} is missing"
        case "extra_forbidden":
            return f"there is no argument {name}"
        case "value_error":
            return f"{name} {problem['msg'].removeprefix('Value error, ')}"
        case _:
            return f"{name}: {problem['msg']}"


def read_only_tools(
    functions: Sequence[Callable[..., object]], *, open_world: bool = False
) -> list[Tool]:
    """Tools that change nothing and answer the same arguments in the same way.

    Those of an `open_world` read what anybody may have written.
    """
    annotations = ToolAnnotations(
        read_only_hint=True,
        destructive_hint=False,
        idempotent_hint=True,
        open_world_hint=open_world,
    )
    return [ExplainedTool.from_function(each, annotations=annotations) for each in functions]
