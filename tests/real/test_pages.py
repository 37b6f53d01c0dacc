"""The pages of `trace` and `stats` in Chromium, opened from a file as a user would."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core.turn import MemoryItem
from core.values import Json, JsonObject
from modules.session.records import MemoryRecord, array_of
from tests.command_line import agent, write_profile
from tests.modules.trace.session_items import call, in_parts, item, model_call, plan
from tests.real.browser import chromium, visited
from tests.real.parts import NODE_PACKAGES

VISIT_TIMEOUT_SECONDS = 120
"""It takes about ten."""

QUICK_SECONDS = 5
"""Loading takes about 0.4 s and a search 0.1; what is shared with other tests may be slower."""

RUNS, CALLS = 40, 45
WORD = "needle17"
"""Stands in the prompt of one span."""

HOSTILE = "</script><img src=x onerror=owned=1><script>owned=1</script>\u2028\u202e\x00\x07[é]"
LARGE = "<b>" + "large " * 170_000
"""One megabyte."""

Visit = dict[str, Any]


def seen_on(page: Path) -> Visit:
    """What `page_visit` finds on a page; skips without a browser, but never in CI."""
    axe = NODE_PACKAGES / "axe-core" / "axe.min.js"
    words, seconds = (str(axe), str(page), WORD), VISIT_TIMEOUT_SECONDS
    found: Visit = json.loads(
        visited("page_visit", *words, home=page.parent, timeout_seconds=seconds)
    )
    return found


def a_run(number: int) -> list[MemoryItem]:
    """A run of 50 events: perception, two calls of models, one that is repeated, a plan, calls."""
    at = 1_764_000_000.0 + 600 * number
    name = HOSTILE if number == 3 else f"how many herons were at pond {number}?"
    seen: JsonObject = {"intent": "count", "at": at, "seconds": 0.4}
    told = f"pond {number} {WORD if number == 17 else ''}"
    models: list[Json] = [
        model_call(at + 0.1, 0.2, purpose="perception"),
        {"model": "m", "purpose": "tried again", "at": at + 0.5, "seconds": 0.1, "trouble": "503"},
        model_call(at + 0.7, 0.2, prompt=told, reply=LARGE if number == 17 else "a plan"),
    ]
    begun = item(at, "run_metadata", user_query=name, metadata={"start_time": "x"})
    calls = [
        each
        for place in range(CALLS - 1)
        for each in call(at + 1 + place / 20, place, 0.3, ok=bool(place % 9))
    ]
    hostile = item(at + 2, "tool_output", tool_name=HOSTILE, tool_result={"result": HOSTILE})
    planned = plan(at + 0.45, 4.0, 1, ok=True, model_calls=models, perception=seen)
    ended = item(at + 5, "final_answer", final_answer=HOSTILE, user_query=name)
    return [begun, *sorted([*calls, hostile], key=lambda each: each.timestamp), planned, ended]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a session of 2,000 events, some of them hostile."""
    home = tmp_path_factory.mktemp("pages")
    write_profile(home)
    items = [each for number in range(RUNS) for each in a_run(number)]
    titled = item(9e9, "run_metadata", metadata={"title": HOSTILE})
    (home / "memory").mkdir()
    records = map(MemoryRecord.of, [*items, titled])
    (home / "memory" / "herons.json").write_bytes(array_of(records))
    return home


@pytest.fixture(scope="module")
def trace(home: Path) -> Visit:
    return page_of(home, "trace")


@pytest.fixture(scope="module")
def stats(home: Path) -> Visit:
    return page_of(home, "stats", "--days", "3650")


def page_of(home: Path, *words: str) -> Visit:
    """What is found on the page that a command writes."""
    page = home / f"{words[0]}.html"
    done = agent(home, *words, "--html", str(page), "--profile", str(home / "profile.yaml"))
    assert (done.code, done.err) == (0, "")
    return seen_on(page) | {"file": page.as_uri()}


