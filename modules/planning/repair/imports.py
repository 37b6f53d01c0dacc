"""Slips with imports: of what every plan has without them, and those of modules left out."""

import ast
import importlib
import sys
from collections.abc import Iterator
from functools import partial

from modules.planning.names import CALL_TOOL, CLIENT, PlanNames, imports_door, is_builtin
from modules.planning.repair.draft import Draft, Slip
from modules.sandbox.language.prelude import AVAILABLE_MODULES

_DATETIME_CLASSES = frozenset({"date", "datetime", "time", "timedelta", "timezone", "tzinfo"})
"""What may stand behind `datetime.` where the module is meant, not the class."""


def needless_imports(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """`import tools`, `from tools import add`, `from math_server import add`: needed by nothing."""
    for node in names.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom) and _doors(node):
            module = node.module if isinstance(node, ast.ImportFrom) else _doors(node)[0].name
            yield Slip(node, f"dropped the import of {module}", partial(_drop_doors, node))
        elif isinstance(node, ast.ImportFrom) and _imports_tools(node, names):
            words = f"dropped the import of {', '.join(alias.name for alias in node.names)}"
            yield Slip(node, words, partial(_drop, node))
        elif isinstance(node, ast.ImportFrom) and (tools := _tools_of_server(node, names)):
            words = f"dropped the import of {', '.join(tools)} from {node.module}"
            yield Slip(node, words, partial(_drop_some, node, tools))


def missing_imports(tree: ast.Module, names: PlanNames) -> Iterator[Slip]:
    """`json.dumps(…)` in a plan that never imports json; once for each module."""
    found: dict[str, ast.Attribute] = {}
    unsure: set[str] = set()
    for node in names.nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if _is_missing(name, names):
                found.setdefault(name, node)
                meant = name != "datetime" or attribute in _DATETIME_CLASSES
                if not meant or names.scope_of(node) is None or _is_tool_of(name, attribute, names):
                    unsure.add(name)
            case _:
                pass
    for name, node in found.items():
        if name not in unsure:
            yield Slip(node, f"added import {name}", partial(_append_import, name))


def _imports_tools(statement: ast.ImportFrom, names: PlanNames) -> bool:
    """Whether all that it imports are tools, from a module that no plan can import."""
    return _leads_nowhere(statement) and all(
        alias.asname is None
        and names.tools.lookup(alias.name) is not None
        and all(_leads_nowhere(binding) for binding in names.bindings.of(alias.name))
        for alias in statement.names
    )


def _tools_of_server(statement: ast.ImportFrom, names: PlanNames) -> tuple[str, ...]:
    """What `from math import add, sqrt` takes for the module's and is a tool of server math."""
    module = statement.module or ""
    if statement.level != 0 or module not in names.servers or module not in AVAILABLE_MODULES:
        return ()
    own = dir(importlib.import_module(module))
    return tuple(
        alias.name
        for alias in statement.names
        if alias.name not in own
        and alias.asname is None
        and names.tools.lookup(alias.name) is not None
        and names.bindings.of(alias.name) == (statement,)
    )


def _leads_nowhere(node: ast.AST) -> bool:
    """Whether it imports from the doors, or from what is no module of Python's."""
    known = (*AVAILABLE_MODULES, *sys.stdlib_module_names)
    return (
        isinstance(node, ast.ImportFrom)
        and node.level == 0
        and (node.module or "").partition(".")[0] not in known
    )


def _drop(statement: ast.stmt, draft: Draft) -> None:
    draft.rewrite(statement, "pass")
    draft.replace(statement, ast.Pass())


def _drop_some(statement: ast.ImportFrom, dropped: tuple[str, ...], draft: Draft) -> None:
    kept = [_alias_text(alias) for alias in statement.names if alias.name not in dropped]
    text = f"from {statement.module} import {', '.join(kept)}" if kept else "pass"
    draft.rewrite(statement, text)
    draft.replace(statement, *ast.parse(text).body)


def _is_missing(name: str, names: PlanNames) -> bool:
    return name in AVAILABLE_MODULES and name not in names.bindings


def _is_tool_of(server: str, name: str, names: PlanNames) -> bool:
    """Whether `math.add` may mean a tool of a server that has a module's name."""
    return server in names.servers and names.tools.lookup(f"{server}.{name}") is not None


def _append_import(module: str, draft: Draft) -> None:
    """Behind everything else, where no line moves: `solve` runs after it."""
    draft.append(f"import {module}")


def _drop_doors(statement: ast.Import | ast.ImportFrom, draft: Draft) -> None:
    """Replace an import of the doors by what it would bind, or `pass`; other names stay."""
    doors = _doors(statement)
    kept = [alias for alias in statement.names if not imports_door(statement, alias)]
    parts = [f"import {_alias_text(alias)}" for alias in kept]
    parts += [text for alias in doors if (text := _binding(statement, alias))]
    text = "; ".join(parts) or "pass"
    draft.rewrite(statement, text)
    draft.replace(statement, *ast.parse(text).body)


def _doors(statement: ast.Import | ast.ImportFrom) -> list[ast.alias]:
    return [alias for alias in statement.names if imports_door(statement, alias)]


def _alias_text(alias: ast.alias) -> str:
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name


def _binding(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """What an import of a door must bind: only names that the plan doesn't have by itself."""
    if isinstance(statement, ast.Import):
        return f"{alias.asname} = {alias.name}" if alias.asname else ""
    if alias.name == CALL_TOOL:
        return f"{alias.asname or CALL_TOOL} = {CLIENT}.{CALL_TOOL}"
    name = alias.asname or (alias.name if is_builtin(alias.name) else None)
    return f"{name} = {statement.module}.{alias.name}" if name else ""
