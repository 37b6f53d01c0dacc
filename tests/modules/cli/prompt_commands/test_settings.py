"""Model, profile and strategy at the prompt: shown, and changed while the session goes on."""

import asyncio
import json
from pathlib import Path

import pytest

from config.schema import load_profile
from config.server_list import server_list
from config.settings import ROOT, Places
from core.errors import ConfigurationError, ExitCode, UsageError, UserError
from modules.model_manager import ModelManager
from modules.models.scripted import ScriptedModel
from tests.command_line import plan, script
from tests.core.dispatch.fixture_servers import SERVERS, is_gone
from tests.doubles import profile
from tests.modules.cli.prompt_commands.typed import Typed

ONE, TWO = (plan(f"return 'FINAL_ANSWER: {word}'") for word in ("one", "two"))
AGENT = profile().agent.id


class ClosingModel(ScriptedModel):
    """Knows whether it was closed."""

    is_closed = False

    async def aclose(self) -> None:
        self.is_closed = True


def write(home: Path, name: str, text: str) -> Path:
    """A profile beside profiles.yaml."""
    file = home / "config" / f"{name}.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"agent: {{name: {name.title()}, id: {AGENT}}}\n{text}", encoding="utf-8")
    return file


async def test_models_are_shown_with_the_present_one_marked(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        await typed.conversation.use_model(ModelManager(ScriptedModel([], name="offline")))
        assert await typed.run("/model") == ExitCode.ANSWERED
        first, heads, *rows = typed.said[0].splitlines()
        assert first == "model: offline answers; /model NAME lets another one"
        assert heads.split() == ["NAME", "MODEL", "STATE", "CONTEXT", "PRICE"]
        assert [row.split()[1] for row in rows if row.startswith("*")] == ["offline"]
        assert any("1,048,576" in row and "GEMINI_API_KEY is not set" in row for row in rows)
        assert typed.proposed("/model off") == ["offline"]


async def test_another_model_answers_the_next_request_of_the_same_session(tmp_path: Path) -> None:
    async with Typed(tmp_path, ONE) as typed:
        before = ClosingModel([ONE])
        await typed.conversation.use_model(ModelManager(before))
        assert (await typed.ask("first")).answer == "one"
        session = typed.conversation.session.id
        other = script(tmp_path, [TWO])
        assert await typed.run(f"/model {other}") == ExitCode.ANSWERED
        assert typed.said == [f"model: {other}: chosen by /model"]
        assert before.is_closed
        assert typed.conversation.model.name == other
        assert (await typed.ask("second")).answer == "two"
        assert typed.conversation.session.id == session
        assert [
            item.user_query for item in typed.conversation.session.items if item.user_query
        ] != []


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("offlin", "^/model: there is no model 'offlin'; did you mean offline"),
        ("gemini", "GEMINI_API_KEY"),
        ("scripted:no", "no"),
    ],
)
async def test_a_model_that_can_t_be_had_changes_nothing(
    name: str, why: str, tmp_path: Path
) -> None:
    async with Typed(tmp_path, ONE) as typed:
        with pytest.raises(UserError, match=why):
            await typed.run(f"/model {name}")
        assert typed.at.setting.arguments.model is None
        assert (await typed.ask("first")).answer == "one"


async def test_what_a_request_may_cost_holds_for_the_next_model_too(tmp_path: Path) -> None:
    entry = {"type": "openai", "model": "mine", "base_url": "https://models.example/v1"}
    (tmp_path / "config").mkdir()
    file = tmp_path / "config" / "models.json"
    file.write_text(json.dumps({"models": {"mine": entry}}), encoding="utf-8")
    async with Typed(tmp_path, ONE, arguments=["--max-cost", "0.01"]) as typed:
        with pytest.raises(ConfigurationError, match="mine"):
            await typed.run("/model mine")
        assert (await typed.ask("first")).answer == "one"


async def test_a_broken_file_of_models_is_told_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "models.json").write_text("{", encoding="utf-8")
    async with Typed(tmp_path, ONE) as typed:
        with pytest.raises(UsageError, match=r"models.json:1: not valid JSON"):
            await typed.run("/model offline")
        assert (await typed.ask("first")).answer == "one"


