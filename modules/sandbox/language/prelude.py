"""The Python that is fed to the sandbox before and after a plan, and what plans may use of it.

The prelude gives a plan what it may call: `tools.<name>(…)`, `tools.<server>.<name>(…)`,
`mcp.call_tool(name, arguments)` and `search_tools(words)`. Each is a thin function that ends in a
call of a name that nothing in the sandbox defines, so that the interpreter stops there and asks
the host. These are a convenience, not a wall: a plan that redefines them gains nothing,
because the host resolves every name and binds every argument itself.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from core.run.working_memory import MEMORY
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec, as_identifier
from modules.sandbox.language.provided import ROUND, attribute_functions

TOOL_CALL = "__call_tool__"
"""Undefined function behind `tools.<name>`: index in the catalogue, args, kwargs."""

RAW_CALL = "__call_raw__"
"""Undefined function behind `mcp.call_tool`: args and kwargs as the plan wrote them."""

SEARCH_CALL = "__search_tools__"
"""Undefined function behind `search_tools`: args and kwargs as the plan wrote them."""

SEARCH = "search_tools"
"""What a plan calls to find tools. A server's tool of that name is `tools.search_tools`."""

ENTRY_POINT = "solve"
"""The function that a plan must define."""

NO_SOLVE = f"no {ENTRY_POINT}(): define `async def {ENTRY_POINT}():` at the top level of the plan"
"""What a plan without an entry point is told."""

AVAILABLE_MODULES = (
    *("asyncio", "base64", "bisect", "collections", "copy", "csv", "dataclasses", "datetime"),
    *("decimal", "functools", "hashlib", "itertools", "json", "math", "random", "re"),
    *("statistics", "string", "time", "typing", "unicodedata"),
)
"""Modules that a plan can import; `os`, `sys` and `pathlib` exist but reach nothing.

`re`, `statistics` and `string` are ours, and `asyncio` of plans that make tasks
(`modules.sandbox.language.provided`).
"""

PLAN_LANGUAGE_NOTES = f"""\
- You may import only: {", ".join(AVAILABLE_MODULES)}.
- No import is needed for tools. There are no files, no network, no input() and no environment.
- There is no fractions, operator, heapq, enum, io, contextlib: use decimal, lambda, sorted().
- Run independent calls at once with `a, b = await asyncio.gather(tools.x(…), tools.y(…))`.
- Not available: asyncio.TaskGroup, Semaphore, timeout(). wait_for() sets no limit of its own.
- Not available: yield (build a list), async with, async for and async comprehensions (use for).
- Not available: class inheritance, own exceptions (use RuntimeError), decorators on methods,
  __len__, __lt__, __bool__, super(), callable(), issubclass(), exec(), `with` (use try/finally).
- Not available: `del` (assign None instead), exceptions with more than one text,
  `next(x for …)` (write `next(iter([x for …]), None)`).
- Calls may nest only so deep, and RecursionError can't be caught: use a loop.
- A failing tool raises RuntimeError: catch it with try/except to try another tool.
- What later plans of this task need, put into the dict `{MEMORY}`: `{MEMORY}["rates"] = rates`.
- Exact decimals go through tools or decimal; sleeping is instant.
"""
"""What the prompts tell a model about the language of plans."""

EPILOGUE = f"""

__outcome__ = {ENTRY_POINT}()
if type(__outcome__).__name__ == "coroutine":
    __outcome__ = await __outcome__
__outcome__
"""
"""Appended to a plan: calls `solve()`, sync or async; its value is the plan's result."""

_CLIENT = f"""
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
        return __Result(await {RAW_CALL}(list(args), kwargs))

    async def {SEARCH}(self, *args, **kwargs):
        return {SEARCH_CALL}(list(args), kwargs)

mcp = __Client()
"""

_SEARCH = f"""
async def {SEARCH}(*args, **kwargs):
    return {SEARCH_CALL}(list(args), kwargs)
"""

