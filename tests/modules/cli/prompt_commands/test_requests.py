"""Requests at the prompt: asked again, taken back, planned, run by hand, measured."""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from config.servers import ServerSpec
from core.errors import ExitCode, UsageError
from core.events import Retrying, ToolCallFinished
from core.ports import ModelReply
from core.turn import Exchange, Usage
from core.values import JsonObject
from modules.models.offline.planner import OfflineModel
from modules.session.history import exchanges, usage_of
from modules.trace.spans import runs_of
from tests.command_line import ROOT, SUMS, plan
from tests.modules.cli.prompt_commands.typed import Typed
from tests.modules.trace.session_items import item

SUM = (
    "async def solve():\n    total = await tools.add(a=5, b=7)\n    return f'FINAL_ANSWER: {total}'"
)
MATH = ServerSpec("math", (sys.executable, str(SUMS)), ROOT)


def saying(answer: str) -> str:
    return plan(f"return 'FINAL_ANSWER: {answer}'")


def told_of(typed: Typed) -> tuple[Exchange, ...]:
    """What prompts tell of; whether answers rest on anything is no matter here."""
    told = exchanges(typed.conversation.session.items)
    return tuple(replace(each, grounded=True) for each in told)


def changing(new: str) -> Callable[[str], Awaitable[str]]:
    """An editor in which a text becomes another."""

    async def edit(text: str) -> str:
        return new

    return edit


async def test_a_request_is_asked_again_without_its_answer_in_the_prompt(tmp_path: Path) -> None:
    async with Typed(tmp_path, saying("Oslo"), saying("Bern"), saying("Rome")) as typed:
        await typed.ask("a capital?")
        assert (await typed.answer("/retry")).answer == "Bern"
        assert "Oslo" not in typed.model.requests[-1].prompt
        assert "(this is the first request)" in typed.model.requests[-1].prompt
        assert typed.said == ["loop: asks again: a capital?"]
        await typed.run("/undo")
        assert (await typed.answer("/retry")).answer == "Rome"
        assert told_of(typed) == (Exchange("a capital?", "Rome"),)


async def test_a_request_of_an_earlier_process_is_asked_again(tmp_path: Path) -> None:
    async with Typed(tmp_path, saying("Oslo")) as typed:
        await typed.ask("a capital?")
    async with Typed(tmp_path, saying("Bern")) as later:
        with pytest.raises(UsageError, match="nothing was asked yet"):
            await later.run("/retry")
        await later.run("/resume")
        assert (await later.answer("/retry")).answer == "Bern"
        assert told_of(later) == (Exchange("a capital?", "Bern"),)


async def test_a_greeting_that_is_asked_again_takes_no_other_request_back(tmp_path: Path) -> None:
    async with Typed(tmp_path, saying("Oslo"), saying("hi"), saying("good day")) as typed:
        await typed.ask("a capital?")
        await typed.ask("hello")
        await typed.answer("/retry")
        assert told_of(typed) == (Exchange("a capital?", "Oslo"), Exchange("hello", "good day"))


async def test_exchanges_are_taken_back_one_after_the_other_for_good(tmp_path: Path) -> None:
    async with Typed(tmp_path, saying("one"), saying("two"), saying("three")) as typed:
        for request in ("first", "second", "third"):
            await typed.ask(request)
        await typed.run("/undo")
        await typed.run("/undo")
        assert typed.said == [
            "memory: taken back: third\nearlier requests that still count: 2",
            "memory: taken back: second\nearlier requests that still count: 1",
        ]
    async with Typed(tmp_path, saying("four")) as later:
        await later.run("/resume")
        assert later.said[-1].endswith("> first\none"), "it is not recalled either"
        await later.ask("fourth")
        assert "second" not in later.model.requests[-1].prompt
        assert told_of(later) == (Exchange("first", "one"), Exchange("fourth", "four"))
        await later.run("/undo")
        await later.run("/undo")
        with pytest.raises(UsageError, match="nothing to take back"):
            await later.run("/undo")
        (kept,) = later.at.kept.ids()
        assert [s.requests for s in later.at.kept.summaries([kept])] == [4], "the file keeps all"


