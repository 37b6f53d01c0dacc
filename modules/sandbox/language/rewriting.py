"""Edits of a plan's text before it is fed, the way back to its lines, and what is rewritten."""

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence, Set

from core.base.frozen import frozen
from modules.sandbox.language.parsing import NotParsed, parse
from modules.sandbox.language.provided import (
    CLASS_METHODS,
    METHOD_NAMES,
    PARSE_TIME,
    PYTHON_TYPES,
    provided_name,
)

FORMATTED_ARE_MISPLACED = sys.version_info < (3, 12)
"""Whether syntax trees say wrongly where the expressions in f-strings are (PEP 701)."""

MAX_FORMATTED = 10
"""F-strings of a plan that are rewritten inside where the tree may say wrongly where that is."""


@frozen
class Edit:
    """Replace bytes `start` to `end` of a text (UTF-8).

    The lines that the new text begins stand for `line` of the old one, 1-based. Without it the new
    text has as many lines as what it replaces, and each stands for the one in its place.
    """

    start: int
    end: int
    text: str
    line: int | None = None


class PlanText:
    r"""A text whose lines end with `\n`, addressed as Python's syntax tree does."""

    def __init__(self, text: str) -> None:
        """Find where each line starts."""
        self._encoded = text.encode()
        self._lines = self._encoded.split(b"\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    @property
    def whole(self) -> str:
        """All of it."""
        return self._encoded.decode()

    def line(self, number: int) -> str:
        """A line by its 1-based number, without its end; "" for number 0."""
        return self._lines[number - 1].decode() if number else ""

    def offset(self, line: int, column_bytes: int) -> int:
        """Where a place is, in bytes from the start of the text."""
        return self._starts[min(line, len(self._starts)) - 1] + column_bytes

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Where a node starts and ends, in bytes from the start of the text."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, end_column)

    def between(self, start: int, end: int) -> bytes:
        """The text from byte to byte."""
        return self._encoded[start:end]

    def around(self, node: ast.expr | ast.stmt, before: str, after: str = "") -> tuple[Edit, ...]:
        """Text put before and behind a node."""
        start, end = self.span(node)
        opening = Edit(start, start, before)
        return (opening, Edit(end, end, after)) if after else (opening,)

    def instead(self, node: ast.expr | ast.stmt, text: str) -> tuple[Edit, ...]:
        """Other text in a node's place; as many lines as before."""
        start, end = self.span(node)
        breaks = self.between(start, end).count(b"\n") - text.count("\n")
        return (Edit(start, end, text + "\n" * breaks),)

    def behind(self, text: str) -> Edit:
        """Text added at the end."""
        return Edit(len(self._encoded), len(self._encoded), text)

    def edited(self, edits: Iterable[Edit]) -> tuple[str, tuple[int, ...]]:
        """The text with the edits made, and for each of its lines the old one it stands for.

        Edits must not overlap; at one place insertions come first.
        """
        pieces: list[bytes] = []
        lines, old_line, at_start = [1], 1, True
        for piece, line in self._pieces(edits):
            breaks = piece.count(b"\n")
            if line is None:
                lines += range(old_line + 1, old_line + 1 + breaks)
                old_line += breaks
            elif breaks:
                if at_start:
                    lines[-1] = line
                lines += [line] * (breaks - 1) + [old_line]
            at_start = piece.endswith(b"\n") if piece else at_start
            pieces.append(piece)
        return b"".join(pieces).decode(), tuple(lines)

    def _pieces(self, edits: Iterable[Edit]) -> Iterator[tuple[bytes, int | None]]:
        done = 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            yield self._encoded[done : edit.start], None
            yield edit.text.encode(), edit.line
            done = edit.end
        yield self._encoded[done:], None


@frozen
class GuardNames:
    """What the inserted code calls things."""

    stop: str
    recursion_error: str
    eval: str
    manager: str
    attribute: str

    @classmethod
    def of(cls, token: str) -> "GuardNames":
        """Names that hold the token, which makes them unguessable."""
        kinds = ("nested_too_deep", "recursion_error", "eval", "manager", "attribute")
        return cls(*(f"__{kind}_{token}__" for kind in kinds))


class Expressions:
    """Collects the expressions of concern, and makes the edits once all have been seen.

    Attributes:
        methods: Names of the methods that became values.
    """

    def __init__(self, text: PlanText, names: GuardNames) -> None:
        self.text = text
        self.methods: set[str] = set()
        self._names = names
        self._own_eval = False
        self._evals: list[ast.Name] = []
        self._attributes: list[ast.Attribute] = []
        self._awaits: list[ast.Await] = []
        self._in_place: set[ast.AST] = set()
        self._formatted: list[ast.JoinedStr] = []
        self._misplaced: set[ast.AST] = set()

    def note(self, node: ast.AST) -> None:
        """Remember what can be judged when all nodes have been seen."""
        self._own_eval = self._own_eval or _binds_eval(node)
        match node:
            case ast.JoinedStr() if FORMATTED_ARE_MISPLACED and node not in self._misplaced:
                self._formatted.append(node)
                self._misplaced.update(ast.walk(node))
            case ast.Call(func=ast.Name(id="eval") as name, args=[_], keywords=[]):
                self._evals.append(name)
            case ast.Call(func=ast.Attribute() as method) if not _is_value(method):
                self._in_place.add(method)
            case ast.Await():
                self._awaits.append(node)
            case ast.pattern():
                self._in_place.update(ast.iter_child_nodes(node))
            case ast.Attribute(attr=name, ctx=ast.Load()) if name in METHOD_NAMES:
                self._attributes.append(node)
            case _:
                pass

    def edits(self, tree: ast.Module, *, has_tasks: bool) -> list[Edit]:
        """What to change in a plan; `has_tasks` says whether what it awaits may be a task."""
        if not has_tasks:
            self._awaits.clear()
        found = self._rewritten(frozenset(ast.walk(tree)) - self._misplaced)
        for formatted in self._formatted[:MAX_FORMATTED]:
            inside = self._rewritten(frozenset(ast.walk(formatted)))
            if inside and self._are_right(inside, tree):
                found += inside
        return found

    def _rewritten(self, nodes: Set[ast.AST]) -> list[Edit]:
        """What to change in these expressions."""
        edits: list[Edit] = []
        for name in () if self._own_eval else self._evals:
            if name in nodes:  # calls are led to the true `eval`
                edits += self.text.instead(name, self._names.eval)
        for node in self._awaits:
            if node in nodes:  # what is awaited passes through `asyncio`, which knows its tasks
                before = f"{provided_name('asyncio')}.awaited("
                edits += self.text.around(node.value, before, ")")
        for method in self._attributes:
            if method in nodes and method not in self._in_place:
                edits += self._bound(method)
        return edits

    def _are_right(self, edits: Sequence[Edit], tree: ast.Module) -> bool:
        """Whether edits at places that may be wrong do what they should, and nothing else."""
        try:
            text, _ = self.text.edited(edits)
            edited = _Undoing(self._names).visit(parse(text, most_characters=len(text)))
            return ast.dump(edited) == ast.dump(tree)
        except (SyntaxError, NotParsed, RecursionError, ValueError):
            return False

    def _bound(self, method: ast.Attribute) -> Sequence[Edit]:
        """Turn `value.name` into a call that gives the method as a function."""
        start, end = self.text.span(method)
        inside = self.text.span(method.value)[1]
        before, dot, name = self.text.between(inside, end).rpartition(b".")
        if not dot or name.strip() != method.attr.encode():
            return ()  # a comment in between, or a name in other letters: it stays as it is
        breaks = name.count(b"\n") * "\n"
        self.methods.add(method.attr)
        opening = Edit(start, start, f"{self._names.attribute}{method.attr}(")
        return opening, Edit(inside + len(before), end, f"{breaks})")


class _Undoing(ast.NodeTransformer):
    """Takes back what was done to expressions, in a tree of the edited text."""

    def __init__(self, names: GuardNames) -> None:
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


def _is_value(attribute: ast.Attribute) -> bool:
    """Whether it is `str.lower`, a value even where it is called; not so `dict.fromkeys`."""
    if attribute.attr == PARSE_TIME:
        return True
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