async def test_a_key_of_the_strategy_is_set_for_this_session(tmp_path: Path) -> None:
    async with Typed(tmp_path, ONE, ONE) as typed:
        await typed.run("/strategy")
        assert "planning_mode            conservative  conservative | exploratory" in typed.said[0]
        await typed.ask("first")
        session = typed.conversation.session.id
        for line in ("/strategy planning_mode exploratory", "/strategy max_steps  7"):
            assert await typed.run(line) == ExitCode.ANSWERED
        assert typed.said[1:] == [
            "config: planning_mode is exploratory from the next request on",
            "config: max_steps is 7 from the next request on",
        ]
        strategy = typed.conversation.profile.strategy
        assert (strategy.planning_mode, strategy.max_steps) == ("exploratory", 7)
        await typed.ask("second")
        assert typed.conversation.session.id == session


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("planning_mode bold", "'planning_mode' is 'bold'; allowed: conservative or exploratory"),
        ("plan_mode x", "unknown key 'plan_mode'; allowed here: .*did you mean plan"),
        ("max_steps 51", "less than or equal to 50"),
        ("max_steps [", "valid integer"),
        ("clarify", r"/strategy clarify true \| false"),
    ],
)
async def test_a_wrong_value_of_the_strategy_is_told(words: str, why: str, tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        with pytest.raises(UsageError, match=why):
            await typed.run(f"/strategy {words}")
        assert typed.conversation.profile == profile()


async def test_the_strategy_is_completed(tmp_path: Path) -> None:
    async with Typed(tmp_path) as typed:
        assert typed.proposed("/strategy plan") == ["planning_mode", "plan_style"]
        assert typed.proposed("/strategy planning_mode ") == ["conservative", "exploratory"]
        assert typed.proposed("/strategy clarify t") == ["true"]
        assert typed.proposed("/strategy max_steps ") == []


async def test_the_profile_is_shown_and_others_are_named(tmp_path: Path) -> None:
    own, work = write(tmp_path, "profiles", ""), write(tmp_path, "work", "")
    async with Typed(tmp_path) as typed:
        await typed.run("/profile")
        assert typed.said[0].endswith(f", from {own}\nothers: work")
        assert typed.proposed("/profile w") == ["work"]
        for line in ("/profile work", f"/profile {work}"):
            await typed.run(line)
            assert typed.said[-1] == f"config: Work ({AGENT}), from {work}"
        assert typed.conversation.profile == load_profile(work)


async def test_servers_of_both_profiles_stay_up_and_the_others_end(tmp_path: Path) -> None:
    def servers(*ids: str) -> str:
        able = SERVERS / "able_server.py"
        return "mcp_servers:\n" + "".join(
            f"  - {{id: {name}, script: {able}, description: {name}}}\n" for name in ids
        )

    places = Places(ROOT, tmp_path)
    used = load_profile(first := write(tmp_path, "profiles", servers("one", "two")))
    write(tmp_path, "work", servers("two", "three"))
    listed = server_list(used, places, first)
    async with Typed(tmp_path, profile=used, servers=listed.specs) as typed:
        one, two = [
            (await typed.dispatcher.call_tool(f"{name}.pid", {})).text
            for name in ("one", "two")
            if await typed.dispatcher.initialize() is None
        ]
        await typed.run("/profile work")
        assert typed.said[0] == "mcp: server 'one' is gone"
        assert typed.said[1].startswith("mcp: server 'three' is there now, under mcp_servers in")
        assert is_gone(int(one))
        assert (await typed.dispatcher.call_tool("two.pid", {})).text == two
        await typed.run("/mcp restart three")
        assert typed.said[-1].startswith("mcp: 'three' was started anew: ")


async def test_a_profile_that_keeps_sessions_elsewhere_begins_a_new_one(tmp_path: Path) -> None:
    write(tmp_path, "same", "memory: {storage: {sync: run}}")
    other = write(tmp_path, "other", "")
    other.write_text("agent: {name: Other, id: another}", encoding="utf-8")
    async with Typed(tmp_path, ONE, ONE, ONE) as typed:
        await typed.ask("I live in Oslo.")
        session = typed.conversation.session.id
        await typed.run("/profile same")
        assert typed.conversation.session.id == session
        assert typed.conversation.permissions.agent == AGENT
        await typed.ask("second")
        asked = [item.user_query for item in await typed.conversation.session.load()]
        assert {"I live in Oslo.", "second"} <= {*asked}
        await typed.run("/profile other")
        assert typed.said[-2] == (
            "memory: sessions are kept otherwise there: the next request begins a new one"
        )
        assert typed.conversation.permissions.agent == "another"
        await typed.ask("third")
        assert typed.conversation.session.id != session
        assert typed.at.kept.ids() == [typed.conversation.session.id]


async def test_a_profile_brings_its_model_unless_one_was_named(tmp_path: Path) -> None:
    two = script(tmp_path, [TWO])
    write(tmp_path, "two", f"llm: {{text_generation: '{two}'}}")
    async with Typed(tmp_path, ONE) as typed:
        await typed.run("/profile two")
        assert (await typed.ask("first")).answer == "two"
    named = script(tmp_path, [ONE], "named.json")
    async with Typed(tmp_path, ONE) as typed:
        await typed.run(f"/model {named}")
        await typed.run("/profile two")
        assert typed.conversation.model.name == named


async def test_bounds_of_plans_count_from_the_next_request_on(tmp_path: Path) -> None:
    write(tmp_path, "tight", "sandbox: {source_bytes: 40}")
    async with Typed(tmp_path, *[ONE] * 20) as typed:
        assert (await typed.ask("first")).answer == "one"
        await typed.run("/profile tight")
        assert (await typed.ask("second")).answer is None
        assert any("the plan is longer than 40 bytes" in str(event) for event in typed.events)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("strategy: {max_steps: many}", "strategy.max_steps"),
        ("llm: {text_generation: nothing-like-it}", "there is no model"),
        ("mcp_servers: [{id: x}]", "a server needs"),
        ("sandbox: {require: [nowall]}", "nowall"),
    ],
)
async def test_a_profile_that_can_t_be_used_changes_nothing(
    text: str, why: str, tmp_path: Path
) -> None:
    write(tmp_path, "wrong", text)
    async with Typed(tmp_path, ONE) as typed:
        with pytest.raises(UserError, match=why):
            await typed.run("/profile wrong")
        assert typed.conversation.profile == typed.at.setting.profile == profile()
        assert (await typed.ask("first")).answer == "one"
        with pytest.raises(UsageError, match=r"no profile 'wrnog', .* did you mean wrong"):
            await typed.run("/profile wrnog")
    (tmp_path / "config" / "wrong.yaml").unlink()
    async with Typed(tmp_path) as typed:
        with pytest.raises(UsageError, match="the only one is profiles,"):
            await typed.run("/profile x")


