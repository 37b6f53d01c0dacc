"""One attempt to escape, and how a family's text of many is read."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Proof: TypeAlias = Literal["file", "environment", "socket", "process"]
"""What an escape shows: it read the secret file or variable, connected, started a process."""

_HEADER = re.compile(r"^#: (\w+) \| (.+)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A plan that tries to get out.

    Attributes:
        family: The way it goes, as in "attribute walks".
        name: Which of them it is; unique in its family.
        proof: What it tries for. A run that yields another proof has escaped too.
        source: A complete plan text that defines `solve`, a plain or a coroutine function, with
            placeholders that `Planted.fill` replaces. What it finds it returns, prints or raises:
            an executor's output is all of that as text, the value both as `json.dumps(value,
            default=str)` (where that works) and as `str(value)`, because that is what hosts do.
        needs_tools: Whether it is about `tools`, `mcp` and what is behind them, which others lack.
    """

    family: str
    name: str
    proof: Proof
    source: str
    needs_tools: bool = False


def read_family(family: str, text: str, *, needs_tools: bool = False) -> tuple[Attempt, ...]:
    """The attempts in a text of plans, each below a line `#: proof | name`."""
    return tuple(
        Attempt(family, name, proof, source, needs_tools) for proof, name, source in _plans(text)
    )


def _plans(text: str) -> Iterator[tuple[Proof, str, str]]:
    _, *fields = _HEADER.split(text)
    for proof, name, source in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        yield as_proof(proof), name, source


def as_proof(word: str) -> Proof:
    """A word as the proof that it names; raises `ValueError` for any other."""
    for proof in get_args(Proof):
        if word == proof:
            return proof
    raise ValueError(f"{word} is no proof; they are {', '.join(get_args(Proof))}")
