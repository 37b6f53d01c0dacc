"""Commands about what answers, and how: the model, the profile, the strategy."""

import asyncio
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, get_args, get_origin

from config.models_file import models_of
from config.schema import StrategyProfile
from core.base.text import did_you_mean, near_names
from core.errors import UsageError
from modules.cli.interaction import MODELS_WAITED_FOR
from modules.cli.models import ModelRow, model_rows, model_table, prices_told
from modules.cli.prompt_commands.command import AtPrompt, prompt_command
from modules.cli.switching import use_model, use_profile, use_strategy
from modules.terminal.input.candidates import Candidate
from modules.terminal.tables import table_for

SUFFIX: Final = ".yaml"


def _model_names(at: AtPrompt, text: str) -> Iterable[Candidate]:
    return (Candidate(row.name, row.state) for row in _rows(at))


@prompt_command(
    "model",
    "Settings",
    "the models that there are, or another one",
    "[NAME]",
    "As --model takes it: a name, or several with commas between, each for when the one "
    "before fails. It answers from the next request on; what one request may cost stays "
    "as it is.",
    _model_names,
    proposes_once=True,
)
async def _model(at: AtPrompt, words: str) -> None:
    """The models that there are, or another one from the next request on.

    Raises:
        UserError, SettingsError: it can't be chosen.
    """
    if words:
        await use_model(at, words)
        return
    with at.during("model", MODELS_WAITED_FOR):
        rows = await asyncio.to_thread(_rows, at)
    conversation = at.conversation
    name, context = conversation.model.name, conversation.model.traits.context_tokens
    rows = [
        replace(row, context_tokens=context) if context and row.backend_name == name else row
        for row in rows
    ]
    answering = next((row for row in rows if row.backend_name == name), None)
    prices = prices_told(models_of(at.setting.places))
    table = table_for(model_table(rows, answering))
    at.say("model", f"{name} answers; /model NAME lets another one\n{table}\n{prices}")


def _rows(at: AtPrompt) -> list[ModelRow]:
    places = at.setting.places
    return [*model_rows(models_of(places), at.environ, places.home)]


def _profile_names(at: AtPrompt, text: str) -> Iterable[Candidate]:
    return (Candidate(name, str(file)) for name, file in _profiles(at).items())


@prompt_command(
    "profile",
    "Settings",
    "the profile in use, or another one",
    "[NAME|FILE]",
    "A NAME is that of a file beside profiles.yaml under CORTEX_HOME/config. Persona, "
    "strategy, limits, security, memory and model count from the next request on; servers "
    "that both profiles start alike stay up. terminal.shell counts, too; the rest of that "
    "section wants a restart.",
    _profile_names,
)
async def _profile(at: AtPrompt, words: str) -> None:
    """The profile in use, or another one from the next request on.

    Raises:
        UserError, SettingsError: there is none like that, or it can't be used.
    """
    if words:
        await use_profile(at, _profile_file(at, words))
    agent = at.setting.profile.agent
    others = [name for name in _profiles(at) if name != _name_of(at, at.setting.profile_file)]
    more = f"\nothers: {', '.join(others)}" if others and not words else ""
    at.say("config", f"{agent.name} ({agent.id}), from {at.setting.profile_file}{more}")


def _profile_file(at: AtPrompt, named: str) -> Path:
    """The file of a profile: one beside profiles.yaml by its name, else a path."""
    known = _profiles(at)
    if named in known:
        return known[named]
    file = Path(named)
    with suppress(RuntimeError):  # there is no such user
        file = file.expanduser()
    if file.is_file():
        return file
    meant = did_you_mean(near_names(named, known), _known(known))
    raise UsageError(f"there is no profile '{named}', and no such file; {meant}")


def _known(names: Collection[str]) -> str:
    are = "the only one is" if len(names) == 1 else "there are"
    return f"{are} {', '.join(names)}, and /profile takes a path, too"


def _profiles(at: AtPrompt) -> dict[str, Path]:
    """The profiles by their names; the usual one may be that which ships."""
    usual = at.setting.places.config_file("profiles.yaml")
    own = sorted((at.setting.places.home / "config").glob(f"*{SUFFIX}"))
    return {file.stem: file for file in (usual, *own)}


def _name_of(at: AtPrompt, file: Path) -> str | None:
    return next((name for name, each in _profiles(at).items() if each == file), None)


def _strategy_words(at: AtPrompt, text: str) -> Iterable[Candidate]:
    key, gap, _ = text.lstrip().partition(" ")
    if gap:
        return map(Candidate, _literals(key))
    shown = at.setting.profile.strategy.model_dump(mode="json")
    return (Candidate(name, _text(value)) for name, value in shown.items())


@prompt_command(
    "strategy",
    "Settings",
    "how plans are made, or one key of it set",
    "[KEY VALUE]",
    "For this session alone, such as /strategy planning_mode exploratory; agent.py config set "
    "strategy.KEY VALUE keeps it.",
    _strategy_words,
)
async def _strategy(at: AtPrompt, words: str) -> None:
    """The keys of the strategy, or one of them set.

    Raises:
        UsageError: a key without a value.
        SettingsError: there is no such key, or it can't have that value.
    """
    key, _, value = words.partition(" ")
    if key:
        if not value.strip():
            raise UsageError(f"say the value, too: /strategy {key} {_allowed(key) or 'VALUE'}")
        await use_strategy(at, key, value.strip())
    shown = at.setting.profile.strategy.model_dump(mode="json")
    if key:
        at.say("config", f"{key} is {_text(shown[key])} from the next request on")
        return
    rows = [(name, _text(value), _allowed(name)) for name, value in shown.items()]
    table = table_for([("KEY", "VALUE", "ALLOWED"), *rows])
    at.say("config", f"/strategy KEY VALUE sets one for this session\n{table}")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _literals(key: str) -> tuple[str, ...]:
    """The values that a key may have, where they can be counted."""
    field = StrategyProfile.model_fields.get(key)
    if field is None:
        return ()
    if get_origin(field.annotation) is Literal:
        return tuple(map(str, get_args(field.annotation)))
    return ("true", "false") if field.annotation is bool else ()


def _allowed(key: str) -> str:
    return " | ".join(_literals(key))


SETTING_COMMANDS: Final = (_model, _profile, _strategy)
