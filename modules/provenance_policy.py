"""What a profile and its servers' entries say of trust and consent, as a policy for `Known`."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from config.schema import AgentProfile
from config.server_list import is_documents_server, is_math_server
from config.servers import ServerSpec
from config.settings import Places
from core.errors import UsageError
from core.provenance.known import ProvenancePolicy
from core.provenance.rules import Rule, RuleError, read_rule

SOURCES_OF_DOCUMENTS: Final = "search_stored_documents"
"""The tool of the documents server whose results name files in marks of their own."""


def provenance_policy(
    profile: AgentProfile,
    specs: Iterable[ServerSpec],
    places: Places,
    approve: Iterable[str] = (),
) -> ProvenancePolicy:
    """The rules for these servers, with absolute paths; `approve` are rules beside the profile's.

    A server's arguments, URL and folder are named by the configuration, for that server; its
    folder only where the entry gives one, for by default it is the checkout.

    Raises:
        UsageError: one of `approve`, or of the profile's, is no rule.
    """
    specs = tuple(specs)
    folders = tuple(str(places.home / folder) for folder in profile.documents.folders)
    readers = [spec.id for spec in specs if is_documents_server(spec, places.root)]
    return ProvenancePolicy(
        mode=profile.security.provenance,
        link_sources=profile.security.link_sources,
        listing_tools=profile.security.listing_tools,
        marking_tools=tuple(f"{server}.{SOURCES_OF_DOCUMENTS}" for server in readers),
        trusted_servers=frozenset(spec.id for spec in specs if is_math_server(spec, places.root)),
        bundled_servers=frozenset(spec.id for spec in specs if spec.bundled),
        folders=folders,
        texts={spec.id: tuple(_texts(spec, places.root)) for spec in specs},
        relative_to=dict.fromkeys(readers, folders),
        server_keys={spec.id: spec.key for spec in specs},
        home=_home_folder(),
        approvals=profile.security.approvals,
        rules=_rules(profile.security.approve, approve),
        tools=profile.security.tools,
        runs_in={spec.id: str(spec.runs_in or spec.folder) for spec in specs if spec.command},
    )


def _rules(of_profile: Iterable[str], named: Iterable[str]) -> tuple[Rule, ...]:
    try:
        return tuple(map(read_rule, (*of_profile, *named)))
    except RuleError as error:
        raise UsageError(str(error)) from None


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
            yield os.path.normpath(spec.folder / argument)
    if spec.command and spec.cwd != root and spec.runs_in is None:
        yield str(spec.cwd)


def _home_folder() -> str:
    """What `~` stands for; nothing where nobody knows."""
    try:
        return str(Path.home())
    except RuntimeError:
        return ""
