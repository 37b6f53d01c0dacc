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

# Attributes of the conventions. Each text says where it is set, and what it is; `contents` is set
# where they are asked for alone.

OPERATION: Final = "gen_ai.operation.name"
"""All: the operation, with which the span's name begins."""
PROVIDER: Final = "gen_ai.provider.name"
"""All but tools: who runs the model; `offline` for the planner without one."""
AGENT_ID: Final = "gen_ai.agent.id"
"""Run: `agent.id` of the profile."""
AGENT_NAME: Final = "gen_ai.agent.name"
"""Run, part: `agent.name` of the profile; of a part, its role."""
AGENT_VERSION: Final = "gen_ai.agent.version"
"""Run: the version of Cortex-R."""
CONVERSATION: Final = "gen_ai.conversation.id"
"""Run: the conversation, as its door names it, else the session."""
MODEL: Final = "gen_ai.request.model"
"""Model: the model, as its service names it."""
FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
"""Model: seconds to the first token, where the reply was streamed."""
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
"""Model: tokens read."""
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
"""Model: tokens written, thinking included."""
CACHED_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
"""Model: tokens read from the provider's cache, of those above."""
TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105 - a name, and no secret
"""Metric: `input` or `output`."""
TOOL: Final = "gen_ai.tool.name"
"""Tool: `server.tool`."""
TOOL_TYPE: Final = "gen_ai.tool.type"
"""Tool: `function`."""
CALL_ID: Final = "gen_ai.tool.call.id"
"""Tool: number of the call within its run; none of a call that was not sent."""
INPUT_MESSAGES: Final = "gen_ai.input.messages"
"""Run, model, contents: the request, or the prompt."""
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
"""Run, model, contents: the answer, or the reply."""
CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
"""Tool, contents: the arguments, as JSON."""
CALL_RESULT: Final = "gen_ai.tool.call.result"
"""Tool, contents: the result, as text or JSON."""
ERROR_TYPE: Final = "error.type"
"""All: what kind of error it ended in; see below."""
SESSION: Final = "session.id"
"""Run: the session's id, for `agent.py trace`."""
USER: Final = "user.id"
"""Run: who asked, where a door tells users apart."""

# Beside the conventions. Langfuse reads the cost under this name.

COST: Final = "gen_ai.usage.cost"
"""Model: US dollars, where the price is known; a name of Langfuse's."""
REQUEST_ID: Final = "cortex_r.request.id"
"""Run: the request, as its door names it."""
PROFILE: Final = "cortex_r.profile"
"""Run: the profile that it was answered by."""
INTENT: Final = "cortex_r.intent"
"""Run, contents: what perception made of the request."""
ACTION: Final = "cortex_r.action"
"""Run: how it was answered: `plan`, `graph`, `workflow`, `ask` or `answer`."""
STATUS: Final = "cortex_r.run.status"
"""Run, part: `done`, `no_answer`, `failed` or `interrupted`."""
PURPOSE: Final = "cortex_r.model.purpose"
"""Model: what it was asked for: `perception`, `decision`, `summary` or `text`."""
SUBTASK: Final = "cortex_r.subtask.id"
"""Part, event: the id of the subtask."""
ATTEMPT: Final = "cortex_r.attempt"
"""Part, event: which try it was, from 1."""
STEP: Final = "cortex_r.step"
"""Event: which step of the run, from 1."""
STATE: Final = "cortex_r.state"
"""Event: how a subtask ended, or what a result was judged to be."""
KEPT: Final = "cortex_r.tool.kept"
"""Tool: nothing was sent; a retry got the result of an earlier plan."""
COUNT: Final = "cortex_r.count"
"""Workflow, event: how many subtasks, or repairs."""
TEXT: Final = "cortex_r.text"
"""Event, contents: the plan, the repairs, the failure, or question and answer."""
SECONDS: Final = "cortex_r.seconds"
"""Event: the pause before a request is sent again."""

# Events of spans.

PLAN_WRITTEN: Final = "cortex_r.plan.written"
"""Event of a run or part: a model wrote a plan."""
PLAN_REPAIRED: Final = "cortex_r.plan.repaired"
"""Event of a run or part: mistakes in it were repaired before it ran."""
PLAN_FAILED: Final = "cortex_r.plan.failed"
"""Event of a run or part: it failed, and another is asked for."""
CLARIFIED: Final = "cortex_r.clarified"
"""Event of a run or part: a plan asked the user back."""
MODEL_RETRIED: Final = "cortex_r.model.retried"
"""Event of a model: the request failed, and is sent again."""
MODEL_REPLACED: Final = "cortex_r.model.replaced"
"""Event of a run or part: another model takes over for good."""
SUBTASK_ENDED: Final = "cortex_r.subtask.ended"
"""Event of a workflow: a subtask ended, also one that never began."""
REPLANNED: Final = "cortex_r.replanned"
"""Event of a workflow: a part of it was planned anew."""
JUDGED: Final = "cortex_r.judged"
"""Event of a workflow: the answer was held against the request."""

# Values of `error.type` beside the statuses of runs.

TOOL_ERROR: Final = "tool_error"
"""Error of a tool: it failed, or its server did."""
REFUSED: Final = "refused"
"""Error of a tool: nobody who is trusted asked for the call; nothing was sent."""
UNAVAILABLE: Final = "model_unavailable"
"""Error of a model: it could not answer."""
UNFINISHED: Final = "unfinished"
"""Error of all: nobody told of its end."""

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
