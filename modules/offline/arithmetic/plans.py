"""Which parts of an expression are done in decimal: 0.1 + 0.2 is 0.3, as people write it.

A plan computes these parts with Python's `decimal`, and turns only their result into a float.
"""

import math
from collections.abc import Iterable
from typing import Final

from core.ports import DecisionInputs
from core.tools.spec import ToolSpec
from core.turn import FINAL_ANSWER
from core.values import Json
from modules.offline.arithmetic.operations import (
    ATOM,
    OPERATIONS,
    SIGN,
    Operation,
    is_small,
    is_whole,
)
from modules.offline.arithmetic.tree import (
    Apply,
    Comparison,
    Constant,
    Each,
    Labelled,
    Node,
    Number,
    OperationName,
    Percent,
    Question,
    Sequence,
    Text,
    children,
    is_list,
)
from modules.offline.calls import CallStyle, Source
from modules.offline.refusal import Refusal
from modules.offline.tools.schemas import find_tool

MAX_EXPONENT: Final = 64
"""Higher powers are left to floats: their digits are more than a decimal keeps."""

LARGEST: Final = 1e15
"""From here on Python prints a float with an exponent, and who writes such a number means one."""


def decimal_nodes(nodes: Iterable[Node]) -> frozenset[int]:
    """Ids of the operations to be done in decimal.

    They are exact operations on nothing but numbers, of which one at least has a decimal point.
    `nodes` come in the order of `arithmetic_plans`: arguments before what uses them. What divides
    by zero or grows beyond floats is none of them: a tool says better what is wrong.
    """
    sizes: dict[int, float] = {}
    pointed: set[int] = set()
    for node in nodes:
        size = _size(node, sizes)
        if size is None:
            continue
        sizes[id(node)] = size
        below = node.arguments if isinstance(node, Apply) else ()
        if any(id(argument) in pointed for argument in below) or _has_point(node):
            pointed.add(id(node))
    return frozenset(pointed)


def _size(node: Node, sizes: dict[int, float]) -> float | None:
    """About what the node is worth; None if it can't be done in decimal."""
    match node:
        case Number(value):
            return float(value) if abs(value) < LARGEST else None
        case Apply(operation, arguments):
            given = [sizes.get(id(argument)) for argument in arguments]
            known = [value for value in given if value is not None]
            size = _result(operation, known) if len(known) == len(given) else None
            return size if size is not None and abs(size) < LARGEST else None
        case _:
            return None


def _result(operation: OperationName, values: list[float]) -> float | None:
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


def _has_point(node: Node) -> bool:
    return isinstance(node, Number) and isinstance(node.value, float)


# Writes an expression tree as a plan: tool calls where tools exist, else plain Python.

MAX_PARALLEL_CALLS: Final = 4
"""How many calls one `asyncio.gather` holds."""

_INDENT: Final = "    "
_PRINTED_AS_EXPONENT: Final = "1e16"
"""From here on Python prints a float with an exponent: it stays one."""


def write_plan(question: Question, inputs: DecisionInputs) -> str:
    """The plan that answers `question` with the tools on offer.

    Raises:
        Refusal: an operation has neither a tool nor plain Python.
    """
    return PlanWriter(inputs).write(question)


def needed_tools(question: Question, inputs: DecisionInputs) -> list[ToolSpec]:
    """The tools that the plan for `question` calls, in the order of their first call."""
    calls = PlanWriter(inputs).choose_calls(_nodes_below(i.node for i in question.items))
    return list({tool.qualified_name: tool for tool in calls.values()}.values())


