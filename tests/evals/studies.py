"""The studies: which requests are answered in which way, and what is printed of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from core.ports import TextModel
from modules.models.offline.planner import OfflineModel
from modules.sandbox import Sandbox, limits_of
from tests.benchmarks.environments import NotInstalled
from tests.evals import report, team
from tests.evals.ablation import Replay, ablated, ablated_fixtures
from tests.evals.dialogue import form_of
from tests.evals.gsm8k import load_problems
from tests.evals.json_calls import JsonWay
from tests.evals.judging import Judge
from tests.evals.options import Options, Study
from tests.evals.plans_way import PlansWay
from tests.evals.questions import Question, choose, load_questions, spread_out
from tests.evals.recorded_replies import FOLDER, ReplyRecorder, load
from tests.evals.records import Record
from tests.evals.stage import ALL_SERVERS, Manner, ServerName, Stage
from tests.evals.tools_in_front import many_other_tools, tools_in_front

RIGHT_AIM = 0.95
"""Share of our own requests that should be right within the lifelines."""


@dataclass(frozen=True)
class Evaluation:
    """All that the studies share; `weights` is the GGUF file of the model, if it has one."""

    options: Options
    stage: Stage
    judge: Judge
    weights: Path | None
    recorder: ReplyRecorder | None = None

    async def run(self, study: Study) -> None:
        """Measure and print one study.

        Raises:
            Outage: the model or the servers are down.
            OSError: the data of GSM8K are not there.
        """
        match study:
            case "tools":
                await self._tools()
            case "offline":
                await self._offline()
            case "ablation":
                await self._ablation()
            case "plans":
                await self._own_plans()
            case "json":
                await self._json_calls()
            case "perception":
                await self._perception()
            case "gsm8k":
                await self._gsm8k()
            case "team":
                await self._team()

    @property
    def questions(self) -> list[Question]:
        """Those that were chosen on the command line."""
        return self._chosen(load_questions())

    def _chosen(self, questions: Sequence[Question]) -> list[Question]:
        options = self.options
        return choose(questions, parts=options.parts, only=options.only, limit=options.limit)

    async def _tools(self) -> None:
        questions = [
            q.model_copy(update={"ask": self.stage.workplace.filled(q.ask)}) for q in self.questions
        ]
        profile = self.stage.profile(self.options.manner)
        async with self.stage.dispatcher(ALL_SERVERS) as dispatcher:
            await dispatcher.initialize()
            tools = dispatcher.get_all_tools()
        found = await tools_in_front(questions, tools, profile)
        title = f"The right tools in the prompt (tools): of {len(tools)}"
        report.show(title, report.in_front(found))
        others = many_other_tools()
        if isinstance(others, NotInstalled):
            report.show("… among 500 others", [f"not measured: {others.reason}"])
            return
        found = await tools_in_front(questions, [*tools, *others], profile)
        report.show(f"… of {len(tools) + len(others)}", report.in_front(found))

    async def _offline(self) -> None:
        records = await self._plans(
            "offline", self.questions, Manner(), ALL_SERVERS, model=OfflineModel()
        )
        right = sum(r.is_right for r in records.values())
        wrong = sum(r.verdict == "wrong" for r in records.values())
        refused = len(records) - right - wrong
        counted = f"answered {right}, refused {refused}, wrong {wrong} of {len(records)}"
        verdict = "met" if wrong == 0 else "MISSED"
        lines = [f"{counted}; aim: none wrong: {verdict}"]
        lines += [
            f"  {r.key}: {r.why}; said {r.answer[:110]!r}"
            for r in records.values()
            if r.verdict == "wrong"
        ]
        report.show("The offline planner (offline)", lines)

    async def _ablation(self) -> None:
        async with Sandbox() as sandbox:
            lines = await ablated_fixtures(sandbox)
        report.show("Repairs of plans (ablation): replies to weak prompts", lines)
        for file in sorted(FOLDER.glob("*.jsonl")):
            replies, questions = load(file), {q.key: q for q in self.questions}
            async with (
                self.stage.dispatcher(ALL_SERVERS) as dispatcher,
                Sandbox(limits_of(self.stage.profile(Manner()).sandbox)) as sandbox,
            ):
                await dispatcher.initialize()
                again = Replay(dispatcher, sandbox, self.stage.workplace, questions)
                lines = await ablated(again, replies)
            report.show(f"Repairs of plans (ablation): {file.stem}", lines)

    async def _own_plans(self) -> None:
        records = await self._code_plans(self.questions, self.options.manner)
        right, total = sum(r.is_right for r in records.values()), len(records)
        report.show(
            f"Code plans (plans): {self._plans_name(self.options.manner)}",
            [
                *report.way_table(records),
                report.aim(right, total, RIGHT_AIM),
                *report.failures(records),
            ],
        )

    async def _json_calls(self) -> None:
        questions = self.questions
        plans = await self._code_plans(questions, self.options.manner)
        manager, form = self.stage.manager(is_rendered=True), form_of(self.weights)
        async with self.stage.dispatcher(ALL_SERVERS) as dispatcher:
            await dispatcher.initialize()
            way = JsonWay("json-calls", manager, dispatcher, dispatcher.get_all_tools(), form)
            calls = await self.judge.ask_all(way, questions)
        report.show(
            f"JSON tool calls (json): {form.name}",
            [*report.way_table(calls), *report.failures(calls)],
        )
        compared = report.paired("plans", "JSON", plans, calls, lambda r: r.is_right)
        first = report.paired("plans", "JSON", plans, calls, lambda r: r.first_try)
        report.show("Code plans against JSON calls, right in the end", compared)
        report.show("… right without any failure on the way", first)

    async def _perception(self) -> None:
        questions = spread_out(self.questions, self.options.sample)
        manner = self.options.manner
        usual = await self._code_plans(questions, replace(manner, perception="auto"))
        always = await self._code_plans(questions, replace(manner, perception="always"))
        report.show("Perception by the model, always (perception)", report.way_table(always))
        report.show(
            "… against auto, on the same requests",
            [
                *report.paired("auto", "always", usual, always, lambda r: r.is_right),
                *report.way_table(usual),
            ],
        )

    async def _gsm8k(self) -> None:
        problems = spread_out(load_problems(), self.options.problems)
        manner = self.options.manner
        suffix = manner.suffix
        names: tuple[ServerName, ...] = ("math",)
        tools = await self._plans(f"gsm8k-math{suffix}", problems, manner, names)
        bare = await self._plans(f"gsm8k-bare{suffix}", problems, manner, ())
        report.show("GSM8K with the math tools (gsm8k)", report.way_table(tools))
        report.show("GSM8K without any server", report.way_table(bare))
        report.show("… compared", report.paired("tools", "bare", tools, bare, lambda r: r.is_right))

    async def _team(self) -> None:
        questions = self._chosen(load_questions(team.REQUESTS))
        by_mode = await team.asked_in_each_mode(self.stage, self.judge, questions, team.SERVERS)
        for kind, title in team.KINDS.items():
            told = f"{title}, by {self.stage.model.name}; {team.OWN}"
            report.show(told, team.compared(by_mode, kind))

    async def _code_plans(self, questions: Sequence[Question], manner: Manner) -> dict[str, Record]:
        return await self._plans(self._plans_name(manner), questions, manner, ALL_SERVERS)

    def _plans_name(self, manner: Manner) -> str:
        """One name for one manner, whether the profile or the command line asked for it."""
        usual, wanted = (self.stage.profile(m).strategy for m in (Manner(), manner))
        styled = wanted.plan_style if wanted.plan_style != usual.plan_style else None
        perceived = wanted.perception if wanted.perception != usual.perception else None
        return f"plans{Manner(styled, perceived).suffix}"

    async def _plans(
        self,
        name: str,
        questions: Sequence[Question],
        manner: Manner,
        servers: Sequence[ServerName],
        model: TextModel | None = None,
    ) -> dict[str, Record]:
        stage = replace(self.stage, model=model) if model is not None else self.stage
        async with stage.conversation(manner, servers) as conversation:
            return await self.judge.ask_all(PlansWay(name, conversation, self.recorder), questions)
