"""The sessions of an editor: begun, listed, loaded, closed; each method of the protocol for them.

Sessions of the same folder and the same servers share agents: several threads in one project start
its servers once. They are kept as the terminal's are, and go on there, or with another editor.
"""

import asyncio
import contextlib
import json
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias

from config.settings import SettingsError
from core.base.text import one_line
from core.errors import UsageError
from core.mcp.peer import RpcError
from core.mcp.wire import METHOD_NOT_FOUND
from core.values import Json, JsonObject
from modules.planning.guidance.commands import (
    COMMANDS_MAX,
    FOLDER,
    command_files,
    read_command,
    request_meant,
)
from modules.service.acp.choices import DEFAULT_MODEL, Choices, offered
from modules.service.acp.content import Asked, read_prompt
from modules.service.acp.door import Editor
from modules.service.acp.kept import SessionList, past_updates
from modules.service.acp.messages import (
    INVALID_PARAMS,
    NOT_FOUND,
    ListSessions,
    OfSession,
    OpenSession,
    Prompt,
    SetMode,
    SetOption,
    read,
)
from modules.service.acp.servers import server_specs
from modules.service.acp.session import MODEL_ORIGIN, OWNER, AcpSession
from modules.service.agents import AgentSetting, chosen_model
from modules.service.pool import AgentPool
from modules.session.ids import new_session_id
from modules.session.request import clean_request

SESSIONS_MAX: Final = 100
"""So many sessions may be open at once."""

_Answer: TypeAlias = Callable[[JsonObject], Awaitable[JsonObject]]