async def test_the_last_request_comes_back_into_the_prompt(tmp_path: Path) -> None:
    async with Typed(tmp_path, saying("3")) as typed:
        with pytest.raises(UsageError, match="no terminal here to edit at"):
            await typed.run("/edit")
        typed.at.edit = changing("")
        with pytest.raises(UsageError, match="nothing was asked yet"):
            await typed.run("/edit")
        await typed.ask("add 1\nand 2")
        await typed.run("/edit")
        assert typed.at.next_text == "add 1\nand 2"
        await typed.run("/edit add 3 and 4")
        assert typed.at.next_text == "add 3 and 4"


async def test_a_plan_is_shown_and_runs_only_when_that_is_said(tmp_path: Path) -> None:
    async with Typed(tmp_path, saying("nine"), saying("never")) as typed:
        with pytest.raises(UsageError, match="no plan was shown yet"):
            await typed.run("/run")
        assert await typed.run("/plan how many?") == ExitCode.ANSWERED
        assert typed.said[0] == f"plan: {saying('nine').strip()}"
        assert told_of(typed) == ()
        outcome = await typed.answer("/run")
        assert (outcome.answer, told_of(typed)) == ("nine", (Exchange("how many?", "nine"),))
        assert typed.model.leftover == 1, "it is not written twice"
        typed.said.clear()
        await typed.run("/plan")
        assert typed.said[0] == f"plan: {saying('nine').strip()}", "the last that ran"
        of_a_part: JsonObject = {"tool_name": "solve_sandbox", "tool_args": {"plan": "of a part"}}
        await typed.conversation.session.keep(
            item(9e9, "tool_output", metadata={"subtask": "first"}, **of_a_part)
        )
        await typed.run("/plan")
        assert typed.said[-2] == f"plan: {saying('nine').strip()}", "not one of a part"


async def test_what_writing_a_plan_has_cost_is_counted(tmp_path: Path) -> None:
    used = Usage(model_calls=1, input_tokens=100, output_tokens=5)
    reply = ModelReply(saying("nine"), used)
    async with Typed(tmp_path, reply, reply) as typed:
        await typed.ask("how many?")
        ended = runs_of(typed.conversation.session.items)
        await typed.run("/plan how many now?")
        assert usage_of(typed.conversation.session.items) == {"scripted": used + used}
        assert runs_of(typed.conversation.session.items) == ended, "it is part of no run"


async def test_a_plan_that_was_changed_runs_as_it_was_saved(tmp_path: Path) -> None:
    async with Typed(tmp_path, saying("nine")) as typed:
        with pytest.raises(UsageError, match="no terminal here"):
            await typed.run("/plan edit")
        typed.at.edit = changing(saying("ten"))
        with pytest.raises(UsageError, match="no plan ran in this session yet"):
            await typed.run("/plan edit")
        await typed.run("/plan how many?")
        await typed.run("/plan edit")
        assert (await typed.answer("/run")).answer == "ten"
        assert told_of(typed) == (Exchange("how many?", "ten"),)
        typed.at.edit = changing("  \n")
        await typed.run("/plan edit")
        assert typed.said[-1] == "plan: nothing was changed"
        assert (await typed.answer("/run")).answer == "ten"


async def test_the_plan_of_a_file_runs_with_the_servers_tools(tmp_path: Path) -> None:
    (tmp_path / "my plan.py").write_text(SUM, encoding="utf-8")
    async with Typed(tmp_path, servers=[MATH]) as typed:
        line = f"/run {tmp_path}/my plan.py"
        assert (await typed.answer(line)).answer == "12"
        assert [e.call.tool for e in typed.events if isinstance(e, ToolCallFinished)] == [
            "math.add"
        ]
        assert told_of(typed) == (Exchange(line, "12", ("add(a=5, b=7)",)),)
        assert (await typed.answer("/retry")).answer == "12"
        assert told_of(typed) == (Exchange(line, "12", ("add(a=5, b=7)",)),)
        with pytest.raises(UsageError, match="there is no such file"):
            await typed.run(f"/run {tmp_path}/none.py")
        with pytest.raises(UsageError, match="there is no such file"):
            await typed.run("/run -")


