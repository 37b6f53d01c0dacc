"""Whatever a session file holds, the session opens and its next request is planned."""

import asyncio
import io
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.base.memory.exchanges import TITLE
from core.errors import ExitCode
from core.ports import DecisionInputs, ModelRequest
from core.provenance.known import Known, ProvenancePolicy
from core.strategy import select_decision_prompt_path
from core.turn import USAGE, MemoryItem, Usage
from core.values import Json
from modules.cli.surroundings import Run
from modules.models.offline.history import last_number
from modules.planning.prompt.decision import decision_prompt
from modules.session.history import activity_of, exchanges, usage_of
from modules.session.records import FORMAT, format_of
from modules.terminal.wording import activity_text, usage_text
from tests.command_line import write_profile
from tests.doubles import profile
from tests.modules.cli.by_hand import prepared
from tests.modules.models.offline.plans import Bench, history, offline_reply
from tests.modules.session.json_values import strict_json
from tests.modules.session.opened import opened

BIG: Final = "9" * 400
"""No float holds it."""

ODD_TEXTS: Final = st.sampled_from(
    [
        BIG,
        f"-{BIG}",
        f"The answer is {BIG}.",
        f"0.{BIG}",
        "1e999",
        "nan",
        "²",
        "٣",
        "\ud800",
        "\x00",
    ]
)
TEXTS: Final = ODD_TEXTS | st.text(max_size=20)
NUMBERS: Final = st.sampled_from([10**400, -(10**400), 1e308, float("nan"), float("inf")])
VALUES: Final = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
USAGES: Final = st.dictionaries(
    TEXTS,
    st.dictionaries(st.sampled_from(["model_calls", "cost", "input_tokens", "x"]), VALUES),
    max_size=2,
)
METADATA: Final = st.fixed_dictionaries(
    {}, optional={"server": VALUES, "seconds": VALUES, TITLE: VALUES, USAGE: USAGES | VALUES}
)
ITEMS: Final = st.fixed_dictionaries(
    {
        "timestamp": st.just(1) | VALUES,
        "type": st.sampled_from(["run_metadata", "tool_call", "tool_output", "final_answer"]),
        "text": TEXTS | VALUES,
    },
    optional={
        "final_answer": TEXTS | VALUES,
        "user_query": TEXTS | VALUES,
        "tool_name": TEXTS | VALUES,
        "tool_args": VALUES,
        "tool_result": VALUES,
        "tags": VALUES,
        "success": VALUES,
        "session_id": VALUES,
        "metadata": METADATA | VALUES,
        "format": st.sampled_from([1, 2]) | VALUES,
        "of_a_later_version": VALUES,
    },
)
REQUESTS: Final = st.sampled_from(
    ["2 + 2", "now halve it", "again", "what did i ask first", "what was the last answer"]
)


async def plan_after(items: list[MemoryItem], request: str) -> str:
    """What a follow-up of these items does with them, as far as its plan."""
    known = Known(ProvenancePolicy(trusted_servers=frozenset({"math"})))
    known.recall(items)
    used = usage_of(items)
    activity_text(activity_of(items))
    usage_text(sum(used.values(), Usage()))
    inputs: DecisionInputs = Bench().inputs(request, history=exchanges(items))
    reply = await offline_reply(ModelRequest("decision", "", inputs))
    prompt = decision_prompt(inputs, select_decision_prompt_path("conservative", None), profile())
    return prompt.text + reply.text


@settings(deadline=None, max_examples=150)
@given(st.lists(ITEMS | VALUES, max_size=4), REQUESTS, st.integers(0, 400))
@example(
    [{"timestamp": 1, "type": "final_answer", "text": "", "user_query": "a", "final_answer": BIG}],
    "2 + 2",
    0,
)
@example([{"timestamp": 1, "type": "tool_output", "text": "", "metadata": {"server": []}}], "1", 0)
def test_no_stored_item_makes_a_session_unusable(
    stored: list[Json], request: str, cut_off: int
) -> None:
    data = json.dumps(stored, indent=2).encode()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "notes.json").write_bytes(data[: len(data) - cut_off])
        memory = opened("notes", folder)
        plan = asyncio.run(plan_after(memory.get_session_items(), request))
        plan.encode()
        memory.save()
        asides = list(Path(folder).glob("*.damaged-*"))
        assert len(asides) <= len(memory.take_warnings()) <= 1
        assert all(aside.read_bytes() == data[: len(data) - cut_off] for aside in asides)
        assert opened("notes", folder).take_warnings() == []


@settings(deadline=None, max_examples=40)
@given(st.lists(ITEMS | VALUES, max_size=4))
@example([{"timestamp": 1e300, "type": "run_metadata", "text": "", "user_query": "\x1b[2J\u202e"}])
def test_no_stored_item_makes_a_command_fail(stored: list[Json]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_profile(home)
        path = home / "memory" / "notes.json"
        path.parent.mkdir()
        path.write_text(json.dumps(stored), encoding="utf-8")
        is_too_new = format_of(path.read_bytes()) > FORMAT
        for words in (
            *(["list"], ["list", "--json"], ["show", "notes"], ["show", "notes", "--json"]),
            *(["export", "notes"], ["export", "notes", "--html"], ["export", "notes", "--json"]),
            ["rename", "notes", "title"],
        ):
            if is_too_new and words[0] != "list":
                continue
            profile_options = ["--profile", str(home / "profile.yaml")]
            around = prepared(home, {}, "sessions", *words, *profile_options)
            around = replace(around, stdout=io.StringIO())
            if path.exists() or words[0] == "list":  # or nothing in it could be read
                run: Run = around.options.run
                assert run(around) == ExitCode.ANSWERED
                assert isinstance(around.stdout, io.StringIO)
                if "--json" in words:
                    strict_json(around.stdout.getvalue().encode())


@pytest.mark.parametrize(
    "answer", [BIG, f"-{BIG}", f"{BIG[:3]},{'999,' * 100}999", f"It is {BIG}."]
)
def test_an_integer_beyond_floats_is_what_it_means(answer: str) -> None:
    number = last_number(history(answer))
    assert isinstance(number, int)
    assert abs(number) > 10**300
