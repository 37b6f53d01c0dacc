"""Plans that the offline planner writes, in the sandbox's own Python."""

from core.ports import ModelRequest
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import FinalAnswer, FurtherProcessing, Plan
from core.values import JsonObject
from modules.action import run_plan
from modules.sandbox import Sandbox
from tests.modules.models.offline.everyday_cases import CASES
from tests.modules.models.offline.plans import Bench, offline_reply
from tests.modules.models.offline.quotes.test_document_plans import FOUND, bench
from tests.modules.sandbox.sandbox_tools import Answers

DECIMAL = (("0.1 + 0.2", "0.3"), ("1.1 ** 2 / 4", "0.3025"), ("tan 45 degrees", "1"))

ASKED = (
    ("who says that mint never dries out?", "Ines Marrow"),
    ("when do tomatoes need water?", "July"),
    ("how many litres a leek?", "litres: 3"),
    ("what is the notice period?", "three months"),
    ("what is rent?", None),
    ("why is the rent 900 euros?", None),
    ("how do I water beans?", None),
    ("what do my documents say about beans?", "once a week"),
)
"""Questions that passages answer, or may not."""


async def _no_call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
    raise AssertionError(tool.name)


async def _plan_of(here: Bench, request: str) -> Plan:
    reply = await offline_reply(ModelRequest("decision", "", here.inputs(request)))
    return Plan(reply.text)


async def test_every_table_s_plan_gives_its_answer_in_the_sandbox() -> None:
    here = Bench()
    async with Sandbox() as sandbox:
        for request, answer in (*CASES, *DECIMAL):
            plan = await _plan_of(here, request)
            result = await run_plan(plan, here.catalog, _no_call, sandbox)
            assert isinstance(result, FinalAnswer), (request, result)
            assert result.text == answer, request


async def test_each_kind_of_question_is_judged_in_the_sandbox() -> None:
    here, found = bench(), Answers(ToolResult((), {"result": FOUND}))
    async with Sandbox() as sandbox:
        for request, answer in ASKED:
            plan = await _plan_of(here, request)
            result = await run_plan(plan, here.catalog, found, sandbox)
            if answer is None:
                assert isinstance(result, FurtherProcessing), (request, result)
            else:
                assert isinstance(result, FinalAnswer), (request, result)
                assert answer in result.text, request
