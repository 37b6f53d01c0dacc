"""What a plan may call on the host: which tool a call means, and with what arguments."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import cast

from core.base.text import listed
from core.errors import CallRefused
from core.tools.catalog import MAX_NAME_CHARACTERS, ToolCatalog
from core.tools.schema_check import argument_check
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.planning.prompt.stubs import tool_documentation, tool_signature
from modules.sandbox.language import SEARCH
from modules.sandbox.limits import (
    MAX_SEARCH_CHARACTERS,
    MAX_SEARCHES_PER_PLAN,
    MAX_TOOLS_FOUND,
)
from modules.sandbox.values import JsonRebuilder, NotFinite, NotJson, TooLarge

RAW_CALL_FORM = "write mcp.call_tool('tool_name', {'argument': value})"
"""What a call of `mcp.call_tool` in another form is told."""

SEARCH_FORM = f'write await {SEARCH}("words that say what is needed", limit=10)'
"""What a search in another form is told."""

TOOLS_NAMED = 8
"""How many tools a refusal names where none on offer looks like what was called."""

MAX_PROPOSALS = 5
"""For how many wrong names of a plan the nearest are looked for: half a second of host time each
among a thousand tools, which no limit on the plan's own time counts."""

TOOLS_FOUND = 10
"""How many tools a search gives that doesn't say."""


def plan_hint(tools: ToolCatalog, name: str) -> str:
    """What to add to an error about an unknown name: "; did you mean tools.add?", or nothing."""
    near = [f"tools.{tools.plan_name(tool)}" for tool in tools.spelt_alike(name)]
    return f"; did you mean {', '.join(near)}?" if near else ""


def shown_name(name: str) -> str:
    """A name in quotes; with escapes where it isn't plain ASCII and may look like another."""
    cut = name[:MAX_NAME_CHARACTERS]
    return f"'{cut}'" if cut.isascii() and cut.isprintable() else ascii(cut)


