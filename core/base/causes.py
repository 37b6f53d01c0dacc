"""What stands behind an exception."""

from collections.abc import Iterator
from typing import cast


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error and everything that stands behind it, also in groups, each once."""
    waiting, seen = [error], set[int]()
    while waiting:
        cause = waiting.pop()
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", cause).exceptions
        waiting += [before for before in (cause.__cause__, cause.__context__) if before is not None]
