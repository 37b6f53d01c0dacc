"""Runs the offline planner's plans for its tests, on tools of plain Python."""

import asyncio
import json
import math
import operator
import types
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from core.ports import DecisionInputs, ModelReply, ModelRequest
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.turn import FINAL_ANSWER, FURTHER_PROCESSING, Exchange, PerceptionResult
from core.values import Json, JsonObject
from modules.models.offline.planner import OfflineModel
from modules.models.serving.watched import collect_reply

PLAN_TIMEOUT_SECONDS: Final = 10.0

NUMBER: Final[JsonObject] = {"anyOf": [{"type": "integer"}, {"type": "number"}]}
INTEGER: Final[JsonObject] = {"type": "integer"}
TEXT: Final[JsonObject] = {"type": "string"}
NUMBERS: Final[JsonObject] = {"type": "array", "items": NUMBER}


def wrapped(
    server: str,
    name: str,
    description: str,
    properties: dict[str, JsonObject],
    required: Iterable[str] | None = None,
) -> ToolSpec:
    """A tool as the bundled servers offer it: all arguments in one object `input`.

    All are required where nobody says which.
    """
    model = f"{name.title().replace('_', '')}Input"
    inner: JsonObject = {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties if required is None else required),
    }
    schema: JsonObject = {
        "type": "object",
        "properties": {"input": {"$ref": f"#/$defs/{model}"}},
        "required": ["input"],
        "$defs": {model: inner},
    }
    output: JsonObject = {"type": "object", "properties": {"result": {}}}
    return ToolSpec(server, name, description, schema, output, read_only=True)


def plain(
    server: str,
    name: str,
    description: str,
    properties: dict[str, JsonObject],
    required: Iterable[str] = (),
    *,
    read_only: bool = False,
) -> ToolSpec:
    """A tool as third-party servers offer it."""
    schema: JsonObject = {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
    }
    return ToolSpec(server, name, description, schema, read_only=read_only)


def echo(*arguments: Json) -> Json:
    """A tool that answers its arguments."""
    return json.dumps(arguments)


def _fibonacci(count: int) -> list[Json]:
    numbers = [0, 1]
    while len(numbers) < count:
        numbers.append(numbers[-1] + numbers[-2])
    return [*numbers[: max(count, 0)]]


def _codes(text: str) -> list[Json]:
    return [ord(char) for char in text]


def _thumbnail(path: str) -> JsonObject:
    return {"width": 100, "path": path}


def _divide(a: float, b: float) -> float:
    return a / b


def _exponential_sum(numbers: list[int]) -> float:
    return sum(math.exp(number) for number in numbers)


def _power(base: float, exponent: float) -> float:
    if abs(exponent) > 10_000:
        raise ValueError("the exponent is too large")
    return base**exponent


_BINARY: Final[dict[str, tuple[str, Callable[..., Json]]]] = {
    "add": ("Add two numbers: the sum a + b.", operator.add),
    "subtract": ("Subtract one number from another: a minus b.", operator.sub),
    "multiply": ("Multiply two numbers: the product a times b.", operator.mul),
    "divide": ("Divide one number by another: the quotient.", _divide),
    "power": ("Raise a number to a power.", _power),
    "remainder": ("Compute the remainder of a division, a modulo b.", operator.mod),
}
_UNARY: Final[dict[str, tuple[str, JsonObject, Callable[..., Json]]]] = {
    "cbrt": ("Compute the cube root of a number.", NUMBER, math.cbrt),
    "factorial": ("Compute the factorial of a whole number.", INTEGER, math.factorial),
    "sin": ("Compute the sine of an angle in radians.", NUMBER, math.sin),
    "cos": ("Compute the cosine of an angle in radians.", NUMBER, math.cos),
    "tan": ("Compute the tangent of an angle in radians.", NUMBER, math.tan),
}

MATH_FUNCTIONS: Final[dict[str, Callable[..., Json]]] = {
    **{name: function for name, (_, function) in _BINARY.items()},
    **{name: function for name, (_, _, function) in _UNARY.items()},
    "strings_to_chars_to_int": _codes,
    "int_list_to_exponential_sum": _exponential_sum,
    "fibonacci_numbers": _fibonacci,
    "create_thumbnail": _thumbnail,
}