class HostFunctions:
    """The tools on offer to one plan, behind `tools.<name>`, `mcp.call_tool` and bare names."""

    def __init__(self, tools: ToolCatalog, max_argument_bytes: int) -> None:
        """Offer `tools`; a call's arguments may have `max_argument_bytes` of JSON in all."""
        self._tools = tools
        self._searches = 0
        self._proposals = 0
        self._found: dict[str, ToolSpec] = {}
        self._max_argument_bytes = max_argument_bytes

    @property
    def found(self) -> tuple[str, ...]:
        """Qualified names of the tools that the plan searched for and found, in that order."""
        return tuple(self._found)

    def admit(
        self, kind: str, name: str, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[ToolSpec, JsonObject]:
        """Check a call: its tool and its bound arguments.

        A call of kind "raw" is one of `mcp.call_tool`, else `name` is what the plan wrote behind
        `tools.`, or a bare name.

        Arguments are checked against the tool's schema; see `core.tools.schema_check` for the two
        mistakes that are put right instead of refused.

        Raises:
            CallRefused: no such tool, or several, or one that was neither offered nor found, or
                arguments that don't fit; the message names each that is wrong.
        """
        tool, arguments = self._bound(kind, name, args, kwargs)
        return tool, argument_check(tool).checked(arguments)

    def search(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Json:
        """The tools that fit a plan's words, best first; from now on the plan may call them.

        Each is `{"name", "signature", "description"}`, the name as it stands behind `tools.`.

        Raises:
            CallRefused: words or limit are of no use, or the plan has searched too often.
        """
        words, limit = _search_arguments(args, kwargs)
        self._searches += 1
        if self._searches > MAX_SEARCHES_PER_PLAN:
            raise CallRefused(f"a plan may search {MAX_SEARCHES_PER_PLAN} times for tools")
        found = self._tools.search(words, min(limit, MAX_TOOLS_FOUND))
        self._found |= {tool.qualified_name: tool for tool in found}
        self._tools = self._tools.offering([*self._tools, *found])
        return [self._described(tool) for tool in found]

    def _bound(
        self, kind: str, name: str, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[ToolSpec, JsonObject]:
        """The tool that is called, and its arguments as its server wants them."""
        if kind == "raw":
            tool, arguments = self._raw_call(args, kwargs)
            return tool, tool.bind_raw(self._as_json(tool, (), arguments)[1])
        tool = self._resolve(name)
        return tool, tool.bind(*self._as_json(tool, args, kwargs))

    def hint(self, name: str) -> str:
        """What to add to an error about a name that is unknown: the nearest, or nothing."""
        return plan_hint(self._tools, name) if self._may_propose() else ""

    def _may_propose(self) -> bool:
        self._proposals += 1
        return self._proposals <= MAX_PROPOSALS

    def _resolve(self, name: str) -> ToolSpec:
        """The tool on offer of exactly this name; a name of none is refused with the nearest."""
        if len(name) > MAX_NAME_CHARACTERS:
            raise CallRefused(f"no tool has a name of {len(name):,} characters")
        if self._tools.lookup(name) is not None or self._tools.has_name(name):
            return self._tools.resolve(name)
        near = self._tools.nearest(name) if self._may_propose() else []
        hint = f"; did you mean {', '.join(near)}?" if near else self._offer()
        raise CallRefused(f"there is no tool {shown_name(name)}{hint}")

    def _offer(self) -> str:
        """The first tools on offer, for whoever asked for something else altogether."""
        first = [self._tools.plan_name(tool) for tool in islice(self._tools, TOOLS_NAMED)]
        shown = listed(first, len(self._tools))
        return f"; on offer: {shown}" if first else " (no tools are on offer)"

    def _described(self, tool: ToolSpec) -> Json:
        name = self._tools.plan_name(tool)
        return {
            "name": name,
            "signature": tool_signature(tool, name),
            "description": tool_documentation(tool),
        }

    def _raw_call(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[ToolSpec, Mapping[str, object]]:
        """`mcp.call_tool(name, arguments)`, by position or keyword, or with plain keywords."""
        rest = dict(kwargs)
        name = args[0] if args else rest.pop("tool_name" if "tool_name" in rest else "name", None)
        given = [*args[1:], *([rest.pop("arguments")] if "arguments" in rest else [])]
        arguments = given[0] if given else rest
        if not isinstance(name, str) or len(given) > 1 or (given and rest):
            raise CallRefused(RAW_CALL_FORM)
        return self._resolve(name), _named({} if arguments is None else arguments)

    def _as_json(
        self, tool: ToolSpec, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[list[Json], JsonObject]:
        names = [parameter.name for parameter in tool.parameters][: len(args)]
        names += [str(position) for position in range(len(names) + 1, len(args) + 1)]
        # One for all of them: they may share one big text.
        room = JsonRebuilder(self._max_argument_bytes, finite=True)
        by_position = [_value(room, tool, n, v) for n, v in zip(names, args, strict=True)]
        return by_position, {n: _value(room, tool, n, v) for n, v in kwargs.items()}


def _search_arguments(args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[str, int]:
    """Words and limit of `search_tools(words, limit=10)`, whatever the first is called."""
    rest = dict(kwargs)
    limit = rest.pop("limit", args[1] if len(args) > 1 else TOOLS_FOUND)
    words = args[0] if args else next(iter(rest.values()), None)
    if not isinstance(words, str) or not isinstance(limit, int) or limit < 1 or len(args) > 2:
        raise CallRefused(SEARCH_FORM)
    if len(words) > MAX_SEARCH_CHARACTERS:
        raise CallRefused(f"a search takes at most {MAX_SEARCH_CHARACTERS} characters of words")
    return words, limit


def _value(room: JsonRebuilder, tool: ToolSpec, name: str, value: object) -> Json:
    try:
        room.rebuild(name)
        return room.rebuild(value)
    except NotFinite as kind:
        raise CallRefused(f"{tool.name}() argument '{name}' {kind}; give a finite one") from kind
    except NotJson as kind:
        raise CallRefused(
            f"{tool.name}() argument '{name}' is {kind}; "
            "give text, numbers, booleans, lists, dicts or None"
        ) from kind
    except TooLarge as reason:
        raise CallRefused(f"{tool.name}() argument '{name}' can't be sent: {reason}") from reason


def _named(arguments: object) -> Mapping[str, object]:
    """`arguments` as a dict with text keys."""
    if not isinstance(arguments, dict):
        raise CallRefused(RAW_CALL_FORM)
    named = cast("dict[object, object]", arguments)
    if not all(isinstance(name, str) for name in named):
        raise CallRefused("the names of arguments must be text")
    return cast("dict[str, object]", named)
