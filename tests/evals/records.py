"""What became of each request: lines of JSON in a file, written one by one.

An evaluation that was interrupted goes on where it stopped.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, cast

from pydantic import TypeAdapter

from tests.command_line import ROOT

Verdict: TypeAlias = Literal["right", "wrong", "none"]
"""`none`: the run says that it has no answer."""

PLAN_SOURCES = ("prompts/*.txt", "modules/**/*.py", "core/**/*.py", "config/profiles.yaml")
"""What decides about an answer beside the model and the request."""


@dataclass(frozen=True)
class Record:
    """One request answered in one way.

    `way` names the way, `model` the model; `first_try` is a right answer for which no plan had
    failed. `retries` are plans, or rounds, after one that failed; `steps` those of the loop, or
    rounds. Tokens and calls are sums over the run; `parts` are subtasks, 0 for one plan.
    """

    way: str
    key: str
    part: str
    model: str
    code: str
    ask: str
    answer: str
    status: str
    verdict: Verdict
    why: str | None
    first_try: bool
    retries: int
    steps: int
    seconds: float
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    failures: tuple[str, ...] = ()
    tools_called: tuple[str, ...] = ()
    wrote: tuple[str, ...] = ()
    parts: int = 0

    @property
    def is_right(self) -> bool:
        """Whether every check held."""
        return self.verdict == "right"


@dataclass
class Results:
    """The records of a file; `None` keeps them in memory only."""

    path: Path | None
    records: list[Record] = field(default_factory=list[Record])

    @classmethod
    def open(cls, path: Path | None) -> "Results":
        """Those that the file has already; a last line that was cut off is dropped.

        Raises:
            ValueError: the file holds something else.
        """
        results = cls(path)
        if path is None or not path.exists():
            return results
        text = path.read_text(encoding="utf-8")
        whole, _, cut = text.rpartition("\n")
        results.records = [_record(line, path) for line in whole.splitlines() if line.strip()]
        if cut:
            path.write_text(f"{whole}\n" if whole else "", encoding="utf-8")
        return results

    def add(self, record: Record) -> None:
        """Keep one more, on the disk at once."""
        self.records.append(record)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(asdict(record), ensure_ascii=False)}\n")

    def of(self, way: str, model: str, keys: Iterable[str]) -> dict[str, Record]:
        """By key, in the order of `keys`: what is known of this way with this model."""
        found = {r.key: r for r in self.records if (r.way, r.model) == (way, model)}
        return {key: found[key] for key in keys if key in found}

    def other_code(self, code: str) -> int:
        """How many records were made by other prompts or another program than `code` names."""
        return sum(record.code != code for record in self.records)


def code_fingerprint(root: Path = ROOT, patterns: Sequence[str] = PLAN_SOURCES) -> str:
    """A short name of the prompts and the program as they are now."""
    digest = hashlib.sha256()
    for pattern in patterns:
        for file in sorted(root.glob(pattern)):
            digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def _record(line: str, path: Path) -> Record:
    try:
        return TypeAdapter(Record).validate_python(cast("object", json.loads(line)))
    except ValueError as error:
        raise ValueError(f"{path} is no file of results: {error}") from error
