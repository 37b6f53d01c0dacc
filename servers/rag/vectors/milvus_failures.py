"""What goes wrong with Milvus, in one line."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from servers.rag.vectors.errors import VectorsUnavailable

REASON_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Failures:
    """The exceptions of pymilvus and of grpc (when a deadline passes), and where Milvus is."""

    types: tuple[type[Exception], ...]
    told: str

    @contextmanager
    def told_plainly(self) -> Generator[None]:
        """Turn what a call of Milvus raises into one line.

        Raises:
            VectorsUnavailable: the call failed.
        """
        try:
            yield
        except self.types as error:
            raise VectorsUnavailable(
                f"Milvus at {self.told} can't be used now ({reason(error)}); "
                "search goes on by words. Is it up and reachable?"
            ) from error


def reason(error: Exception) -> str:
    """The first line of what an exception of theirs says."""
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    return str(message).strip().partition("\n")[0][:REASON_CHARACTERS]
