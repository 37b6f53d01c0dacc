"""The plan sandbox: `Sandbox` runs a plan whose only way out is a tool call.

`pool` is the event-loop side, `session` and `workers` the thread side (they alone import the
interpreter), `walls` what the kernel adds, `host_functions` what a plan may call, `language` the
Python that a plan finds, `limits` its bounds.
"""

from modules.sandbox.limits import MAX_TOOL_CALLS_PER_PLAN, SandboxLimits, SandboxResult
from modules.sandbox.pool import MAX_PARALLEL_PLANS, Sandbox, limits_of

__all__ = [
    "MAX_PARALLEL_PLANS",
    "MAX_TOOL_CALLS_PER_PLAN",
    "Sandbox",
    "SandboxLimits",
    "SandboxResult",
    "limits_of",
]
