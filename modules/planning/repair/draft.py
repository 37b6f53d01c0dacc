"""A plan under repair: whatever changes in its tree changes in its text alike.

A repair is an edit of the model's own text at the place of the slip, so that lines keep their
numbers and errors quote what the model wrote. The edited text must parse to exactly the changed
tree; else the repairs are not used.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, cast

from core.base.text import shorten
from modules.planning.names import FunctionNode, ParsedPlan
from modules.sandbox.language.parsing import parse

MAX_PHRASE_CHARACTERS = 120
"""Longest phrase about one repair: it quotes names that the plan chose."""

Place: TypeAlias = ast.expr | ast.stmt


class Draft:
    """The tree of a plan, changed in place, and the edits that do the same to its text."""

    def __init__(self, plan: ParsedPlan) -> None:
        """Begin with the plan as it is; its tree is changed, its text isn't."""
        self._source = plan.source.encode()
        self._tree = plan.tree
        self._parents = plan.names.parents
        self._line_starts = _line_starts(self._source)
        self._edits: list[_Edit] = []
        self._appended: list[str] = []

    def insert(self, before: str, node: Place, after: str = "") -> None:
        """Put text around a node."""
        start, end = self._span(node)
        self._edits.append(_Edit(start, start, before))
        if after:
            self._edits.append(_Edit(end, end, after))

    def insert_inside(self, before: str, node: Place, after: str) -> None:
        """Put text at the inner side of a node's own brackets."""
        start, end = self._span(node)
        self._edits += [_Edit(start + 1, start + 1, before), _Edit(end - 1, end - 1, after, 2)]

    def rewrite(self, node: Place, text: str) -> None:
        """Put other text in a node's place; as many lines as before."""
        start, end = self._span(node)
        lines = self._source[start:end].count(b"\n") - text.count("\n")
        self._edits.append(_Edit(start, end, text + "\n" * lines, rank=1))

    def cut_word(self, word: str, node: Place) -> None:
        """Take away the word that a node begins with, and the space behind it."""
        start, end = self._span(node)
        rest = self._source[start:end].removeprefix(word.encode()).lstrip(b" ")
        self._edits.append(_Edit(start, end - len(rest), ""))

    def cut_through(self, first: ast.arg, last: ast.arg) -> None:
        """Take away neighbours from the first to the last."""
        self._edits.append(_Edit(self._span(first)[0], self._span(last)[1], ""))

    def rename(self, function: FunctionNode, name: str) -> None:
        """Give a function another name where it is defined."""
        start, end = self._span(function)
        found = re.compile(rb"def[ \t]+(\w+)").search(self._source, start, end)
        if found is not None:
            self._edits.append(_Edit(*found.span(1), name, rank=1))
        function.name = name

    def append(self, statement: str) -> None:
        """Add one statement on a line of its own behind everything else."""
        self._appended.append(statement)
        self._tree.body += ast.parse(statement).body

    def replace(self, old: ast.AST, *new: ast.AST) -> None:
        """Put `new` where `old` is in the tree; several only where statements stand in a list."""
        parent = self._parents[old]
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new[0])
            elif isinstance(value, list):
                items = cast("list[ast.AST]", value)
                if old in items:
                    at = items.index(old)
                    items[at : at + 1] = new
        for node in new:
            self._parents[node] = parent
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node

    def finished(self) -> tuple[str, ast.Module] | None:
        """The repaired text and its tree; None if they don't agree with the repairs.

        Raises:
            SyntaxError, NotParsed: the edited text can't be parsed.
            RecursionError: the plan is nested too deeply.
        """
        text = self._edited()
        if text is None:
            return None
        tree = parse(text, most_characters=len(text))
        return (text, tree) if ast.dump(tree) == ast.dump(self._tree) else None

    def _edited(self) -> str | None:
        """The text with the edits applied; None where they get in each other's way."""
        pieces: list[bytes] = []
        done = 0
        for edit in sorted(self._edits, key=lambda edit: (edit.start, edit.rank)):
            if edit.start < done:
                return None
            pieces += [self._source[done : edit.start], edit.text.encode()]
            done = edit.end
        lines = [f"\n{statement}" for statement in self._appended]
        return b"".join([*pieces, self._source[done:]]).decode() + "".join(lines)

    def _span(self, node: Place | ast.arg) -> tuple[int, int]:
        """Byte offsets of a node in the source."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return (
            self._line_starts[node.lineno - 1] + node.col_offset,
            self._line_starts[end_line - 1] + end_column,
        )


@dataclass(frozen=True, slots=True)
class Slip:
    """Something that a repair can put right: where, in words, and how."""

    place: Place
    words: str
    mend: Callable[[Draft], None]

    @property
    def phrase(self) -> str:
        """What was done, with the line."""
        return f"{shorten(self.words, MAX_PHRASE_CHARACTERS)} (line {self.place.lineno})"


@dataclass(frozen=True, slots=True)
class _Edit:
    """Replace bytes `start` to `end` of the source; `rank` orders edits at one place."""

    start: int
    end: int
    text: str
    rank: int = 0


def _line_starts(source: bytes) -> list[int]:
    """Byte offset of every line, as Python's tokenizer counts lines."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts
