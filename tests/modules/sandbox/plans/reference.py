"""What CPython makes of each plan: `python -m tests.modules.sandbox.plans.reference` writes it.

`expected.json` keeps the outcomes and the version that gave them, so no test needs that Python.
`--python PATH` names the interpreter. Without it the newest `python3.N` on the path is taken.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypedDict, cast

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.json"
_HEADER = re.compile(r"^#% (?P<name>\w+)(?P<marks>( \w+=[\w.]+)*)$")
_NEWEST, _OLDEST = 16, 11


class Outcome(TypedDict, total=False):
    """How a plan ended: one of value, type and repr, error and line; and what it printed."""

    value: object
    """What it returned, where JSON gives the same value back."""
    type: str
    """The type's name of another value."""
    repr: str
    error: str
    """The name of the exception's type that the plan let escape."""
    line: int | None
    printed: str


@dataclass(frozen=True)
class Plan:
    """One plan of the corpus."""

    name: str
    kind: str
    """The name of its file: what it is about."""
    like: str
    """The family of models that writes so."""
    text: str
    needs: tuple[int, int] = (3, 11)
    """The oldest Python that gives the recorded outcome."""
    shape: str = "json"
    """`other` for a value that is none of JSON's."""
    limit: str = ""
    """What the plan uses that a sandbox may lack: threads, files, sqlite3, bz2."""
    slip: str = ""
    """What a model got wrong here and the agent may repair, such as a missing `await`."""


class Recorded(TypedDict):
    """What `expected.json` holds."""

    python: str
    plans: dict[str, Outcome]


def _plans_of(path: Path) -> Iterator[Plan]:
    """The plans of a file: each starts after a line `#% name like=…`, which is not part of it."""
    header: re.Match[str] | None = None
    lines: list[str] = []
    for line in [*path.read_text("utf-8").splitlines(), "#% end"]:
        found = _HEADER.match(line)
        if not found:
            lines.append(line)
            continue
        if header:
            marks = dict(mark.split("=") for mark in header["marks"].split())
            major, minor = marks.get("needs", "3.11").split(".")
            yield Plan(
                name=header["name"],
                kind=path.stem,
                like=marks["like"],
                text="\n".join(lines).rstrip() + "\n",
                needs=(int(major), int(minor)),
                shape=marks.get("shape", "json"),
                limit=marks.get("limit", ""),
                slip=marks.get("slip", ""),
            )
        header, lines = found, []


def plans() -> list[Plan]:
    """All plans, in the order of their files."""
    return [plan for path in sorted(HERE.glob("*.plans")) for plan in _plans_of(path)]


def recorded() -> Recorded:
    """What the reference made of the plans when it was last asked."""
    return cast("Recorded", json.loads(EXPECTED.read_text("utf-8")))


class Interpreter:
    """A Python of this machine that runs plans outside of any sandbox, one after the other.

    A plan that takes more processor time than `cpu_seconds` has the outcome `Killed`.
    """

    def __init__(
        self, python: str = sys.executable, *, hash_seed: int = 1, cpu_seconds: int = 10
    ) -> None:
        options = ["-B", "-P", "-W", "ignore", "-X", "utf8"]
        self._process = subprocess.Popen(
            [python, *options, str(HERE / "in_cpython.py"), str(cpu_seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.defpath, "TZ": "UTC", "PYTHONHASHSEED": str(hash_seed)},
            text=True,
        )

    def run(self, text: str) -> Outcome:
        """A plan's outcome. A plan that only waits is ended after half a minute."""
        incoming, outgoing = self._process.stdin, self._process.stdout
        assert incoming is not None
        assert outgoing is not None
        incoming.write(json.dumps(text) + "\n")
        incoming.flush()
        return cast("Outcome", json.loads(outgoing.readline()))

    def __enter__(self) -> Self:
        """The interpreter itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends the interpreter."""
        self._process.communicate(timeout=15)


def _version(python: str) -> str:
    told = "import platform; print(platform.python_version())"
    try:
        return subprocess.check_output(
            [python, "-c", told], text=True, timeout=30, stderr=subprocess.DEVNULL
        ).strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _newest() -> str:
    candidates = [f"python3.{minor}" for minor in range(_NEWEST, _OLDEST - 1, -1)]
    return next((python for python in candidates if _version(python)), sys.executable)


def main() -> int:
    """Runs all plans and writes what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default="")
    python = cast("str", parser.parse_args().python) or _newest()
    version = _version(python)
    if not version:
        sys.stderr.write(f"{python} does not run. Name another with --python PATH.\n")
        return 1
    ours = tuple(int(part) for part in version.split(".")[:2])
    old = recorded()["plans"] if EXPECTED.exists() else {}
    outcomes: dict[str, Outcome] = {}
    with Interpreter(python) as interpreter:
        for plan in plans():
            if plan.needs <= ours:
                outcomes[plan.name] = interpreter.run(plan.text)
            elif plan.name in old:
                outcomes[plan.name] = old[plan.name]
    written: Recorded = {"python": version, "plans": outcomes}
    EXPECTED.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", "utf-8")
    changed = [name for name, outcome in outcomes.items() if old.get(name) != outcome]
    told = ", ".join(changed) or "none"
    sys.stdout.write(f"Python {version}: {len(outcomes)} plans; changed: {told}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