MATH_TOOLS: Final = (
    *(wrapped("math", n, d, {"a": NUMBER, "b": NUMBER}) for n, (d, _) in _BINARY.items()),
    *(wrapped("math", n, d, {"a": schema}) for n, (d, schema, _) in _UNARY.items()),
    wrapped(
        "math",
        "strings_to_chars_to_int",
        "Convert the characters of a string to their ASCII codes.",
        {"string": TEXT},
    ),
    wrapped(
        "math",
        "int_list_to_exponential_sum",
        "Sum the exponentials of a list of numbers.",
        {"numbers": NUMBERS},
    ),
    wrapped("math", "fibonacci_numbers", "List the first n Fibonacci numbers.", {"n": INTEGER}),
    wrapped(
        "math",
        "create_thumbnail",
        "Create a thumbnail of an image file (picture, photo).",
        {"image_path": TEXT},
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a request: a plan's answer and calls, or the text of a refusal."""

    declined: bool
    text: str
    answer: str = ""
    calls: tuple[tuple[str, JsonObject], ...] = ()

    @property
    def called(self) -> list[str]:
        """The names of the tools called, in order."""
        return [name for name, _ in self.calls]


class Bench:
    """Tools of plain Python behind the `tools` of a plan; records every call."""

    def __init__(
        self,
        tools: Iterable[ToolSpec] = MATH_TOOLS,
        functions: dict[str, Callable[..., Json]] | None = None,
    ) -> None:
        """Offer `tools`; `functions` (by tool name) take the arguments in schema order."""
        self.catalog = ToolCatalog(tools)
        self.functions = MATH_FUNCTIONS if functions is None else functions
        self.calls: list[tuple[str, JsonObject]] = []
        self.together = 0
        self.most_together = 0

    def call(self, tool: ToolSpec, arguments: JsonObject) -> Json:
        """Call a tool's function with the server's own arguments."""
        inner = arguments
        if tool.wrapper is not None:
            wrapped_arguments = arguments[tool.wrapper]
            assert isinstance(wrapped_arguments, dict)
            inner = wrapped_arguments
        self.calls.append((tool.name, inner))
        given = [inner[p.name] for p in tool.parameters if p.name in inner]
        return self.functions[tool.name](*given)

    def namespace(self) -> dict[str, object]:
        """The globals of a plan."""
        tools = types.SimpleNamespace()
        for tool in self.catalog:
            place: object = tools
            *servers, name = self.catalog.plan_name(tool).split(".")
            for server in servers:
                if not hasattr(place, server):
                    setattr(place, server, types.SimpleNamespace())
                place = getattr(place, server)
            setattr(place, name, self._function(tool))
        return {"tools": tools}

    def _function(self, tool: ToolSpec) -> Callable[..., object]:
        async def function(*args: Json, **kwargs: Json) -> Json:
            self.together += 1
            self.most_together = max(self.most_together, self.together)
            await asyncio.sleep(0)  # lets the calls that were started together start
            self.together -= 1
            return self.call(tool, tool.bind(args, kwargs))

        return function

    def inputs(self, request: str, **changes: Any) -> DecisionInputs:  # any field of the inputs
        """Decision inputs for a request, with these fields changed."""
        return replace(DecisionInputs(request, self.catalog, PerceptionResult()), **changes)

    async def run(self, request: str, **changes: Any) -> Outcome:
        """Plan a request and, if there is a plan, really run it; its next step, too."""
        inputs = self.inputs(request, **changes)
        reply = await offline_reply(ModelRequest("decision", "", inputs))
        if reply.declined:
            made = tuple(self.calls) if changes.get("observation") else ()
            return Outcome(declined=True, text=reply.text, calls=made)
        self.calls.clear()
        namespace = self.namespace() | {text.name: text.text for text in inputs.texts}
        exec(compile(reply.text, "<plan>", "exec"), namespace)  # noqa: S102 - the plan is the thing under test
        solve = cast("Callable[[], Awaitable[str]]", namespace["solve"])
        async with asyncio.timeout(PLAN_TIMEOUT_SECONDS):
            result = await solve()
        if result.startswith(FURTHER_PROCESSING):
            observation = result.removeprefix(FURTHER_PROCESSING).strip()
            return await self.run(request, **{**changes, "observation": observation, "step": 2})
        assert result.startswith(FINAL_ANSWER)
        answer = result.removeprefix(FINAL_ANSWER).strip()
        return Outcome(declined=False, text=reply.text, answer=answer, calls=tuple(self.calls))


async def offline_reply(request: ModelRequest) -> ModelReply:
    """What the offline planner says to a request."""
    model = OfflineModel()
    return await collect_reply(model, model.stream(request))


def history(*answers: str) -> tuple[Exchange, ...]:
    """A session in which these were the answers."""
    return tuple(Exchange(f"request {n}", answer) for n, answer in enumerate(answers))
