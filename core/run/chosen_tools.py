"""The tools that the user lets a request use: all others are as if they were not there."""

from collections.abc import Sequence

from core.base.text import did_you_mean, near_names
from core.dispatch.hooks import ServerStatus
from core.errors import CallRefused, UsageError
from core.mcp.hooks import OnProgress
from core.ports import Dispatcher
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.values import JsonObject


class ChosenTools:
    """A dispatcher with some of another's tools; `core.ports.Dispatcher`."""

    def __init__(self, dispatcher: Dispatcher, names: Sequence[str]) -> None:
        """Choose by names: `server.tool`, `tool` where one server has it, or a server for all.

        Raises:
            UsageError: a name means no tool that is known, or several; the nearest are named.
        """
        self._dispatcher = dispatcher
        whole = dispatcher.catalog
        self._catalog = ToolCatalog(tool for name in names for tool in _meant(name, whole))

    @property
    def catalog(self) -> ToolCatalog:
        """The tools that were chosen."""
        return self._catalog

    def status(self) -> list[ServerStatus]:
        """How each server is that has one of the tools."""
        servers = {tool.server for tool in self.catalog}
        return [status for status in self._dispatcher.status() if status.id in servers]

    async def call_tool(
        self, tool_name: str, arguments: JsonObject, on_progress: OnProgress | None = None
    ) -> ToolResult:
        """Call one of the tools; raises as `core.ports.ToolCaller.call_tool`."""
        tool = self._own(self.catalog.get(tool_name), tool_name)
        return await self._dispatcher.call_tool(tool.qualified_name, arguments, on_progress)

    async def prepare(self, tool: ToolSpec) -> None:
        """Have the tool's server running; raises as `core.ports.Dispatcher.prepare`."""
        await self._dispatcher.prepare(self._own(tool, tool.qualified_name))

    async def send(
        self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None = None
    ) -> ToolResult:
        """Call one of the tools; raises as `core.ports.Dispatcher.send`."""
        own = self._own(tool, tool.qualified_name)
        return await self._dispatcher.send(own, arguments, on_progress)

    async def learn_more(self) -> bool:
        """Nothing: there are no more tools than were chosen."""
        return False

    def _own(self, tool: ToolSpec | None, name: str) -> ToolSpec:
        if tool is None or self.catalog.get(tool.qualified_name) is None:
            raise CallRefused(f"{name} is none of the tools that the user lets this request use")
        return tool


class WithoutServer(ChosenTools):
    """A dispatcher without the tools of one server; the others may have more in time."""

    def __init__(self, dispatcher: Dispatcher, server: str) -> None:
        """Leave out the tools of `server`."""
        super().__init__(dispatcher, ())
        self._server = server
        self._whole: ToolCatalog | None = None

    @property
    def catalog(self) -> ToolCatalog:
        """The tools of all other servers."""
        whole = self._dispatcher.catalog
        if whole is not self._whole:
            self._whole = whole
            self._catalog = ToolCatalog(tool for tool in whole if tool.server != self._server)
        return self._catalog

    def status(self) -> list[ServerStatus]:
        """How each other server is."""
        return [status for status in self._dispatcher.status() if status.id != self._server]

    async def learn_more(self) -> bool:
        """Learn the tools of servers that were not waited for; whether there are more tools now."""
        return await self._dispatcher.learn_more()


def is_known(name: str, catalog: ToolCatalog) -> bool:
    """Whether a name means a tool, several tools, or a server whose tools are known."""
    return bool(tools_named(name, catalog))


def _meant(name: str, catalog: ToolCatalog) -> Sequence[ToolSpec]:
    found = tools_named(name, catalog)
    if not found:
        names = {n: None for t in catalog for n in (t.name, t.qualified_name, t.server)}
        meant = did_you_mean(near_names(name, names), "`mcp tools` lists them")
        raise UsageError(f"--tools: there is no tool '{name}'; {meant}")
    if len(found) > 1 and len({tool.server for tool in found}) > 1:
        which = " or ".join(tool.qualified_name for tool in found)
        raise UsageError(f"--tools: several servers have '{name}'; say {which}")
    return found


def tools_named(name: str, catalog: ToolCatalog) -> list[ToolSpec]:
    """The tools that a name may mean: one, those of a server, or one of each of several servers."""
    if (tool := catalog.lookup(name)) is not None:
        return [tool]
    return [tool for tool in catalog if name in (tool.server, tool.name)]
