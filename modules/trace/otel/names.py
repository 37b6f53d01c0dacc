"""What spans, their attributes and events, and metrics are called; the page of docs/ lists them.

Most names are those of OpenTelemetry's conventions for generative AI, version 1.41.1. That is the
last release that has them: since 1.42 they are worked on in a repository of their own
(semantic-conventions-genai), which had released nothing in November 2026. Backends read 1.41.
What the conventions have no name for begins with `cortex_r.`.
"""

from typing import Final

from core.base.frozen import frozen

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.41.1"

SCOPE: Final = "cortex-r"
"""Name of the instrumentation scope, and of the service where nobody gives it another."""

# Operations, each the beginning of a span's name.

INVOKE_AGENT: Final = "invoke_agent"
INVOKE_WORKFLOW: Final = "invoke_workflow"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"

# Attributes of the conventions.

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT_ID: Final = "gen_ai.agent.id"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_VERSION: Final = "gen_ai.agent.version"
CONVERSATION: Final = "gen_ai.conversation.id"
MODEL: Final = "gen_ai.request.model"
FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHED_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105 - a name, and no secret
TOOL: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
CALL_ID: Final = "gen_ai.tool.call.id"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
CALL_RESULT: Final = "gen_ai.tool.call.result"
ERROR_TYPE: Final = "error.type"
SESSION: Final = "session.id"
USER: Final = "user.id"

# Beside the conventions. Langfuse reads the cost under this name.

COST: Final = "gen_ai.usage.cost"
REQUEST_ID: Final = "cortex_r.request.id"
PROFILE: Final = "cortex_r.profile"
INTENT: Final = "cortex_r.intent"
ACTION: Final = "cortex_r.action"
STATUS: Final = "cortex_r.run.status"
PURPOSE: Final = "cortex_r.model.purpose"
SUBTASK: Final = "cortex_r.subtask.id"
ATTEMPT: Final = "cortex_r.attempt"
STEP: Final = "cortex_r.step"
STATE: Final = "cortex_r.state"
KEPT: Final = "cortex_r.tool.kept"
COUNT: Final = "cortex_r.count"
TEXT: Final = "cortex_r.text"
SECONDS: Final = "cortex_r.seconds"

# Events of spans.

PLAN_WRITTEN: Final = "cortex_r.plan.written"
PLAN_REPAIRED: Final = "cortex_r.plan.repaired"
PLAN_FAILED: Final = "cortex_r.plan.failed"
CLARIFIED: Final = "cortex_r.clarified"
MODEL_RETRIED: Final = "cortex_r.model.retried"
MODEL_REPLACED: Final = "cortex_r.model.replaced"
SUBTASK_ENDED: Final = "cortex_r.subtask.ended"
REPLANNED: Final = "cortex_r.replanned"
JUDGED: Final = "cortex_r.judged"

# Values of `error.type` beside the statuses of runs.

TOOL_ERROR: Final = "tool_error"
REFUSED: Final = "refused"
UNAVAILABLE: Final = "model_unavailable"
UNFINISHED: Final = "unfinished"

PROVIDERS: Final = {
    "gemini": "gcp.gemini",
    "openai": "openai",
    "anthropic": "anthropic",
}
"""The conventions' names of providers, by our backends; of others it is the backend's own name."""


@frozen
class MetricName:
    """A metric; `buckets` are the upper bounds of a histogram's, and a counter has none."""

    name: str
    unit: str
    description: str
    buckets: tuple[float, ...] = ()


_SECONDS: Final = tuple(0.01 * 2**power for power in range(14))
"""The conventions' buckets for durations: 0.01 to 81.92 s."""

TOKEN_USAGE: Final = MetricName(
    "gen_ai.client.token.usage",
    "{token}",
    "Tokens of a request to a model, read or written.",
    tuple(float(4**power) for power in range(14)),
)
DURATION: Final = MetricName(
    "gen_ai.client.operation.duration",
    "s",
    "How long a run, a part of it, a request to a model or a tool call took.",
    _SECONDS,
)
TIME_TO_FIRST_CHUNK: Final = MetricName(
    "gen_ai.client.operation.time_to_first_chunk",
    "s",
    "How long a model took to its first token.",
    _SECONDS,
)
SPENT: Final = MetricName(
    "cortex_r.cost", "{USD}", "US dollars that models took, where their price is known."
)
