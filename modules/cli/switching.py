"""What answers at the prompt changed while the program runs: model, profile, strategy, servers.

Each change is checked as a whole first, so that a mistake in it changes nothing.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from config.checking import check
from config.schema import StrategyProfile, load_profile
from config.server_list import ServerList, secret_values, server_list
from config.settings import SettingsError
from config.texts import TextProblem, load_yaml
from core.session import runs_alike
from modules.cli.command_line import Arguments
from modules.cli.interaction import MODELS_WAITED_FOR, Setting, chosen_model, without_seed
from modules.cli.prompt_commands.command import AtPrompt
from modules.model_manager import ModelManager
from modules.models.choosing.names import FLAG_ORIGIN
from modules.sandbox import limits_of

AT_ONCE: Final = frozenset({"shell"})
"""Keys of the terminal section that don't wait for the next start."""


async def use_model(at: AtPrompt, name: str) -> None:
    """Let the model that `name` chooses, as after `--model`, answer from the next request on.

    Raises:
        UserError, SettingsError: it can't be chosen; the present one stays.
    """
    setting = _with(at.setting, model=name)
    await _hand_over(at, setting, await _model(at, setting, "/model"))


async def use_profile(at: AtPrompt, file: Path) -> None:
    """Go by another profile from the next request on; say what becomes of session and servers.

    A model that `--model` or `/model` named stays.

    Raises:
        UserError, SettingsError: it can't be used, or its model or walls are not there; nothing
            has changed then.
    """
    before = at.setting.profile
    profile = at.setting.arguments.adapted(await asyncio.to_thread(load_profile, file))
    setting = replace(_with(at.setting, profile=file), profile=profile)
    servers = await asyncio.to_thread(_servers, at, setting)
    model = await _model(at, setting) if profile.llm != before.llm else None
    # To its end even where Ctrl-C comes meanwhile: nobody means half a change. Waits are bounded.
    change = asyncio.create_task(_change_profile(at, setting, servers, model))
    try:
        await asyncio.shield(change)
    except asyncio.CancelledError:
        await asyncio.wait({change})
        raise


async def _change_profile(
    at: AtPrompt, setting: Setting, servers: ServerList, model: ModelManager | None
) -> None:
    before, profile = at.setting.profile, setting.profile
    await at.conversation.sandbox.use(limits_of(profile.sandbox), profile.sandbox.require)
    if model is not None:
        await _hand_over(at, setting, model)
    at.setting = setting
    at.setting.complaints.redactor.mask(profile.memory.mask)
    for told in await use_servers(at, servers):
        at.say("mcp", told)
    old, new = before.terminal.model_dump(), profile.terminal.model_dump()
    for key in [key for key in new if new[key] != old[key] and key not in AT_ONCE]:
        at.say("config", f"terminal.{key} counts from the next start of the program on")


async def use_strategy(at: AtPrompt, key: str, text: str) -> None:
    """Set a key of the strategy for this session, to a value as YAML writes it.

    Raises:
        SettingsError: there is no such key, or it can't have that value.
    """
    try:
        value = load_yaml(text)
    except TextProblem:
        value = text
    profile = at.setting.profile
    document = {**profile.strategy.model_dump(), key: value}
    strategy = check(document, StrategyProfile, Path("/strategy"), "")
    changed = profile.model_copy(update={"strategy": strategy})
    await _apply(at, replace(at.setting, profile=changed))


async def use_servers(at: AtPrompt, servers: ServerList) -> list[str]:
    """Have these servers from now on; what has changed, in sentences."""
    before = at.setting.servers
    at.setting.complaints.redactor.learn(secret_values(servers.everyone))
    await _apply(at, replace(at.setting, servers=servers))
    await at.dispatcher.configure(servers.specs)
    return [
        *_changes(before, servers),
        *(note for note in servers.notes if note not in before.notes),
    ]


async def look_at_server_files(at: AtPrompt) -> None:
    """Take over what somebody has changed in the files that name servers; say it, once.

    A look at the files' dates, where nothing has changed. A file that can't be read changes
    nothing.
    """
    if at.setting.servers.is_current:
        return
    try:
        servers = await asyncio.to_thread(_servers, at, at.setting)
    except SettingsError as error:
        at.say("mcp", f"{error}; the servers stay as they were")
        servers = at.setting.servers.looked_at()
    for told in await use_servers(at, servers):
        at.say("mcp", told)


def _servers(at: AtPrompt, setting: Setting) -> ServerList:
    arguments = setting.arguments
    files = arguments.mcp_config
    return server_list(setting.profile, setting.places, setting.profile_file, files, at.environ)


async def _model(at: AtPrompt, setting: Setting, origin: str = FLAG_ORIGIN) -> ModelManager:
    with at.during("model", MODELS_WAITED_FOR):
        return await asyncio.to_thread(chosen_model, setting, at.environ, origin)


async def _hand_over(at: AtPrompt, setting: Setting, model: ModelManager) -> None:
    at.setting = setting
    await at.conversation.use_model(model)
    unseeded = without_seed(setting.arguments.seed, model)
    for note in (model.reason, *model.notes, *([unseeded] if unseeded else [])):
        at.say("model", note)


async def _apply(at: AtPrompt, setting: Setting) -> None:
    """Let the conversation go by the profile and the servers of a setting."""
    at.setting = setting
    if not await at.conversation.use_profile(setting.profile, setting.servers.specs):
        at.say("memory", "sessions are kept otherwise there: the next request begins a new one")


def _with(setting: Setting, **said: object) -> Setting:
    """The setting as if the command line had said this, too."""
    return replace(setting, arguments=Arguments(**{**vars(setting.arguments), **said}))


def _changes(before: ServerList, now: ServerList) -> Iterator[str]:
    old, new = ({spec.id: spec for spec in each.specs} for each in (before, now))
    off = {spec.id for spec in now.disabled}
    for name in [name for name in old if name not in new]:
        yield f"server '{name}' is {'switched off' if name in off else 'gone'}"
    for name, spec in new.items():
        if name not in old:
            yield f"server '{name}' is there now, {spec.origin}"
        elif not runs_alike(spec, old[name]):
            yield f"server '{name}' has another entry now, and starts anew when it is needed"
        else:
            continue
        if spec.problem is not None:
            yield spec.problem
