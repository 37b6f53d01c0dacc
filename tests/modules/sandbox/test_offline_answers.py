"""The plans that tell answers from passages, in the sandbox's own Python."""

from core.ports import ModelRequest
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import FinalAnswer, FurtherProcessing, Plan
from core.values import JsonObject
from modules.action import run_plan
from modules.sandbox import Sandbox, SandboxLimits
from tests.modules.offline.plans import offline_reply
from tests.modules.offline.quotes.test_document_plans import FOUND, bench

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


async def _found(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
    return ToolResult((), {"result": FOUND})


async def test_each_kind_of_question_is_judged_in_the_sandbox() -> None:
    here = bench()
    async with Sandbox(SandboxLimits()) as sandbox:
        for request, answer in ASKED:
            reply = await offline_reply(ModelRequest("decision", "", here.inputs(request)))
            result = await run_plan(Plan(reply.text), here.catalog, _found, sandbox)
            if answer is None:
                assert isinstance(result, FurtherProcessing), (request, result)
            else:
                assert isinstance(result, FinalAnswer), (request, result)
                assert answer in result.text, request
