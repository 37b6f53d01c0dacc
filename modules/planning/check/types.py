"""What is certainly wrong with a plan's calls and with what it does with their results.

A type checker finds it (`checker`); here each finding is judged, and told in words that say what to
write. A finding about a value counts only where the plan must fail: where all that the value may be
is wrong, the plan gets there whatever happens, and nothing around it handles errors. What no type
says (minimum, pattern, enum, the text of a number) is checked at the call.
"""

import ast
import math
import re
import statistics
from collections.abc import Iterator, Set
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from core.base.text import shorten
from core.errors import CallRefused
from core.tools.findings import KIND_WORDS
from core.tools.spec import ToolSpec, as_identifier
from core.turn import FailureKind, PlanFailure
from modules.planning.check.checker import ANSWER, FUNCTION, Finding, findings, members, stub_of
from modules.planning.check.hints import value_hints
from modules.planning.check.syntax import failure_at
from modules.planning.names import (
    CALL_TOOL,
    CLIENT,
    TOOLS,
    FunctionNode,
    ParsedPlan,
    PlanNames,
    is_builtin,
)
from modules.sandbox.language import ENTRY_POINT, MAX_LINE_CHARACTERS

ASKED_TYPES_MAX: Final = 5
"""For so many values of a plan the checker is asked what they are."""

QUOTED_CHARACTERS: Final = 100
"""How much of a name or an expression of a plan a message quotes."""

IN_PYTHON: Final = "compute it in plain Python (20 ** 3, math.sqrt(2)) if it can be computed"
"""What is said first where a plan made up a tool that is spelt like no other."""

OR_ANSWER: Final = "where neither helps, return what you know after FINAL_ANSWER:"

_BINDING: Final = frozenset(
    {"missing-argument", "unknown-argument", "too-many-positional-arguments"}
    | {"parameter-already-assigned"}
)
"""Rules for arguments that don't fit a function, whatever they hold."""

_UNTRUE: Final = frozenset(
    {"invalid-assignment", "invalid-explicit-return", "invalid-implicit-return"}
    | {"invalid-parameter-default", "invalid-declaration", "conflicting-declarations"}
)
"""Rules for values that are other than the plan says, which Python does not mind."""

_NUMBER, _LIST, _DICT = KIND_WORDS["number"], KIND_WORDS["array"], KIND_WORDS["object"]

_KINDS: Final = MappingProxyType(
    {"int": _NUMBER, "float": _NUMBER, "str": KIND_WORDS["string"], "bool": KIND_WORDS["boolean"]}
    | {"None": "None", "list": _LIST, "Iterable": _LIST, "dict": _DICT, "Mapping": _DICT}
    | {"tuple": "a tuple", "CoroutineType": "a call", ANSWER: "an object"}
)
"""The types of which something is said, in words; of any other nothing is certain."""

_NO_JSON: Final = frozenset({None, "CoroutineType", ANSWER})
_WITHOUT_ITEMS: Final = frozenset({"int", "float", "bool", "None", "CoroutineType", ANSWER})
_WITH_PLACES: Final = frozenset({"str", "list", "tuple"})

_TOLD_TYPES: Final = re.compile(r"(?:type:?|and|Expected|found|^) ?`([^`]*)`")
"""The types in what is said of values."""

_NOT_AWAITED: Final = "a call was not awaited: write await before it, in an async def"
_NO_NUMBER: Final = "it can't be used as a number"
_NO_LIST: Final = "it can't be looped over or counted"

_NOT_TAKEN: Final = MappingProxyType(
    {
        "json.loads": "leave json.loads out",
        "str.join": "join texts, as in map(str, …)",
        "asyncio.gather": "give asyncio.gather() the calls, as *calls, without await",
        "round": _NO_NUMBER,
    }
)
"""What to write where a function of Python's doesn't take a list, or a value that is no text."""

_HANDLING: Final = ast.Try | ast.TryStar | ast.With | ast.AsyncWith | ast.Match
"""Where a plan is ready for errors, or for values of several kinds."""

_Judged: TypeAlias = ast.expr | ast.keyword
_Mistake: TypeAlias = tuple[int, FailureKind, str]
_SomeKinds: TypeAlias = Set[str | None]
"""The kinds of a value, None for one of which nothing is said."""

_UNKNOWN: Final[_SomeKinds] = frozenset({None})