class PlanWriter:
    """Writes one plan."""

    def __init__(self, inputs: DecisionInputs) -> None:
        """Write for these tools, this style and this strategy."""
        self._inputs = inputs
        self._style = CallStyle(inputs.tools, inputs.plan_style)
        self._exploratory = inputs.planning_mode == "exploratory"
        self._lines: list[str] = []
        self._imports: set[str] = set()
        self._names: dict[str, int] = {}
        self._variables: dict[int, str] = {}
        self._decimal_names: dict[int, str] = {}
        self._calls: dict[int, ToolSpec] = {}
        self._shared: frozenset[int] = frozenset()
        self._decimals: frozenset[int] = frozenset()

    def write(self, question: Question) -> str:
        """The plan's source."""
        nodes = _nodes_below(item.node for item in question.items)
        self._calls = self.choose_calls(nodes)
        self._shared = _used_often(nodes)
        called = [node for node in nodes if isinstance(node, Apply) and id(node) in self._calls]
        if self._exploratory and self._inputs.exploration_mode == "parallel":
            self._write_in_parallel(called)
        else:
            for node in called:
                self._write_call(node)
        self._write_answer(question)
        imports = sorted(self._imports)
        body = [f"{_INDENT}{line}" for line in self._lines]
        return "\n".join([*imports, *([""] if imports else []), "async def solve():", *body]) + "\n"

    def choose_calls(self, nodes: list[Node]) -> dict[int, ToolSpec]:
        """The nodes (by id) that become tool calls, at most as many as a plan may make.

        Operations that are more than one sign in Python have the first claim. What is done in
        decimal needs no tool.
        """
        self._decimals = decimal_nodes(nodes)
        offered: list[tuple[Apply, ToolSpec]] = []
        for node in nodes:
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
        call = self._call_source(node)
        fallback = self._fallback(node)
        name = self._name(node)
        if fallback is None:
            self._lines += self._received(name, call)
            return
        self._lines.append("try:")
        self._lines += [_INDENT + line for line in self._received(name, call)]
        self._lines += ["except Exception:", f"{_INDENT}{name} = {fallback}"]

    def _received(self, name: str, call: str) -> list[str]:
        """Lines that wait for a call and put its value into `name`."""
        if self._style.style == "tools":
            return [f"{name} = await {call}"]
        return [f"result = await {call}", f"{name} = {self._unpacked('result')}"]

    def _unpacked(self, result: str) -> str:
        self._imports.add("import json")
        return f'json.loads({result}.content[0].text)["result"]'

    def _fallback(self, node: Apply) -> str | None:
        """Plain Python for a call that fails, in the sequential mode."""
        sequential = self._exploratory and self._inputs.exploration_mode == "sequential"
        if not sequential or not OPERATIONS[node.operation].python or not is_small(node):
            return None
        return self._python(node)[0]

    def _call_source(self, node: Apply) -> str:
        tool, operation = self._calls[id(node)], OPERATIONS[node.operation]
        values = [self._argument(item) for item in node.arguments] + list(operation.extra)
        names = [parameter.name for parameter in tool.parameters]
        return self._style.call(tool, dict(zip(names, values, strict=False)))

    def _argument(self, node: Node) -> Json:
        if isinstance(node, Text):
            return node.value
        return Source(self._expression(node)[0])

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
        self._imports.add("import asyncio")
        calls = [self._call_source(node) for node in nodes]
        names = [self._name(node) for node in nodes]
        unpack = self._style.style == "mcp"
        targets = [f"{name}_result" for name in names] if unpack else names
        self._lines.append(f"{', '.join(targets)} = await asyncio.gather(")
        self._lines += [f"{_INDENT}{call}," for call in calls]
        self._lines.append(")")
        if unpack:
            self._lines += [
                f"{name} = {self._unpacked(target)}"
                for name, target in zip(names, targets, strict=True)
            ]

    # -- expressions -------------------------------------------------------------------------

    def _expression(self, node: Node) -> tuple[str, int]:
        """The node as a Python expression and its precedence; names what is used twice."""
        if (name := self._variables.get(id(node))) is not None:
            return name, ATOM
        if id(node) in self._decimals and isinstance(node, Apply):
            return f"float({self._decimal(node)[0]})", ATOM
        if isinstance(node, Apply) and (id(node) in self._shared or node.operation == "fibonacci"):
            self._assign(node)
            return self._variables[id(node)], ATOM
        return self._python(node)

    def _decimal(self, node: Node) -> tuple[str, int]:
        """The node as an expression in decimal, and its precedence."""
        if (name := self._decimal_names.get(id(node))) is not None:
            return name, ATOM
        match node:
            case Number(value):
                self._imports.add("from decimal import Decimal")
                return f'Decimal("{value!r}")', ATOM
            case Apply(operation, arguments):
                text, precedence = self._filled(operation, [self._decimal(a) for a in arguments])
            case _:
                raise AssertionError(node)  # `decimal_nodes` takes no other
        if id(node) not in self._shared:
            return text, precedence
        name = self._decimal_names[id(node)] = self._fresh("exact")
        self._lines.append(f"{name} = {text}")
        return name, ATOM

    def _python(self, node: Node) -> tuple[str, int]:
        match node:
            case Number(value):
                return repr(value), ATOM if value >= 0 else SIGN
            case Constant(name):
                self._imports.add("import math")
                return f"math.{name}", ATOM
            case Text(value):
                return repr(value), ATOM
            case Sequence(items):
                return f"[{', '.join(self._expression(item)[0] for item in items)}]", ATOM
            case Each(operation, items, rest):
                inner = self._filled(operation, [("x", ATOM), *map(self._expression, rest)])[0]
                return f"[{inner} for x in {self._expression(items)[0]}]", ATOM
            case Apply(operation, arguments):
                return self._filled(operation, [self._expression(item) for item in arguments])
            case Percent():
                raise Refusal("it does not say of what the percentage is taken")

    def _filled(self, name: OperationName, arguments: list[tuple[str, int]]) -> tuple[str, int]:
        operation: Operation = OPERATIONS[name]
        if "math." in operation.python:
            self._imports.add("import math")
        if "{}" in operation.python:
            return operation.python.format(", ".join(text for text, _ in arguments)), ATOM
        least = operation.operands
        texts = [
            text if precedence >= least[place] else f"({text})"
            for place, (text, precedence) in enumerate(arguments)
        ]
        return operation.python.format(*texts), operation.precedence

    def _assign(self, node: Node) -> None:
        """Give the node's value a name, by a line of its own."""
        if isinstance(node, Apply) and node.operation == "fibonacci":
            count = self._expression(node.arguments[0])[0]
            name = self._name(node)
            self._lines += [
                f"{name} = [0, 1][:{count}]",
                f"while len({name}) < {count}:",
                f"{_INDENT}{name}.append({name}[-1] + {name}[-2])",
            ]
            return
        text = self._python(node)[0]
        self._lines.append(f"{self._name(node)} = {text}")

    def _name(self, node: Node) -> str:
        base = OPERATIONS[node.operation].variable if isinstance(node, Apply) else "answer"
        name = self._fresh(base)
        self._variables[id(node)] = name
        return name

    def _fresh(self, base: str) -> str:
        self._names[base] = number = self._names.get(base, 0) + 1
        return base if number == 1 else f"{base}_{number}"

    # -- the answer --------------------------------------------------------------------------

    def _write_answer(self, question: Question) -> None:
        if isinstance(question, Comparison):
            name = self._compared(question)
        elif len(question.items) == 1:
            name = self._printable(question.items[0].node)
        else:
            name = self._listed(question.items)
        self._lines.append(f'return f"{FINAL_ANSWER} {{{name}}}"')

    def _printable(self, node: Node) -> str:
        """A name for the node's value, whole floats turned into ints."""
        text, _ = self._expression(node)
        if not text.isidentifier():
            name = self._fresh("answer")
            self._lines.append(f"{name} = {text}")
            text = name
        if is_list(node) or is_whole(node) or _is_exponential(node):
            return text
        return self._tidied(text)

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

    def _compared(self, question: Comparison) -> str:
        pairs = [f"({i.label!r}, {self._expression(i.node)[0]})" for i in question.items]
        choose = "max" if question.largest else "min"
        self._lines.append(f"compared = [{', '.join(pairs)}]")
        self._lines.append(f"best = {choose}([value for label, value in compared])")
        whole = all(is_whole(item.node) for item in question.items)
        best = "best" if whole else self._tidied("best")
        if all(isinstance(item.node, Number) for item in question.items):
            return best
        self._lines.append("labels = [label for label, value in compared if value == best]")
        self._lines.append(f'winner = " and ".join(labels) + " = " + str({best})')
        return "winner"


def _is_exponential(node: Node) -> bool:
    """Whether the value is a sum of exponentials, which stays a float as the tool gives it."""
    return isinstance(node, Apply) and node.operation == "exponential sum"


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
    """Ids of the operations that more than one place uses."""
    seen: set[int] = set()
    often: set[int] = set()
    for node in nodes:
        for child in children(node):
            often |= {id(child)} & seen
            seen.add(id(child))
    return frozenset(often)
