"""What `python -m tests.evals` is told on its command line."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from tests.evals.questions import PARTS, Part
from tests.evals.stage import Manner

Study: TypeAlias = Literal[
    "tools", "offline", "ablation", "plans", "json", "perception", "gsm8k", "team"
]
STUDIES: tuple[Study, ...] = get_args(Study)

QUICK_QUESTIONS = 24
QUICK_PROBLEMS = 8

_STUDY_HELP = """\
tools       are the right tools in front of the planner?
offline     the offline planner on the same requests: none may be wrong
ablation    what each repair of plans is worth, on the replies that were recorded
plans       requests of our own, answered by code plans
json        the same requests by JSON tool calls, compared pair by pair
perception  asking the model for perception always, against the profile's way, on a sample
gsm8k       word problems with the math tools and without any server
team        requests with parts: one plan against a graph of subtasks, on requests of our own
"""


@dataclass(frozen=True)
class Shard:
    """The part of the requests that this process asks: number `index` (from 0) of `count`."""

    index: int = 0
    count: int = 1


@dataclass(frozen=True)
class Options:
    """What to measure, and how; `results` is the file to go on with."""

    studies: tuple[Study, ...]
    model: str | None
    parts: tuple[Part, ...]
    only: str
    limit: int | None
    problems: int | None
    sample: int
    manner: Manner
    results: Path | None
    work: Path | None
    served: str | None
    shard: Shard
    record: Path | None


def parse_options(argv: Sequence[str]) -> Options:
    """The options in `argv`; ends the program with a message where they can't be used."""
    parser = _parser()
    given = parser.parse_args(argv)
    if unknown := [name for name in given.studies if name not in STUDIES]:
        parser.error(f"no such study: {', '.join(unknown)}; there are {', '.join(STUDIES)}")
    try:
        re.compile(given.only)
    except re.error as error:
        parser.error(f"--only {given.only!r} is no regular expression: {error}")
    shard = _shard(given.shard)
    if shard is None:
        parser.error(f"--shard {given.shard!r} is not like 1/4, the first of four parts")
    quick: bool = given.quick
    limit: int | None = given.limit
    if limit is not None and limit < 1:
        parser.error("--limit takes a number from 1 on")
    return Options(
        studies=tuple(given.studies) or STUDIES,
        model=given.model,
        parts=PARTS if given.part == "all" else (cast("Part", given.part),),
        only=given.only,
        limit=limit if limit is not None or not quick else QUICK_QUESTIONS,
        problems=limit if limit is not None or not quick else QUICK_PROBLEMS,
        sample=min(given.sample, QUICK_PROBLEMS) if quick else given.sample,
        manner=_manner(given.variant),
        results=given.results,
        work=given.work,
        served=given.served,
        shard=shard,
        record=given.record,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.evals",
        description="Measure planning with a real model, through the real loop.\n\n" + _STUDY_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="by default all of them")
    parser.add_argument(
        "--model", help="as agent.py takes it; by default the GGUF file of fetch_local_model.py"
    )
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument(
        "--only", default="", metavar="PATTERN", help="requests whose group/id matches"
    )
    parser.add_argument("--limit", type=int, help="so many requests, spread over all")
    parser.add_argument(
        "--sample", type=int, default=40, help="requests of the study of perception (40)"
    )
    parser.add_argument(
        "--variant",
        action="append",
        default=[],
        choices=["tools", "mcp", "auto", "always", "never"],
        help="a plan style or a use of perception, in the place of the profile's",
    )
    parser.add_argument("--quick", action="store_true", help="a small sample of everything")
    parser.add_argument(
        "--results", type=Path, metavar="FILE", help="keep records here, and go on with those there"
    )
    parser.add_argument(
        "--served", metavar="URL", help="a llama-server that runs the same GGUF file"
    )
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="add what the model replies for plans here"
    )
    parser.add_argument(
        "--shard", default="1/1", metavar="K/N", help="only the K-th of N parts, for a process each"
    )
    parser.add_argument(
        "--work", type=Path, metavar="FOLDER", help="for files that requests are about"
    )
    return parser


def _shard(text: str) -> Shard | None:
    """`2/4` as a shard; None if it is none."""
    found = re.fullmatch(r"([1-9]\d?)/([1-9]\d?)", text)
    if found is None or int(found[1]) > int(found[2]):
        return None
    return Shard(int(found[1]) - 1, int(found[2]))


def _manner(variants: Sequence[str]) -> Manner:
    """The last word for each counts."""
    manner = Manner()
    for variant in variants:
        match variant:
            case "tools" | "mcp":
                manner = Manner(variant, manner.perception)
            case "auto" | "always" | "never":
                manner = Manner(manner.plan_style, variant)
            case _:
                raise ValueError(variant)  # argparse lets no other through
    return manner
