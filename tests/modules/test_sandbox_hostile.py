"""Hostile plans gain nothing: no file, no environment, no process, no socket, no foreign tool."""

from pathlib import Path

import pytest

from core.catalog import ToolCatalog
from modules.sandbox import Sandbox
from tests.modules.sandbox_tools import CATALOG, Tools, run, solve, spec

PLANTED = "correct horse battery staple"

GRABS = [
    "return open(PATH).read()",
    "import os\n    return os.environ['CORTEX_TEST_SECRET']",
    "import os\n    return os.getenv('CORTEX_TEST_SECRET')",
    "import os\n    return os.listdir(DIR)",
    "import os\n    return os.system('cat ' + PATH)",
    "from pathlib import Path\n    return Path(PATH).read_text()",
    "return __import__('os').popen('cat ' + PATH).read()",
    "return eval('__import__(\"os\")').environ",
    "exec('import socket')\n    return 1",
    "import socket\n    return 1",
    "import subprocess\n    return 1",
    "import ctypes\n    return 1",
    "import importlib\n    return 1",
    "import sys\n    return sys.modules['os']",
    "return ().__class__.__base__.__subclasses__()",
    "return getattr((), '__cl' + 'ass__')",
    "return '{0.__class__.__mro__}'.format(1)",
    "return (lambda: 0).__globals__",
    "return solve.__code__",
    "return tools.add.__globals__",
    "return mcp.__class__.__init__.__globals__",
    "try:\n        1 / 0\n    except ArithmeticError as e:\n        return e.__traceback__",
    "return globals()",
    "return breakpoint()",
    "return input()",
    "return await __call_tool__(99, [], {})",
    "return await __call_tool__(-1, [], {})",
    "return await __call_tool__('math.add', [1, 2], {})",
    "return await __call_tool__(0, 1, 2)",
    "return await __call_raw__(['os.system'], {})",
    "return await __call_raw__()",
]


@pytest.mark.parametrize("grab", GRABS)
async def test_a_grab_fails_and_shows_nothing(
    grab: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "secret.txt"
    file.write_text(PLANTED)
    monkeypatch.setenv("CORTEX_TEST_SECRET", PLANTED)
    tools = Tools()
    result = await run(f"PATH = {str(file)!r}\nDIR = {str(tmp_path)!r}\n" + solve(grab), tools)
    assert result.failure is not None
    assert PLANTED not in f"{result}"
    assert tools.sent == []


async def test_only_the_offered_tools_can_be_called() -> None:
    offered = ToolCatalog(tool for tool in CATALOG if tool.name == "add")
    calls = ["tools.echo(1)", "echo(1)", "mcp.call_tool('echo', {'value': 1})",
             "mcp.call_tool('math.echo', {'value': 1})", "tools.math.echo(1)"]  # fmt: skip
    tools = Tools()
    async with Sandbox() as sandbox:
        for call in calls:
            result = await sandbox.run(solve(f"return await {call}"), offered, tools)
            assert result.failure is not None, call
    assert tools.sent == []


async def test_a_plan_that_rewrites_the_doors_still_meets_the_same_checks() -> None:
    tools = Tools()
    plan = "async def stolen(*a, **k):\n    return await __call_tool__(0, list(a), k)\n" + solve(
        "tools.add = stolen",
        "for _ in range(9):",
        "    try:",
        "        await tools.add(1, 2)",
        "    except BaseException:",
        "        pass",
        "return 'done'",
    )
    result = await run(plan, tools)
    assert result.failure is not None
    assert result.failure.kind == "limit"
    assert len(tools.sent) == 5


async def test_tool_names_cannot_carry_code_into_the_sandbox() -> None:
    names = ['x"); __call_tool__(0)#', "class", "__init__", "9lives", "a b", "naïve", "²", ""]
    offered = ToolCatalog([spec(name, [], wrap=False) for name in names] + [spec("add", "ab")])
    async with Sandbox() as sandbox:
        result = await sandbox.run(solve("return await tools.add(1, 2)"), offered, Tools())
    assert result.value == 3


@pytest.mark.parametrize("plan", ["\0", "\ud800", "", "-" * 50_000 + "1", "(" * 5000 + ")" * 5000])
async def test_texts_that_break_parsers_are_plain_failures(plan: str) -> None:
    result = await run(plan)
    assert result.failure is not None
    assert result.failure.kind == "syntax"
