"""Which expressions of a plan are certainly plain values: numbers, text, data; never a function.

A name that is bound to such a value can't be meant where it is called: the call means the tool
of that name. Of any other binding (`search = partial(tools.search, limit=3)`) nothing is known.
"""

import ast
from collections.abc import Callable, Sequence
from typing import TypeAlias

SCALAR_BUILTINS = frozenset(
    {
        *("abs", "bool", "float", "int", "isinstance", "len", "print", "range", "repr"),
        *("round", "str", "sum", "type"),
    }
)
"""Builtins that give numbers or text, whatever they are given."""

CONTAINER_BUILTINS = frozenset(
    {"dict", "enumerate", "list", "max", "min", "reversed", "set", "sorted", "tuple", "zip"}
)
"""Builtins that give back what they are given, or collections of it."""

IsToolCall: TypeAlias = Callable[[ast.Call], bool]

_VALUE_MODULES = ("json", "math", "asyncio")


def is_plain_value(node: ast.expr, is_tool_call: IsToolCall) -> bool:
    """Whether an expression is certainly no function and holds none."""
    waiting: list[ast.expr] = [node]
    while waiting:
        parts = _parts(waiting.pop(), is_tool_call)
        if parts is None:
            return False
        waiting.extend(parts)
    return True


def _parts(node: ast.expr, is_tool_call: IsToolCall) -> Sequence[ast.expr] | None:
    """The expressions that must be plain for this one to be so; None if it may not be."""
    match node:
        case ast.Constant() | ast.JoinedStr() | ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return ()
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return parts
        case ast.Dict(values=parts) | ast.BoolOp(values=parts):
            return parts
        case ast.ListComp(elt=part) | ast.SetComp(elt=part) | ast.DictComp(value=part):
            return (part,)
        case ast.Await(value=part) | ast.Subscript(value=part) | ast.Starred(value=part):
            return (part,)
        case ast.IfExp(body=yes, orelse=no):
            return (yes, no)
        case ast.Call():
            return () if is_tool_call(node) else _parts_of_call(node)
        case _:
            return None


def _parts_of_call(call: ast.Call) -> Sequence[ast.expr] | None:
    match call.func:
        case ast.Name(id=name) if name in SCALAR_BUILTINS:
            return ()
        case ast.Name(id=name) if name in CONTAINER_BUILTINS:
            return call.args
        case ast.Attribute(value=ast.Name(id=module)) if module in _VALUE_MODULES:
            return ()
        case ast.Attribute(value=owner) if not isinstance(owner, ast.Name):
            return (owner,)
        case _:
            return None