def first_mistake(plan: ParsedPlan) -> PlanFailure | None:
    """The first thing by line that is certainly wrong with calls and values; None if nothing is.

    For a thread: it waits for a process. A plan that calls nothing shows when it runs.
    """
    names = plan.names
    doors = {TOOLS, CLIENT, *names.servers, *(tool.identifier for tool in names.tools.known)}
    if not any(isinstance(node, ast.Name) and node.id in doors for node in names.nodes):
        return None
    check = _Check(plan)
    found = min([*check.calls(), *check.values()], key=lambda mistake: mistake[0], default=None)
    return None if found is None else failure_at(found[1], found[2], found[0], plan.source)


class _Check:
    """The findings in one plan, judged."""

    def __init__(self, plan: ParsedPlan) -> None:
        """Have the plan checked; of several nodes at a place the outermost is judged."""
        self._text, self._names = plan.text, plan.names
        self._stub = stub_of(plan.names)
        self._asked_types = 0
        nodes = [node for node in plan.names.nodes if isinstance(node, _Judged)]
        by_place = {self._text.span(cast("ast.expr", node)): node for node in reversed(nodes)}
        self._findings = [
            (found, node)
            for found in findings(plan.source, self._stub)
            if (node := by_place.get((self._offset(found.start), self._offset(found.end))))
            if isinstance(node, ast.keyword) or plan.is_placed_right(node)
        ]

    def _offset(self, place: tuple[int, int]) -> int:
        line, column = place
        return self._text.offset(line, len(self._text.line(line)[:column].encode()))

    def calls(self) -> Iterator[_Mistake]:
        """Tools that are none, and arguments that don't fit."""
        raw = [n for n in self._names.nodes if isinstance(n, ast.Call)]
        judged = [(n.lineno, partial(_check_raw, n, self._names)) for n in raw]
        judged += [(f.start[0], partial(self._call_mistake, f, n)) for f, n in self._findings]
        for line, judge in judged:
            try:
                words = judge()
            except CallRefused as refused:
                words = str(refused)
            if words is not None:
                yield line, "tool", words

    def _call_mistake(self, found: Finding, node: _Judged) -> str | None:
        """What is wrong with the name of a tool or its arguments; raises CallRefused for some."""
        if (tool := self._tool(found)) is None or found.rule == "missing-attribute":
            return name_mistake(node, self._names)
        calls = (at for at in self._names.ancestors(node) if isinstance(at, ast.Call))
        call = node if found.rule == "missing-argument" else next(calls, None)
        if not isinstance(call, ast.Call) or found.rule in _BINDING:
            return _check_binding(tool, call) if isinstance(call, ast.Call) else None
        if isinstance(node, ast.keyword):
            argument, value = node.arg, node.value
        else:
            place = call.args.index(node) if node in call.args else len(tool.parameters)
            argument, value = next((p.argument for p in tool.parameters[place:]), None), node
        types, is_whole = _types(found), argument in (None, tool.wrapper)  # what it holds decides
        if is_whole or len(types) != 2 or not self._is_certain(node):
            return None
        wanted, given = types[0] - {"None"}, types[1]
        if given == {"CoroutineType"}:
            return _NOT_AWAITED
        if len(given) != 1 or given & _NO_JSON or None in wanted or _may_do(given, wanted, value):
            return None
        must = f"must be {_in_words(wanted)}, not {_in_words(given)}"
        return f"{tool.name}(): argument '{argument}' {must}"

    def _tool(self, found: Finding) -> ToolSpec | None:
        """The tool whose function in the stub a finding names."""
        named = re.search(FUNCTION.format(r"(\d+)"), found.words)
        return None if named is None else self._names.tools.known[int(named[1])]

    def values(self) -> Iterator[_Mistake]:
        """The first value that is certainly used as something else than it is."""
        if any(found.rule in _UNTRUE for found, _ in self._findings):
            return
        for found, node in self._findings:
            if isinstance(node, ast.keyword) or self._tool(found) or not self._is_certain(node):
                continue
            if (words := self._misuse(found, node)) is not None:
                line = found.start[0]
                yield line, "error", "; ".join([words, *value_hints(self._names, line)])
                return

    def _misuse(self, found: Finding, node: ast.expr) -> str | None:
        """What is wrong with a use of a value, if it certainly is."""
        types, names = [*_types(found), _UNKNOWN, _UNKNOWN], self._names
        match found.rule, node, names.parents[node]:
            case "missing-attribute", ast.Attribute(value=value, attr=name), _:
                key = f"write [{name!r}] instead of .{name}" if types[0] == {"dict"} else ""
                return _words(value, types[0], key[:MAX_LINE_CHARACTERS] or _alone(value, node))
            case "not-callable", ast.Call(func=value), _:
                return _words(value, types[0], _alone(value, node))
            case "not-iterable", value, _ if types[0] <= _WITHOUT_ITEMS:
                return _words(value, types[0], _NO_LIST)
            case "invalid-await", value, _:
                return _words(value, types[0], f"write {_written(value)} without another await")
            case "unsupported-operator", _, _ if len(types) == 4:
                return _misused_operand(node, types[:2])
            case "invalid-argument-type", value, ast.Subscript() as use if use.value is value:
                return self._misused_part(use, value)
            case "not-subscriptable", ast.Subscript(value=value) as use, _:
                return self._misused_part(use, value)
            case "invalid-argument-type", value, ast.Call(func=func) if len(types[1]) == 1:
                return _words(value, types[1], _not_taken(func, names))
            case "no-matching-overload", ast.Call(func=func, args=[value, *_]), _:
                kinds, advice = self._kinds_of(value), _not_taken(func, names)
                is_list = kinds == {"list"} and advice in _NOT_TAKEN.values()
                return _words(value, kinds, advice) if is_list else None
            case _:
                return None

    def _misused_part(self, use: ast.Subscript, value: ast.expr) -> str | None:
        """What is wrong with `value["key"]`, where nothing that the value may be has keys."""
        is_key = isinstance(use.slice, ast.Constant) and isinstance(use.slice.value, str)
        kinds = self._kinds_of(value)
        fails = kinds <= (_WITHOUT_ITEMS | _WITH_PLACES if is_key else _WITHOUT_ITEMS)
        return _words(value, kinds, _alone(value, use)) if fails else None

    def _kinds_of(self, value: ast.expr) -> _SomeKinds:
        """All that a value may be: some findings tell one member of a union."""
        self._asked_types += 1
        if self._asked_types > ASKED_TYPES_MAX:
            return _UNKNOWN
        asking, _ = self._text.edited(self._text.around(value, "reveal_type(", ")"))
        told = [_types(f) for f in findings(asking, self._stub) if f.rule == "revealed-type"]
        return told[0][0] if len(told) == 1 else _UNKNOWN

    def _is_certain(self, node: _Judged) -> bool:
        """Whether the plan gets to a node whatever happens, and ends where that fails."""
        scope, inner = self._names.scope_of(node), node
        is_solve = isinstance(scope, FunctionNode) and scope.name == ENTRY_POINT
        around = [*self._names.ancestors(node)]
        if any(isinstance(n, _HANDLING) for n in (around if is_solve else self._names.nodes)):
            return False
        for outer in around:
            match outer:
                case ast.If(test=first) | ast.IfExp(test=first) | ast.While(test=first):
                    is_first = inner is first
                case ast.BoolOp(values=[first, *_]):
                    is_first = inner is first
                case ast.ListComp(generators=loops) | ast.GeneratorExp(generators=loops):
                    is_first = inner in loops or not any(loop.ifs for loop in loops)
                case _:
                    is_first = True
            if not is_first:
                return False
            inner = outer
        ends = (n for n in self._names.nodes if isinstance(n, ast.Return | ast.Raise))
        return not any(n.lineno < node.lineno and self._names.scope_of(n) is scope for n in ends)


