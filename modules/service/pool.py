"""Agents of several users: each has a home, servers and conversations of its own.

An agent starts with the first request for it, and ends when it has been idle for a while. The owner
of CORTEX_HOME is a user too, whose home that is; any other has `users/NAME` below it.

What is configured holds for an agent as long as it lives. A profile that is changed on the disk
holds for the next agent of it; the usual profile is read once, when the service starts.
"""

import asyncio
import contextvars
import logging
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self, TypeAlias

from config.schema import AgentProfile, load_profile
from config.settings import Places, SettingsError
from core.asking import Answer, Person, Question
from core.base.clock import Clock
from core.base.frozen import frozen
from core.base.text import did_you_mean, near_names
from core.errors import UsageError
from modules.service.agents import Agent, AgentConversation, AgentSetting

USERS_FOLDER: Final = "users"

DEFAULT_PROFILE: Final = "default"
"""The name of the profile that is used where none is named."""

IDLE_SECONDS: Final = 600.0
"""An agent ends after so long without a request."""

AGENTS_MAX: Final = 16
"""So many agents are there at once, each with servers of its own."""

CONVERSATIONS_MAX: Final = 200
"""So many conversations of one agent stay open between their requests."""

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

_Key: TypeAlias = tuple[str, str]
"""An agent's user and profile, by their names."""

log = logging.getLogger(__name__)


class Busy(Exception):
    """What is asked for is in use; the text says what to do. `problem` is its kind of problem."""

    problem = "unavailable"


class ConversationBusy(Busy):
    """The conversation answers another request."""

    problem = "conversation-busy"


class TooManyAgents(Busy):
    """All agents are in use."""


@frozen
class User:
    """Whose request it is.

    Attributes:
        name: "" for the owner of CORTEX_HOME.
        profiles: the profiles that this user may use; None for all.
    """

    name: str = ""
    profiles: tuple[str, ...] | None = None

    def may_use(self, profile: str) -> bool:
        """Whether what belongs to the profile is this user's to use."""
        return self.profiles is None or profile in self.profiles


def user_named(name: str, profiles: tuple[str, ...] | None = None) -> User:
    """The user of that name, which is the name of a folder too.

    Raises:
        UsageError: the name can't be one.
    """
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"{name[:80]!r} is no name of a user: give up to 64 small letters, digits, '-' and '_'"
        )
    return User(name, profiles)


def profile_files(places: Places) -> dict[str, Path]:
    """The profiles that there are: the usual one as "default", and those beside it by name."""
    usual = places.config_file("profiles.yaml")
    found = {path.stem: path for path in sorted(usual.parent.glob("*.yaml")) if path != usual}
    return {DEFAULT_PROFILE: usual} | found


@dataclass(eq=False)
class _Kept:
    """An agent, its open conversations by session, and since when nobody has used it.

    Those of `busy` answer a request.
    """

    agent: Agent
    idle_since: float
    users: int = 0
    conversations: dict[str, AgentConversation] = field(
        default_factory=dict[str, AgentConversation]
    )
    busy: set[AgentConversation] = field(default_factory=set[AgentConversation])


