"""The plan that works a question out: tool calls where tools exist, else plain Python.

Some parts are done in decimal, as people do them on paper: 0.1 + 0.2 is 0.3. A plan computes these
with Python's `decimal`, and turns only their result into a float.
"""

import ast
import math
from collections.abc import Iterable
from typing import Final

from core.ports import DecisionInputs
from core.tools.spec import ToolSpec
from core.turn import FINAL_ANSWER
from core.values import Json
from modules.models.offline.arithmetic.tree import (
    OPERATIONS,
    Apply,
    Constant,
    Each,
    Labelled,
    Node,
    Number,
    Percent,
    Question,
    Sequence,
    Text,
    children,
    is_list,
    is_small,
    is_whole,
)
from modules.models.offline.plan_source import Source, call_source, find_tool, indented, whole_plan
from modules.models.offline.refusal import Refusal

MAX_PARALLEL_CALLS: Final = 4
"""How many calls one `asyncio.gather` holds."""

MAX_EXPONENT: Final = 64
"""Higher powers are left to floats: their digits are more than a decimal keeps."""

LARGEST: Final = 1e15
"""From here on Python prints a float with an exponent, and who writes such a number means one."""

_PRINTED_AS_EXPONENT: Final = "1e16"
"""From here on Python prints a float with an exponent: it stays one."""


def write_plan(question: Question, inputs: DecisionInputs) -> str:
    """The plan that answers `question` with the tools on offer.

    Raises:
        Refusal: an operation has neither a tool nor plain Python.
    """
    return _PlanWriter(question, inputs).write()


def needed_tools(question: Question, inputs: DecisionInputs) -> list[ToolSpec]:
    """The tools that the plan for `question` calls, in the order of their first call."""
    calls = _PlanWriter(question, inputs).calls.values()
    return list({tool.qualified_name: tool for tool in calls}.values())


