"""The sessions of an editor: begun, listed, loaded; each method of the protocol for them.

Sessions of the same folder and the same servers share agents: several threads in one project start
its servers once. They are kept as the terminal's are, and go on there, or with another editor.
"""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from config.models_file import models_of
from config.settings import SettingsError
from core.base.text import one_line
from core.mcp.peer import RpcError
from core.mcp.wire import METHOD_NOT_FOUND
from core.values import Json, JsonObject
from modules.planning.guidance.commands import COMMANDS_MAX, FOLDER, command_files, read_command
from modules.service.acp.door import Editor
from modules.service.acp.kept import kept_items, page_of, past_updates
from modules.service.acp.messages import INVALID_PARAMS, NOT_FOUND, Params
from modules.service.acp.servers import server_spec
from modules.service.acp.session import MODEL_ORIGIN, AcpSession
from modules.service.agents import AgentSetting, chosen_model
from modules.service.pool import AgentPool
from modules.session.ids import new_session_id
from modules.session.kept import KeptSessions

SESSIONS_MAX: Final = 100
"""So many sessions are open at once; of more, the one that was opened first is closed."""

DEFAULT_MODEL: Final = "default"
"""The choice that leaves the model to the command line, or to the profile."""

log = logging.getLogger(__name__)

_Answer: TypeAlias = Callable[[Params], Awaitable[JsonObject]]


class AcpSessions:
    """Answers what is about sessions (`modules.service.acp.door.Sessions`)."""

    def __init__(self, setting: AgentSetting, editor: Editor, *, has_guide: bool = True) -> None:
        """Start nothing; `setting` has all but folder and servers of a session."""
        self._setting = setting
        self._editor = editor
        self._has_guide = has_guide
        warn = partial(log.warning, "%s: %s")
        self._kept = KeptSessions(setting.profile, setting.places.home, warn)
        self._sessions: dict[str, AcpSession] = {}
        self._pools: dict[tuple[str, ...], AgentPool] = {}
        self._later: set[asyncio.Task[None]] = set()
        self._methods: Mapping[str, _Answer] = {
            "session/new": self._new,
            "session/load": self._load,
            "session/list": self._list,
            "session/prompt": self._prompt,
            "session/set_config_option": self._set_option,
        }

    async def answer(self, method: str, params: Params) -> JsonObject:
        """The result of a request; see `Sessions`."""
        if (answer := self._methods.get(method)) is None:
            raise RpcError(METHOD_NOT_FOUND, f"there is no method '{method[:80]}' here")
        return await answer(params)

    def cancel(self, session_id: str) -> None:
        """End what a session works on, if it does."""
        if (session := self._sessions.get(session_id)) is not None:
            session.cancel()

    async def aclose(self) -> None:
        """End all sessions, with their servers."""
        await asyncio.gather(*(session.aclose() for session in self._sessions.values()))
        await asyncio.gather(*(it.__aexit__(None, None, None) for it in self._pools.values()))

    async def _new(self, params: Params) -> JsonObject:
        id_ = new_session_id(datetime.now().astimezone(), uuid.uuid4().hex)
        session = await self._open(id_, params)
        return {"sessionId": id_, **await self._options(session)}

    async def _load(self, params: Params) -> JsonObject:
        """Begin where a kept session ended, and show all that it had."""
        items = await asyncio.to_thread(kept_items, self._kept, params.session_id)
        session = await self._open(params.session_id, params)
        for told in past_updates(items, self._setting.redactor, session.folder):
            await session.update(told)
        return await self._options(session)

    async def _open(self, id_: str, params: Params) -> AcpSession:
        folder, brought = params.cwd or Path(), params.mcp_servers
        if not folder.is_absolute() or not await asyncio.to_thread(folder.is_dir):
            told = f"cwd is '{one_line(str(folder), 200)}'; give the full path of a folder"
            raise RpcError(INVALID_PARAMS, told)
        too_many = [] if len(self._sessions) < SESSIONS_MAX else [next(iter(self._sessions))]
        for each in (id_, *too_many):
            if (before := self._sessions.pop(each, None)) is not None:
                await before.aclose()
        setting = replace(
            self._setting, files_in=folder, servers=[server_spec(each, folder) for each in brought]
        )
        key = str(folder), *(each.model_dump_json() for each in brought)
        if (pool := self._pools.get(key)) is None:
            pool = self._pools[key] = AgentPool(setting, time.monotonic)
            await pool.__aenter__()
        session = AcpSession(id_, folder, pool, self._editor, has_guide=self._has_guide)
        self._sessions[id_] = session
        # once the editor knows the session: behind the answer
        telling = asyncio.create_task(self._tell_commands(session))
        self._later.add(telling)
        telling.add_done_callback(self._later.discard)
        return session

    async def _prompt(self, params: Params) -> JsonObject:
        return await self._found(params).prompt(params.prompt)

    async def _list(self, params: Params) -> JsonObject:
        return await asyncio.to_thread(page_of, self._kept, params, self._setting.redactor)

    async def _set_option(self, params: Params) -> JsonObject:
        """Choose another model, once it is clear that it can be used."""
        session, name = self._found(params), str(params.value)
        if params.config_id != "model":
            told = f"no option '{params.config_id[:80]}'; there is: model"
            raise RpcError(INVALID_PARAMS, told)
        if name != DEFAULT_MODEL:
            model = await asyncio.to_thread(chosen_model, self._setting, name, MODEL_ORIGIN)
            await model.aclose()
        session.model = None if name == DEFAULT_MODEL else name
        return await self._options(session)

    async def _options(self, session: AcpSession) -> JsonObject:
        """What the user may pick for a session: a model.

        Raises:
            SettingsError: models.json can't be used.
        """
        setting = self._setting
        models = await asyncio.to_thread(models_of, setting.shared)
        usual = setting.model or setting.profile.llm.text_generation
        names = {DEFAULT_MODEL: f"default ({usual})"} | {name: name for name in models.models}
        options: list[Json] = [{"value": name, "name": words} for name, words in names.items()]
        picked = session.model or DEFAULT_MODEL
        option: JsonObject = {"type": "select", "id": "model", "name": "Model", "category": "model"}
        return {"configOptions": [{**option, "currentValue": picked, "options": options}]}

    def _found(self, params: Params) -> AcpSession:
        if (session := self._sessions.get(params.session_id)) is not None:
            return session
        told = f"no session {one_line(params.session_id, 100)} is open"
        raise RpcError(NOT_FOUND, f"{told}; open one with session/new, or session/load")

    async def _tell_commands(self, session: AcpSession) -> None:
        told = await asyncio.to_thread(self._commands)
        kind = "available_commands_update"
        await session.update({"sessionUpdate": kind, "availableCommands": told})

    def _commands(self) -> list[Json]:
        """The user's own commands, as the protocol lists them; broken ones are left out."""
        found: list[Json] = []
        for name, path in command_files(self._setting.places.home / FOLDER):
            with contextlib.suppress(SettingsError):
                command = read_command(name, path)
                told: JsonObject = {"name": command.name, "description": command.description}
                found.append({**told, "input": {"hint": command.argument_hint or "…"}})
        return found[:COMMANDS_MAX]
