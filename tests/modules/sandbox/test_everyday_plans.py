"""The plans of the offline planner's tables, in the sandbox's own Python."""

from core.ports import ModelRequest
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import FinalAnswer, Plan
from core.values import JsonObject
from modules.action import run_plan
from modules.sandbox import Sandbox, SandboxLimits
from tests.modules.offline.everyday_cases import CASES
from tests.modules.offline.plans import Bench, offline_reply


async def _no_call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
    raise AssertionError(tool.name)


async def test_every_table_s_plan_gives_its_answer_in_the_sandbox() -> None:
    bench = Bench()
    decimal = (("0.1 + 0.2", "0.3"), ("1.1 ** 2 / 4", "0.3025"), ("tan 45 degrees", "1"))
    async with Sandbox(SandboxLimits()) as sandbox:
        for request, answer in (*CASES, *decimal):
            reply = await offline_reply(ModelRequest("decision", "", bench.inputs(request)))
            result = await run_plan(Plan(reply.text), bench.catalog, _no_call, sandbox)
            assert isinstance(result, FinalAnswer), (request, result)
            assert result.text == answer, request
