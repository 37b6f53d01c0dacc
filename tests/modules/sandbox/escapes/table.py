"""The escape table: every attempt, by family, and what it needs to run.

    with Planted() as planted:
        for attempt in ATTEMPTS:
            output = …  # of an executor that ran `planted.fill(attempt)`
            obtained = planted.proofs(output)

`Attempt` says what an executor's output is. Sources are our own; the ways they go are those of
published escapes: Jinja's server-side template injections, pysandbox, RestrictedPython
(CVE-2023-37271, CVE-2023-41039, CVE-2024-47532, CVE-2025-22153), asteval, smolagents, n8n's Python
nodes, langflow (CVE-2025-3248), and the "pyjail" riddles of a decade.
"""

from tests.modules.sandbox.escapes.attempt import Attempt, Proof
from tests.modules.sandbox.escapes.families import (
    attributes,
    builtin_names,
    descriptors,
    exhaustion,
    formats,
    frames,
    imports,
    library,
    loaders,
    module_attributes,
    monkeypatching,
    pickling,
    results,
    tool_names,
    unicode_names,
)
from tests.modules.sandbox.escapes.planted import Planted

__all__ = ["ATTEMPTS", "FAMILIES", "Attempt", "Planted", "Proof"]

ATTEMPTS: tuple[Attempt, ...] = (
    *attributes.ATTEMPTS,
    *formats.ATTEMPTS,
    *frames.ATTEMPTS,
    *builtin_names.ATTEMPTS,
    *imports.ATTEMPTS,
    *module_attributes.ATTEMPTS,
    *library.ATTEMPTS,
    *loaders.ATTEMPTS,
    *unicode_names.ATTEMPTS,
    *descriptors.ATTEMPTS,
    *pickling.ATTEMPTS,
    *monkeypatching.ATTEMPTS,
    *results.ATTEMPTS,
    *exhaustion.ATTEMPTS,
    *tool_names.ATTEMPTS,
)
"""Every attempt; the order is that of the families."""

FAMILIES: tuple[str, ...] = tuple(dict.fromkeys(attempt.family for attempt in ATTEMPTS))
"""The families, in the order of the table."""
