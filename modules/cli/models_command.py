"""The actions of `models` as values, one class each."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:  # which has these classes in its union
    from modules.cli.command import Options


@dataclass(frozen=True, slots=True)
class ListModels:
    """`models` or `models list`: every model that could answer, and the one that would."""

    options: "Options"


@dataclass(frozen=True, slots=True)
class PullModel:
    """`models pull NAME`: have Ollama download a model."""

    options: "Options"
    name: str


ModelsCommand: TypeAlias = ListModels | PullModel