@pytest.mark.timeout(2 * VISIT_TIMEOUT_SECONDS)
@pytest.mark.parametrize("name", ["trace", "stats"])
class TestEachPage:
    def test_it_asks_for_nothing_but_itself_and_complains_of_nothing(
        self, name: str, request: pytest.FixtureRequest
    ) -> None:
        found: Visit = request.getfixturevalue(name)
        assert found["requests"] == [found["file"]]
        assert found["complaints"] == []

    def test_text_of_others_is_text(self, name: str, request: pytest.FixtureRequest) -> None:
        found: Visit = request.getfixturevalue(name)
        assert (found["owned"], found["foreign_elements"]) == (False, 0)

    def test_it_fits_phones_and_screens_and_axe_finds_no_barrier_light_or_dark(
        self, name: str, request: pytest.FixtureRequest
    ) -> None:
        found: Visit = request.getfixturevalue(name)
        assert found["sideways"] == [0] * 6
        assert found["barriers"] == [[], []]
        assert found["colours"][0] != found["colours"][1], "dark is another page"


@pytest.mark.timeout(2 * VISIT_TIMEOUT_SECONDS)
class TestTrace:
    def test_two_thousand_events_are_there_soon_and_found_soon(self, trace: Visit) -> None:
        assert trace["rows"] == RUNS * 51
        assert trace["sum"].startswith("40 runs · 3 min 20 s · 80,000 tokens · $20.0000")
        assert (trace["load_seconds"] < QUICK_SECONDS, trace["found"]) == (True, 1)
        assert trace["search_seconds"] < QUICK_SECONDS

    def test_a_click_shows_prompt_and_reply_and_another_hides_them(self, trace: Visit) -> None:
        assert f"pond 17 {WORD}" in trace["details"]
        assert "<b>large large" in trace["details"]
        assert trace["closed"] == 0

    def test_kinds_are_left_out_and_failures_shown_alone(self, trace: Visit) -> None:
        assert trace["without_tools"] == RUNS * 6
        assert trace["failures"] == 0

    def test_the_keyboard_alone_searches_opens_closes_and_goes_through(self, trace: Visit) -> None:
        assert trace["keys"] == [1, 0, True, True]

    def test_calls_at_the_same_time_are_told_to_be(self, trace: Visit) -> None:
        assert "at the same time as" in trace["labels"]
        assert trace["labels"].startswith("tool\n")

    def test_names_of_others_are_shown_as_they_are_written(self, trace: Visit) -> None:
        for name in trace["names"]:
            assert name.startswith("</script><img src=x onerror=owned=1>")
        assert r"\u2028\u202e\u0000\u0007[é]" in trace["names"][1]


def test_parts_of_a_request_are_groups_and_those_that_ran_at_once_say_so(tmp_path: Path) -> None:
    browser = chromium()
    write_profile(tmp_path)
    (tmp_path / "memory").mkdir()
    records = map(MemoryRecord.of, in_parts(1_764_000_000.0))
    (tmp_path / "memory" / "parts.json").write_bytes(array_of(records))
    page = tmp_path / "trace.html"
    profile = str(tmp_path / "profile.yaml")
    assert agent(tmp_path, "trace", "--html", str(page), "--profile", profile).code == 0
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", page.as_uri(),
         f"--user-data-dir={tmp_path / 'chromium'}"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=VISIT_TIMEOUT_SECONDS,
        check=False,
    )  # fmt: skip
    rows = re.findall(r'class="item (\w+ \w+ depth-\d(?: together)?)"', done.stdout)
    assert rows == [
        "run failed depth-0",
        "decision ok depth-1",
        "subtask ok depth-1 together",
        "plan ok depth-2",
        "model ok depth-3",
        "call ok depth-3",
        "subtask failed depth-1 together",
        "plan failed depth-2",
        "call ok depth-3",
        "subtask skipped depth-1",
        "decision ok depth-1",
    ]
    assert done.stdout.count("at the same time as 1 other subtask") == 2
