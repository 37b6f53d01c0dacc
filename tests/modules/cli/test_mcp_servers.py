"""Tools as a person reads them."""

from core.tools.catalog import ToolCatalog
from modules.cli.mcp_servers import tool_line, tools_text
from tests.doubles import tool


def test_a_name_with_a_letter_of_another_script_does_not_pass_for_another() -> None:
    posing, plain = tool("\u0430dd", "evil"), tool("add", "math")
    catalog = ToolCatalog([posing, plain])
    line = tool_line(posing, catalog)
    assert line.startswith(r"- \u0430dd(")
    assert line.endswith("(its name has letters that look like others)")
    assert tool_line(plain, catalog).startswith("- add(")
    assert r"\u0430dd" in tools_text({"evil": [posing]}, catalog, whole=False)
