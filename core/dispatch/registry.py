"""Which tools are known, server by server, and what a name means among them."""

from collections.abc import Collection, Iterable

from core.catalog import ToolCatalog
from core.dispatch.tool_pins import ALLOW_OPTION
from core.errors import CallRefused
from core.tool_spec import ToolSpec


class ToolRegistry:
    """The tools of all servers in the order of the configuration; replaced server by server."""

    def __init__(self, server_ids: Iterable[str]) -> None:
        """Know no tool of any server."""
        self._order = tuple(server_ids)
        self._refused: dict[str, Collection[str]] = {}
        self.server_tools: dict[str, list[ToolSpec]] = {}
        """The known tools by server id, in the order of the configuration."""
        self.tool_map: dict[str, ToolSpec] = {}
        """The known tools by bare name, or by `server.tool` where a name is shared."""
        self.catalog = ToolCatalog(())

    def learn(self, server: str, tools: list[ToolSpec], refused: Collection[str]) -> None:
        """Replace what is known of a server; `refused` are tools whose changes nobody accepted."""
        known = {**self.server_tools, server: tools}
        self._refused[server] = refused
        self.server_tools = {name: known[name] for name in self._order if name in known}
        self.catalog = ToolCatalog(tool for tools in self.server_tools.values() for tool in tools)
        self.tool_map = {
            tool.qualified_name if self.catalog.is_ambiguous(tool) else tool.name: tool
            for tool in self.catalog
        }

    def resolve(self, name: str) -> ToolSpec:
        """The tool that a name means.

        Raises:
            CallRefused: no such tool, or several, or one that was left out because it changed.
        """
        for owner, refused in self._refused.items():
            for bare in refused:
                # The full name first: no other server's tool may answer in its place.
                if name == f"{owner}.{bare}" or (name == bare and name not in self.catalog):
                    raise CallRefused(
                        f"'{owner}.{bare}' is left out: its definition is not the one that was "
                        f"first used; accept the new one with {ALLOW_OPTION}"
                    )
        return self.catalog.resolve(name)