class _PlanWriter:
    def __init__(self, question: Question, inputs: DecisionInputs) -> None:
        """Choose what tools do, what decimal does, and what is computed once for many places."""
        self._question = question
        self._inputs = inputs
        self._mode = inputs.exploration_mode if inputs.planning_mode == "exploratory" else ""
        self._lines: list[str] = []
        self._names: dict[str, int] = {}
        self._variables: dict[int, str] = {}
        self._decimal_names: dict[int, str] = {}
        self._nodes = _nodes_below(item.node for item in question.items)
        self._shared = _used_often(self._nodes)
        self._decimals = _decimal_nodes(self._nodes)
        self.calls = self._chosen_calls()

    def write(self) -> str:
        """The plan's source."""
        called = [n for n in self._nodes if isinstance(n, Apply) and id(n) in self.calls]
        if self._mode == "parallel":
            self._write_in_parallel(called)
        else:
            for node in called:
                self._write_call(node)
        name = self._answer()
        return whole_plan([*self._lines, f'return f"{FINAL_ANSWER} {{{name}}}"'])

    def _chosen_calls(self) -> dict[int, ToolSpec]:
        """The nodes (by id) that become tool calls, at most as many as a plan may make.

        Operations that are more than one sign in Python have the first claim. What is done in
        decimal needs no tool.
        """
        offered: list[tuple[Apply, ToolSpec]] = []
        for node in self._nodes:
            if id(node) in self._decimals or not isinstance(node, Apply):
                continue
            if (tool := self._tool_for(node)) is not None:
                offered.append((node, tool))
        by_claim = sorted(offered, key=lambda entry: OPERATIONS[entry[0].operation].cheap)
        kept = {id(node) for node, _ in by_claim[: max(self._inputs.max_tool_calls, 0)]}
        return {id(node): tool for node, tool in offered if id(node) in kept}

    def _tool_for(self, node: Apply) -> ToolSpec | None:
        operation = OPERATIONS[node.operation]
        if operation.tool is None:
            return None
        if node.operation == "exponential sum" and not is_whole(node.arguments[0]):
            return None
        return find_tool(self._inputs.tools, operation.tool, operation.kinds)

    # -- calls -------------------------------------------------------------------------------

    def _write_call(self, node: Apply) -> None:
        call = self._call(node)
        may_fail = self._mode == "sequential" and OPERATIONS[node.operation].python
        fallback = self._python(node) if may_fail and is_small(node) else None
        name = self._name(node)
        line = f"{name} = await {call}"
        if fallback is None:
            self._lines.append(line)
        else:
            handler = ["except Exception:", *indented([f"{name} = {fallback}"])]
            self._lines += ["try:", *indented([line]), *handler]

    def _call(self, node: Apply) -> str:
        tool, operation = self.calls[id(node)], OPERATIONS[node.operation]
        values = [self._argument(item) for item in node.arguments] + list(operation.extra)
        names = [parameter.name for parameter in tool.parameters]
        return call_source(self._inputs, tool, dict(zip(names, values, strict=False)))

    def _argument(self, node: Node) -> Json:
        return node.value if isinstance(node, Text) else Source(self._expression(node))

    def _write_in_parallel(self, called: list[Apply]) -> None:
        """Calls that need no result of each other go together, the others after them."""
        levels: dict[int, list[Apply]] = {}
        depth: dict[int, int] = {}
        for node in called:
            below = [depth[id(n)] for n in _nodes_below([node]) if id(n) in depth]
            depth[id(node)] = 1 + max(below, default=0)
            levels.setdefault(depth[id(node)], []).append(node)
        for _, nodes in sorted(levels.items()):
            for start in range(0, len(nodes), MAX_PARALLEL_CALLS):
                self._write_together(nodes[start : start + MAX_PARALLEL_CALLS])

    def _write_together(self, nodes: list[Apply]) -> None:
        if len(nodes) == 1:
            self._write_call(nodes[0])
            return
        calls = indented(f"{self._call(node)}," for node in nodes)
        names = ", ".join(self._name(node) for node in nodes)
        self._lines += [f"{names} = await asyncio.gather(", *calls, ")"]

    # -- expressions -------------------------------------------------------------------------

    def _expression(self, node: Node) -> str:
        """The node as a Python expression; what is used twice gets a name."""
        if (name := self._variables.get(id(node))) is not None:
            return name
        if id(node) in self._decimals and isinstance(node, Apply):
            return f"float({self._decimal(node)})"
        if isinstance(node, Apply) and (id(node) in self._shared or node.operation == "fibonacci"):
            return self._assigned(node)
        return self._python(node)

    def _decimal(self, node: Node) -> str:
        """The node as an expression in decimal."""
        if (name := self._decimal_names.get(id(node))) is not None:
            return name
        match node:
            case Number(value):
                return f'Decimal("{value!r}")'
            case Apply(operation, arguments):
                text = _filled(operation, map(self._decimal, arguments))
            case _:
                raise AssertionError(node)  # `_decimal_nodes` takes no other
        if id(node) not in self._shared:
            return text
        name = self._decimal_names[id(node)] = self._fresh("exact")
        self._lines.append(f"{name} = {text}")
        return name

    def _python(self, node: Node) -> str:
        match node:
            case Number(value) | Text(value):
                return repr(value)
            case Constant(name):
                return f"math.{name}"
            case Sequence(items):
                return f"[{', '.join(map(self._expression, items))}]"
            case Each(operation, items, rest):
                inner = _filled(operation, ["x", *map(self._expression, rest)])
                return f"[{inner} for x in {self._expression(items)}]"
            case Apply(operation, arguments):
                return _filled(operation, map(self._expression, arguments))
            case Percent():
                raise Refusal("it does not say of what the percentage is taken")

    def _assigned(self, node: Apply) -> str:
        """The name of the node's value, which has lines of its own."""
        if node.operation != "fibonacci":
            text = self._python(node)
            self._lines.append(f"{self._name(node)} = {text}")
            return self._variables[id(node)]
        count = self._expression(node.arguments[0])
        name = self._name(node)
        self._lines += [
            f"{name} = [0, 1][:{count}]",
            f"while len({name}) < {count}:",
            *indented([f"{name}.append({name}[-1] + {name}[-2])"]),
        ]
        return name

    def _name(self, node: Apply) -> str:
        name = self._variables[id(node)] = self._fresh(OPERATIONS[node.operation].variable)
        return name

    def _fresh(self, base: str) -> str:
        self._names[base] = number = self._names.get(base, 0) + 1
        return base if number == 1 else f"{base}_{number}"

    # -- the answer --------------------------------------------------------------------------

    def _answer(self) -> str:
        """The name that the answer has in the plan."""
        items = self._question.items
        if self._question.compared != "no":
            return self._compared(items, "max" if self._question.compared == "largest" else "min")
        return self._printable(items[0].node) if len(items) == 1 else self._listed(items)

    def _printable(self, node: Node) -> str:
        """A name for the node's value, whole floats turned into ints."""
        text = self._expression(node)
        if not text.isidentifier():
            name = self._fresh("answer")
            self._lines.append(f"{name} = {text}")
            text = name
        is_exponential = isinstance(node, Apply) and node.operation == "exponential sum"
        return text if is_list(node) or is_whole(node) or is_exponential else self._tidied(text)

    def _tidied(self, name: str) -> str:
        tidy = self._fresh("answer")
        self._lines.append(
            f"{tidy} = int({name}) if {name} % 1 == 0 and abs({name}) < {_PRINTED_AS_EXPONENT} "
            f"else {name}"
        )
        return tidy

    def _listed(self, items: tuple[Labelled, ...]) -> str:
        parts = [f"{item.label + ' = '!r} + str({self._printable(item.node)})" for item in items]
        name = self._fresh("answers")
        self._lines.append(f'{name} = "; ".join([{", ".join(parts)}])')
        return name

    def _compared(self, items: tuple[Labelled, ...], choose: str) -> str:
        pairs = [f"({i.label!r}, {self._expression(i.node)})" for i in items]
        self._lines.append(f"compared = [{', '.join(pairs)}]")
        self._lines.append(f"best = {choose}([value for label, value in compared])")
        whole = all(is_whole(item.node) for item in items)
        best = "best" if whole else self._tidied("best")
        if all(isinstance(item.node, Number) for item in items):
            return best
        self._lines.append("labels = [label for label, value in compared if value == best]")
        self._lines.append(f'winner = " and ".join(labels) + " = " + str({best})')
        return "winner"