_HIDDEN = """
def exec(*args, **kwargs):
    raise NotImplementedError("exec() is not supported; write the code into the plan itself")

def eval(*args, **kwargs):
    raise NotImplementedError("eval() takes one text, as in eval(text), and no names")

def locals():
    raise NotImplementedError("locals() is not supported; keep such values in a dict")
"""
"""Builtins that a plan doesn't get: they run code that the guard has not seen, or list its names.

A plain `eval(text)` is let through by `modules.sandbox.language.guard`.
"""

_HIDDEN_NAMES = frozenset({"exec", "eval", "locals"})

_BY_TEXT = frozenset({"eval", "getattr", "hasattr", "setattr"})
"""Builtins that reach what they are given the name of, which need not stand in the plan."""

_NAME = re.compile(r"\w+")


def prelude_for(tools: ToolCatalog, plan: str) -> str:
    """What a plan may call on the host, by the names that stand in it, as source text.

    The interpreter reads it before each plan, so there is no more of it than is of use. A bare
    identifier leads to a tool that no other server shares; else to a server of that name. Tools
    that are named without being on offer have one that the host answers once they are found.
    """
    named = set(_NAME.findall(unicodedata.normalize("NFKC", plan)))
    by_text = not named.isdisjoint(_BY_TEXT)
    parts: list[str] = []
    if by_text or "round" in named:
        parts.append(ROUND)
    if by_text:
        parts.append(attribute_functions(named))
    if by_text or not named.isdisjoint(_HIDDEN_NAMES):
        parts.append(_HIDDEN)
    if by_text or SEARCH in named:
        parts.append(_SEARCH)
    if by_text or "mcp" in named:
        parts.append(_CLIENT)
    if by_text or "tools" in named:
        shown = [
            (index, tool)
            for index, tool in enumerate(tools.known)
            if tool.identifier in named or (by_text and tools.offers(tool))
        ]
        servers = {as_identifier(tool.server) for tool in tools.known} & named
        parts += _namespace(tools, shown, servers, with_search=by_text or SEARCH in named)
    return "\n".join(parts)


def _namespace(
    tools: ToolCatalog,
    shown: Sequence[tuple[int, ToolSpec]],
    servers: Iterable[str],
    *,
    with_search: bool,
) -> Iterator[str]:
    """`tools`, with a function for each of those that are shown, and a place for the servers."""
    yield from ("class __Namespace:", "    pass", "", "tools = __Namespace()")
    taken: set[str] = set()
    for index, tool in shown:
        yield f"async def __tool_{index}(*args, **kwargs):"
        yield f"    return await {TOOL_CALL}({index}, list(args), kwargs)"
        if not tools.is_ambiguous(tool) and _is_plain(tool.identifier):
            taken.add(tool.identifier)
            yield f"tools.{tool.identifier} = __tool_{index}"
    servers = {*servers, *(as_identifier(tool.server) for _, tool in shown)} - taken
    yield from (f"tools.{server} = __Namespace()" for server in sorted(filter(_is_plain, servers)))
    yield from _server_namespaces(shown, frozenset(taken))
    taken |= servers
    if with_search and SEARCH not in taken:
        yield f"tools.{SEARCH} = {SEARCH}"


def _server_namespaces(
    tools: Iterable[tuple[int, ToolSpec]], taken: frozenset[str]
) -> Iterator[str]:
    """`tools.<server>.<tool>` for every server whose name no tool has taken; first one wins."""
    filled: set[str] = set()
    for index, tool in tools:
        server = as_identifier(tool.server)
        path = f"tools.{server}.{tool.identifier}"
        is_plain = _is_plain(server) and _is_plain(tool.identifier)
        if is_plain and server not in taken and path not in filled:
            filled.add(path)
            yield f"{path} = __tool_{index}"


def _is_plain(name: str) -> bool:
    """Whether a name is safe to write into the prelude; others stay with `mcp.call_tool`."""
    return name.isidentifier() and not name.startswith("__")