class AcpSessions:
    """Answers what is about sessions (`modules.service.acp.door.Sessions`)."""

    def __init__(self, setting: AgentSetting, editor: Editor, *, has_guide: bool = True) -> None:
        """Start nothing; `setting` has all but folder and servers of a session."""
        self._setting = setting
        self._editor = editor
        self._has_guide = has_guide
        self._sessions: dict[str, AcpSession] = {}
        self._pools: dict[str, AgentPool] = {}
        self._later: set[asyncio.Task[None]] = set()
        self._methods: Mapping[str, _Answer] = {
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/list": self._list,
            "session/prompt": self._prompt,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
        }

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
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
        sessions, self._sessions = [*self._sessions.values()], {}
        await asyncio.gather(*(session.aclose() for session in sessions))
        pools, self._pools = [*self._pools.values()], {}
        await asyncio.gather(*(pool.__aexit__(None, None, None) for pool in pools))

    async def _new(self, params: JsonObject) -> JsonObject:
        id_ = new_session_id(datetime.now().astimezone(), uuid.uuid4().hex)
        session = await self._open(read(OpenSession, params), id_)
        return {"sessionId": id_, **await self._offered(session)}

    async def _load(self, params: JsonObject) -> JsonObject:
        """Begin where a kept session ended, and show all that it had."""
        wanted = read(OpenSession, params)
        items = await asyncio.to_thread(SessionList(self._setting).items, wanted.session_id)
        session = await self._open(wanted, wanted.session_id)
        for told in past_updates(items, self._setting.redactor, session.folder):
            await session.update(told)
        return await self._offered(session)

    async def _resume(self, params: JsonObject) -> JsonObject:
        wanted = read(OpenSession, params)
        await asyncio.to_thread(SessionList(self._setting).items, wanted.session_id)
        return await self._offered(await self._open(wanted, wanted.session_id))

    async def _open(self, wanted: OpenSession, id_: str) -> AcpSession:
        folder = Path(wanted.cwd)
        if not folder.is_absolute() or not await asyncio.to_thread(folder.is_dir):
            raise RpcError(
                INVALID_PARAMS, f"cwd is {wanted.cwd[:200]!r}; give the full path of a folder"
            )
        if (before := self._sessions.pop(id_, None)) is not None:
            await before.aclose()
        if len(self._sessions) >= SESSIONS_MAX:
            raise UsageError(f"{SESSIONS_MAX} sessions are open, as many as may be; close one")
        setting = replace(
            self._setting, files_in=folder, servers=server_specs(wanted.mcp_servers, folder)
        )
        brought: list[Json] = [server.model_dump(mode="json") for server in wanted.mcp_servers]
        key = json.dumps([str(folder), brought])
        if (pool := self._pools.get(key)) is None:
            pool = self._pools[key] = AgentPool(setting, time.monotonic)
            await pool.__aenter__()
        session = AcpSession(
            id_,
            folder,
            pool,
            Choices(),
            self._editor,
            has_guide=self._has_guide,
        )
        self._sessions[id_] = session
        self._tell_later(session)
        return session

    def _tell_later(self, session: AcpSession) -> None:
        """Tell the user's commands once the editor knows the session: behind the answer."""

        async def tell() -> None:
            commands = await asyncio.to_thread(self._commands)
            told: JsonObject = {"sessionUpdate": "available_commands_update"}
            await session.update({**told, "availableCommands": commands})

        task = asyncio.create_task(tell())
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    async def _prompt(self, params: JsonObject) -> JsonObject:
        prompt = read(Prompt, params)

        async def reading() -> Asked:
            asked = await read_prompt(prompt.prompt)
            request, home = asked.request, self._setting.places.home
            if request.startswith("/"):
                request = await asyncio.to_thread(request_meant, request, home)
            return replace(asked, request=clean_request(request))

        return await self._found(prompt.session_id).prompt(reading)

    async def _close(self, params: JsonObject) -> JsonObject:
        session = self._found(read(OfSession, params).session_id)
        del self._sessions[session.id]
        await session.aclose()
        if not any(each.pool is session.pool for each in self._sessions.values()):
            self._pools = {key: it for key, it in self._pools.items() if it is not session.pool}
            await session.pool.__aexit__(None, None, None)
        return {}

    async def _delete(self, params: JsonObject) -> JsonObject:
        """Delete a kept session for good; one that is not there is deleted already."""
        session_id = read(OfSession, params).session_id
        if (session := self._sessions.pop(session_id, None)) is not None:
            await session.aclose()
        await asyncio.to_thread(SessionList(self._setting).delete, session_id)
        return {}

    async def _list(self, params: JsonObject) -> JsonObject:
        wanted = read(ListSessions, params)
        return await asyncio.to_thread(SessionList(self._setting).page, wanted)

    async def _set_mode(self, params: JsonObject) -> JsonObject:
        wanted = read(SetMode, params)
        session = self._found(wanted.session_id)
        self._use_profile(session, wanted.mode_id)
        options = (await self._offered(session))["configOptions"]
        await session.update({"sessionUpdate": "config_option_update", "configOptions": options})
        return {}

    async def _set_option(self, params: JsonObject) -> JsonObject:
        wanted = read(SetOption, params)
        session, value = self._found(wanted.session_id), str(wanted.value)
        if wanted.config_id == "model":
            await self._use_model(session, value)
        elif wanted.config_id == "profile":
            self._use_profile(session, value)
        else:
            there = "there are: model, profile"
            raise RpcError(INVALID_PARAMS, f"no option '{wanted.config_id[:80]}'; {there}")
        return {"configOptions": (await self._offered(session))["configOptions"]}

    async def _offered(self, session: AcpSession) -> JsonObject:
        return await asyncio.to_thread(offered, self._setting, session.choices)

    def _use_profile(self, session: AcpSession, name: str) -> None:
        session.pool.setting_of(OWNER, name)
        session.choices.profile = name

    async def _use_model(self, session: AcpSession, name: str) -> None:
        """Choose another model, once it is clear that it can be used."""
        if name == DEFAULT_MODEL:
            session.choices.model = None
            return
        setting = session.pool.setting
        model = await asyncio.to_thread(chosen_model, setting, name, MODEL_ORIGIN)
        await model.aclose()
        session.choices.model = name

    def _found(self, session_id: str) -> AcpSession:
        if (session := self._sessions.get(session_id)) is not None:
            return session
        raise RpcError(
            NOT_FOUND,
            f"no session {one_line(session_id, 100)} is open; open one with session/new, or "
            "session/load",
        )

    def _commands(self) -> list[Json]:
        """The user's own commands, as the protocol lists them; broken ones are left out."""
        found: list[Json] = []
        for name, path in command_files(self._setting.places.home / FOLDER):
            with contextlib.suppress(SettingsError):
                command = read_command(name, path)
                told: JsonObject = {"name": command.name, "description": command.description}
                hint = command.argument_hint or "…"
                found.append({**told, "input": {"hint": hint}})
            if len(found) == COMMANDS_MAX:
                break
        return found