class AgentPool:
    """Gives out conversations; `async with` bounds all agents."""

    def __init__(
        self,
        setting: AgentSetting,
        clock: Clock,
        *,
        idle_seconds: float = IDLE_SECONDS,
        agents_max: int = AGENTS_MAX,
    ) -> None:
        """Start nothing; `setting` is that of the owner with the usual profile."""
        self.setting = setting
        self._clock = clock
        self._idle_seconds = idle_seconds
        self._agents_max = agents_max
        self._agents: dict[_Key, _Kept] = {}
        self._opening: dict[_Key, asyncio.Task[None]] = {}
        self._ending: dict[_Key, asyncio.Task[None]] = {}
        self._places_taken = 0  # by agents that are being opened
        self._sweeper: asyncio.Task[None] | None = None
        self._is_closed = False

    async def __aenter__(self) -> Self:
        """Begin to look for idle agents."""
        self._sweeper = asyncio.create_task(self._sweep())
        return self

    async def __aexit__(self, *error: object) -> None:
        """End all agents, those too that are just being opened."""
        self._is_closed = True
        unfinished = {*self._opening.values(), *([self._sweeper] if self._sweeper else [])}
        for task in unfinished:
            task.cancel()
        if unfinished:
            await asyncio.wait(unfinished)
        for key in [*self._agents]:
            self._end(key)
        if self._ending:
            await asyncio.wait({*self._ending.values()})

    def home(self, user: User) -> Path:
        """Where the user's state lies, under CORTEX_HOME."""
        home = self.setting.shared.home
        return home / USERS_FOLDER / user.name if user.name else home

    def profiles_of(self, user: User) -> dict[str, Path]:
        """The files of the profiles that the user may use, by their names."""
        files = profile_files(self.setting.shared)
        return {name: file for name, file in files.items() if user.may_use(name)}

    def check_profile(self, user: User, profile: str) -> Path:
        """The file of a profile; the folder is not looked at while an agent goes by it.

        Raises:
            UsageError: there is none of that name, or it is not the user's to use.
        """
        kept = self._agents.get((user.name, profile))
        if kept is not None and user.may_use(profile):
            return kept.agent.setting.profile_file
        files = self.profiles_of(user)
        if profile not in files:
            none = f"no profile of this user is a file beside {self.setting.profile_file}"
            there_are = f"there are: {', '.join(files)}" if files else none
            meant = did_you_mean(near_names(profile, files), there_are)
            raise UsageError(f"there is no profile '{profile[:80]}'; {meant}")
        return files[profile]

    def profile(self, user: User, name: str) -> AgentProfile:
        """A profile as its file has it now, the usual one as it was when the service started.

        Raises:
            UsageError: there is none of that name, or it is not the user's to use.
            SettingsError: it can't be used.
        """
        file = self.check_profile(user, name)
        return self.setting.profile if name == DEFAULT_PROFILE else load_profile(file)

    def setting_of(self, user: User, profile: str = DEFAULT_PROFILE) -> AgentSetting:
        """What an agent of the user is made of.

        Raises:
            UsageError: there is no such profile, or it is not the user's to use.
            SettingsError: it can't be used, or not by several users.
        """
        file = self.check_profile(user, profile)
        places = replace(self.setting.places, home=self.home(user))
        found = self.profile(user, profile)
        setting = replace(self.setting, places=places, profile=found, profile_file=file)
        if user.name:
            _check_apart(setting)
        return setting

    def check_user(self, user: User) -> None:
        """Tell what is wrong with the profiles that a user may use: those named, else the usual.

        Raises:
            UsageError: one is not there.
            SettingsError: one can't be used, or not by several users.
        """
        for name in user.profiles or (DEFAULT_PROFILE,):
            self.setting_of(user, name)

    def running(self, user: User, profile: str = DEFAULT_PROFILE) -> Agent | None:
        """The user's agent if it is there; none is started.

        Raises:
            UsageError: there is no such profile, or it is not the user's to use.
        """
        self.check_profile(user, profile)
        kept = self._agents.get((user.name, profile))
        return None if kept is None else kept.agent

    async def shown(self, user: User, profile: str) -> Agent:
        """The agent that runs, else one of which nothing is started, and which is left so.

        Raises:
            UsageError, SettingsError: see `setting_of`.
        """
        if (agent := self.running(user, profile)) is not None:
            return agent
        setting = await asyncio.to_thread(self.setting_of, user, profile)
        return await asyncio.to_thread(Agent, setting)

    async def close_conversation(self, user: User, profile: str, session_id: str) -> None:
        """Have a conversation open no more: what it remembers is about to be deleted.

        Raises:
            ConversationBusy: it answers a request.
        """
        kept = self._agents.get((user.name, profile))
        if kept is None or session_id not in kept.conversations:
            return
        if kept.conversations[session_id] in kept.busy:
            raise ConversationBusy(f"the conversation {session_id} answers a request; cancel that")
        await kept.conversations.pop(session_id).aclose()

    @asynccontextmanager
    async def agent(self, user: User, profile: str = DEFAULT_PROFILE) -> AsyncGenerator[Agent]:
        """The user's agent, which does not end while inside.

        Raises:
            UsageError, SettingsError: see `setting_of`; UserError: no model can be chosen.
            TooManyAgents: there are as many as may be, and all are in use.
        """
        async with self._used(user, profile) as kept:
            yield kept.agent

    @asynccontextmanager
    async def conversation(
        self,
        user: User,
        profile: str,
        session_id: str | None,
        put_question: Person,
    ) -> AsyncGenerator[AgentConversation]:
        """A conversation of the user's for one request; a new one without `session_id`.

        Raises:
            ConversationBusy: it answers another request.
            UsageError, SettingsError, UserError, TooManyAgents: see `agent`.
        """
        async with self._used(user, profile) as kept:
            conversation = kept.conversations.get(session_id or "")
            if conversation is None:
                conversation = kept.agent.conversation(session_id, _nobody)
            if conversation in kept.busy:
                raise ConversationBusy(
                    f"the conversation {session_id} answers another request; wait for its end, or "
                    "cancel it"
                )
            kept.busy.add(conversation)
            conversation.put_question = put_question
            if session_id is not None:
                kept.conversations[session_id] = conversation
            try:
                yield conversation
            finally:
                kept.busy.remove(conversation)
                conversation.put_question = _nobody
                await _put_back(kept, conversation)

    @asynccontextmanager
    async def _used(self, user: User, profile: str) -> AsyncGenerator[_Kept]:
        """The agent, counted as used.

        Who is cancelled here leaves the opening to others who wait for it, or to the next request.
        """
        self.check_profile(user, profile)  # not every token of a user is for every profile
        key = user.name, profile
        while (kept := self._agents.get(key)) is None:
            if self._is_closed:
                raise TooManyAgents("the service ends; try again in a while")
            if (opening := self._opening.get(key)) is None:
                # In a context of its own: the agent belongs to no request's trace.
                work = self._opened(key, user)
                opening = asyncio.create_task(work, context=contextvars.Context())
                self._opening[key] = opening
                # Its error is seen, though nobody may wait for it any more.
                opening.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.wait({opening})
            if not opening.cancelled():
                opening.result()  # it may have been ended again by now
        kept.users += 1
        try:
            yield kept
        finally:
            kept.users -= 1
            kept.idle_since = self._clock()

    async def _opened(self, key: _Key, user: User) -> None:
        """Open an agent; one that still ends under the same name is waited for."""
        try:
            if (ending := self._ending.get(key)) is not None:
                await asyncio.wait({ending})
            setting = await asyncio.to_thread(self.setting_of, user, key[1])
            await self._make_room()
            self._places_taken += 1
            try:
                agent = await asyncio.to_thread(Agent, setting)
                self._agents[key] = _Kept(await agent.__aenter__(), self._clock())
            finally:
                self._places_taken -= 1
        finally:
            del self._opening[key]

    async def _make_room(self) -> None:
        """End the agent that has been idle longest, where there are too many.

        Raises:
            TooManyAgents: none is idle.
        """
        while len(self._agents) + len(self._ending) + self._places_taken >= self._agents_max:
            idle = [(kept.idle_since, key) for key, kept in self._agents.items() if not kept.users]
            if not self._ending:
                if not idle:
                    most = f"{self._agents_max} agents are in use, as many as may be"
                    raise TooManyAgents(f"{most}; try again in a while")
                self._end(min(idle)[1])
            await asyncio.wait({*self._ending.values()}, return_when=asyncio.FIRST_COMPLETED)

    def _end(self, key: _Key) -> None:
        """Begin to end an agent; nobody gets it any more."""
        kept = self._agents.pop(key)
        self._ending[key] = asyncio.create_task(self._ended(key, kept.agent))

    async def _ended(self, key: _Key, agent: Agent) -> None:
        try:
            await agent.__aexit__(None, None, None)
        except Exception:
            log.exception("an agent did not end well")
        finally:
            del self._ending[key]

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self._idle_seconds / 10)
            now = self._clock()
            for key, kept in [*self._agents.items()]:
                if not kept.users and now - kept.idle_since > self._idle_seconds:
                    self._end(key)