def _types(found: Finding) -> list[_SomeKinds]:
    """The types that a finding tells: of each its kinds, one for each member of a union."""
    return [frozenset(map(_kind, members(written))) for written in _TOLD_TYPES.findall(found.words)]


def _kind(member: str) -> str | None:
    name, _, inner = member.rstrip("*").partition("[")
    if name == "Literal":
        kinds = {"str" if one == "''" else "int" for one in inner.removesuffix("]").split(", ")}
        return kinds.pop() if len(kinds) == 1 and re.fullmatch(r"[\d', -]*\]", inner) else None
    return name if name in _KINDS else None


def _words(value: ast.expr, kinds: _SomeKinds, advice: str) -> str | None:
    """What a value is, and what to write instead; nothing where either isn't certain."""
    if None in kinds or kinds == {"None"} or not advice:
        return None
    if kinds == {"CoroutineType"}:
        return _NOT_AWAITED
    written = _written(value)
    if kinds == {ANSWER}:
        return (
            f"{CLIENT}.{CALL_TOOL} gives an object that holds the result: write "
            f"{written}.content[0].text for its text, or {written}.structured_content"
        )
    return f"{written} is {_in_words(kinds)}: {advice}"


def _in_words(kinds: _SomeKinds) -> str:
    """As the model is told: "a number", "text or None"."""
    return " or ".join(dict.fromkeys(_KINDS[kind] for kind in _KINDS if kind in kinds))