async def test_a_plan_that_fails_is_not_written_anew(tmp_path: Path) -> None:
    async with Typed(tmp_path, plan("return 1 / 0"), saying("saved")) as typed:
        await typed.run("/plan divide")
        outcome = await typed.answer("/run")
        assert (outcome.status, "ZeroDivisionError" in outcome.message) == ("no_answer", True)
        assert not [event for event in typed.events if isinstance(event, Retrying)]
        assert typed.model.leftover == 1


async def test_text_to_be_read_goes_to_the_model_that_planned_and_else_to_the_user(
    tmp_path: Path,
) -> None:
    reading = SUM.replace("FINAL_ANSWER", "FURTHER_PROCESSING_REQUIRED")
    (tmp_path / "plan.py").write_text(reading, encoding="utf-8")
    async with Typed(tmp_path, reading, saying("a dozen"), servers=[MATH]) as typed:
        await typed.run("/plan how many?")
        assert (await typed.answer("/run")).answer == "a dozen"
        assert (await typed.answer(f"/run {tmp_path}/plan.py")).answer == "12"


async def test_the_next_prompt_is_measured_by_part_without_asking_anybody(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x" * 4_000, encoding="utf-8")
    async with Typed(tmp_path, saying("y" * 4_000)) as typed:
        await typed.run("/context")
        empty = sizes(typed.said[-1])
        await typed.ask("write")
        typed.events.clear()
        await typed.run(f"/context what is in @{tmp_path}/notes.txt?")
        full = sizes(typed.said[-1])
        assert full["requests"] in range(1_000, 1_100)
        assert full["attached"] in range(1_000, 1_200)
        assert full["instructions"] == pytest.approx(empty["instructions"], rel=0.1)
        assert full["in"] == pytest.approx(sum(full.values()) - full["in"], abs=5)
        assert (len(typed.model.requests), typed.events) == (1, [])
        assert len(told_of(typed)) == 1


def sizes(told: str) -> dict[str, int]:
    """Tokens by the first word of each part."""
    rows = [line.split() for line in told.splitlines()[1:]]
    return {row[0]: int(row[-1].replace(",", "")) for row in rows if row[-1][0].isdigit()}


async def test_older_requests_go_into_notes_when_that_is_said(tmp_path: Path) -> None:
    replies = [saying("a" * 2_000), saying("b" * 2_000), "The user wanted letters.", saying("c")]
    async with Typed(tmp_path, *replies) as typed:
        await typed.run("/compact")
        assert "nothing to do" in typed.said[-1]
        await typed.ask("first")
        await typed.ask("second")
        assert await typed.run("/compact") == ExitCode.ANSWERED
        assert typed.said[-1].startswith("memory: notes on 1 request: about 1,0")
        await typed.run("/compact")
        assert "nothing to do" in typed.said[-1]
        await typed.ask("third")
        prompt = typed.model.requests[-1].prompt
        assert "The user wanted letters." in prompt
        assert "a" * 2_000 not in prompt
        assert "b" * 2_000 in prompt


async def test_a_planner_that_reads_no_prompt_has_nothing_to_measure_or_note(
    tmp_path: Path,
) -> None:
    async with Typed(tmp_path, planner=OfflineModel()) as typed:
        await typed.run("/context")
        await typed.run("/compact")
        assert typed.said == [
            "model: offline reads no prompt: nothing has to fit into a context",
            "memory: nothing to do: offline reads no prompt, and no notes",
        ]
        await typed.ask("what is 2 + 3?")
        await typed.ask("what is 4 + 5?")
        await typed.run("/undo")
        first = await typed.ask("what was the last thing I asked?")
        assert first.answer is not None
        assert "2 + 3" in first.answer


async def test_words_behind_these_commands_are_completed(tmp_path: Path) -> None:
    (tmp_path / "plan.py").touch()
    async with Typed(tmp_path) as typed:
        assert typed.proposed(f"/run {tmp_path}/pl") == [f"{tmp_path}/plan.py"]
        assert typed.proposed("/save --s") == ["--session"]
        assert typed.proposed(f"/save --force {tmp_path}/pl") == [f"{tmp_path}/plan.py"]
        assert typed.proposed("/plan e") == ["edit"]
        assert typed.proposed("/plan write e") == []


DRINKS = "find out where tea comes from and where milk comes from, then write a summary of both"
WRITTEN = """{"action": "graph", "reason": "two searches", "subtasks": [
  {"id": "tea", "description": "find tea"},
  {"id": "milk", "description": "find milk"},
  {"id": "end", "description": "join {{tea}} and {{milk}}"}]}"""
SHOWN = """plan: 3 subtasks
tea: find tea
milk: find milk
end after tea, milk: join {{tea}} and {{milk}}"""


async def test_a_graph_is_shown_and_runs_only_when_that_is_said(tmp_path: Path) -> None:
    parts = saying("one"), saying("two"), saying("three")
    async with Typed(tmp_path, WRITTEN, *parts) as typed:
        assert await typed.run(f"/plan {DRINKS}") == ExitCode.ANSWERED
        assert typed.said[:2] == ["plan: two searches", SHOWN]
        assert typed.model.leftover == 3
        outcome = await typed.answer("/run")
        assert (outcome.answer, told_of(typed)) == ("three", (Exchange(DRINKS, "three"),))


async def test_a_graph_that_was_changed_runs_as_it_was_saved(tmp_path: Path) -> None:
    changed = "description: only tea\nsteps: [{id: tea, do: find green tea}]\n"
    async with Typed(tmp_path, WRITTEN, saying("green")) as typed:
        await typed.run(f"/plan {DRINKS}")
        typed.at.edit = changing(changed.replace("find green tea", "'find {{milk}}'"))
        with pytest.raises(UsageError, match="needs 'milk', which is not there"):
            await typed.run("/plan edit")
        with pytest.raises(UsageError, match="needs 'milk', which is not there"):
            await typed.run("/run")
        typed.at.edit = changing(changed)
        await typed.run("/plan edit")
        assert typed.said[-2] == "plan: 1 subtask\ntea: find green tea"
        outcome = await typed.answer("/run")
        assert outcome.answer == "green"
        assert "find green tea" in typed.model.requests[-1].prompt


async def test_the_graph_of_a_file_runs(tmp_path: Path) -> None:
    file = tmp_path / "drinks.yaml"
    file.write_text("description: drinks\nsteps: [{id: tea, do: find tea}]\n", encoding="utf-8")
    enough = '{"verdict": "satisfied", "reason": "it is there", "missing": []}'
    async with Typed(tmp_path, saying("green"), enough, saying("black"), enough) as typed:
        line = f"/run {file}"
        assert (await typed.answer(line)).answer == "green"
        assert told_of(typed) == (Exchange(line, "green"),)
        assert (await typed.answer("/retry")).answer == "black"
        file.write_text("steps: []", encoding="utf-8")
        with pytest.raises(UsageError, match=r"drinks\.yaml"):
            await typed.run(line)


async def test_the_profile_says_at_the_prompt_too_whether_graphs_are_written(
    tmp_path: Path,
) -> None:
    async with Typed(tmp_path, saying("one")) as typed:
        await typed.run("/strategy graph never")
        await typed.run(f"/plan {DRINKS}")
        assert typed.said[-2] == f"plan: {saying('one').strip()}"
        assert typed.proposed("/strategy graph ") == ["auto", "never", "always"]
