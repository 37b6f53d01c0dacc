"""What a run's model does, in words: a line an event."""

from core.events import ModelAnswered, ModelAsked, ModelEvent, ModelReplaced, ModelRetried
from core.turn import Usage
from modules.memory import Activity
from modules.terminal.printing import one_line

REASON_CHARACTERS = 300
"""How much of a model's trouble one line shows."""


def model_lines(event: ModelEvent, *, is_verbose: bool) -> list[tuple[str, str]]:
    """The (stage, text) pairs that an event is worth; what is written live is none of them."""
    match event:
        case ModelRetried(model, reason, attempt, pause):
            return [("model", f"{_short(reason)}; try {attempt + 1} of {model} in {pause:.1f} s")]
        case ModelReplaced(_, successor, reason):
            return [("model", f"{_short(reason)}; {successor} takes over")]
        case ModelAsked(model, purpose):
            return [("model", f"asks {model} for {purpose}")] if is_verbose else []
        case ModelAnswered():
            return [("model", _answered(event))] if is_verbose else []
        case _:
            return []


def usage_text(usage: Usage) -> str:
    """`2,103 tokens read (2,000 cached), 54 written, $0.0012`."""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    text = f"{usage.input_tokens:,} tokens read{cached}, {usage.output_tokens:,} written"
    if usage.cost:
        text += f", ${usage.cost:.4f}" if usage.cost >= 0.0001 else ", under $0.0001"
    if usage.unpriced_calls:
        text += ", price unknown" if not usage.cost else " and calls without a known price"
    return text


def activity_text(done: Activity) -> str:
    """`2 requests; 3 plans, 1.20 s; 4 tool calls, 0.80 s`."""
    parts = [
        _counted(done.requests, "request"),
        f"{_counted(done.plans, 'plan')}, {done.seconds:.2f} s",
        f"{_counted(done.calls, 'tool call')}, {done.call_seconds:.2f} s",
    ]
    return "; ".join(parts)


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _answered(event: ModelAnswered) -> str:
    first = event.first_token_seconds
    began = f", first token after {first:.2f} s" if first is not None else ""
    used = f"; {usage_text(event.usage)}" if event.usage.tokens else ""
    return f"{event.model}: {event.purpose} in {event.seconds:.2f} s{began}{used}"


def _short(text: str) -> str:
    """On one line: a service's words must not look like lines of ours."""
    return one_line(text, REASON_CHARACTERS)
