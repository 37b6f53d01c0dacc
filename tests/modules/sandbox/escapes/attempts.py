"""The escape tables: every attempt, by family, and what it needs to run.

    with Planted() as planted:
        for attempt in ATTEMPTS:
            output = …  # of an executor that ran `planted.fill(attempt)`
            obtained = planted.proofs(output)

`Attempt` says what an executor's output is. Sources are our own; the ways they go are those of
published escapes: Jinja's server-side template injections, pysandbox, RestrictedPython
(CVE-2023-37271, CVE-2023-41039, CVE-2024-47532, CVE-2025-22153), asteval, smolagents, n8n's Python
nodes, langflow (CVE-2025-3248), and the "pyjail" riddles of a decade.

They are kept as text, a family a file in `attempts/`: its name, what it is about, and each attempt
below a line `#: proof | name`. Those of `system_calls.txt` are bodies of `solve` below the same
beginning: what machine code in a worker could ask of the kernel. They are for x86-64 only, because
the calls are made by number (the kernel's `syscall_64.tbl`, and `syscall_32.tbl` where a source
says so). What leaves no trace outside is claimed: `process` for everything that a process which
only computes has no need of. Such an attempt may also harm: end or change the stand-in for the
host, spoil the secret file.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

Proof: TypeAlias = Literal["file", "environment", "socket", "process"]
"""What an escape shows: it read the secret file or variable, connected, started a process."""

HERE = Path(__file__).parent

HELD_BY_SECCOMP: frozenset[Proof] = frozenset({"socket", "process"})
"""What seccomp must hold alone, besides all harm; it lets files be opened for reading."""

HELD_BY_LANDLOCK: frozenset[Proof] = frozenset({"file", "environment"})
"""What Landlock must hold alone; it knows nothing of processes, and of sockets only TCP."""

_NEEDS_TOOLS = "name confusion of tools"
"""The family that is about `tools`, `mcp` and what is behind them."""

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
        needs_tools: Whether it is about tools, which executors other than ours lack.
    """

    family: str
    name: str
    proof: Proof
    source: str
    needs_tools: bool = False


def _plans(file: Path) -> Iterator[tuple[str, str, Proof, str]]:
    """What stands at the top of a file, and of each attempt below its name, proof and source."""
    head, *fields = _HEADER.split(file.read_text(encoding="utf-8"))
    for word, name, source in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        (proof,) = (known for known in get_args(Proof) if known == word)
        yield head, name, proof, source


def _family(file: Path) -> Iterator[Attempt]:
    for head, name, proof, source in _plans(file):
        family = head.partition("\n")[0]
        yield Attempt(family, name, proof, source, needs_tools=family == _NEEDS_TOOLS)


def _system_calls() -> Iterator[Attempt]:
    for beginning, name, proof, body in _plans(HERE / "system_calls.txt"):
        source = f"{beginning}\ndef solve():\n{textwrap.indent(body, '    ')}"
        yield Attempt("system calls", name, proof, source)


ATTEMPTS = tuple(
    attempt for file in sorted((HERE / "attempts").glob("*.txt")) for attempt in _family(file)
)
"""Every attempt in Python, family by family."""

FAMILIES = tuple(dict.fromkeys(attempt.family for attempt in ATTEMPTS))

NATIVE_ATTEMPTS = tuple(_system_calls())
"""Every attempt by raw system calls."""
