"""Python that plans find in the sandbox: modules that the interpreter lacks, or has otherwise.

Their sources stand in `plan_modules`, written in what the interpreter knows of Python.
"""

import re
import textwrap
from functools import cache
from pathlib import Path
from types import MappingProxyType

NEEDS_TASKS = re.compile(
    r"\b(?:create_task|ensure_future|wait_for|return_exceptions|shield|to_thread"
    r"|asyncio\s*\.\s*TimeoutError)\b"
)
"""What a plan writes that the interpreter's own `asyncio` hasn't got."""

PROVIDED_MODULES = MappingProxyType(
    {
        "asyncio": (
            *("TimeoutError", "awaited", "create_task", "ended", "ensure_future", "gather"),
            *("run", "shield", "sleep", "to_thread", "wait_for"),
        ),
        "re": (
            *("A", "ASCII", "DOTALL", "I", "IGNORECASE", "M", "MULTILINE", "Match", "NOFLAG"),
            *("Pattern", "PatternError", "S", "compile", "error", "escape", "findall"),
            *("finditer", "fullmatch", "match", "search", "split", "sub", "subn"),
        ),
        "statistics": (
            *("StatisticsError", "correlation", "covariance", "fmean", "geometric_mean"),
            *("harmonic_mean", "linear_regression", "mean", "median", "median_high"),
            *("median_low", "mode", "multimode", "pstdev", "pvariance", "quantiles", "stdev"),
            "variance",
        ),
        "string": (
            *("ascii_letters", "ascii_lowercase", "ascii_uppercase", "capwords", "digits"),
            *("hexdigits", "octdigits", "printable", "punctuation", "whitespace"),
        ),
    }
)
"""What each of these modules has."""

_SOURCES = Path(__file__).with_name("plan_modules")


def provided_name(module: str) -> str:
    """What the object that stands for a module is called in the sandbox."""
    return f"__provided_{module}__"


def provided_source(module: str, recursion_error: str, stop: str) -> str:
    """The Python that makes a provided module, to be fed before a plan that imports it.

    What catches exceptions in it calls `stop` for a `recursion_error`, as the guard has it.
    """
    builder = f"__provide_{module}__"
    offer = "".join(f"    module.{name} = {name}\n" for name in PROVIDED_MODULES[module])
    source = _body(module)
    if module == "asyncio":
        source = source.format(recursion_error=recursion_error, stop=stop)
    return (
        f"def {builder}():\n{source}"
        f"    module = {module}()\n{offer}    return module\n"
        f"{provided_name(module)} = {builder}()\n"
    )


@cache
def _body(module: str) -> str:
    """A module's source as the body of a function, without the comment at its head."""
    text = (_SOURCES / f"{module}.txt").read_text(encoding="utf-8")
    return textwrap.indent(text.partition("\n\n")[2], "    ")
