"""The page of the service in Chromium, over `agent.py serve` as a process of its own."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.command_line import ROOT, plan
from tests.real.browser import visited
from tests.real.parts import NODE_PACKAGES
from tests.real.serving import CALLS, GATE, PLANS, SERVERS, calls, serving

VISIT_TIMEOUT_SECONDS = 300
"""It takes about twenty on a machine with nothing else to do."""

TOKEN = "a-token-for-the-page"  # noqa: S105 - of the test alone

HOSTILE = '<img src=x onerror="owned=1"><script>owned=1</script>'
ANSWER = f"""\
## Prices, compared

Two **shops** answered: [Ola's list](https://example.org/ola) and https://example.org/a_(b).
A [trap](javascript:owned=1) and a [file](file:///etc/passwd) are no links, {HOSTILE} is text,
and ![a picture](https://tracker.example/pixel.png) is not loaded.

| Shop | Price |
|------|------:|
| Ola  | 42 zł |

1. First this
   - and that
2. Then more

```python
print("42")
```

Sources: notes.md; https://example.org/prices"""
GRAPH = json.dumps(
    {
        "action": "graph",
        "reason": "two doors",
        "subtasks": [
            {"id": "one", "description": "hold the first door"},
            {"id": "two", "description": "hold the second door"},
            {"id": "both", "description": "compare {{one}} and {{two}}"},
        ],
    }
)


def sums(number: int) -> str:
    """One plan of several, with sums of its own."""
    word = "FINAL_ANSWER: all" if number == PLANS else "FURTHER_PROCESSING_REQUIRED: more"
    added = f"tools.add(a={number}, b=i) for i in range({CALLS})"
    return plan(f"await asyncio.gather(*[{added}])\nreturn '{word}'")


ANSWERS = plan(f"return 'FINAL_ANSWER: ' + {ANSWER!r}")
WORDS = "\n\n".join(f"Paragraph {number} of many words" for number in range(60))
WRITTEN = plan(f"return {('FINAL_ANSWER: ' + WORDS)!r}")
USED = {"input_tokens": 3_100, "output_tokens": 400, "cost": 0.02}

REPLIES: list[str | dict[str, object]] = [
    {"text": ANSWERS, "usage": USED},
    calls("hold", "name='first'"),
    calls("table"),
    calls("page"),
    calls("create_thumbnail", "image_path=PICTURE"),
    *(sums(number + 1) for number in range(PLANS)),
    {"text": WRITTEN, "seconds": 3},
    calls("hold", "name='never'"),
    GRAPH,
    calls("hold", "name='second'"),
    calls("hold", "name='second'"),
    plan("return 'FINAL_ANSWER: at the same time'"),
    *[ANSWERS] * 2,
]
"""In the order in which `service_visit` asks."""

Found = dict[str, Any]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("page")
    (home / "gates").mkdir()
    Image.new("RGB", (300, 200), "teal").save(home / "picture.png")
    return home


@pytest.fixture(scope="module")
def url(home: Path) -> Iterator[str]:
    """A service that wants a token, with three servers."""
    named = json.loads(json.dumps(REPLIES).replace("PICTURE", f"'{home / 'picture.png'}'"))
    math = f"id: math\nscript: {ROOT / 'servers' / 'math_server.py'}"
    asking = f"id: asking\nscript: {SERVERS / 'asking_server.py'}"
    approved = ("asking.table", "asking.page", "gate.hold(name=never)")
    words = ["--token-env", "PAGE_TOKEN", *(f"--approve={each}" for each in approved)]
    with serving(home, named, math, GATE, asking, words=words, PAGE_TOKEN=TOKEN) as address:
        yield address


@pytest.fixture(scope="module")
def found(home: Path, url: str) -> Found:
    """What `service_visit` finds."""
    axe = NODE_PACKAGES / "axe-core" / "axe.min.js"
    shots = os.environ.get("PAGE_PICTURES")
    words = [str(axe), url, TOKEN, str(home / "gates"), *([shots] if shots else [])]
    seconds = VISIT_TIMEOUT_SECONDS
    told: Found = json.loads(visited("service_visit", *words, home=home, timeout_seconds=seconds))
    return told


pytestmark = pytest.mark.timeout(2 * VISIT_TIMEOUT_SECONDS)


def test_it_asks_the_service_alone_and_complains_of_nothing(found: Found) -> None:
    asked: list[str] = found["requests"]
    assert [each for each in asked if not each.startswith((found["url"], "data:"))] == []
    assert found["complaints"] == []
    assert {*found["refused"]} <= {401, 409, 400}, "a wrong token, a busy conversation, bad names"


def test_a_token_is_asked_for_until_it_is_the_right_one(found: Found) -> None:
    assert "The service wants a token" in found["asked_again"]


def test_markdown_is_laid_out_and_nothing_in_it_acts(found: Found) -> None:
    assert found["drawn"] == [1, 1, 1, 1, 2, 2], "the sources have a heading"
    assert found["links"] == [
        "https://example.org/ola",
        "https://example.org/a_(b)",
        "https://example.org/prices",
    ]
    assert found["rel"] == "noopener noreferrer"
    assert (found["made_of_text"], found["owned"]) == (0, False)
    assert found["copied"] == 'print("42")'
    assert found["sources"] == ["notes.md", "https://example.org/prices"]
    assert found["title"] == "prices"


def test_what_a_run_and_the_conversation_have_used_is_told_also_after_a_reload(
    found: Found,
) -> None:
    assert "1 plan · " in found["work"]
    assert "3,500 tokens · $0.0200" in found["work"]
    assert found["used"] == ["3,500 tokens · $0.0200"] * 2


def test_a_run_is_seen_and_answered_in_every_tab_and_goes_on_over_reload_and_lost_connection(
    found: Found,
) -> None:
    for told in ("gate.hold", "From", "You are asked because", "The rule that is kept"):
        assert told in found["approval"]
    assert "request" in found["told_busy"], "in words: which ones depends on who looked first"
    assert found["not_lost"] == "me too"
    assert any("hold" in row for row in found["before"])
    assert any("hold" in row for row in found["after"])
    assert found["once"] == ["prices", "go ahead"]
    assert "tries again" in found["lost"]
    assert found["both"] == [True, True]


def test_forms_begin_in_sight_and_are_checked_and_addresses_are_not_opened(
    found: Found,
) -> None:
    assert found["begun"] == [True, 0]
    assert found["wrong"] is True
    assert "'guests': 3, 'seat': 't'" in found["form"]
    assert "bank.example" in found["address"]
    assert "https://bank.example/grant?id=7" in found["address"]
    assert "accept" in found["visited"]


def test_pictures_of_tools_are_drawn(found: Found) -> None:
    assert found["picture"] == [100, "Picture by math.create_thumbnail"]


def test_dropped_files_become_documents_and_what_can_not_says_why(found: Found, home: Path) -> None:
    assert "notes.md" in found["taken"]
    assert found["not_undone"] == 1, "an earlier list that comes late counts no more"
    assert "dot" in found["hidden"]
    assert [re.split(r"\s", each)[0] for each in found["documents"]] == ["notes.md"]
    assert "is yet to be read" in found["documents"][0]
    assert "math.add" in found["tools"]
    assert found["state"] == "up"
    assert (home / "documents" / "notes.md").read_text(encoding="utf-8") == "# Notes\nherons"


def test_two_thousand_events_leave_a_small_page_and_can_be_unfolded(found: Found) -> None:
    assert f"{PLANS} plans · {PLANS * CALLS} tool calls" in found["many"]
    assert found["elements"] < 3_000
    assert found["kept_plans"] == PLANS
    assert "earlier steps" in found["folded"]
    assert found["unfolded"] > 100


def test_an_answer_is_drawn_while_it_is_written_and_what_is_drawn_stays(found: Found) -> None:
    assert found["grown"] > 2
    assert found["stays"] is True
    assert found["written"] == 60
    assert found["moved"] == 0, "who has scrolled up reads on"


def test_escape_stops_a_run(found: Found) -> None:
    assert "interrupted" in found["stopped"]


def test_parts_stand_side_by_side_and_on_a_phone_below_one_another(found: Found) -> None:
    assert len({*found["beside"]}) > 1
    assert len({*found["below"]}) == 1
    assert "at the same time" in found["compared"]


def test_it_fits_phones_and_screens_and_axe_finds_no_barrier_light_or_dark(found: Found) -> None:
    assert found["sideways"] == [0] * 6
    assert found["barriers"] == [[], [], [[], []]]


def test_the_keyboard_alone_goes_everywhere(found: Found) -> None:
    assert found["focused"] == ["message", "message", "message"]
    assert found["example"] == "what can you do?"
    assert found["line"] == "one\n"


def test_a_conversation_is_called_as_its_user_says(found: Found) -> None:
    name = "What shops ask for"
    assert found["renamed"] == [name, f"{name} · Cortex-R"]
    assert name not in found["back_from"]


def test_a_conversation_is_deleted_when_that_is_meant(found: Found) -> None:
    assert found["deleted"] is True
