"""Problems of GSM8K (Cobbe et al. 2021, the test part): words that a number answers.

A fixed seed chooses them; the data are read where they lie and not copied.
"""

import json
import random
from pathlib import Path
from typing import cast

from tests.evals.questions import Question

FILE = Path("/work/shared/data/gsm8k/test.jsonl")
PROBLEMS = 100
SEED = 8
"""Any would do; it must not change, so that figures can be compared."""

ANSWER_MARK = "####"
"""Stands before the number at the end of a worked answer."""


def load_problems(file: Path = FILE, count: int = PROBLEMS, seed: int = SEED) -> list[Question]:
    """`count` problems as questions, in the file's order.

    Raises:
        OSError: the data are not there.
    """
    lines = file.read_text(encoding="utf-8").splitlines()
    chosen = sorted(random.Random(seed).sample(range(len(lines)), min(count, len(lines))))  # noqa: S311 — a choice, no secret
    return [_question(number, lines[number]) for number in chosen]


def _question(number: int, line: str) -> Question:
    entry = cast("dict[str, str]", json.loads(line))
    solution = entry["answer"].rpartition(ANSWER_MARK)[2].strip().replace(",", "")
    return Question(
        id=f"problem-{number:04d}",
        group="gsm8k",
        part="report",
        ask=entry["question"],
        final_number=float(solution) if "." in solution else int(solution),
    )
