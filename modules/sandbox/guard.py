"""Rewrites a plan before it is fed, so that no `try` of it can swallow the limit on recursion.

The interpreter lets nothing catch its limits on time and memory, but a RecursionError is an
exception like any other. So every `try` gets a handler in front of its own:

    except <RecursionError>: <door>()

The door is a name that nothing defines, so the interpreter stops there and asks the host, which
ends the plan. `finally` can hide an exception too (`finally: return 1`), so it begins with a look
at the one in flight. And `__exit__` can, so `with` takes only the interpreter's own context
managers. All these names are new for each plan, and nothing in the sandbox lists them.

Three things are done in the same pass. Imports of modules that the interpreter lacks, or has
otherwise than Python, become assignments (`modules.sandbox.provided`). A method of a builtin type
that isn't called where it stands (`key=d.get`, `map(str.strip, …)`) becomes a function that calls
it. And `eval(text)` becomes the true `eval`, which the prelude hides: in any other form it can run
statements that the guard has not seen.
"""

import ast
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from modules.plans.f_strings import older_form
from modules.plans.names import NotParsed, parse
from modules.sandbox.alternatives import UNSUPPORTED_METHODS
from modules.sandbox.provided import PROVIDED_MODULES, provided_name, provided_source
from modules.sandbox.provided.builtin_functions import (
    CLASS_METHODS,
    METHOD_NAMES,
    PYTHON_TYPES,
    bound_methods,
)
from modules.sandbox.provided.tasks import NEEDS_TASKS
from modules.sandbox.rewriting import Edit, PlanText

CONTINUED = "\\"
"""Joins a line to the next."""


FORMATTED_ARE_MISPLACED = sys.version_info < (3, 12)
"""Whether syntax trees say wrongly where the expressions in f-strings are (PEP 701)."""


MAX_FORMATTED = 40
"""F-strings of a plan that are rewritten inside where the tree may say wrongly where that is."""

ODD_LAYOUT = "put except and finally, and what follows them, on lines of their own"
"""What a plan is told before whose clauses nothing can be put; nobody writes it so."""


_OF_CONCERN = re.compile(
    rf"\b(?:try|with|class|eval|{'|'.join(PROVIDED_MODULES)})\b"
    rf"|\.\s*(?:{'|'.join(sorted(METHOD_NAMES))})\b(?!\s*\()"
    rf"|\b(?:{'|'.join(kind for kind in PYTHON_TYPES if '.' not in kind)})\s*\."
)
"""Without one of these words a plan holds nothing that is looked at, and need not be parsed."""

_GUARDED = re.compile(
    r"^[^\w\n]*(?:try\b|with\b"
    rf"|(?:import|from)\b.*\b(?:{'|'.join(PROVIDED_MODULES)})\b)",
    re.MULTILINE,
)
"""How a line begins that holds what must be guarded; it may be one of a text or a comment."""

PLAINER = "keep the plan short, and f-strings free of backslashes, comments and their own quotes"
"""What a plan is told that has something to guard and can't be read."""


class Unsupported(Exception):
    """The plan uses what the interpreter would pass over in silence, or what can't be guarded."""

    def __init__(self, message: str, line: int) -> None:
        """`line` is where it stands, 1-based."""
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class GuardedPlan:
    r"""A plan as it is fed to the interpreter.

    Attributes:
        source: The plan as it was given, its lines ended by `\n`.
        text: The plan as it is fed.
        prelude: What must be fed first, while no builtin is hidden yet.
        door: Name of the function that it calls where calls nest too deeply.
        lines: For each line of `text`, the 1-based line of `source` that it stands for.
        epilogue: What follows the call of the plan's `solve()`, if anything does.
    """

    source: str
    text: str
    prelude: str
    door: str
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
    source = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    names = _Names.of(token)
    if _OF_CONCERN.search(unicodedata.normalize("NFKC", source)) is None:
        return GuardedPlan(source, source, "", names.door, tuple(range(1, source.count("\n") + 2)))
    try:
        readable, tree = _read(source)
    except (SyntaxError, NotParsed) as error:
        return _unparsed(source, names.door, error)
    guard = _Guard(PlanText(readable), names)
    guard.walk(tree)
    text, lines = guard.text.edited(guard.edits)
    return GuardedPlan(source, text, guard.prelude(), names.door, lines, guard.epilogue())


def _read(source: str) -> tuple[str, ast.Module]:
    """The plan and its tree; its f-strings are rewritten where this Python can't read them."""
    try:
        return source, parse(source)
    except SyntaxError:
        if (older := older_form(source)) is None:
            raise
        return older[0], parse(older[0], most_characters=len(older[0]))


