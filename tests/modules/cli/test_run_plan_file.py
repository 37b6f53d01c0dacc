"""Plans as files: how they are read, and whether one may call a tool at all."""

import io
from pathlib import Path

import pytest

from core.errors import UsageError
from modules.cli.run_plan_file import may_call_tools, read_plan

MAX_BYTES = 100
NOTHING = io.BytesIO()


class TestReading:
    def test_a_file_and_stdin_give_the_same_text(self, tmp_path: Path) -> None:
        raw = b"\xef\xbb\xbfasync def solve():\r\n    return 'gr\xc3\xbcn'\r"
        (tmp_path / "a.py").write_bytes(raw)
        expected = "async def solve():\n    return 'grün'\n"
        assert read_plan(str(tmp_path / "a.py"), NOTHING, MAX_BYTES) == expected
        assert read_plan("-", io.BytesIO(raw), MAX_BYTES) == expected

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            (b"", "empty; a plan is Python"),
            (b" \n\t\n", "empty; a plan is Python"),
            (b"\xef\xbb\xbf", "empty; a plan is Python"),
            (b"x = '\xff'", "not UTF-8 text (byte 5)"),
            (b"#" * (MAX_BYTES + 1), "longer than the 100 bytes"),
        ],
    )
    def test_what_is_no_plan_is_refused_by_name(
        self, tmp_path: Path, content: bytes, told: str
    ) -> None:
        file = tmp_path / "a.py"
        file.write_bytes(content)
        for name, shown in ((str(file), str(file)), ("-", "stdin")):
            with pytest.raises(UsageError) as caught:
                read_plan(name, io.BytesIO(content), MAX_BYTES)
            assert str(caught.value).startswith(f"{shown}: {told}")

    def test_the_longest_plan_is_read(self) -> None:
        assert len(read_plan("-", io.BytesIO(b"#" * MAX_BYTES), MAX_BYTES)) == MAX_BYTES

    @pytest.mark.parametrize("name", ["nowhere.py", "", "a\0b", "."])
    def test_what_cannot_be_read_says_so(
        self, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(UsageError, match="the plan can't be read: ") as told:
            read_plan(name, NOTHING, MAX_BYTES)
        assert not str(told.value).startswith(":")


@pytest.mark.parametrize(
    "source",
    [
        "async def solve():\n    return await tools.add(a=1, b=2)",
        "async def solve():\n    return await add(a=1, b=2)",
        "async def solve():\n    add = await add(a=1, b=2)\n    return add",
        "async def solve():\n    pow = await pow(2, 3)\n    return pow",
        "async def solve():\n    return await mcp.call_tool('add', {})",
        "async def solve():\n    return await search_tools('add numbers')",
        "async def solve():\n    call = tools.add\n    return await call(1, 2)",
        "async def solve():\n    return [await f(1) for f in (add, multiply)]",
        "from tools import add\nasync def solve():\n    return await add(1, 2)",
        "import tools.math as m\nasync def solve():\n    return await m.add(1, 2)",
        "solve = lambda: add(1, 2)",
        "x = 1\n" * 10_000,
        "def solve(:\n    return tools.add(1)",  # the sandbox may know it, being newer
    ],
    ids=lambda source: source[-40:],
)
def test_a_plan_that_may_reach_a_tool_is_told_from_one_that_cannot(source: str) -> None:
    assert may_call_tools(source)


@pytest.mark.parametrize(
    "source",
    [
        "async def solve():\n    return 1",
        "import json, re as r\ndef solve():\n    return json.dumps(r.findall('a', 'b'))",
        "import math\ndef area(r):\n    return math.pi * r ** 2\ndef solve():\n    return area(2)",
        "import asyncio\nasync def one():\n    return 1\n"
        "async def solve():\n    return await asyncio.gather(one(), one())",
        "def solve():\n    try:\n        return 1\n    except Exception as e:\n        return e",
        "class A:\n    pass\ndef solve():\n    a = A()\n    return [x for x in sorted([a.b])]",
        "def solve():\n    match 5:\n        case [*y, z]:\n            return y, z",
    ],
    ids=lambda source: source[-40:],
)
def test_a_plan_that_certainly_reaches_none_needs_no_server(source: str) -> None:
    assert not may_call_tools(source)