async def _put_back(kept: _Kept, conversation: AgentConversation) -> None:
    """Keep a conversation open under its session, and close the oldest of too many."""
    open_, id_ = kept.conversations, conversation.session_id
    for name in [name for name, each in open_.items() if each is conversation]:
        del open_[name]
    closed = [conversation] if id_ is None else []
    if id_ is not None:
        open_[id_] = conversation  # as the newest
    idle = [name for name, each in open_.items() if each not in kept.busy]
    too_many = max(0, len(open_) - CONVERSATIONS_MAX)
    # All at once: while one is closed, a request may come for another.
    closed += [open_.pop(name) for name in idle[:too_many]]
    for each in closed:
        try:
            await each.aclose()
        except Exception:  # the request is answered all the same
            log.exception("a conversation did not end well")


async def _nobody(question: Question) -> Answer | None:
    """Between two requests nobody is there to be asked."""


def _check_apart(setting: AgentSetting) -> None:
    """Refuse a profile by which users would share what is kept of them.

    Folders of documents may be shared: they hold what was put there for all to read.

    Raises:
        SettingsError: sessions or the index lie outside of the user's home.
    """
    home, profile = setting.places.home, setting.profile
    folders = {
        "memory.storage.base_dir": profile.memory_folder(home),
        "documents.index_folder": profile.index_folder(home),
    }
    for key, folder in folders.items():
        if not folder.resolve().is_relative_to(home.resolve()):
            raise SettingsError.at(
                setting.profile_file,
                None,
                f"{key}: {folder} would be shared by all users of the service; give a folder "
                "relative to CORTEX_HOME, without '..'",
            )