def _unparsed(source: str, door: str, error: SyntaxError | NotParsed) -> GuardedPlan:
    """A plan as it is, or one that only says why it can't run."""
    lines = range(1, source.count("\n") + 2)
    found = _GUARDED.search(source)
    if found is None:
        return GuardedPlan(source, source, "", door, tuple(lines))
    line, reason = source.count("\n", 0, found.end()) + 1, str(error)
    if isinstance(error, SyntaxError):
        line, reason = error.lineno or line, f"Python {sys.version.split()[0]}: {error.msg}"
    message = f"{found[0].strip()} can't be used in this plan ({reason}); {PLAINER}"
    text = f"raise NotImplementedError({message!r})\n{source}"
    return GuardedPlan(source, text, "", door, (line, *lines))


@dataclass(frozen=True, slots=True)
class _Names:
    """What the inserted code calls things."""

    door: str
    recursion_error: str
    eval: str
    manager: str
    attribute: str

    @classmethod
    def of(cls, token: str) -> "_Names":
        kinds = ("nested_too_deep", "recursion_error", "eval", "manager", "attribute")
        return cls(*(f"__{kind}_{token}__" for kind in kinds))


_MANAGER = """
import decimal as __decimal__
def {name}(manager, kind=type, own=type(__decimal__.localcontext())):
    if kind(manager) is not own:
        raise NotImplementedError("with takes only decimal.localcontext(); use try/finally")
    return manager
"""
"""What a `with` passes its objects through. The defaults are bound before a plan can hide them."""


class _Guard:
    """Collects the edits of one plan."""

    def __init__(self, text: PlanText, names: _Names) -> None:
        self.text = text
        self.edits: list[Edit] = []
        self._names = names
        self._modules: set[str] = set()
        self._methods: set[str] = set()
        self._managers = False
        self._own_eval = False
        self._evals: list[ast.Name] = []
        self._attributes: list[ast.Attribute] = []
        self._awaits: list[ast.Await] = []
        needs_tasks = NEEDS_TASKS.search(text.whole) is not None
        self._offered = frozenset(PROVIDED_MODULES) - (set() if needs_tasks else {"asyncio"})
        self._in_place: set[ast.AST] = set()
        self._formatted: list[ast.JoinedStr] = []
        self._misplaced: set[ast.AST] = set()

    def walk(self, tree: ast.Module) -> None:
        """Look at every node, without recursion: its depth is in the plan's hands."""
        for node in ast.walk(tree):
            self._guard(node)
            self._note(node)
        self._rewrite(frozenset(ast.walk(tree)) - self._misplaced)
        for formatted in self._formatted[:MAX_FORMATTED]:
            placed, self.edits = self.edits, []
            self._rewrite(frozenset(ast.walk(formatted)))
            are_right = self.edits and self._are_right(self.edits, tree)
            self.edits = placed + (self.edits if are_right else [])

    def _rewrite(self, nodes: Set[ast.AST]) -> None:
        """Rewrite these expressions, as far as they are of concern."""
        if not self._own_eval:
            self._unhide(name for name in self._evals if name in nodes)
        if self._has_tasks:
            self._wrap_awaits(node for node in self._awaits if node in nodes)
        for method in self._attributes:
            if method in nodes and method not in self._in_place:
                self._bind(method)

    def _are_right(self, edits: Sequence[Edit], tree: ast.Module) -> bool:
        """Whether edits at places that may be wrong do what they should, and nothing else."""
        try:
            text, _ = self.text.edited(edits)
            edited = _Undoing(self._names).visit(parse(text, most_characters=len(text)))
            return ast.dump(edited) == ast.dump(tree)
        except (SyntaxError, NotParsed, RecursionError, ValueError):
            return False

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

    def _note(self, node: ast.AST) -> None:
        """Remember what can be judged when all nodes have been seen."""
        self._own_eval = self._own_eval or _binds_eval(node)
        match node:
            case ast.JoinedStr() if FORMATTED_ARE_MISPLACED and node not in self._misplaced:
                self._formatted.append(node)
                self._misplaced.update(ast.walk(node))
            case ast.Call(func=ast.Name(id="eval") as name, args=[_], keywords=[]):
                self._evals.append(name)
            case ast.Call(func=ast.Attribute() as method) if not _is_method_of_type(method):
                self._in_place.add(method)
            case ast.Await():
                self._awaits.append(node)
            case ast.pattern():
                self._in_place.update(ast.iter_child_nodes(node))
            case ast.Attribute(attr=name, ctx=ast.Load()) if name in METHOD_NAMES:
                self._attributes.append(node)
            case _:
                pass

    def prelude(self) -> str:
        """What the inserted code needs."""
        parts = [f"{self._names.recursion_error} = RecursionError\n{self._names.eval} = eval\n"]
        if self._managers:
            parts.append(_MANAGER.format(name=self._names.manager))
        if self._methods:
            parts.append(bound_methods(self._names.attribute, frozenset(self._methods)))
        return "".join([*parts, *(self._provided(name) for name in sorted(self._modules))])

    def epilogue(self) -> str:
        """What ends a plan that makes tasks; the plan's value is `__outcome__` before."""
        tasks = provided_name("asyncio")
        return f"await {tasks}.ended(__outcome__)\n" if self._has_tasks else ""

    @property
    def _has_tasks(self) -> bool:
        return "asyncio" in self._modules

    def _provided(self, module: str) -> str:
        return provided_source(module, self._names.recursion_error, self._names.door)

    def _guard_try(self, node: ast.Try) -> None:
        """Put the guard before the first handler, and at the start of `finally`."""
        blamed = node.body[0].lineno if len(node.body) == 1 else node.lineno
        guard = f"except {self._names.recursion_error}: {self._names.door}()\n"
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
            start, end = self.text.span(item.context_expr)
            self.edits += [Edit(start, start, f"{self._names.manager}("), Edit(end, end, ")")]

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

    def _unhide(self, evals: Iterable[ast.Name]) -> None:
        """Lead calls to the true `eval`."""
        for name in evals:
            start, end = self.text.span(name)
            self.edits.append(Edit(start, end, self._names.eval))

    def _wrap_awaits(self, nodes: Iterable[ast.Await]) -> None:
        """Have what is awaited pass through the provided `asyncio`, which knows its tasks."""
        for node in nodes:
            start, end = self.text.span(node.value)
            before = f"{provided_name('asyncio')}.awaited("
            self.edits += [Edit(start, start, before), Edit(end, end, ")")]

    def _bind(self, method: ast.Attribute) -> None:
        """Turn `value.name` into a call that gives the method as a function."""
        start, end = self.text.span(method)
        inside = self.text.span(method.value)[1]
        before, dot, name = self.text.between(inside, end).rpartition(b".")
        if not dot or name.strip() != method.attr.encode():
            return  # a comment in between, or a name in other letters: it stays as it is
        breaks = name.count(b"\n") * "\n"
        self._methods.add(method.attr)
        self.edits.append(Edit(start, start, f"{self._names.attribute}{method.attr}("))
        self.edits.append(Edit(inside + len(before), end, f"{breaks})"))

    def _indent(self, line: int) -> str:
        """The white space that a line begins with; a line before must not run on into it."""
        before, text = self.text.line(line - 1).strip(), self.text.line(line)
        if before.endswith(CONTINUED) and "#" not in before:
            raise Unsupported(ODD_LAYOUT, line)
        return text[: len(text) - len(text.lstrip(" \t\f"))]

    def _insert(self, line: int, column_bytes: int, text: str, blamed: int) -> None:
        at = self.text.offset(line, column_bytes)
        self.edits.append(Edit(at, at, text, blamed))


