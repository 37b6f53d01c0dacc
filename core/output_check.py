"""Which results are checked against their tool's output schema (MCP 2025-11-25, "Output Schema").

Schema and result both come from the server, and the checker runs on the event loop: a regular
expression that backtracks, or references that fan out, would hold it for ever. So only schemas
without such parts are used, and only on results for which the check is quick.
"""

from collections.abc import Iterator

from core.values import Json, JsonObject

CHECK_STEPS_MAX = 100_000
"""Values of a schema times values of a result; a step takes some microseconds."""

_UNBOUNDED = frozenset(
    {
        *("$ref", "$dynamicRef", "$recursiveRef", "$schema", "$id", "extends", "uniqueItems"),
        *("pattern", "patternProperties", "unevaluatedItems", "unevaluatedProperties"),
    }
)
"""Keywords whose cost does not follow from the sizes of schema and value, or that change others."""


def steps_to_check(schema: JsonObject | None) -> int | None:
    """How many steps a schema takes at most for one value; None if it is not to be used."""
    if schema is None:
        return None
    steps = 0
    for value in _values(schema):
        steps += 1
        if steps > CHECK_STEPS_MAX or (
            isinstance(value, dict) and not _UNBOUNDED.isdisjoint(value)
        ):
            return None
    return steps


def is_cheap_to_check(content: Json, steps: int) -> bool:
    """Whether a value is small enough for a schema that takes `steps` for each of its parts."""
    left = CHECK_STEPS_MAX
    for _ in _values(content):
        left -= steps
        if left < 0:
            return False
    return True


def _values(root: Json) -> Iterator[Json]:
    """A value and all values in it; copies nothing, so that the reader may stop at any time."""
    waiting: list[Iterator[Json]] = [iter([root])]
    while waiting:
        for value in waiting[-1]:
            yield value
            if isinstance(value, dict | list):
                waiting.append(iter(value.values() if isinstance(value, dict) else value))
                break
        else:
            waiting.pop()
