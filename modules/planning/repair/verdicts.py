"""Slips with the verdict of a plan: written as an annotation, printed, or a template not filled."""

import ast
import re
from collections.abc import Iterator
from functools import partial

from core.turn import CLARIFICATION, FINAL_ANSWER, FURTHER_PROCESSING
from modules.planning.names import FunctionNode, PlanNames, own_nodes
from modules.planning.repair.draft import Draft, Slip
from modules.sandbox.language.prelude import ENTRY_POINT

_VERDICTS = (FINAL_ANSWER, FURTHER_PROCESSING, CLARIFICATION)

_FIELD = re.compile(r"\{([A-Za-z_]\w{0,100})\}")
"""A place that an f-string fills with the value of a name."""


def annotated_verdicts(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """`FINAL_ANSWER: total` as a statement, which Python takes for a declaration."""
    for node in names.nodes:
        match node:
            case ast.AnnAssign(target=ast.Name(id=word), annotation=said, value=None) if (
                f"{word}:" in _VERDICTS and names.scope_of(node) is not None
            ):
                text = f'return "{word}: " + str({ast.unparse(said)})'
                yield Slip(node, f"returned what {word}: says", partial(_rewrite, node, text))
            case _:
                pass


def printed_verdicts(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """`print("FINAL_ANSWER: …")` as the end of a `solve` that returns nothing."""
    for solve in tree.body:
        if not isinstance(solve, FunctionNode) or solve.name != ENTRY_POINT:
            continue
        match solve.body[-1]:
            case ast.Expr(
                value=ast.Call(func=ast.Name(id="print"), args=[shown], keywords=[]) as call
            ) if _is_verdict(shown) and "print" not in names.bindings:
                if not any(isinstance(node, ast.Return) for node in own_nodes(solve)):
                    words = "returned the answer instead of printing it"
                    yield Slip(call, words, partial(_return, solve.body[-1], call, shown))
            case _:
                pass


def unfilled_verdicts(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """`return "FINAL_ANSWER: {total}"`, where `total` is a variable of the same function."""
    for node in names.nodes:
        match node:
            case ast.Return(value=ast.Constant(value=str() as text) as said) if text.startswith(
                _VERDICTS
            ) and _is_template(text, said, names):
                words = "filled the answer in by an f-string"
                yield Slip(said, words, partial(_fill, said, text))
            case _:
                pass


def _is_template(text: str, said: ast.Constant, names: PlanNames) -> bool:
    """Whether all braces of a text stand around variables of the function that returns it."""
    scope, fields = names.scope_of(said), _FIELD.findall(text)
    bare = _FIELD.sub("", text)
    return (
        bool(fields)
        and "{" not in bare
        and "}" not in bare
        and all(
            any(
                isinstance(b, ast.Name) and names.scope_of(b) is scope
                for b in names.bindings.of(name)
            )
            for name in fields
        )
    )


def _fill(said: ast.Constant, text: str, draft: Draft) -> None:
    parts: list[ast.expr] = []
    for number, part in enumerate(_FIELD.split(text)):  # by turns text and a name
        if number % 2:
            parts.append(ast.FormattedValue(ast.Name(part, ast.Load()), -1))
        elif part:
            parts.append(ast.Constant(part))
    draft.insert("f", said)
    draft.replace(said, ast.JoinedStr(parts))


def _is_verdict(shown: ast.expr) -> bool:
    """Whether it is text that begins with a verdict."""
    match shown:
        case ast.Constant(value=str() as text):
            return text.startswith(_VERDICTS)
        case ast.JoinedStr(values=[ast.Constant(value=str() as text), *_]):
            return text.startswith(_VERDICTS)
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod()):
            return _is_verdict(left)
        case _:
            return False


def _rewrite(statement: ast.stmt, text: str, draft: Draft) -> None:
    draft.rewrite(statement, text)
    draft.replace(statement, *ast.parse(text).body)


def _return(statement: ast.stmt, call: ast.Call, shown: ast.expr, draft: Draft) -> None:
    draft.rewrite(call.func, "return ")
    draft.replace(statement, ast.Return(shown))