def _written(part: ast.expr) -> str:
    """A part of the plan as a message quotes it."""
    return shorten(ast.unparse(part), QUOTED_CHARACTERS)


def _alone(value: ast.expr, use: ast.expr) -> str:
    """To write a value without what the plan wrote behind it."""
    return f"write {_written(value)} instead of {_written(use)}"


def _misused_operand(node: ast.expr, types: list[_SomeKinds]) -> str | None:
    """Of two values the one that doesn't go with the other."""
    match node:
        case ast.BinOp(left=left, op=operator, right=right):
            pass
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            pass
        case _:
            return None
    if any(len(kinds) != 1 or None in kinds for kinds in types):
        return None
    place, advice = int(types[0] <= {"int", "float", "bool"}), _NO_NUMBER
    if isinstance(operator, ast.Add) and {"str"} in types:
        place = 1 - types.index({"str"})
        advice = f"write str({_written((left, right)[place])}) to join it to text"
    elif isinstance(operator, ast.In | ast.NotIn):
        place, advice = 1, _NO_LIST
    return _words((left, right)[place], types[place], advice)


def _not_taken(func: ast.expr, names: PlanNames) -> str:
    """What to do about a value that a function of Python's own doesn't take; "" for others."""
    match func:
        case ast.Name(id=function) if is_builtin(function) and not names.binds(function):
            pass
        case ast.Attribute(value=ast.Name(id="json" | "asyncio" | "math" as module), attr=name):
            function = f"{module}.{name}" if names.is_module(module) else ""
        case ast.Attribute(value=ast.Constant(value=str()), attr="join"):
            function = "str.join"
        case _:
            return ""
    return _NOT_TAKEN.get(function, function and f"{function}() can't take it")


def _may_do(given: _SomeKinds, wanted: _SomeKinds, value: ast.expr) -> bool:
    """Whether a call may make do with a value: text that is a number, a list of other items."""
    if given == {"str"} and "float" in wanted:
        word = value.value if isinstance(value, ast.Constant) else ""
        return not (isinstance(word, str) and word.isalpha())
    return given <= {*wanted, *(("list", "tuple") if "Iterable" in wanted else ())}


def _check_binding(tool: ToolSpec, call: ast.Call) -> None:
    """Raise CallRefused for the number and names of a call's arguments, if all are in sight."""
    kwargs = [keyword.arg for keyword in call.keywords]
    is_whole = tool.takes_whole or (not call.args and kwargs == [tool.wrapper])  # the value decides
    if not is_whole and None not in kwargs and ast.Starred not in map(type, call.args):
        tool.bind([None] * len(call.args), dict.fromkeys(filter(None, kwargs)))


def _check_raw(call: ast.Call, names: PlanNames) -> None:
    """The same for the name and keys in `mcp.call_tool("name", {"key": …})`."""
    match call.args:
        case [ast.Constant(value=str() as name), *given] if names.is_raw_call(call):
            tool = names.tools.lookup(name) if names.searches else None
            tool = tool or names.tools.resolve(name)
        case _:
            return
    match given:
        case [ast.Dict(keys=keys)]:
            texts = [key.value for key in keys if isinstance(key, ast.Constant)]
            named = {text: None for text in texts if isinstance(text, str)}
            if len(named) == len(keys) and [*named] != [tool.wrapper]:  # the value decides
                tool.bind_raw(named)
        case _:
            pass


