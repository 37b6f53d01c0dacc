"""Rewrites a plan before it is fed, so that no `try` of it can swallow the limit on recursion.

The interpreter lets nothing catch its limits on time and memory, but a RecursionError is an
exception like any other. So every `try` gets a handler in front of its own:

    except <RecursionError>: <stop>()

That stop is a name that nothing defines, so the interpreter stops there and asks the host, which
ends the plan. `finally` can hide an exception too (`finally: return 1`), so it begins with a look
at the one in flight. And `__exit__` can, so `with` takes only the interpreter's own context
managers. All these names are new for each plan, and nothing in the sandbox lists them.

Three things are done in the same pass. Imports of modules that the interpreter lacks, or has
otherwise than Python, become assignments (`modules.sandbox.language.provided`). A method of a
builtin type that isn't called where it stands (`key=d.get`, `map(str.strip, …)`) becomes a
function that calls it. And `eval(text)` becomes the true `eval`, which the prelude hides: in any
other form it can run statements that the guard has not seen.
"""

import ast
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence

from core.base.frozen import frozen
from core.base.text import lazy_pattern, with_line_feeds
from modules.sandbox.language.alternatives import UNSUPPORTED_METHODS
from modules.sandbox.language.parsing import NotParsed, parse_readable
from modules.sandbox.language.provided import (
    METHOD_NAMES,
    NEEDS_TASKS,
    PARSE_TIME,
    PROVIDED_MODULES,
    PYTHON_TYPES,
    bound_methods,
    provided_name,
    provided_source,
)
from modules.sandbox.language.rewriting import Edit, Expressions, GuardNames, PlanText

CONTINUED = "\\"
"""Joins a line to the next."""

ODD_LAYOUT = "put except and finally, and what follows them, on lines of their own"
"""What a plan is told before whose clauses nothing can be put; nobody writes it so."""

_OF_CONCERN = lazy_pattern(
    rf"\b(?:try|with|class|eval|{PARSE_TIME}|{'|'.join(PROVIDED_MODULES)})\b"
    rf"|\.\s*(?:{'|'.join(sorted(METHOD_NAMES))})\b(?!\s*\()"
    rf"|\b(?:{'|'.join(kind for kind in PYTHON_TYPES if '.' not in kind)})\s*\."
)
"""Without one of these words a plan holds nothing that is looked at, and need not be parsed."""

_GUARDED = lazy_pattern(
    r"^[^\w\n]*(?:try\b|with\b"
    rf"|(?:import|from)\b.*\b(?:{'|'.join(PROVIDED_MODULES)})\b)",
    re.MULTILINE,
)
"""How a line begins that holds what must be guarded; it may be one of a text or a comment."""

PLAINER = "keep the plan short, and f-strings free of backslashes, comments and their own quotes"
"""What a plan is told that has something to guard and can't be read."""

_MANAGER = """
import decimal as __decimal__
def {name}(manager, kind=type, own=type(__decimal__.localcontext())):
    if kind(manager) is not own:
        raise NotImplementedError("with takes only decimal.localcontext(); use try/finally")
    return manager
"""
"""What a `with` passes its objects through. The defaults are bound before a plan can hide them."""


class Unsupported(Exception):
    """The plan uses what the interpreter would pass over in silence, or what can't be guarded."""

    def __init__(self, message: str, line: int) -> None:
        """`line` is where it stands, 1-based."""
        super().__init__(message)
        self.line = line


@frozen
class GuardedPlan:
    r"""A plan as it is fed to the interpreter.

    Attributes:
        source: The plan as it was given, its lines ended by `\n`.
        text: The plan as it is fed.
        prelude: What must be fed first, while no builtin is hidden yet.
        stop: Name of the function that it calls where calls nest too deeply; empty if it is guarded
            nowhere.
        lines: For each line of `text`, the 1-based line of `source` that it stands for.
        epilogue: What follows the call of the plan's `solve()`, if anything does.
    """

    source: str
    text: str
    prelude: str
    stop: str
    lines: tuple[int, ...]
    epilogue: str = ""

    def source_line(self, line: int) -> int | None:
        """The line of `source` that a 1-based line of `text` stands for, if there is one."""
        return self.lines[line - 1] if 1 <= line <= len(self.lines) else None

    def line_at(self, offset_bytes: int) -> int | None:
        """The line of `source` for a place in `text`, given in bytes of UTF-8."""
        return self.source_line(self.text.encode()[:offset_bytes].count(b"\n") + 1)