class _Undoing(ast.NodeTransformer):
    """Takes back what was done to expressions, in a tree of the edited text."""

    def __init__(self, names: _Names) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """The true `eval` by its name."""
        return ast.Name("eval", node.ctx) if node.id == self._names.eval else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A method as a value, and what is awaited."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id=name), args=[value]) if name.startswith(
                self._names.attribute
            ):
                method = name.removeprefix(self._names.attribute)
                return ast.Attribute(value, method, ast.Load())
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="awaited"), args=[value]
            ) if name == provided_name("asyncio"):
                return value
            case _:
                return node


def _check_methods(body: Iterable[ast.stmt]) -> None:
    """Refuse methods that Python would call by itself and the interpreter never does."""
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name in UNSUPPORTED_METHODS:
            message = f"{node.name}() is not supported: give the method a plain name and call it"
            raise Unsupported(message, node.lineno)


def _is_method_of_type(attribute: ast.Attribute) -> bool:
    """Whether it is `str.lower`, a value even where it is called; not so `dict.fromkeys`."""
    value = attribute.value
    is_type = isinstance(value, ast.Name) and value.id in PYTHON_TYPES
    return is_type and attribute.attr not in CLASS_METHODS


def _binds_eval(node: ast.AST) -> bool:
    """Whether the plan has an `eval` of its own, to which its calls may lead."""
    match node:
        case ast.Name(id="eval", ctx=ast.Store()) | ast.arg(arg="eval"):
            return True
        case ast.FunctionDef(name="eval") | ast.AsyncFunctionDef(name="eval"):
            return True
        case ast.ClassDef(name="eval") | ast.ExceptHandler(name="eval"):
            return True
        case ast.MatchAs(name="eval") | ast.MatchStar(name="eval") | ast.MatchMapping(rest="eval"):
            return True
        case ast.alias(name=name, asname=asname):
            return "eval" in (name, asname)
        case _:
            return False


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
