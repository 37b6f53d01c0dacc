"""The Python that is fed to the sandbox before and after a plan, and what plans may use of it.

The prelude gives a plan its doors: `tools.<name>(…)`, `tools.<server>.<name>(…)`,
`mcp.call_tool(name, arguments)` and `search_tools(words)`. Each is a thin function that ends in a
call of a name that nothing in the sandbox defines, so that the interpreter stops there and asks
the host. The doors are a convenience, not a wall: a plan that redefines them gains nothing,
because the host resolves every name and binds every argument itself.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from core.catalog import ToolCatalog
from core.tool_spec import ToolSpec, as_identifier

TOOL_DOOR = "__call_tool__"
"""Undefined function behind `tools.<name>`: index in the catalogue, args, kwargs."""

RAW_DOOR = "__call_raw__"
"""Undefined function behind `mcp.call_tool`: args and kwargs as the plan wrote them."""

SEARCH_DOOR = "__search_tools__"
"""Undefined function behind `search_tools`: args and kwargs as the plan wrote them."""

SEARCH = "search_tools"
"""What a plan calls to find tools. A server's tool of that name is `tools.search_tools`."""

ENTRY_POINT = "solve"
"""The function that a plan must define."""

NO_SOLVE = f"no {ENTRY_POINT}(): define `async def {ENTRY_POINT}():` at the top level of the plan"
"""What a plan without an entry point is told."""

AVAILABLE_MODULES = (
    *("asyncio", "base64", "bisect", "collections", "copy", "csv", "dataclasses", "datetime"),
    *("decimal", "functools", "hashlib", "itertools", "json", "math", "random", "re", "time"),
    *("typing", "unicodedata"),
)
"""Modules that a plan can import; `os`, `sys` and `pathlib` exist but reach nothing."""

PLAN_LANGUAGE_NOTES = f"""\
- You may import only: {", ".join(AVAILABLE_MODULES)}.
- No import is needed for tools. There are no files, no network, no input() and no environment.
- There is no statistics, fractions, operator, heapq, string: use sum()/len(), sorted(), lambda.
- Run independent calls at once with `a, b = await asyncio.gather(tools.x(…), tools.y(…))`.
- Not available: asyncio.create_task, TaskGroup, wait_for, gather(return_exceptions=True).
- Not available: yield (build a list), async with, async for and async comprehensions (use for).
- Not available: class inheritance, own exceptions (use RuntimeError), decorators on methods.
- Not available: `del` (assign None instead), `key=d.get` (write `key=lambda k: d[k]`).
- A failing tool raises RuntimeError: catch it with try/except to try another tool.
- Sums of money and exact decimals go through tools or decimal, not round(); sleeping is instant.
"""
"""What the prompts tell a model about the language of plans."""

EPILOGUE = f"""

__outcome__ = {ENTRY_POINT}()
if type(__outcome__).__name__ == "coroutine":
    __outcome__ = await __outcome__
__outcome__
"""
"""Appended to a plan: calls `solve()`, sync or async; its value is the plan's result."""

_DOORS = f"""
class __Content:
    def __init__(self, block):
        self.type = block["type"]
        self.text = block["text"]
        self.data = block["data"]
        self.mime_type = block["mime_type"]
        self.uri = block["uri"]

class __Result:
    def __init__(self, raw):
        self.content = [__Content(block) for block in raw["content"]]
        self.structured_content = raw["structured_content"]
        self.is_error = False

class __Client:
    async def call_tool(self, *args, **kwargs):
        return __Result(await {RAW_DOOR}(list(args), kwargs))

    async def {SEARCH}(self, *args, **kwargs):
        return {SEARCH_DOOR}(list(args), kwargs)

mcp = __Client()

async def {SEARCH}(*args, **kwargs):
    return {SEARCH_DOOR}(list(args), kwargs)
"""

_NAME = re.compile(r"\w+")


def prelude_for(tools: ToolCatalog, plan: str = "") -> str:
    """The doors for the tools that are on offer or named in the plan, as source text.

    A bare identifier leads to a tool that no other server shares; else to a server of that name.
    Tools that are named without being on offer have a door that the host opens once they are found.
    """
    named = set(_NAME.findall(unicodedata.normalize("NFKC", plan)))
    shown = [
        (index, tool)
        for index, tool in enumerate(tools.known)
        if tools.offers(tool) or tool.identifier in named
    ]
    lines = ["class __Namespace:", "    pass", "", "tools = __Namespace()"]
    taken: set[str] = set()
    for index, tool in shown:
        lines += _tool_function(index)
        if not tools.is_ambiguous(tool) and _is_plain(tool.identifier):
            taken.add(tool.identifier)
            lines.append(f"tools.{tool.identifier} = __tool_{index}")
    lines += _server_namespaces(shown, frozenset(taken))
    taken |= {as_identifier(tool.server) for _, tool in shown}
    own_search = [] if SEARCH in taken else [f"tools.{SEARCH} = {SEARCH}"]
    return "\n".join(lines) + _DOORS + "\n".join(own_search)


def _tool_function(index: int) -> list[str]:
    return [
        f"async def __tool_{index}(*args, **kwargs):",
        f"    return await {TOOL_DOOR}({index}, list(args), kwargs)",
    ]


def _server_namespaces(
    tools: Iterable[tuple[int, ToolSpec]], taken: frozenset[str]
) -> Iterator[str]:
    """`tools.<server>.<tool>` for every server whose name no tool has taken; first one wins."""
    filled: set[str] = set()
    for index, tool in tools:
        server = as_identifier(tool.server)
        path = f"tools.{server}.{tool.identifier}"
        if server in taken or path in filled or not _names_are_plain(server, tool):
            continue
        if server not in filled:
            yield f"tools.{server} = __Namespace()"
        filled |= {server, path}
        yield f"{path} = __tool_{index}"


def _names_are_plain(server: str, tool: ToolSpec) -> bool:
    return _is_plain(server) and _is_plain(tool.identifier)


def _is_plain(name: str) -> bool:
    """Whether a name is safe to write into the prelude; others stay with `mcp.call_tool`."""
    return name.isidentifier() and not name.startswith("__")
