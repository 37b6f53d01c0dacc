"""Strategies: which tools come first, what is left out, and which prompt asks."""

from dataclasses import replace

import pytest

from config.schema import StrategyProfile
from core.ports import DecisionInputs, PlanReply
from core.strategy import (
    CHARACTERS_PER_TOKEN,
    LAST_TRY_TOOLS,
    UNREAD_TOOLS_MAX,
    Decision,
    Situation,
    decide,
    find_recent_successful_tools,
    select_decision_prompt_path,
)
from core.tools.catalog import ToolCatalog
from core.tools.record import ToolRecord
from core.tools.spec import ToolSpec
from core.turn import Attempt, MemoryItem, PerceptionResult, Plan, PlanFailure, ToolCall
from tests.doubles import tool

EXPLORATORY = StrategyProfile(planning_mode="exploratory", exploration_mode="parallel")


async def generate(inputs: DecisionInputs, prompt_path: str) -> PlanReply:
    return Plan("async def solve(): ...")


def output(name: str, *, success: bool = True) -> MemoryItem:
    return MemoryItem(timestamp=1, type="tool_output", text="", tool_name=name, success=success)


def situation(
    tools: list[ToolSpec],
    perception: PerceptionResult | None = None,
    *,
    memory: list[MemoryItem] | None = None,
    basic: frozenset[str] = frozenset(),
    force_replan: bool = False,
) -> Situation:
    inputs = DecisionInputs("q", ToolCatalog(tools), perception or PerceptionResult())
    return Situation(inputs, memory or [], basic, lambda t, _: t.description, force_replan)


def names(decision: Decision) -> list[str]:
    return [spec.qualified_name for spec in decision.tools]


TOOLS = [tool("add"), tool("sin"), tool("search", "web"), tool("fetch", "web")]


@pytest.mark.parametrize(
    ("mode", "exploration", "file"),
    [
        ("conservative", None, "decision_prompt_conservative.txt"),
        ("conservative", "parallel", "decision_prompt_conservative.txt"),
        ("exploratory", "parallel", "decision_prompt_exploratory_parallel.txt"),
        ("exploratory", "sequential", "decision_prompt_exploratory_sequential.txt"),
    ],
)
def test_each_mode_has_its_prompt(mode: str, exploration: str | None, file: str) -> None:
    assert select_decision_prompt_path(mode, exploration) == f"prompts/{file}"


@pytest.mark.parametrize(("mode", "exploration"), [("bold", None), ("exploratory", "sideways")])
def test_an_unknown_mode_is_an_error(mode: str, exploration: str | None) -> None:
    with pytest.raises(ValueError, match="allowed: conservative"):
        select_decision_prompt_path(mode, exploration)


def test_recent_successes_come_newest_first_and_once() -> None:
    items = [output("a"), output("b"), output("c", success=False), output("a"), output("d")]
    assert find_recent_successful_tools(items) == ["d", "a", "b"]
    assert find_recent_successful_tools(items, limit=2) == ["d", "a"]
    assert find_recent_successful_tools([]) == []


async def test_while_all_tools_fit_their_order_does_not_depend_on_the_request() -> None:
    """What stands at the beginning of a prompt stays in providers' caches, if it stays the same."""
    perception = PerceptionResult(selected_servers=["web"], tool_hint="FETCH")
    for perceived in (perception, PerceptionResult()):
        decision = await decide(StrategyProfile(), situation(TOOLS, perceived), generate)
        assert names(decision) == ["math.add", "math.sin", "web.search", "web.fetch"]
        assert decision.prompt_path == "prompts/decision_prompt_conservative.txt"


async def test_basic_tools_come_first() -> None:
    given = situation(TOOLS, basic=frozenset({"web.fetch"}))
    decision = await decide(StrategyProfile(), given, generate)
    assert names(decision) == ["web.fetch", "math.add", "math.sin", "web.search"]


def last_try(given: Situation) -> Situation:
    return replace(given, inputs=replace(given.inputs, last_try=True), force_replan=True)


async def test_the_last_try_is_pointed_to_the_tools_that_fit_best_and_offered_all() -> None:
    many = [tool(f"t{n}", "bulk", description="moves a pallet") for n in range(20)]
    given = situation([*many, tool("weather", "sky", description="the weather of a city")])
    pointed: list[tuple[str, ...]] = []

    async def keep(inputs: DecisionInputs, prompt_path: str) -> PlanReply:
        pointed.append(inputs.shortlist)
        return Plan("async def solve(): ...")

    given = replace(given, request="What will the weather be in Oslo?")
    first = await decide(StrategyProfile(), given, keep)
    last = await decide(StrategyProfile(), last_try(given), keep)
    assert names(first) == names(last), "what stands in providers' caches stays the same"
    assert first.prompt_path == last.prompt_path
    assert pointed[0] == ()
    assert pointed[1][0] == "weather"
    assert len(pointed[1]) == LAST_TRY_TOOLS


