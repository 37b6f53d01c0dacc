"""What a session trusts: the profile's `security` section, and what the configuration names."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from config.bundled import is_documents_server
from config.schema import AgentProfile
from config.servers import ServerSpec
from config.settings import Places
from core.provenance.known import Known, ProvenancePolicy
from core.turn import SANDBOX_STEP, MemoryItem
from core.values import Json

MATH_SCRIPT: Final = Path("servers") / "math_server.py"
"""The one server whose results hold nobody's text."""

SOURCES_OF_DOCUMENTS: Final = "search_stored_documents"


def provenance_policy(
    profile: AgentProfile,
    specs: Iterable[ServerSpec],
    places: Places,
    approved: Iterable[str] = (),
) -> ProvenancePolicy:
    """The rules for these servers, with absolute paths; `approved` are tools that need no yes.

    A server's arguments, URL and folder are named by the configuration, for that server; its
    folder only where the entry gives one, for by default it is the checkout.
    """
    specs = tuple(specs)
    folders = tuple(str(places.home / folder) for folder in profile.documents.folders)
    readers = [spec.id for spec in specs if is_documents_server(spec, places.root)]
    return ProvenancePolicy(
        mode=profile.security.provenance,
        link_sources=profile.security.link_sources,
        listing_tools=profile.security.listing_tools,
        marking_tools=tuple(f"{server}.{SOURCES_OF_DOCUMENTS}" for server in readers),
        trusted_servers=frozenset(spec.id for spec in specs if _is_math(spec, places.root)),
        bundled_servers=frozenset(spec.id for spec in specs if spec.bundled),
        folders=folders,
        texts={spec.id: tuple(_texts(spec, places.root)) for spec in specs},
        relative_to=dict.fromkeys(readers, folders),
        home=_home(),
        approvals=profile.security.approvals,
        approved=tuple(approved),
    )


def recall(known: Known, items: Iterable[MemoryItem]) -> None:
    """Be careful from the start in a session that has read untrusted text in another process."""
    trusted = known.policy.trusted_servers
    known.is_tainted = known.is_tainted or any(
        item.type == "tool_output"
        and item.tool_name != SANDBOX_STEP
        and not _is_of(item.metadata.get("server"), trusted)
        and not item.metadata.get("refused")
        for item in items
    )


def _is_of(server: Json, trusted: frozenset[str]) -> bool:
    # What a file holds there need not be a name.
    return isinstance(server, str) and server in trusted


def _is_math(spec: ServerSpec, root: Path) -> bool:
    if not spec.bundled or len(spec.command) < 2:
        return False
    return Path(spec.command[1]).resolve() == (root / MATH_SCRIPT).resolve()


def _texts(spec: ServerSpec, root: Path) -> Iterable[str]:
    """What an entry names: arguments, also the values of options, its URL, its folder."""
    if spec.url is not None:
        yield spec.url
    for argument in spec.command[1:]:
        if spec.bundled and argument.endswith(".py"):
            continue
        yield argument
        if argument.startswith("-") and "=" in argument:
            yield argument.partition("=")[2]
        if argument == "." or argument.startswith(("./", "../")):
            yield os.path.normpath(spec.cwd / argument)
    if spec.command and spec.cwd != root:
        yield str(spec.cwd)


def _home() -> str:
    try:
        return str(Path.home())
    except RuntimeError:  # nobody knows
        return ""
