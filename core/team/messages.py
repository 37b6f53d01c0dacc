"""What those who work on a request say to each other: every exchange is one typed message."""

from typing import Literal, TypeAlias

from core.base.frozen import frozen

MessageKind: TypeAlias = Literal[
    "task",  # the coordinator hands out a subtask
    "result",  # a worker's result
    "failure",  # why a worker has none
    "suggestion",  # what a worker would write on the whiteboard
    "bid",  # how well a role fits a subtask, and what it would take
    "vote",  # a committee member's answer, or whose answer it prefers
    "verdict",  # what a reviewer or the reflection thinks of a result
    "question",  # what a person is asked: for leave, or for something to go on with
    "answer",  # what the person says, or what stands for it
]


@frozen
class Message:
    """One exchange.

    Attributes:
        sender: who says it: `coordinator`, or a role.
        receiver: to whom; None for everybody.
        correlation: the id of the subtask that it is about, or "" for the whole request.
        time: Unix time in seconds.
        path: the ids of the tasks through which a task was handed on, oldest first.
    """

    sender: str
    receiver: str | None
    kind: MessageKind
    correlation: str
    text: str
    time: float
    path: tuple[str, ...] = ()
