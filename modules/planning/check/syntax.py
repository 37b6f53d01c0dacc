"""What to tell the model about a plan that isn't Python, or has no `solve()`.

What is Python the sandbox says, whose language plans are in: that of the Python which runs us may
be older.
"""

import ast
import re
from dataclasses import replace

from core.base.text import shorten
from core.turn import FailureKind, PlanFailure
from modules.planning.names import FunctionNode, ParsedPlan, PlanNames, own_nodes, takes_nothing
from modules.sandbox.language import ENTRY_POINT, NO_SOLVE, line_text

NAME_CHARACTERS = 60
"""How much of a function's name a message quotes."""

_HINTS = (
    (r"```|~~~", "leave out the fences: give only Python"),
    (r".*[\u201c\u201d\u2018\u2019]", "write straight quotes, ' or \""),
    (
        r"(return|yield)?\s*(FINAL_ANSWER|FURTHER_PROCESSING_REQUIRED|NO_ANSWER):",
        'write the whole text in quotes: return f"FINAL_ANSWER: {value}"',
    ),
    (r"(const|let|var)( |$)", "Python declares no variables: write name = value"),
    (r"function ", "write def name(): for a function"),
    (
        r"(async\s+def|def|for|while|if|elif|else|try|except|with)\b[^:]*$",
        "end the line with a colon",
    ),
    (r".*\{$", "Python has no braces around blocks: use a colon and indent"),
    (r"[A-Z][\w,']*( [\w,']+){2,}[.:]?$", "give only Python: put a # before remarks"),
)
"""How a line begins that no parser takes, and advice that suits it; the first is given."""


def with_syntax_hint(failure: PlanFailure) -> PlanFailure:
    """A syntax failure with advice added that its line suggests; others as they are."""
    line = failure.line_text
    if failure.kind != "syntax" or not line:
        return failure
    for beginning, advice in _HINTS:
        if re.match(beginning, line):
            return replace(failure, message=f"{failure.message}; {advice}")
    return failure


def check_entry_point(plan: ParsedPlan) -> PlanFailure | None:
    """`solve` must be bound at top level (also under `if` or `try`) and take no arguments."""
    outside = list(own_nodes(plan.tree))
    is_value = any(
        isinstance(n, ast.Name) and n.id == ENTRY_POINT and isinstance(n.ctx, ast.Store)
        for n in outside
    )
    is_global = any(isinstance(n, ast.Global) and ENTRY_POINT in n.names for n in plan.names.nodes)
    if is_value or is_global:
        return None  # nothing more is known of it here
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
            case ast.Name(
                id="FINAL_ANSWER" | "FURTHER_PROCESSING_REQUIRED" | "NO_ANSWER" as word
            ) if not names.binds(word):
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
