"""What the user demands of requests: a schema, a time, tools."""

from core.base.frozen import frozen
from modules.planning.answer_schema import AnswerSchema


@frozen
class Demands:
    """What the user demands of each request, beside the request itself.

    The answer must validate against `answer_schema`. After `timeout_seconds` the run ends without
    one; `timeout_origin` names what sets that time. `tools` are the only ones that it may use, by
    their names or those of their servers; else all but those of the server `without` may be used.
    """

    answer_schema: AnswerSchema | None = None
    timeout_seconds: float | None = None
    tools: tuple[str, ...] | None = None
    without: str | None = None
    timeout_origin: str = "--timeout"
