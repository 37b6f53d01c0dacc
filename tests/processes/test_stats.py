"""`stats` on a narrow screen."""

from contextlib import closing
from datetime import datetime
from pathlib import Path

from core.turn import USAGE
from core.values import Json
from modules.session.records import MemoryRecord, array_of
from tests.command_line import environment, write_profile
from tests.modules.trace.session_items import call, item
from tests.screens import ScreenTerminal

NAME = "search_stored_documents_with_care"


def test_in_40_columns_a_day_takes_a_line_and_no_word_is_broken_outside_of_a_cell(
    tmp_path: Path,
) -> None:
    profile = write_profile(tmp_path)
    noon = datetime.now().replace(hour=0, minute=0, second=0).timestamp()
    used: Json = {"gemini": {"model_calls": 1, "input_tokens": 123_456, "cost": 12.3}}
    items = [
        item(noon, "run_metadata", user_query="x", metadata={"start_time": "x"}),
        *call(noon + 1, 1, 0.5),
        item(noon + 1, "tool_output", tool_name=NAME, success=False, metadata={"seconds": 2}),
        item(noon + 3_000, "final_answer", final_answer="12", user_query="x"),
        item(noon + 3_000, "run_metadata", metadata={USAGE: used}),
    ]
    (tmp_path / "memory").mkdir()
    records = array_of(map(MemoryRecord.of, items))
    (tmp_path / "memory" / "notes.json").write_bytes(records)
    options = ["stats", "--profile", str(profile)]
    environ = environment(tmp_path, TERM="xterm-256color", NO_COLOR="1")
    opened = ScreenTerminal(*options, environ=environ, cwd=tmp_path, columns=40)
    with closing(opened) as terminal:
        shown = terminal.shows("read 1 session,")
        assert terminal.ends() == 0
    lines = shown.splitlines()
    assert lines[0].startswith("since ")
    assert lines[0].endswith(": 1 request, 1 answered"), "broken at a word"
    day = next(line for line in lines if "$" in line and "█" in line)
    assert day.split()[1:] == ["████", "1", "100%", "50", "min", "$12.30"]
    assert any(line.split() == ["math.add", "1", "0", "500", "ms"] for line in lines)
