"""Choosing models in a world in which nothing listens and no key is set but what a test says."""

from collections.abc import Mapping
from pathlib import Path

from config.models_file import ModelEntry, ModelsFile
from modules.models.choosing.choice import Choice, choose_models

KEY = "k" * 20
NOBODY = {"OLLAMA_HOST": "127.0.0.1:1", "LLAMA_SERVER_URL": "http://127.0.0.1:1"}
"""Nothing listens at port 1; without these, a developer's own Ollama would answer."""

MODELS = ModelsFile(
    models={
        "gemini": ModelEntry(type="gemini", model="g-1", api_key_env="GEMINI_API_KEY"),
        "work": ModelEntry(type="gemini", model="g-2", api_key_env="WORK_GEMINI_KEY"),
        "plain": ModelEntry(type="offline"),
        "a,b": ModelEntry(type="gemini", model="comma"),
    }
)
ALL_KEYS = {
    **NOBODY,
    "GEMINI_API_KEY": KEY,
    "ANTHROPIC_API_KEY": KEY,
    "OPENAI_API_KEY": KEY,
}


def choose(
    flag: str | None,
    environ: Mapping[str, str] | None = None,
    profile: str = "auto",
    models: ModelsFile = MODELS,
    home: Path | None = None,
) -> Choice:
    """What `--model flag` means among `models`."""
    return choose_models(flag, profile, models, {**NOBODY, **(environ or {})}, home)


def names(choice: Choice) -> list[str]:
    """The names of the chain."""
    return [one.model.name for one in choice.models]
