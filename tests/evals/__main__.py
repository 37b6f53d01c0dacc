"""Run the studies, all or those that are named, and print their tables.

`python -m tests.evals [STUDY…]`; `--help` says what there is. Records go to a file, one by one: an
evaluation that was interrupted goes on with `--results FILE`.
"""

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from config.settings import Places
from core.errors import CortexError
from tests.benchmarks.table import print_machine
from tests.command_line import ROOT
from tests.evals.judging import Judge, Outage
from tests.evals.model import LOCAL, ModelMissing, opened, weights
from tests.evals.options import Options, Study, parse_options
from tests.evals.recorded_replies import ReplyRecorder
from tests.evals.records import Results, code_fingerprint
from tests.evals.report import show
from tests.evals.stage import PartsMissing, Stage, say
from tests.evals.studies import Evaluation
from tests.evals.workplace import Workplace, workplace

RESULTS_FOLDER = ROOT / ".venv" / "evals"

WITHOUT_MODEL: frozenset[Study] = frozenset({"tools", "offline", "ablation"})
"""Studies that ask no language model."""


def main(argv: Sequence[str]) -> int:
    """Measure; the exit code is 1 where something is missing or down, 2 for unusable options."""
    options = parse_options(argv)
    try:
        with workplace(options.work) as place, tempfile.TemporaryDirectory() as home:
            asyncio.run(_evaluate(options, place, Path(home)))
    except (ModelMissing, PartsMissing, Outage, RuntimeError, CortexError, ValueError) as error:
        say(f"not measured: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; what was measured is kept")
        return 130
    return 0


async def _evaluate(options: Options, place: Workplace, home: Path) -> None:
    file = options.results or RESULTS_FOLDER / f"{datetime.now().astimezone():%Y%m%d-%H%M%S}.jsonl"
    results, code = Results.open(file), code_fingerprint()
    if others := results.other_code(code):
        say(f"{others} records in {file} were made with other prompts or another program")
    say(f"records go to {file}")
    places = Places(ROOT, home)
    needs_model = not {*options.studies} <= WITHOUT_MODEL
    name = options.model if needs_model else "offline"
    states = place.root / "state"
    async with (
        opened(name, places, states, served=options.served) as model,
        opened(name, places, states, served=options.served, is_rendered=True) as rendered,
    ):
        print_machine()
        show(f"model {model.name}{_engine(model.name)}, program {code}, records {file}", [])
        recorder = ReplyRecorder(model, options.record) if options.record is not None else None
        evaluation = Evaluation(
            options,
            Stage(place, places, recorder or model, rendered),
            Judge(place, results, code, options.shard),
            weights(options.model),
            recorder,
        )
        for study in options.studies:
            try:
                await evaluation.run(study)
            except OSError as error:
                show(f"{study}: not measured", [str(error)])


def _engine(model: str) -> str:
    """What runs the weights, where that is here."""
    if not model.startswith(LOCAL):
        return ""
    try:
        return f" (llama-cpp-python {version('llama-cpp-python')})"
    except PackageNotFoundError:
        return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
