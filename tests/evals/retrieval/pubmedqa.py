"""PubMedQA: questions that are titles of papers, and the abstracts that answer them (Jin 2019)."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, TypeAdapter

from tests.evals.retrieval.collections import Collection, Item, Question


class _Record(BaseModel):
    question: Annotated[str, Field(alias="QUESTION")]
    contexts: Annotated[list[str], Field(alias="CONTEXTS")]


_RECORDS = TypeAdapter(dict[str, _Record])


def load(file: Path) -> Collection:
    """A thousand abstracts without their conclusions, each with its one question."""
    records = _RECORDS.validate_json(file.read_bytes())
    items = tuple(Item(key, "\n\n".join(each.contexts)) for key, each in records.items())
    questions = tuple(Question(key, each.question, {key: 1}) for key, each in records.items())
    return Collection("PubMedQA", items, questions)
