"""Which tools are known, and what a name means among them."""

import pytest

from core.dispatch.registry import ToolRegistry
from core.errors import CallRefused
from core.tool_spec import ToolSpec


def tool(server: str, name: str) -> ToolSpec:
    return ToolSpec(server, name, "", {})


def test_servers_stay_in_the_order_of_the_configuration_however_late_they_are() -> None:
    registry = ToolRegistry(["a", "b"])
    registry.learn("b", [tool("b", "look"), tool("b", "run")], ())
    registry.learn("a", [tool("a", "look")], ())
    assert [*registry.server_tools] == ["a", "b"]
    assert [*registry.tool_map] == ["a.look", "b.look", "run"]
    registry.learn("a", [], ())
    assert [*registry.tool_map] == ["look", "run"]


def test_a_tool_that_was_left_out_is_refused_with_the_reason() -> None:
    registry = ToolRegistry(["a", "b"])
    registry.learn("a", [], ["look"])
    for name in ("look", "a.look"):
        with pytest.raises(CallRefused, match=r"'a\.look' is left out: its definition is not"):
            registry.resolve(name)
    with pytest.raises(CallRefused, match=r"there is no tool 'b\.look'"):
        registry.resolve("b.look")
    registry.learn("b", [tool("b", "look")], ())
    assert registry.resolve("look").server == "b"
    registry.learn("a", [tool("a", "look")], ())
    assert registry.resolve("a.look").server == "a"