def guard_plan(source: str, token: str) -> GuardedPlan:
    """Guard a plan; `token` makes the names that it uses unguessable.

    A plan that can't be parsed stays as it is, but has no `eval`. If it seems to use `try` or
    `with`, which can't be guarded then, or a module of ours, it ends before it begins; the
    interpreter reads it all the same, so that it can say what is wrong with its syntax.

    Raises:
        Unsupported: a clause can't be guarded where it stands, or a class has a method that the
            interpreter ignores.
    """
    source = with_line_feeds(source)
    if _OF_CONCERN.search(unicodedata.normalize("NFKC", source)) is None:
        return GuardedPlan(source, source, "", "", tuple(range(1, source.count("\n") + 2)))
    try:
        readable, tree = parse_readable(source)
    except (SyntaxError, NotParsed) as error:
        return _unparsed(source, error)
    names = GuardNames.of(token)
    guard = _Guard(PlanText(readable), names)
    guard.walk(tree)
    text, lines = guard.text.edited(guard.edits)
    return GuardedPlan(source, text, guard.prelude(), names.stop, lines, guard.epilogue())


def _unparsed(source: str, error: SyntaxError | NotParsed) -> GuardedPlan:
    """A plan as it is, or one that only says why it can't run."""
    lines = range(1, source.count("\n") + 2)
    found = _GUARDED.search(source)
    if found is None:
        return GuardedPlan(source, source, "", "", tuple(lines))
    line, reason = source.count("\n", 0, found.end()) + 1, str(error)
    if isinstance(error, SyntaxError):
        line, reason = error.lineno or line, f"Python {sys.version.split()[0]}: {error.msg}"
    message = f"{found[0].strip()} can't be used in this plan ({reason}); {PLAINER}"
    text = f"raise NotImplementedError({message!r})\n{source}"
    return GuardedPlan(source, text, "", "", (line, *lines))


