"""Uses of a tool's result that must fail, because it is of another type: told before it runs."""

import ast
from collections.abc import Iterator
from types import MappingProxyType
from typing import Final, TypeAlias

from core.base.frozen import frozen
from core.base.text import shorten
from modules.planning.check.results import JsonType, Known, Results, in_words, result_keys
from modules.planning.names import PlanNames

WALKED_OPERANDS: Final = 50
"""How far a sum is followed to find out whether it is text."""

KEYS_SHOWN: Final = 8
"""How many keys of a result a message names."""

QUOTED_CHARACTERS: Final = 60
"""How much of a name or key a message quotes."""

_Types: TypeAlias = frozenset[JsonType]

_NONE: Final[_Types] = frozenset()
_TEXT: Final[_Types] = frozenset({"string"})
_DICT: Final[_Types] = frozenset({"object"})
_NUMBERS: Final[_Types] = frozenset({"number", "boolean"})
_SEQUENCES: Final[_Types] = frozenset({"string", "array"})
_COLLECTIONS: Final[_Types] = frozenset({"string", "array", "object"})

_ATTRIBUTES: Final = MappingProxyType[JsonType, frozenset[str]](
    {
        "number": frozenset({*dir(int), *dir(float)}),
        "boolean": frozenset(dir(bool)),
        "string": frozenset(dir(str)),
        "array": frozenset(dir(list)),
        "object": frozenset(dir(dict)),
        "null": frozenset(dir(None)),
    }
)
"""What may stand behind the dot after a value of each type."""

_RAW_ATTRIBUTES: Final = frozenset({"content", "structured_content", "is_error"})
"""What the answer of `mcp.call_tool` has."""

_TAKES_COLLECTION: Final = frozenset(
    {"len", "sum", "sorted", "list", "tuple", "set", "enumerate", "reversed", "any", "all"}
)
"""Builtins whose first argument must be a list, text or dict."""

_NUMBER_FORMATS: Final = ("f", "e", "g", "%")
"""How a format ends that only numbers have (`{x:.2f}`)."""

_UNNAMED: Final = "the result"
_ITSELF: Final = "write {0} instead of {0}{1}"
_NO_NUMBER: Final = "{0} can't be used as a number"
_NO_LIST: Final = "{0} can't be looped over or counted"


@frozen
class _Use:
    """One use of a value: the types with which it works, and what to do about others.

    In `advice` {0} stands for the value as written and {1} for `behind`, what the plan wrote after
    it. `key` is the name that was looked for in it.
    """

    value: ast.expr
    works_with: _Types
    advice: str
    behind: str = ""
    key: str = ""
    works_raw: bool = False


def misused_result(names: PlanNames) -> tuple[int, str] | None:
    """The first use of a tool's result that certainly fails: its line, and what to do instead."""
    results = Results(names)
    found: list[tuple[int, str]] = []
    for node in names.nodes:
        for use in _uses(node, names):
            known = results.known(use.value)
            if known is None or not results.is_certain(use.value):
                continue
            if not (use.works_raw if known.types is None else known.types & use.works_with):
                found.append((use.value.lineno, _message(use, known)))
    return min(found, default=None)


def _message(use: _Use, known: Known) -> str:
    written = _written(use.value)
    if known.types is None:
        return (
            f"{known.source} gives an object that holds the result: write "
            f"{written}.content[0].text for its text, or {written}.structured_content"
        )
    keys = result_keys(known.tool) if known.tool is not None and known.types == _DICT else ()
    shown = ", ".join(shorten(repr(key), QUOTED_CHARACTERS) for key in keys[:KEYS_SHOWN])
    given = f"{in_words(known.types)}{f' with the keys {shown}' if shown else ''}"
    advice = use.advice.format(written, use.behind)
    if written == _UNNAMED and use.advice == _ITSELF:
        advice = f"leave {use.behind} out"
    if use.key in keys:
        advice = f"write [{use.key!r}] instead of .{use.key}"
    elif known.types == _DICT and use.key:
        advice = f"it has no .{shorten(use.key, QUOTED_CHARACTERS)}"
    return f"{known.source} gives {given}: {advice}"


def _written(value: ast.expr) -> str:
    """How a message calls a value."""
    match value:
        case ast.Name(id=name) | ast.NamedExpr(target=ast.Name(id=name)):
            return shorten(name, QUOTED_CHARACTERS)
        case _:
            return _UNNAMED


