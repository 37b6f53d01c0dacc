"""What an editor's user may pick for a session: a model and, where there are several, a profile."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from config.models_file import load_models
from core.values import Json, JsonObject
from modules.service.agents import AgentSetting
from modules.service.pool import DEFAULT_PROFILE, profile_files

DEFAULT_MODEL: Final = "default"
"""The choice that leaves the model to the command line, or to the profile."""


@dataclass
class Choices:
    """What is picked; `model` is None where the choice is left to others."""

    profile: str = DEFAULT_PROFILE
    model: str | None = None


def offered(setting: AgentSetting, choices: Choices) -> JsonObject:
    """Options with all that may be picked, and profiles as modes, which older editors know.

    Blocks for a moment.

    Raises:
        SettingsError: models.json can't be used.
    """
    models = load_models(setting.shared.config_file("models.json")).models
    usual = setting.model or setting.profile.llm.text_generation
    names = {DEFAULT_MODEL: f"default ({usual})", **{name: name for name in models}}
    picked = choices.model or DEFAULT_MODEL
    names.setdefault(picked, picked)
    options: list[Json] = [_select("model", "Model", picked, names)]
    profiles = [*profile_files(setting.shared)]
    if len(profiles) == 1:
        return {"configOptions": options}
    named = dict(zip(profiles, profiles, strict=True))
    options.append(_select("profile", "Profile", choices.profile, named, "mode"))
    return {"configOptions": options, "modes": _modes(profiles, choices.profile)}


def _select(
    id_: str, name: str, current: str, names: Mapping[str, str], category: str = ""
) -> JsonObject:
    options: list[Json] = [{"value": value, "name": words} for value, words in names.items()]
    told: JsonObject = {"type": "select", "id": id_, "name": name, "category": category or id_}
    return {**told, "currentValue": current, "options": options}


def _modes(profiles: Iterable[str], current: str) -> JsonObject:
    modes: list[Json] = [{"id": name, "name": name} for name in profiles]
    return {"currentModeId": current, "availableModes": modes}
