"""The layout of the tree: layers, file sizes, and what may import what."""

import ast
import inspect
import sys
from collections.abc import Collection
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from core.loop import AgentLoop

ROOT = Path(__file__).parent.parent
PACKAGES = ("core", "modules", "config", "servers")
MAX_LINES = 800
"""A file is one subject, up to so many lines (design: house.md, rule 4)."""

ALLOWED: dict[str, set[str]] = {
    "servers": {"servers"},
    "config": {"config"},
    "core": {"core", "config"},
    "modules": {"modules", "core", "config"},
    "agent": {"modules"},
}
"""What each layer may import of ours."""

_INDEX = {"servers.rag.index.reader", "servers.rag.passages"}

EXCEPTIONS = {
    "modules/memory": _INDEX,
    "modules/models/offline/quotes": _INDEX,
    "modules/service/http/endpoints": _INDEX,
}
"""What a folder may import beside that: the agent reads the indexes of memory and documents itself,
as their servers may not run. These modules need the standard library alone, and a test holds it."""

ABOVE_BASE = {"servers", "config"}
"""Layers that may import `core.base` too, which needs the standard library alone."""

LATE_IMPORTS_MAX = 84
"""Imports inside functions: a third-party package over 50 ms, or a command when it is named."""

TOP_LEVEL = {
    "core",
    "modules",
    "servers",
    "config",
    "prompts",
    "documents",
    "docs",
    "tests",
    "typings",  # types of libraries that ship none, where pyright looks for them
}
GENERATED = {"memory", "faiss_index", "logs", "cache", "models", "dist", "build", "runs", "users"}
TERMINAL_LIBRARIES = {"rich", "prompt_toolkit", "markdown_it", "pygments"}
MAX_STEP_LINES = 40


def python_files(*parts: str) -> list[Path]:
    return sorted(p for part in parts for p in (ROOT / part).rglob("*.py"))


BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where statements stand within a statement; expressions hold no imports."""


@cache
def imports(path: Path) -> tuple[tuple[ast.Import | ast.ImportFrom, int], ...]:
    """The imports of a file, each with the number of functions around it."""
    found: list[tuple[ast.Import | ast.ImportFrom, int]] = []
    waiting: list[tuple[ast.AST, int]] = [(ast.parse(path.read_text(encoding="utf-8")), 0)]
    while waiting:
        node, functions = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append((node, functions))
        functions += isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        waiting += ((each, functions) for name in BLOCKS for each in getattr(node, name, ()))
    return tuple(found)


@cache
def imported_modules(path: Path) -> frozenset[str]:
    found: set[str] = set()
    for node, _ in imports(path):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        else:
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
    return frozenset(found)


SOURCES = [ROOT / "agent.py", *python_files(*PACKAGES)]


def test_a_layer_imports_only_what_lies_below_it() -> None:
    for path in SOURCES:
        layer = path.relative_to(ROOT).parts[0].removesuffix(".py")
        folder = str(path.relative_to(ROOT).parent)
        imported = imported_modules(path) - EXCEPTIONS.get(folder, set())
        ours = {name.partition(".")[0] for name in imported} & {*ALLOWED, "tests"}
        if layer in ABOVE_BASE and all(
            name.startswith("core.base") for name in imported if name.startswith("core")
        ):
            ours.discard("core")
        assert ours <= ALLOWED[layer], f"{path} reaches into {ours - ALLOWED[layer]}"


def test_the_base_needs_the_standard_library_alone() -> None:
    for path in python_files("core/base"):
        for name in imported_modules(path):
            root = name.partition(".")[0]
            assert root in sys.stdlib_module_names or name.startswith("core.base"), (path, name)


def test_nothing_imports_the_entry_point_or_the_composition_root() -> None:
    for path in SOURCES:
        if path.name != "agent.py":
            assert not {"agent", "modules.app"} & imported_modules(path), path


def test_only_the_terminal_imports_terminal_libraries() -> None:
    for path in SOURCES:
        if (
            "terminal" not in path.parts and path.name != "images.py"
        ):  # it parses answers, shows none
            roots = {name.partition(".")[0] for name in imported_modules(path)}
            assert not roots & TERMINAL_LIBRARIES, path


def test_no_python_file_is_longer_than_the_limit() -> None:
    sizes = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in [*SOURCES, *python_files("tests")]
    }
    assert not {name: size for name, size in sizes.items() if size > MAX_LINES}


def test_no_module_imports_itself_by_way_of_others() -> None:
    names = {module_name(path): path for path in SOURCES}
    try:
        TopologicalSorter({name: ours(path, names) for name, path in names.items()}).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' → '.join(error.args[1])}")


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def ours(path: Path, names: Collection[str]) -> set[str]:
    """Modules of ours that one imports anywhere, in functions and for types too."""
    found: set[str] = set()
    for node, _ in imports(path):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names} & {*names}
            found |= submodules or ({node.module} & {*names})
    return found


def test_imports_stand_at_the_top_but_for_those_that_cost() -> None:
    """One in a function within a function counts twice."""
    late = sum(functions for path in SOURCES for _, functions in imports(path))
    assert late <= LATE_IMPORTS_MAX


def test_the_top_level_is_what_the_design_says() -> None:
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith((".", "__"))}
    assert folders - GENERATED - {n for n in folders if n.endswith(".egg-info")} <= TOP_LEVEL
    assert "agent.py" in {p.name for p in ROOT.glob("*.py")}


def test_our_package_names_do_not_shadow_the_standard_library() -> None:
    assert not set(PACKAGES) & sys.stdlib_module_names


def test_the_loops_step_can_be_read_aloud() -> None:
    lines, _ = inspect.getsourcelines(AgentLoop.step)
    assert len(lines) <= MAX_STEP_LINES
