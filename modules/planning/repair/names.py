"""Repairs of names: tools that a variable shadows, and imports too many or too few."""

import ast
import importlib
import sys
from collections.abc import Iterator

from modules.planning.names import (
    CALL_TOOL,
    CLIENT,
    TOOLS,
    ParsedPlan,
    PlanNames,
    Repair,
    imports_ours,
    is_builtin,
)
from modules.sandbox.language import SEARCH

_DATETIME_CLASSES = frozenset({"date", "datetime", "time", "timedelta", "timezone", "tzinfo"})
"""What may stand behind `datetime.` where the module is meant, not the class."""


def shadowed_tools(plan: ParsedPlan) -> Iterator[Repair]:
    """`remainder = await remainder(…)`: a variable, or a builtin, that shadows the tool."""
    names = plan.names
    for node in names.nodes:
        match node:
            case ast.Call(func=ast.Name(id=name) as called) if (
                name in names.assigned or is_builtin(name)
            ) and (path := _tool_meant(node, names)) is not None:
                yield Repair(called, f"qualified {name} as {path}", plan.text.instead(called, path))
            case _:
                pass


def needless_imports(plan: ParsedPlan) -> Iterator[Repair]:
    """`import tools`, `from tools import add`, `from math_server import add`: needed by nothing."""
    for node in plan.names.nodes:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        ours = [alias for alias in node.names if imports_ours(node, alias)]
        dropped = ours or _imported_tools(node, plan.names)
        if not dropped:
            continue
        kept = [ast.unparse(alias) for alias in node.names if alias not in dropped]
        start = f"from {node.module} import" if isinstance(node, ast.ImportFrom) else "import"
        parts = [f"{start} {', '.join(kept)}"] if kept else []
        parts += [text for alias in ours if (text := _bound_by_ours(node, alias))]
        shown = ", ".join(alias.name for alias in dropped)
        if ours and isinstance(node, ast.ImportFrom):
            shown = f"{node.module}"
        words = f"dropped the import of {shown}"
        yield Repair(node, words, plan.text.instead(node, "; ".join(parts) or "pass"))


def missing_imports(plan: ParsedPlan) -> Iterator[Repair]:
    """`json.dumps(…)` in a plan that never imports json; once for each module."""
    names = plan.names
    found: dict[str, ast.Attribute] = {}
    unsure: set[str] = set()
    for node in names.nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if (
                name in sys.stdlib_module_names and not names.binds(name)
            ):
                found.setdefault(name, node)
                meant = name != "datetime" or attribute in _DATETIME_CLASSES
                is_tool = name in names.servers and names.tools.lookup(f"{name}.{attribute}")
                if not meant or names.scope_of(node) is None or is_tool:
                    unsure.add(name)
            case _:
                pass
    for name, node in found.items():
        if name not in unsure:  # behind everything else, where no line moves: solve runs after it
            yield Repair(node, f"added import {name}", (plan.text.behind(f"\nimport {name}"),))


def _tool_meant(call: ast.Call, names: PlanNames) -> str | None:
    """Where else to find what is called by a bare name that the plan or Python gives a value."""
    if names.is_search(call):
        return f"{CLIENT}.{SEARCH}" if names.is_ours(CLIENT) else None
    tool = names.called_tool(call)
    if tool is None or isinstance(call.func, ast.Attribute) or not names.is_ours(TOOLS):
        return None
    return f"{TOOLS}.{names.tools.plan_name(tool)}"


def _imported_tools(node: ast.Import | ast.ImportFrom, names: PlanNames) -> list[ast.alias]:
    """The tools that a statement imports from where no plan finds them.

    That is a module that there isn't, or one that has the name of a server, as math has.
    """
    if not isinstance(node, ast.ImportFrom) or node.level != 0:
        return []
    module = node.module or ""
    tools = [a for a in node.names if a.asname is None and names.tools.lookup(a.name) is not None]
    if module in names.servers and module in sys.stdlib_module_names:
        own = dir(importlib.import_module(module))
        return [a for a in tools if a.name not in own and names.bound_by(a.name) == (node,)]
    is_lost = all(_leads_nowhere(b) for alias in tools for b in names.bound_by(alias.name))
    return tools if len(tools) == len(node.names) and is_lost else []


def _leads_nowhere(node: ast.AST) -> bool:
    """Whether it imports from what is no module of Python's."""
    return (
        isinstance(node, ast.ImportFrom)
        and node.level == 0
        and (node.module or "").partition(".")[0] not in sys.stdlib_module_names
    )


def _bound_by_ours(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """What an import of ours must bind: only names that the plan doesn't have by itself."""
    if isinstance(node, ast.Import):
        return f"{alias.asname} = {alias.name}" if alias.asname else ""
    if alias.name == CALL_TOOL:
        return f"{alias.asname or CALL_TOOL} = {CLIENT}.{CALL_TOOL}"
    name = alias.asname or (alias.name if is_builtin(alias.name) else None)
    return f"{name} = {node.module}.{alias.name}" if name else ""
