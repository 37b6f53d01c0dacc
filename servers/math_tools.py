"""The tools of the math server, each a line over `servers.math.arithmetic`.

A docstring here is the tool's description: one sentence with the words that people use for it,
because planners read it and rank tools by its words. The pure tools are coroutines, so that the
SDK runs them at once and not on a worker thread; each ends within milliseconds.
"""

import base64
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, ImageContent, TextContent

from servers.math import arithmetic
from servers.schemas import (
    AddInput,
    AngleInput,
    CbrtInput,
    DivideInput,
    FactorialInput,
    FibonacciInput,
    MultiplyInput,
    NumberOutput,
    NumbersInput,
    PowerInput,
    RemainderInput,
    StringInput,
    SubtractInput,
    ThumbnailInput,
    ThumbnailOutput,
    ThumbnailSize,
    WholeNumberOutput,
    WholeNumbersOutput,
)
from servers.tooling import read_only_tools


async def add(input: AddInput) -> NumberOutput:
    """Add two numbers: the sum a + b."""
    return NumberOutput(result=arithmetic.add(input.a, input.b))


async def subtract(input: SubtractInput) -> NumberOutput:
    """Subtract one number from another: the difference a - b (a minus b)."""
    return NumberOutput(result=arithmetic.subtract(input.a, input.b))


async def multiply(input: MultiplyInput) -> NumberOutput:
    """Multiply two numbers: the product a * b (a times b)."""
    return NumberOutput(result=arithmetic.multiply(input.a, input.b))


async def divide(input: DivideInput) -> NumberOutput:
    """Divide one number by another: the quotient a / b as a decimal number."""
    return NumberOutput(result=arithmetic.divide(input.a, input.b))


async def power(input: PowerInput) -> NumberOutput:
    """Raise a number to a power: a to the exponent b (square: b = 2, square root: b = 0.5)."""
    return NumberOutput(result=arithmetic.power(input.a, input.b))


async def cbrt(input: CbrtInput) -> NumberOutput:
    """Compute the cube root (third root) of a number."""
    return NumberOutput(result=arithmetic.cbrt(input.a))


async def factorial(input: FactorialInput) -> WholeNumberOutput:
    """Compute the factorial a! of a whole number."""
    return WholeNumberOutput(result=arithmetic.factorial(input.a))


async def remainder(input: RemainderInput) -> NumberOutput:
    """Compute the remainder of a division: a modulo b (a mod b, a % b)."""
    return NumberOutput(result=arithmetic.remainder(input.a, input.b))


async def sin(input: AngleInput) -> NumberOutput:
    """Compute the sine of an angle in radians."""
    return NumberOutput(result=arithmetic.sin(input.a))


async def cos(input: AngleInput) -> NumberOutput:
    """Compute the cosine of an angle in radians."""
    return NumberOutput(result=arithmetic.cos(input.a))


async def tan(input: AngleInput) -> NumberOutput:
    """Compute the tangent of an angle in radians."""
    return NumberOutput(result=arithmetic.tan(input.a))


async def strings_to_chars_to_int(input: StringInput) -> WholeNumbersOutput:
    """Convert the characters of a string to their ASCII (Unicode) codes, a list of integers."""
    return WholeNumbersOutput(result=arithmetic.character_codes(input.string))


async def int_list_to_exponential_sum(input: NumbersInput) -> NumberOutput:
    """Sum the exponentials of a list of numbers: e to the power of each, added up."""
    return NumberOutput(result=arithmetic.exponential_sum(input.numbers))


async def fibonacci_numbers(input: FibonacciInput) -> WholeNumbersOutput:
    """List the first n Fibonacci numbers, the sequence 0, 1, 1, 2, 3."""
    return WholeNumbersOutput(result=arithmetic.fibonacci(input.n))


# Not a coroutine: decoding takes a while, and the SDK gives plain functions a worker thread.
def create_thumbnail(input: ThumbnailInput) -> Annotated[CallToolResult, ThumbnailOutput]:
    """Create a thumbnail of an image file (picture, photo): a PNG of at most 100x100 pixels."""
    from servers.math.thumbnail import make_thumbnail  # most requests want no picture

    thumbnail = make_thumbnail(input.image_path)
    output = ThumbnailOutput(
        result=ThumbnailSize(
            width=thumbnail.width,
            height=thumbnail.height,
            original_width=thumbnail.original_width,
            original_height=thumbnail.original_height,
            size_bytes=len(thumbnail.png),
        )
    )
    return CallToolResult(
        content=[
            TextContent(type="text", text=output.model_dump_json()),
            ImageContent(
                type="image",
                data=base64.b64encode(thumbnail.png).decode("ascii"),
                mime_type="image/png",
            ),
        ],
        structured_content=output.model_dump(mode="json"),
    )


def math_tools() -> list[Tool]:
    """All tools of the math server, in the order in which they are listed."""
    return read_only_tools(
        [
            add,
            subtract,
            multiply,
            divide,
            power,
            cbrt,
            factorial,
            remainder,
            sin,
            cos,
            tan,
            strings_to_chars_to_int,
            int_list_to_exponential_sum,
            fibonacci_numbers,
            create_thumbnail,
        ]
    )


def build_server() -> MCPServer:
    """The server with its tools."""
    return MCPServer(
        "math",
        title="Cortex-R math server",
        instructions="Exact whole-number and decimal arithmetic; angles are in radians.",
        tools=math_tools(),
        log_level="WARNING",
    )
