"""The model that is measured: one backend, kept open from the first request to the last."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from config.models_file import ModelEntry
from config.settings import Places
from core.ports import ModelRequest, ModelTraits, ReplyDelta, TextModel
from modules.models.local.client import LocalModel

LOCAL = "local:"

DEFAULT_FILE = (
    Path.home() / ".cache" / "cortex-r" / "models" / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
)
"""Where `fetch_local_model.py` puts the weights."""

CONTEXT_TOKENS = 16_384
"""For a local model: the schemas of all tools and a talk of some rounds fit."""


class ModelMissing(Exception):
    """There is no such model here; the message says how to get one."""


@dataclass(frozen=True)
class KeptOpen:
    """A model whose connections outlive those who use it; its owner closes it."""

    model: TextModel

    @property
    def name(self) -> str:
        """The model's own."""
        return self.model.name

    @property
    def traits(self) -> ModelTraits:
        """The model's own."""
        return self.model.traits

    def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The model's own."""
        return self.model.stream(request)

    async def aclose(self) -> None:
        """Leave it open."""


@asynccontextmanager
async def opened(
    name: str | None,
    places: Places,
    state_folder: Path,
    *,
    served: str | None = None,
    is_rendered: bool = False,
) -> AsyncGenerator[TextModel]:
    """The model called `name` as `agent.py --model` takes it, by default the local one.

    A local model keeps in `state_folder` what it has read of prompts; with `is_rendered`, these
    hold the marks of its chat template themselves. It loads its weights at the first request. If
    `served` is the address of a `llama-server` that runs the same file, that one answers.

    Raises:
        ModelMissing: the default one is not on this machine.
        UserError: there is no model of that name.
    """
    file = weights(name)
    if served is not None and file is not None:
        from tests.evals.served import ServedWeights

        model: TextModel = ServedWeights(served, file.stem, CONTEXT_TOKENS)
    else:
        model = _model(name, places, state_folder, is_rendered=is_rendered)
    try:
        yield KeptOpen(model)
    finally:
        await model.aclose()


def weights(name: str | None) -> Path | None:
    """The GGUF file behind a name; None if the model is no local one."""
    if name is None:
        return DEFAULT_FILE
    path = Path(name.removeprefix(LOCAL)).expanduser()
    return path if name.startswith(LOCAL) and path.is_file() else None


def _model(name: str | None, places: Places, state_folder: Path, *, is_rendered: bool) -> TextModel:
    file = weights(name)
    if file is not None:
        if not file.is_file():
            raise ModelMissing(
                f"there is no {file}; python fetch_local_model.py brings it (see README), "
                "or name another model with --model"
            )
        # An entry of models.json says nothing about a file; what fits the longest prompt does.
        entry = ModelEntry(type="local", path=str(file), context_tokens=CONTEXT_TOKENS)
        return LocalModel(entry, state_folder, is_rendered=is_rendered)
    from config.models_file import load_models
    from modules.models.choosing.choice import choose_models

    models = load_models(places.config_file("models.json"))
    return choose_models(name, "auto", models, os.environ).models[0].model
