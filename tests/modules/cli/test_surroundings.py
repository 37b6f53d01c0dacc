"""What commands work in: tables that fit a terminal and keep no secret."""

from contextlib import redirect_stdout
from pathlib import Path

from tests.doubles import Terminal
from tests.modules.cli.by_hand import prepared

SECRET = "sekret-value-" + "x" * 200


def test_a_secret_in_a_table_is_gone_before_a_terminals_width_breaks_it(tmp_path: Path) -> None:
    with redirect_stdout(Terminal()) as shown:
        around = prepared(tmp_path, {"SOME_API_KEY": SECRET}, "mcp", "list")
        around.print_table([("NAME", "STARTS WITH"), ("web", f"run --key {SECRET}")], [SECRET])
    assert "sekret" not in shown.getvalue()
    assert "xxx" not in shown.getvalue()
    assert shown.getvalue().count("[redacted SOME_API_KEY]") == 2
