"""What the profile says about provenance, and what the configuration names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Literal, TypeAlias

from config.listing_tools import LISTING_TOOLS
from core.tool_spec import ToolSpec

Mode: TypeAlias = Literal["strict", "ask", "off", "auto"]
"""Refuse; ask the user where somebody is there, else refuse (`ask`, `auto`); let pass."""

Approvals: TypeAlias = Literal["never", "changing", "always"]
"""Which calls the user must allow: none; what may change something and was not asked for; all."""


@dataclass(frozen=True, slots=True)
class ProvenancePolicy:
    """How strictly values are checked, and what is trusted beside the user's words.

    `link_sources` and `listing_tools` are patterns (`*`, `?`) of names, `server.tool` or of the
    tool alone; `marking_tools` name files in source marks only. `trusted_servers` are ids of
    servers whose results hold nobody's text; `bundled_servers` those whose tools ask the web
    themselves, over plain HTTP. `folders` are absolute paths that any tool may be given, and
    `texts` by server id what its entry in the configuration holds: arguments, folder, URL.
    `relative_to` by server id are the folders that its relative paths lie in, and which it
    never leaves. `home` is what `~` stands for. `approved` are names of tools, `server.tool` or
    the tool's own, that may be called without a question.
    """

    mode: Mode = "auto"
    link_sources: tuple[str, ...] = ()
    listing_tools: tuple[str, ...] = LISTING_TOOLS
    marking_tools: tuple[str, ...] = ()
    trusted_servers: frozenset[str] = frozenset()
    bundled_servers: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    relative_to: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    home: str = ""
    approvals: Approvals = "changing"
    approved: tuple[str, ...] = ()

    def is_approved(self, tool: ToolSpec) -> bool:
        """Whether the user has allowed all calls of the tool beforehand."""
        return tool.qualified_name in self.approved or tool.name in self.approved

    def is_link_source(self, tool: ToolSpec) -> bool:
        """Whether the tool's results are lists of links to choose from."""
        return _matches(tool, self.link_sources)

    def is_listing(self, tool: ToolSpec) -> bool:
        """Whether the tool's results name files."""
        return _matches(tool, self.listing_tools)

    def marks_sources(self, tool: ToolSpec) -> bool:
        """Whether files are named in the source marks of the tool's results."""
        return _matches(tool, self.marking_tools)

    def is_trusted(self, tool: ToolSpec) -> bool:
        """Whether what the tool gives is nobody's text."""
        return tool.server in self.trusted_servers


def _matches(tool: ToolSpec, patterns: tuple[str, ...]) -> bool:
    """A pattern with a dot is meant for the qualified name, another for the tool's own."""
    return any(
        fnmatchcase(tool.qualified_name if "." in pattern else tool.name, pattern)
        for pattern in patterns
    )