class _Guard:
    """Collects the edits of one plan."""

    def __init__(self, text: PlanText, names: GuardNames) -> None:
        self.text = text
        self.edits: list[Edit] = []
        self._names = names
        self._modules: set[str] = set()
        self._managers = False
        needs_tasks = NEEDS_TASKS.search(text.whole) is not None
        self._offered = frozenset(PROVIDED_MODULES) - (set() if needs_tasks else {"asyncio"})
        self._expressions = Expressions(text, names)

    def walk(self, tree: ast.Module) -> None:
        """Look at every node, without recursion: its depth is in the plan's hands."""
        for node in ast.walk(tree):
            self._guard(node)
            self._expressions.note(node)
        self.edits += self._expressions.edits(tree, has_tasks=self._has_tasks)

    def _guard(self, node: ast.AST) -> None:
        """Guard a statement, or put a provided module in its place."""
        match node:
            case ast.Try():
                self._guard_try(node)
            case ast.ClassDef(body=body):
                _check_methods(body)
            case ast.With(items=items):
                self._guard_managers(items)
            case ast.Import() | ast.ImportFrom():
                self._provide(node)
            case _:
                pass

    def prelude(self) -> str:
        """What the inserted code needs."""
        parts = [f"{self._names.recursion_error} = RecursionError\n{self._names.eval} = eval\n"]
        if self._managers:
            parts.append(_MANAGER.format(name=self._names.manager))
        if methods := frozenset(self._expressions.methods):
            parts.append(bound_methods(self._names.attribute, methods))
        ours = self._names
        for module in sorted(self._modules):
            parts.append(provided_source(module, ours.recursion_error, ours.stop))
        return "".join(parts)

    def epilogue(self) -> str:
        """What ends a plan that makes tasks; the plan's value is `__outcome__` before."""
        tasks = provided_name("asyncio")
        return f"await {tasks}.ended(__outcome__)\n" if self._has_tasks else ""

    @property
    def _has_tasks(self) -> bool:
        return "asyncio" in self._modules

    def _guard_try(self, node: ast.Try) -> None:
        """Put the guard before the first handler, and at the start of `finally`."""
        blamed = node.body[0].lineno if len(node.body) == 1 else node.lineno
        guard = f"except {self._names.recursion_error}: {self._names.stop}()\n"
        if node.handlers:
            line = node.handlers[0].lineno
            self._insert(line, 0, self._indent(line) + guard, blamed)
        if node.finalbody:
            self._guard_finally(node.finalbody[0], guard, blamed)

    def _guard_finally(self, first: ast.stmt, guard: str, blamed: int) -> None:
        """Raise again what is in flight, if anything is, to see whether it is for the guard."""
        line = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", ()))])
        indent = self._indent(line)
        start = self.text.offset(line, 0)
        before = self.text.between(start, start + first.col_offset)
        look = ("try: raise\n", guard, "except: pass\n")
        if not before.strip():
            self._insert(line, 0, "".join(indent + part for part in look), blamed)
            return
        if not before.lstrip().startswith(b"finally"):
            raise Unsupported(ODD_LAYOUT, line)
        indent += " "
        lines = "".join(indent + part for part in look)
        self._insert(line, first.col_offset, f"\n{lines}{indent}", blamed)

    def _guard_managers(self, items: Iterable[ast.withitem]) -> None:
        self._managers = True
        for item in items:
            self.edits += self.text.around(item.context_expr, f"{self._names.manager}(", ")")

    def _provide(self, statement: ast.Import | ast.ImportFrom) -> None:
        """Turn an import of a provided module into assignments, on as many lines."""
        provided = _provided_modules(statement) & self._offered
        if not provided:
            return
        self._modules |= provided
        start, end = self.text.span(statement)
        breaks = self.text.between(start, end).count(b"\n") * f"{CONTINUED}\n"
        first, *rest = _assignments(statement, self._offered)
        target, _, value = first.partition(" ")
        self.edits.append(Edit(start, end, "; ".join([f"{target} {breaks}{value}", *rest])))

    def _indent(self, line: int) -> str:
        """The white space that a line begins with; a line before must not run on into it."""
        before, text = self.text.line(line - 1).strip(), self.text.line(line)
        if before.endswith(CONTINUED) and "#" not in before:
            raise Unsupported(ODD_LAYOUT, line)
        return text[: len(text) - len(text.lstrip(" \t\f"))]

    def _insert(self, line: int, column_bytes: int, text: str, blamed: int) -> None:
        at = self.text.offset(line, column_bytes)
        self.edits.append(Edit(at, at, text, blamed))


def _check_methods(body: Iterable[ast.stmt]) -> None:
    """Refuse methods that Python would call by itself and the interpreter never does."""
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name in UNSUPPORTED_METHODS:
            message = f"{node.name}() is not supported: give the method a plain name and call it"
            raise Unsupported(message, node.lineno)


def _provided_modules(statement: ast.Import | ast.ImportFrom) -> set[str]:
    """Which provided modules a statement imports, or imports from; `*` is left as it is."""
    names = [alias.name for alias in statement.names]
    if isinstance(statement, ast.Import):
        return set(names) & PROVIDED_MODULES.keys()
    module = (statement.module or "") if statement.level == 0 else ""
    return {module} if module in PROVIDED_MODULES and names != ["*"] else set()


def _assignments(statement: ast.Import | ast.ImportFrom, offered: frozenset[str]) -> Sequence[str]:
    """A statement for each name of an import; other modules are imported as before."""
    if isinstance(statement, ast.ImportFrom):
        module = provided_name(statement.module or "")
        return [f"{a.asname or a.name} = {module}.{a.name}" for a in statement.names]
    return [
        f"{alias.asname or alias.name} = {provided_name(alias.name)}"
        if alias.name in offered
        else f"import {alias.name}{f' as {alias.asname}' if alias.asname else ''}"
        for alias in statement.names
    ]
