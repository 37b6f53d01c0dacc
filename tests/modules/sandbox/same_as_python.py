"""Runs expressions and plans in the sandbox and in Python, and tells where the results differ.

    python -m tests.modules.sandbox.same_as_python 20000 [seed]

compares so many drawn ones and lists each template that gives something else, with an example.
"""

import asyncio
import random
import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from core.tools.catalog import ToolCatalog
from modules.sandbox import Sandbox
from tests.modules.sandbox.python_corpus import drawn, expressions, plans
from tests.modules.sandbox.sandbox_tools import Tools

IMPORTS = """\
import math, statistics, re, json, itertools, functools, bisect, hashlib, base64, unicodedata
import string
from decimal import Decimal
from datetime import date, datetime, timedelta
from collections import Counter
"""

PER_PLAN = 20
"""Samples that one plan runs: it may be 12 KB long."""

_FLOAT = re.compile(r"\b\d+\.\d+(?:e[+-]?\d+)?\b")

NOT_RUN = "not run"

ERRORS = {"error": "PatternError"}
"""What an exception is called since Python 3.13."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Lines that bind `x`, and the template that they were drawn from."""

    template: str
    lines: str

    @classmethod
    def of(cls, template: str, rng: random.Random) -> "Sample":
        """Draw one; a template without an assignment to `x` is an expression."""
        lines = drawn(template, rng)
        return cls(template, lines if template in _PLANS else f"x = ({lines})")


@dataclass(frozen=True, slots=True)
class Difference:
    """What a sample gives in Python and in the sandbox: a value's repr, or `!` and an error."""

    sample: Sample
    python: str
    sandbox: str


_PLANS = frozenset(plans())


def in_python(lines: str) -> str:
    """What Python makes of the lines; they are of this test's own corpus or tables."""
    names: dict[str, object] = {}
    with warnings.catch_warnings(action="ignore"):
        try:
            exec(IMPORTS + lines, names)  # noqa: S102 - our own corpus
            return repr(names["x"])
        except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
            return f"!{ERRORS.get(type(error).__name__, type(error).__name__)}"


async def in_sandbox(sandbox: Sandbox, many: Sequence[str]) -> list[str]:
    """What plans make of the lines, one after the other."""
    tries = "".join(
        f"    try:\n{_indented(lines)}\n        out.append(repr(x))\n"
        "    except Exception as error:\n        out.append(f'!{type(error).__name__} {error}')\n"
        for lines in many
    )
    plan = f"{IMPORTS}async def solve():\n    out = []\n{tries}    return out\n"
    ran = await sandbox.run(plan, ToolCatalog([]), Tools())
    if isinstance(ran.value, list):
        return [str(value) for value in ran.value]
    if len(many) == 1:
        return [f"!{ran.failure.message if ran.failure else NOT_RUN}"]
    return [(await in_sandbox(sandbox, [lines]))[0] for lines in many]


async def differences(sandbox: Sandbox, samples: Sequence[Sample]) -> list[Difference]:
    """The samples whose values differ, or that fail in one of the two alone."""
    found: list[Difference] = []
    for start in range(0, len(samples), PER_PLAN):
        chunk = [sample for sample in samples[start : start + PER_PLAN] if _compiles(sample.lines)]
        ours = await in_sandbox(sandbox, [sample.lines for sample in chunk])
        for sample, sandboxed in zip(chunk, ours, strict=True):
            python = in_python(sample.lines)
            if not _agree(python, sandboxed):
                found.append(Difference(sample, python, sandboxed))
    return found


def _agree(python: str, sandboxed: str) -> bool:
    if not python.startswith("!"):
        return _numbers(python) == _numbers(sandboxed)
    error = sandboxed[1:].partition(" ")[0].partition(":")[0]
    return sandboxed.startswith("!") and ERRORS.get(error, error) == python[1:]


def _numbers(shown: str) -> str:
    """A repr with its floats to 12 digits: C libraries differ in the last, and `sum` by version.

    A class of a function has the function's name there.
    """
    rounded = _FLOAT.sub(lambda found: f"{float(found[0]):.12g}", shown)
    return rounded.replace("solve.<locals>.", "")


def _compiles(lines: str) -> bool:
    with warnings.catch_warnings(action="ignore"):
        try:
            compile(lines, "<sample>", "exec")
        except SyntaxError:
            return False
        return True


def _indented(lines: str) -> str:
    return "\n".join(f"        {line}" for line in lines.split("\n"))


async def _main(count: int, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - samples
    templates = [*expressions(), *plans()]
    samples = [Sample.of(templates[n % len(templates)], rng) for n in range(count)]
    async with Sandbox() as sandbox:
        found = await differences(sandbox, samples)
    by_template: dict[str, list[Difference]] = {}
    for difference in found:
        by_template.setdefault(difference.sample.template, []).append(difference)
    print(f"{count} samples, {len(found)} differ, in {len(by_template)} templates")  # noqa: T201
    for template, many in by_template.items():
        loud = all(d.sandbox.startswith("!") for d in many)
        first = min(many, key=lambda d: d.sandbox.startswith("!"))
        print(f"{'loud' if loud else 'SILENT'} {len(many)}: {template}")  # noqa: T201
        print(f"    {first.sample.lines}\n    {first.python}\n    {first.sandbox}")  # noqa: T201


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))