def name_mistake(node: ast.expr | ast.keyword, names: PlanNames) -> str | None:
    """What is wrong with a name behind `tools` or `mcp`, or with what a plan does with these."""
    match node:
        case ast.Name(id=name) if (tool := names.tools.lookup(name)) and not names.binds(name):
            return None if names.tools.offers(tool) else names.tools.not_offered(tool)
        case ast.Attribute(value=ast.Name(id="mcp"), attr=name) if names.is_ours(CLIENT):
            instead = f"{CLIENT}.{CALL_TOOL}('tool_name', {{'argument': value}})"
            wrong = shorten(name, QUOTED_CHARACTERS)
            return f"there is no {CLIENT}.{wrong}; write await {instead}"
        case ast.Attribute() if (path := names.tool_path(node)) is not None:
            return _path_mistake(path, names.parents[node], names)
        case ast.Attribute(value=value, attr=name) if tool := names.tools.get(
            names.tool_path(value) or ""
        ):
            spelled, wrong = _call_of(tool, names), shorten(name, QUOTED_CHARACTERS)
            function = spelled.partition("(")[0]
            return f"{function} is a function and has no .{wrong}; write await {spelled}"
        case ast.Call(func=ast.Name(id="tools")) if names.is_ours(TOOLS):
            meant = _named_in_call(node, names) or _example(names)
            return f"{TOOLS} is no function; write await {meant}"
        case ast.Call(func=func) if (path := names.tool_path(func)) in names.servers:
            return f"{TOOLS}.{path} is a server and no tool; {_offer(_offered(names, path or ''))}"
        case ast.Subscript(value=ast.Name(id="mcp")) if names.is_ours(CLIENT):
            return f"{CLIENT} can't be indexed; write await {_example(names)}"
        case _:
            return None


def _path_mistake(path: str, call: ast.AST, names: PlanNames) -> str | None:
    """What is wrong with `tools.<path>`, and what may be meant."""
    if (tool := names.tools.lookup(path)) is not None:
        return None if names.tools.offers(tool) else names.tools.not_offered(tool)
    known = {names.tools.plan_name(tool): tool.identifier for tool in names.tools.known}
    if shared := [name for name, bare in known.items() if bare == path]:
        return f"several servers offer {path}; write {' or '.join(map(_spelled, shared))}"
    if isinstance(call, ast.Call) and (meant := _named_in_call(call, names)) is not None:
        return f"there is no {TOOLS}.{path}; write await {meant}"
    server, _, wanted = path.rpartition(".")
    offered = _offered(names, server)
    alike = [names.tools.plan_name(tool) for tool in names.tools.spelt_alike(wanted)]
    if near := [_spelled(name) for name in alike if name in offered]:
        hint = f"did you mean {', '.join(near)}?"
    else:
        hint = f"{_python_for(wanted)}; {_offer(offered)}; {OR_ANSWER}"
    return f"there is no {TOOLS}.{shorten(path, QUOTED_CHARACTERS)}; {hint}"


def _offered(names: PlanNames, server: str) -> list[str]:
    """The names of the tools on offer, of one server or, for "", of all."""
    own = [tool for tool in names.tools if server in ("", as_identifier(tool.server))]
    return [*map(names.tools.plan_name, own)]


def _python_for(wanted: str) -> str:
    """How Python computes what a made-up tool is called after."""
    for module in (math, statistics):
        if wanted in dir(module) and not wanted.startswith("_"):
            name = module.__name__
            return f"Python has it: import {name}, then {name}.{wanted}(…)"
    return IN_PYTHON


def _named_in_call(call: ast.Call, names: PlanNames) -> str | None:
    """The call that `tools.call("add", …)` means: its first argument names a tool on offer."""
    match call.args:
        case [ast.Constant(value=str() as name), *_]:
            tool = names.tools.get(name)
            return _call_of(tool, names) if tool is not None else None
        case _:
            return None


def _call_of(tool: ToolSpec, names: PlanNames) -> str:
    """How a plan calls a tool: `tools.add(a=…, b=…)`, the required arguments only."""
    required = [f"{p.argument}=…" for p in tool.parameters if p.required]
    call = f"{_spelled(names.tools.plan_name(tool))}({', '.join(required)})"
    return shorten(call, MAX_LINE_CHARACTERS)


def _example(names: PlanNames) -> str:
    """A call of the first tool on offer."""
    return next((_call_of(tool, names) for tool in names.tools), f"{TOOLS}.name(argument=value)")


def _spelled(name: str) -> str:
    return f"{TOOLS}.{name}"


def _offer(names: list[str]) -> str:
    """The tools on offer, as many as a line takes."""
    return f"on offer: {shorten(', '.join(map(_spelled, names)), MAX_LINE_CHARACTERS) or 'nothing'}"
