"""What to tell the model about a plan that isn't Python, or has no `solve()`."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from core.base.text import shorten
from core.turn import FailureKind, PlanFailure
from modules.planning.names import FunctionNode, ParsedPlan, PlanNames, takes_nothing
from modules.sandbox.language.parsing import line_text, may_be_newer
from modules.sandbox.language.prelude import ENTRY_POINT, NO_SOLVE

NAME_CHARACTERS = 60
"""How much of a function's name a message quotes."""

_HINTS: tuple[tuple[Callable[[str], bool], str], ...] = (
    (lambda line: line.startswith(("```", "~~~")), "leave out the fences: give only Python"),
    (
        lambda line: any(c in line for c in "\u201c\u201d\u2018\u2019"),
        "write straight quotes, ' or \"",
    ),
    (
        lambda line: (
            re.match(r"(return|yield)?\s*(FINAL_ANSWER|FURTHER_PROCESSING_REQUIRED):", line)
            is not None
        ),
        'write the whole text in quotes: return f"FINAL_ANSWER: {value}"',
    ),
    (
        lambda line: line.split(" ", 1)[0] in ("const", "let", "var"),
        "Python declares no variables: write name = value",
    ),
    (lambda line: line.startswith("function "), "write def name(): for a function"),
    (
        lambda line: (
            re.match(r"(async\s+def|def|for|while|if|elif|else|try|except|with)\b[^:]*$", line)
            is not None
        ),
        "end the line with a colon",
    ),
    (lambda line: line.endswith("{"), "Python has no braces around blocks: use a colon and indent"),
    (
        lambda line: re.match(r"[A-Z][\w,']*( [\w,']+){2,}[.:]?$", line) is not None,
        "give only Python: put a # before remarks",
    ),
)
"""Which advice suits a line that no parser takes; the first that does is given."""


def syntax_failure(error: SyntaxError, source: str) -> PlanFailure | None:
    """The failure of a text that this Python takes for wrong; None where it may be mistaken."""
    if may_be_newer(source):  # the sandbox's parser knows the new form: it shall decide
        return None
    return with_syntax_hint(failure_at("syntax", f"SyntaxError: {error.msg}", error.lineno, source))


def with_syntax_hint(failure: PlanFailure) -> PlanFailure:
    """A syntax failure with advice added that its line suggests; others as they are."""
    line = failure.line_text
    if failure.kind != "syntax" or not line:
        return failure
    for suits, advice in _HINTS:
        if suits(line):
            return replace(failure, message=f"{failure.message}; {advice}")
    return failure


def check_entry_point(plan: ParsedPlan) -> PlanFailure | None:
    """`solve` must be bound at top level (also under `if` or `try`) and take no arguments."""
    outside = list(_top_level(plan.tree))
    if any(map(_binds_entry_point, outside)) or any(map(_declares_it_global, plan.names.nodes)):
        return None
    functions = [
        node for node in outside if isinstance(node, FunctionNode) and node.name == ENTRY_POINT
    ]
    if not functions:
        return _no_entry_point(plan)
    if not takes_nothing(functions[-1]):
        message = (
            f"{ENTRY_POINT}() must take no arguments: write the values of the request into the plan"
        )
        return failure_at("syntax", message, functions[-1].lineno, plan.source)
    return None


def called_verdict(names: PlanNames) -> tuple[int, str] | None:
    """The line of `FINAL_ANSWER(…)` or the like, which is text and no name, and what to write."""
    for node in names.nodes:
        match node:
            case ast.Name(id="FINAL_ANSWER" | "FURTHER_PROCESSING_REQUIRED" as word) if (
                not names.binds(word)
            ):
                return node.lineno, f'{word} is no name: write return f"{word}: {{value}}"'
            case _:
                pass
    return None


def failure_at(kind: FailureKind, message: str, line: int | None, source: str) -> PlanFailure:
    """A failure that quotes its line."""
    return PlanFailure(kind, message, line, line_text(source, line))


def _no_entry_point(plan: ParsedPlan) -> PlanFailure:
    """What to do for a `solve()`: what is nearest to one, if anything is."""
    inner = [n for n in plan.names.nodes if isinstance(n, FunctionNode) and n.name == ENTRY_POINT]
    if inner:
        message = f"{NO_SOLVE}; here it stands inside of something else"
        return failure_at("syntax", message, inner[0].lineno, plan.source)
    functions = [node for node in plan.tree.body if isinstance(node, FunctionNode)]
    if functions:
        name = shorten(functions[-1].name, NAME_CHARACTERS)
        message = f"{NO_SOLVE}, or rename {name}() to {ENTRY_POINT}()"
        return failure_at("syntax", message, functions[-1].lineno, plan.source)
    if any(isinstance(node, ast.Await | ast.Return | ast.Call) for node in plan.names.nodes):
        message = f"{NO_SOLVE}, with these lines indented in it, and return the answer"
        return failure_at("syntax", message, plan.tree.body[0].lineno, plan.source)
    return PlanFailure("syntax", NO_SOLVE)


def _binds_entry_point(node: ast.AST) -> bool:
    """Whether it gives the name to a value, of which nothing more is known here."""
    return isinstance(node, ast.Name) and node.id == ENTRY_POINT and isinstance(node.ctx, ast.Store)


def _declares_it_global(node: ast.AST) -> bool:
    """Whether it lets a function bind `solve` for the module."""
    return isinstance(node, ast.Global) and ENTRY_POINT in node.names


def _top_level(tree: ast.Module) -> Iterator[ast.AST]:
    """Everything outside of functions and classes."""
    waiting: list[ast.AST] = [*reversed(tree.body)]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, FunctionNode | ast.ClassDef | ast.Lambda):
            waiting.extend(reversed(list(ast.iter_child_nodes(node))))