def _uses(node: ast.AST, names: PlanNames) -> Iterator[_Use]:
    """What a node does with values that must be of some type."""
    match node:
        case ast.Subscript(value=value, slice=index, ctx=ast.Load()):
            yield _subscript(value, index)
        case ast.Attribute(value=value, attr=name, ctx=ast.Load()):
            yield _attribute(value, name, node, names)
        case ast.Await(value=value):
            yield _Use(value, _NONE, "write {0} without another await")
        case ast.For(iter=value) | ast.comprehension(iter=value) | ast.Starred(value=value):
            yield _Use(value, _COLLECTIONS, _NO_LIST)
        case ast.FormattedValue(value=value, format_spec=ast.JoinedStr(values=[*_, last])):
            if isinstance(last, ast.Constant) and str(last.value).endswith(_NUMBER_FORMATS):
                yield _Use(value, _NUMBERS, _NO_NUMBER)
        case ast.Call():
            yield from _call(node, names)
        case ast.BinOp(left=left, op=operator, right=right):
            yield from _operands(left, operator, right)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            yield from _compared(left, operator, right)
        case _:
            pass


def _subscript(value: ast.expr, index: ast.expr) -> _Use:
    match index:
        case ast.Constant(value=str() as key):
            behind = f"[{shorten(repr(key), QUOTED_CHARACTERS)}]"
            return _Use(value, _DICT, _ITSELF, behind)
        case ast.Slice():
            return _Use(value, _SEQUENCES, "it has no parts to be cut out")
        case _:
            return _Use(value, _COLLECTIONS, _ITSELF, "[…]")


def _attribute(value: ast.expr, name: str, node: ast.Attribute, names: PlanNames) -> _Use:
    parent = names.parents[node]
    is_called = isinstance(parent, ast.Call) and parent.func is node
    behind = f".{shorten(name, QUOTED_CHARACTERS)}{'(…)' if is_called else ''}"
    having: _Types = frozenset(
        kind for kind, attributes in _ATTRIBUTES.items() if name in attributes
    )
    return _Use(value, having, _ITSELF, behind, name, works_raw=name in _RAW_ATTRIBUTES)


def _call(call: ast.Call, names: PlanNames) -> Iterator[_Use]:
    yield _Use(call.func, _NONE, _ITSELF, "(…)")
    match call.func, call.args:
        case ast.Name(id=name), [value, *_] if not names.binds(name):
            if name in _TAKES_COLLECTION and not names.tools.has_name(name):
                yield _Use(value, _COLLECTIONS, _NO_LIST)
            elif name in ("round", "abs"):
                yield _Use(value, _NUMBERS, _NO_NUMBER)
        case ast.Attribute(value=ast.Name(id="json"), attr="loads"), [value, *_]:
            yield _Use(value, _TEXT, "write {0} instead of json.loads({0})")
        case ast.Attribute(value=ast.Constant(value=str()), attr="join"), [value]:
            yield _Use(value, _COLLECTIONS, _NO_LIST)
        case _:
            pass


def _operands(left: ast.expr, operator: ast.operator, right: ast.expr) -> Iterator[_Use]:
    for value, other in ((left, right), (right, left)):
        if isinstance(operator, ast.Sub | ast.Div | ast.FloorDiv | ast.Pow):
            yield _Use(value, _NUMBERS, _NO_NUMBER)
        elif isinstance(operator, ast.Add) and _is_text(other):
            yield _Use(value, _TEXT, "write str({0}) to join it to text")
        elif isinstance(operator, ast.Add) and _is_number(other):
            yield _Use(value, _NUMBERS, _NO_NUMBER)


def _compared(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Iterator[_Use]:
    if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        for value, other in ((left, right), (right, left)):
            if _is_number(other):
                yield _Use(value, _NUMBERS, _NO_NUMBER)
    elif isinstance(operator, ast.In | ast.NotIn):
        yield _Use(right, _COLLECTIONS, _NO_LIST)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_text(node: ast.expr) -> bool:
    """Whether an expression is certainly text; a sum is so if its last or first part is."""
    for _ in range(WALKED_OPERANDS):
        match node:
            case ast.Constant(value=str()) | ast.JoinedStr():
                return True
            case ast.BinOp(op=ast.Add(), right=ast.Constant(value=str()) | ast.JoinedStr()):
                return True
            case ast.BinOp(left=left, op=ast.Add()):
                node = left
            case _:
                return False
    return False
