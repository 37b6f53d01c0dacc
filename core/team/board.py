"""The whiteboard: what a team knows in common, written by the coordinator alone."""

from typing import Literal, TypeAlias

from core.base.frozen import frozen

Topic: TypeAlias = Literal["mission", "progress", "blockers", "decisions", "facts"]


@frozen
class BoardEntry:
    """What stands under a key of a topic.

    Attributes:
        value: "" where it was taken off the whiteboard.
        who: whose word it is: `user`, `coordinator`, or a role.
        version: how often it was written, from 1.
        time: Unix time in seconds.
        source: where it comes from, such as a document or a page; "" for a memory or an opinion.
    """

    topic: Topic
    key: str
    value: str
    who: str
    version: int
    time: float
    source: str = ""