async def test_what_the_prompt_was_opened_with_is_told_to_want_a_restart(tmp_path: Path) -> None:
    write(tmp_path, "vi", "terminal: {keys: vi, shell: true}")
    async with Typed(tmp_path) as typed:
        await typed.run("/profile vi")
        told = "config: terminal.keys counts from the next start of the program on"
        assert typed.said[:-1] == [told]


async def test_no_memory_and_steps_of_the_command_line_outlive_a_profile(tmp_path: Path) -> None:
    write(tmp_path, "work", "strategy: {max_steps: 9}")
    used = profile().without_memory()
    async with Typed(
        tmp_path, profile=used, arguments=["--no-memory", "--max-steps", "2"]
    ) as typed:
        await typed.run("/profile work")
        assert typed.conversation.profile.strategy.max_steps == 2
        assert not typed.conversation.profile.memory.memory_service
        assert not typed.at.kept.is_on


async def test_ctrl_c_leaves_no_profile_half_changed(tmp_path: Path) -> None:
    class InterruptingModel(ClosingModel):
        async def aclose(self) -> None:
            typed.commands.interrupt()
            await asyncio.sleep(0)
            await super().aclose()

    work = write(tmp_path, "work", f"llm: {{text_generation: '{script(tmp_path, [TWO])}'}}")
    async with Typed(tmp_path) as typed:
        before = InterruptingModel([])
        await typed.conversation.use_model(ModelManager(before))
        assert await typed.run("/profile work") == ExitCode.INTERRUPTED
        assert before.is_closed
        assert typed.conversation.profile == typed.at.setting.profile == load_profile(work)
        assert (await typed.ask("first")).answer == "two"