def _filled(operation: str, arguments: Iterable[str]) -> str:
    """The operation in Python, with no more parentheses than it needs."""
    texts = [f"({text})" for text in arguments]
    template = OPERATIONS[operation].python.replace("{*}", ", ".join("{}" for _ in texts))
    return ast.unparse(ast.parse(template.format(*texts), mode="eval"))


def _nodes_below(roots: Iterable[Node]) -> list[Node]:
    """The roots and every node below them once, arguments before what uses them."""
    ordered: dict[int, Node] = {}

    def visit(node: Node) -> None:
        if id(node) in ordered:
            return
        for child in children(node):
            visit(child)
        ordered[id(node)] = node

    for root in roots:
        visit(root)
    return list(ordered.values())


def _used_often(nodes: list[Node]) -> frozenset[int]:
    """Ids of the nodes that more than one place uses."""
    seen: set[int] = set()
    often: set[int] = set()
    for child in (id(child) for node in nodes for child in children(node)):
        (often if child in seen else seen).add(child)
    return frozenset(often)


# What is done in decimal.


def _decimal_nodes(nodes: Iterable[Node]) -> frozenset[int]:
    """Ids of the operations to be done in decimal.

    They are exact operations on nothing but numbers, of which one at least has a decimal point.
    `nodes` come with arguments before what uses them. What divides by zero or grows beyond floats
    is none of them: a tool says better what is wrong.
    """
    sizes: dict[int, float] = {}
    pointed: set[int] = set()
    for node in nodes:
        match node:
            case Number(value):
                size = float(value) if abs(value) < LARGEST else None
            case Apply(operation, arguments) if all(id(a) in sizes for a in arguments):
                size = _size(operation, [sizes[id(a)] for a in arguments])
            case _:
                continue
        if size is not None and abs(size) < LARGEST:
            sizes[id(node)] = size
            has_point = isinstance(node, Number) and isinstance(node.value, float)
            if has_point or any(id(child) in pointed for child in children(node)):
                pointed.add(id(node))
    return frozenset(pointed)


def _size(operation: str, values: list[float]) -> float | None:
    """What decimal makes of the values, about; None where it does not do as people do on paper."""
    match operation, values:
        case "add", [left, right]:
            return left + right
        case "subtract", [left, right]:
            return left - right
        case "multiply", [left, right]:
            return left * right
        case "divide", [left, right] if right != 0:
            return left / right
        case "remainder", [left, right] if left >= 0 and right > 0:
            return left % right  # below zero, decimal's sign is another
        case "power", [base, exponent] if exponent % 1 == 0 and 0 <= exponent <= MAX_EXPONENT:
            if base == 0:
                return None if exponent == 0 else 0.0  # decimal holds 0⁰ to be undefined
            is_short = abs(base) <= 1 or exponent * math.log10(abs(base)) < math.log10(LARGEST)
            return base**exponent if is_short else None
        case "negate" | "absolute", [value]:
            return abs(value)
        case _:
            return None
