"""How many tokens a backend lets its model write."""

from core.ports import ModelRequest


def output_limit(
    request: ModelRequest, entry_tokens: int | None, thinking_tokens: int = 0
) -> int | None:
    """The least of all that bounds a reply, thinking included; None where nothing does.

    A request says what its text needs, and `thinking_tokens` come on top of that. What may be
    billed is final: `hard_output_tokens`, and the entry's `max_output_tokens` as `entry_tokens`.
    """
    text = request.max_output_tokens
    needed = None if text is None else text + thinking_tokens
    limits = (needed, request.hard_output_tokens, entry_tokens)
    return min((limit for limit in limits if limit is not None), default=None)
