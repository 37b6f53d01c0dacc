"""The sets by name, and where they lie."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.command_line import ROOT
from tests.evals.retrieval import paraphrases, readers, squad
from tests.evals.retrieval.collections import Collection, DataMissing, Paper, Part

DATA_VARIABLE = "CORTEX_EVAL_DATA"

COVIDQA_FILE = "covidqa/200423_covidQA.json"


def _xquad(language: str, part: Part) -> Callable[[Path], Collection]:
    return lambda data: squad.load_paragraphs(
        data / "xquad" / f"xquad.{language}.json", f"XQuAD-{language}", part
    )


COLLECTIONS: Mapping[str, Callable[[Path], Collection]] = {
    "scifact": lambda data: readers.load_scifact(data / "scifact"),
    "cranfield": lambda data: readers.load_cranfield(data / "cranfield"),
    "xquad-en": _xquad("en", "report"),
    "xquad-de": _xquad("de", "report"),
    "xquad-zh": _xquad("zh", "report"),
    "xquad-es": _xquad("es", "tuning"),
    "covidqa": lambda data: squad.load_passages(data / COVIDQA_FILE, "COVID-QA"),
    "paraphrases": paraphrases.load,
    "pubmedqa": lambda data: readers.load_pubmedqa(data / "pubmedqa" / "ori_pqal.json"),
}

PAPERS = "papers"
"""COVID-QA's papers whole, through our chunker: not a ranking of given items."""

SETS = (*COLLECTIONS, PAPERS)


def data_folder() -> Path:
    """Where the sets lie."""
    return Path(os.environ.get(DATA_VARIABLE) or ROOT.parent / "shared" / "data")


def load_collection(name: str) -> Collection:
    """A set by its name.

    Raises:
        DataMissing: it is not on this machine.
    """
    try:
        return COLLECTIONS[name](data_folder())
    except FileNotFoundError as error:
        raise _missing(error) from None


def load_papers() -> tuple[Paper, ...]:
    """COVID-QA's papers; raises the same."""
    try:
        return squad.load_papers(data_folder() / COVIDQA_FILE)
    except FileNotFoundError as error:
        raise _missing(error) from None


def _missing(error: FileNotFoundError) -> DataMissing:
    return DataMissing(f"{error.filename} is not there; say in {DATA_VARIABLE} where the sets are")
