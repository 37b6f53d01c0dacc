"""Tasks, time limits and gathered exceptions in plans, as models write them."""

import asyncio

import pytest

from core.values import Json
from tests.modules.sandbox.sandbox_tools import TEST_TIMEOUT_SECONDS, Tools, failed, run, solve

GIVES: list[tuple[str, Json]] = [
    ("t = asyncio.create_task(add(1, 2))\nreturn await t, t.done(), t.result()", [3, True, 3]),
    ("t = [asyncio.create_task(meet(w)) for w in 'ab']\nreturn await t[0], await t[1]", ["a", "b"]),
    ("t = [asyncio.ensure_future(meet(w)) for w in 'ab']\nreturn await asyncio.gather(*t)",
     ["a", "b"]),
    ("asyncio.create_task(meet('a'))\nreturn await meet('b')", "b"),
    ("asyncio.create_task(echo('kept'))\nreturn 1", 1),
    ("async def f(n):\n    t = asyncio.create_task(add(n, 1))\n    return await t\n"
     "return await asyncio.gather(f(1), f(2))", [2, 3]),
    ("r = await asyncio.gather(add(1, 2), fail('error'), return_exceptions=True)\n"
     "return r[0], isinstance(r[1], RuntimeError), str(r[1])", [3, True, "the disk is full"]),
    ("try:\n    await asyncio.gather(add(1, 2), asyncio.create_task(fail('error')))\n"
     "except RuntimeError as e:\n    return str(e)", "the disk is full"),
    ("return await asyncio.wait_for(add(1, 2), timeout=5)", 3),
    ("try:\n    return await asyncio.wait_for(fail('error'), 5)\n"
     "except asyncio.TimeoutError:\n    return 'late'\n"
     "except RuntimeError as e:\n    return str(e)",
     "the disk is full"),
    ("return await asyncio.shield(asyncio.create_task(asyncio.to_thread(len, 'abc')))", 3),
    ("t = asyncio.create_task(add(1, 2))\nreturn f\"{await t} {'-'.join(map(str.strip, [' x']))}\"",
     "3 x"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "value"), GIVES)
async def test_tasks_give_what_they_give_in_python(lines: str, value: Json) -> None:
    tools = Tools()
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        result = await run("import asyncio\n" + solve(*lines.split("\n")), tools)
    assert (result.value, result.failure) == (value, None)
    assert "echo" not in lines or tools.sent


async def test_the_same_names_can_be_imported_from_asyncio() -> None:
    plan = "from asyncio import create_task, gather as all_of\n" + solve(
        "return await all_of(create_task(add(1, 2)), return_exceptions=True)"
    )
    assert (await run(plan)).value == [3]


@pytest.mark.parametrize(
    ("lines", "kind", "line", "words"),
    [
        ("t = asyncio.create_task(fail('error'))\nreturn await t", "tool", 4, "the disk is full"),
        ("asyncio.create_task(fail('error'))\nreturn 1", "tool", None, "the disk is full"),
        ("t = asyncio.create_task(add(1, 2))\nt.cancel()", "unsupported", 4, "leave it out"),
        ("t = asyncio.create_task(add(1, 2))\nt.result()", "unsupported", 4, "await it"),
        ("def f(n):\n    return f(n + 1)\nasync def g():\n    return f(0)\n"
         "return str(await asyncio.gather(g(), return_exceptions=True))", "limit", None, "a loop"),
    ],
)  # fmt: skip
async def test_what_goes_wrong_in_a_task_is_told(
    lines: str, kind: str, line: int | None, words: str
) -> None:
    failure = await failed("import asyncio\n" + solve(*lines.split("\n")))
    assert (failure.kind, failure.line) == (kind, line)
    assert words in failure.message