def records(**counts: tuple[int, int]) -> dict[str, ToolRecord]:
    """Records of tools of the server `sky`: calls, and how many of them worked."""
    return {f"sky.{name}": ToolRecord(f"sky.{name}", *count) for name, count in counts.items()}


async def shortlist(given: Situation, strategy: StrategyProfile | None = None) -> tuple[str, ...]:
    pointed: list[tuple[str, ...]] = []

    async def keep(inputs: DecisionInputs, prompt_path: str) -> PlanReply:
        pointed.append(inputs.shortlist)
        return Plan("async def solve(): ...")

    await decide(strategy or StrategyProfile(), last_try(given), keep)
    return pointed[0]


async def test_the_shortlist_goes_by_fit_then_by_this_session_then_by_all_sessions() -> None:
    alike = [
        tool(name, "sky", description="the weather of a city")
        for name in ("ada", "bee", "cod", "dee")
    ]
    others = [tool(f"t{n}", "bulk", description="moves a pallet") for n in range(9)]
    given = replace(
        situation([*others, *alike], memory=[output("cod"), output("t7")]),
        request="What will the weather be in the city?",
        tool_records=records(ada=(2, 0), bee=(10, 10), dee=(1, 1)),
    )
    assert (await shortlist(given))[:6] == ("cod", "bee", "dee", "ada", "t7", "t0")
    off = StrategyProfile(memory_fallback_enabled=False)
    assert (await shortlist(given, off))[:6] == ("ada", "bee", "cod", "dee", "t0", "t1")


async def test_no_record_outweighs_a_better_fit() -> None:
    near = tool("near", "sky", description="the weather of a city, by the hour and by the day")
    far = tool("far", "sky", description="moves a pallet within a city")
    others = [tool(f"t{n}", "bulk", description="moves a pallet") for n in range(9)]
    given = replace(
        situation([*others, far, near]),
        request="the weather by the hour and by the day",
        tool_records=records(near=(9, 0), far=(9, 9)),
    )
    assert (await shortlist(given))[0] == "near"


async def test_a_failed_plans_tool_that_mostly_fails_is_told() -> None:
    calls = [
        ToolCall(f"sky.{name}", {}, ok=name == "works", result="", seconds=0, refused=name == "no")
        for name in ("bad", "works", "good", "few", "no", "new", "bad", "half")
    ]
    failed = Attempt(Plan(""), PlanFailure("tool", ""), tuple(calls))
    given = situation(TOOLS, force_replan=True)
    given = replace(
        given,
        inputs=replace(given.inputs, failed=(failed,)),
        tool_records=records(
            bad=(9, 2), works=(9, 0), good=(9, 5), few=(4, 0), no=(9, 0), other=(9, 0), half=(6, 3)
        ),
    )
    told: list[tuple[ToolRecord, ...]] = []

    async def keep(inputs: DecisionInputs, prompt_path: str) -> PlanReply:
        told.append(inputs.failing)
        return Plan("async def solve(): ...")

    await decide(StrategyProfile(), given, keep)
    await decide(StrategyProfile(memory_fallback_enabled=False), given, keep)
    assert [[record.tool for record in each] for each in told] == [["sky.bad", "sky.half"], []]


async def test_a_few_tools_need_no_shortlist() -> None:
    async def keep(inputs: DecisionInputs, prompt_path: str) -> PlanReply:
        assert inputs.last_try
        assert inputs.shortlist == ()
        return Plan("async def solve(): ...")

    await decide(StrategyProfile(), last_try(situation(TOOLS)), keep)


async def test_an_exploratory_replan_falls_back_on_what_worked_before() -> None:
    memory = [output("sin"), output("web.fetch"), output("solve_sandbox"), output("gone")]
    decision = await decide(
        EXPLORATORY, situation(TOOLS, memory=memory, force_replan=True), generate
    )
    assert names(decision)[:2] == ["web.fetch", "math.sin"]
    assert len(decision.tools) == len(TOOLS)
    assert decision.prompt_path == "prompts/decision_prompt_exploratory_parallel.txt"


async def test_the_memory_fallback_can_be_switched_off() -> None:
    off = EXPLORATORY.model_copy(update={"memory_fallback_enabled": False})
    decision = await decide(
        off, situation(TOOLS, memory=[output("fetch")], force_replan=True), generate
    )
    assert names(decision)[0] == "math.add"


