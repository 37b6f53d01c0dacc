"""Everything that requests are answered with: servers, sandbox, profile, and the real conversation.

Servers and sandbox live from the first request to the last; each request has a session of its own.
"""

import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from config.schema import AgentProfile, GraphMode, load_profile
from config.server_list import with_sections
from config.servers import ServerSpec
from config.settings import Places
from core.base.redaction import Redactor
from core.events import Event
from core.ports import TextModel
from core.session import MultiMCP
from modules.cli.composition import build_dispatcher, open_display
from modules.conversation import Conversation
from modules.model_manager import ModelManager
from modules.models.serving.watched import ChosenModel
from modules.sandbox import Sandbox, limits_of
from tests.command_line import ROOT
from tests.evals.workplace import Workplace
from tests.real.parts import STAMP, npm_server, python_server

ServerName: TypeAlias = Literal["math", "documents", "time", "filesystem", "git"]
ALL_SERVERS: tuple[ServerName, ...] = ("math", "time", "filesystem", "git")

BUNDLED: frozenset[ServerName] = frozenset({"math", "documents"})
"""Those of our own; the others have to be installed."""

DOCUMENTS = Path(__file__).with_name("requests") / "team" / "documents"
"""What the documents server has to read."""

APPROVED = (
    *("filesystem.write_file(*)", "filesystem.edit_file(*)", "filesystem.create_directory(*)"),
    *("filesystem.move_file(*)", "git.git_add(*)", "git.git_commit(*)", "git.git_reset(*)"),
    *("git.git_create_branch(*)", "git.git_checkout(*)"),
)
"""What changes things: planning is measured, as it is for a person who says yes to each call."""

MODEL_SECONDS = 600.0
"""Bound on one request to the model: weights on a busy machine take minutes to read a prompt."""


class PartsMissing(Exception):
    """The servers of others are not installed; the message says how to get them."""


@dataclass(frozen=True)
class Manner:
    """How plans are made where the profile leaves a choice; None leaves it to the profile."""

    plan_style: Literal["tools", "mcp"] | None = None
    perception: Literal["auto", "always", "never"] | None = None
    graph: GraphMode | None = None

    @property
    def suffix(self) -> str:
        """What tells plan style and perception in the name of a way: `-mcp-always`."""
        return "".join(f"-{choice}" for choice in (self.plan_style, self.perception) if choice)


@dataclass(frozen=True)
class Stage:
    """Where things are, and the model; `rendered` is the same, for prompts with their marks."""

    workplace: Workplace
    places: Places
    model: TextModel
    rendered: TextModel

    def profile(self, manner: Manner) -> AgentProfile:
        """The profile that ships, in that manner; sessions are not written to the disk."""
        path = ROOT / "config" / "profiles.yaml"
        profile = load_profile(path)
        changes = {
            name: value
            for name in ("plan_style", "perception", "graph")
            if (value := getattr(manner, name)) is not None
        }
        strategy = profile.strategy.model_copy(update=changes)
        memory = profile.memory.model_copy(update={"memory_service": False})
        documents = profile.documents.model_copy(update={"folders": (str(DOCUMENTS),)})
        security = profile.security.model_copy(
            update={"approve": (*profile.security.approve, *APPROVED)}
        )
        changed = {
            "strategy": strategy,
            "memory": memory,
            "documents": documents,
            "security": security,
        }
        return profile.model_copy(update=changed)

    def specs(self, names: Sequence[ServerName]) -> list[ServerSpec]:
        """How the named servers are started.

        Raises:
            PartsMissing: those of others are not installed.
        """
        if {*names} - BUNDLED and not STAMP.exists():
            raise PartsMissing(
                "mcp-server-time, -git and -filesystem are not installed: run "
                "'python -m tests.real.install' (make eval does it by itself)"
            )
        profile_file = ROOT / "config" / "profiles.yaml"
        profile, home = self.profile(Manner()), self.places.home
        bundled = {
            entry.id: with_sections(
                entry.spec(ROOT, profile_file.parent), profile, ROOT, home, os.environ
            )
            for entry in profile.mcp_servers
        }
        return [self._spec(name, bundled) for name in names]

    def dispatcher(self, names: Sequence[ServerName]) -> MultiMCP:
        """A dispatcher over the named servers, as the program builds it."""
        display = open_display(None, Redactor({}), verbose=False, quiet=True)
        return build_dispatcher(self.specs(names), self.places, display)

    def manager(self, *, is_rendered: bool = False) -> ModelManager:
        """A manager of the model, with sums of its own."""
        model = self.rendered if is_rendered else self.model
        return ModelManager([ChosenModel(model, timeout_seconds=MODEL_SECONDS)])

    @asynccontextmanager
    async def conversation(
        self, manner: Manner, names: Sequence[ServerName]
    ) -> AsyncGenerator[Conversation]:
        """The real thing, open, with every server at work.

        Raises:
            PartsMissing: one did not start; without it other things would be measured.
        """
        profile = self.profile(manner)
        dispatcher = self.dispatcher(names)
        conversation = Conversation(
            profile,
            self.places,
            self.manager(),
            dispatcher,
            Sandbox(limits_of(profile.sandbox), require=profile.sandbox.require),
            _hear_nothing,
        )
        async with conversation:
            await dispatcher.initialize()
            if dispatcher.failures:
                raise PartsMissing(f"servers did not start: {dispatcher.failures}")
            yield conversation

    def _spec(self, name: ServerName, bundled: dict[str, ServerSpec]) -> ServerSpec:
        match name:
            case "math" | "documents":
                return bundled[name]
            case "time":
                return python_server("time", "--local-timezone", "UTC")
            case "filesystem":
                return npm_server("filesystem", str(self.workplace.files))
            case "git":
                return python_server("git", "--repository", str(self.workplace.repo))


def say(text: str) -> None:
    """Tell on stderr how far things are."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


async def _hear_nothing(event: Event) -> None:
    """What is of interest stands in the outcome."""