class TestBeyondTheBudget:
    """More tools than the prompt has room for."""

    many = (
        *(tool(f"t{n}", "bulk", description="moves a pallet" + " x" * 40) for n in range(40)),
        tool("weather", "sky", description="the weather of a city"),
        tool("add", "math", description="the sum of two numbers"),
        tool("frost", "sky", description="warns of cold"),
    )

    async def names(
        self,
        request: str,
        perception: PerceptionResult | None = None,
        *,
        basic: frozenset[str] = frozenset(),
        found: tuple[str, ...] = (),
        memory: list[MemoryItem] | None = None,
        force_replan: bool = False,
        tokens: int = 200,
        strategy: StrategyProfile | None = None,
    ) -> list[str]:
        given = situation(
            [*self.many], perception, memory=memory, basic=basic, force_replan=force_replan
        )
        given = replace(given, request=request, found_tools=found, tool_prompt_tokens=tokens)
        decision = await decide(strategy or StrategyProfile(), given, generate)
        assert given.describe is not None
        written = sum(len(given.describe(t, decision.tools)) + 1 for t in decision.tools)
        assert written <= tokens * CHARACTERS_PER_TOKEN or len(decision.tools) == 1
        assert decision.tools.left_out == len(self.many) - len(decision.tools)
        return names(decision)

    async def test_while_all_fit_nothing_is_left_out_and_the_order_stays(self) -> None:
        offered = await self.names("what is the weather?", tokens=6_000)
        assert offered == [t.qualified_name for t in self.many]

    async def test_a_planner_that_reads_no_prompt_is_offered_what_it_can_weigh(self) -> None:
        given = replace(situation([*self.many]), describe=None, tool_prompt_tokens=200)
        decision = await decide(StrategyProfile(), given, generate)
        assert names(decision) == [t.qualified_name for t in self.many]
        more = [tool(f"other_{number}") for number in range(UNREAD_TOOLS_MAX)]
        given = replace(situation([*more, *self.many]), describe=None, request="weather")
        decision = await decide(StrategyProfile(), given, generate)
        assert len(names(decision)) == UNREAD_TOOLS_MAX
        assert "weather" in names(decision)[0]

    async def test_the_words_of_the_request_choose(self) -> None:
        offered = await self.names("What will the weather be in Oslo?")
        assert offered[0] == "sky.weather"
        assert len(offered) < 10

    async def test_tools_that_were_found_come_first_then_the_basic_ones(self) -> None:
        offered = await self.names(
            "weather", basic=frozenset({"math.add"}), found=("bulk.t7", "gone.tool")
        )
        assert offered[:3] == ["bulk.t7", "math.add", "sky.weather"]

    async def test_however_many_were_found_the_basic_tools_stay(self) -> None:
        found = tuple(f"bulk.t{n}" for n in range(40))
        offered = await self.names("weather", basic=frozenset({"math.add"}), found=found)
        assert "math.add" in offered
        assert offered[:2] == ["bulk.t0", "bulk.t1"]

    async def test_perceptions_hint_and_servers_tip_the_scales(self) -> None:
        hinted = await self.names("is it cold?", PerceptionResult(tool_hint="ADD"))
        assert hinted[:2] == ["sky.frost", "math.add"]
        selected = await self.names("moves", PerceptionResult(selected_servers=["sky"]))
        assert "sky.frost" not in selected, "the words weigh more than a server"
        nothing = await self.names("zzz", PerceptionResult(selected_servers=["sky"]))
        assert nothing[:2] == ["sky.weather", "sky.frost"]

    async def test_a_replan_leaves_perception_out_and_may_fall_back_on_what_worked(self) -> None:
        hint = PerceptionResult(tool_hint="add")
        assert "math.add" not in (await self.names("moves", hint, force_replan=True))[:1]
        offered = await self.names(
            "moves", hint, force_replan=True, memory=[output("frost")], strategy=EXPLORATORY
        )
        assert offered[0] == "sky.frost"

    async def test_one_tool_larger_than_the_budget_is_still_offered(self) -> None:
        assert len(await self.names("moves", tokens=1)) == 1

    async def test_names_stay_those_of_the_whole_catalogue(self) -> None:
        twins = [tool("get", "a", description="x" * 300), tool("get", "b", description="y" * 300)]
        given = replace(situation(twins), tool_prompt_tokens=100)
        (only,) = (decision := await decide(StrategyProfile(), given, generate)).tools
        assert decision.tools.plan_name(only) == "a.get"


async def test_the_last_try_is_not_pointed_to_tools_that_the_prompt_has_no_room_for() -> None:
    many = [tool(f"t{n}", "bulk", description="moves a pallet " * 4) for n in range(20)]
    basic = frozenset(spec.qualified_name for spec in many)
    weather = tool("weather", "sky", description="the weather of a city")
    given = replace(last_try(situation([*many, weather], basic=basic)), request="weather in Oslo")
    pointed: list[tuple[str, ...]] = []

    async def keep(inputs: DecisionInputs, prompt_path: str) -> PlanReply:
        pointed.append(inputs.shortlist)
        return Plan("async def solve(): ...")

    decision = await decide(StrategyProfile(), replace(given, tool_prompt_tokens=250), keep)
    assert "sky.weather" not in names(decision)
    assert "weather" not in pointed[0]
    assert len(pointed[0]) == LAST_TRY_TOOLS
