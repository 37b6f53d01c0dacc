"""The guard: no plan swallows the limit on recursion, or runs past the guard."""

import asyncio
import dataclasses
import textwrap

import pytest

from modules.sandbox import Sandbox, SandboxLimits, SandboxResult
from modules.sandbox.language.guard import Unsupported, guard_plan
from tests.modules.sandbox.sandbox_tools import (
    CATALOG,
    TEST_TIMEOUT_SECONDS,
    Tools,
    failed,
    run,
    solve,
)

GUARD_NAMES = "5eed"
SHALLOW = SandboxLimits(recursion_depth=30)

DEEP = "def deep(n):\n    return deep(n + 1)\n"
"""Recurses without end. Its call in a plan is what is to be caught."""


def caught(handlers: str, before: str = "") -> str:
    """A plan that calls `deep` in a `try` with these handlers, and ends as if all was well."""
    body = f"try:\n    deep(0)\n{textwrap.dedent(handlers)}\nreturn 'swallowed'"
    return DEEP + textwrap.dedent(before) + "\ndef solve():\n" + textwrap.indent(body, "    ")


SWALLOWING = {
    "bare except": caught("except:\n    pass"),
    "on one line": caught("except: pass"),
    "Exception": caught("except Exception as error:\n    text = str(error)"),
    "BaseException": caught("except BaseException:\n    pass"),
    "RuntimeError": caught("except RuntimeError:\n    pass"),
    "RecursionError": caught("except RecursionError:\n    pass"),
    "a tuple": caught("except (ValueError, RuntimeError):\n    pass"),
    "the last of many": caught("except ValueError:\n    x = 1\nexcept Exception:\n    x = 3"),
    "a variable": caught("except kinds:\n    pass", "kinds = (KeyError, Exception)"),
    "a call": caught("except (lambda: Exception)():\n    pass"),
    "an innocent name": caught("except ValueError:\n    pass", "ValueError = Exception"),
    "a name that hides it": caught("except Exception:\n    pass", "RecursionError = KeyError"),
    "finally, return": caught("finally:\n    return 'swallowed'"),
    "finally, on one line": caught("finally: return 'swallowed'"),
    "finally, after a handler": caught("except KeyError: pass\nfinally: return 'swallowed'"),
    "finally, another error": DEEP + """
def solve():
    try:
        try:
            deep(0)
        finally:
            {}['key']
    except KeyError:
        return 'swallowed'
""",
    "finally, raised in a handler": DEEP + """
def solve():
    try:
        [][0]
    except IndexError:
        deep(0)
    finally:
        return 'swallowed'
""",
    "finally, raised in else": DEEP + """
def solve():
    try:
        pass
    except IndexError:
        pass
    else:
        deep(0)
    finally:
        return 'swallowed'
""",
    "finally, break": DEEP + """
def solve():
    for _ in [1]:
        try:
            deep(0)
        finally:
            break
    return 'swallowed'
""",
    "at each depth": """
def deep(n):
    try:
        return deep(n + 1)
    except Exception:
        return n
def solve():
    return deep(0)
""",
    "a loop that tries again": """
def deep():
    while True:
        try:
            return deep()
        except Exception:
            pass
def solve():
    return deep()
""",
    "in another function": DEEP + """
def safely(f):
    try:
        return f()
    except Exception:
        return 'swallowed'
def solve():
    return [safely(lambda: deep(0)) for _ in [1]]
""",
    "gathered": """
import asyncio
async def deep():
    return await deep()
async def solve():
    try:
        await asyncio.gather(deep(), deep())
    except Exception:
        return 'swallowed'
""",
    "at the top level": DEEP + """
try:
    deep(0)
except Exception:
    pass
def solve():
    return 'swallowed'
""",
    "in a method": """
class Deep:
    def go(self):
        try:
            return self.go()
        except Exception:
            return 'swallowed'
def solve():
    return Deep().go()
""",
    "an operator": """
class Deep:
    def __eq__(self, other):
        return self == other
def solve():
    try:
        return Deep() == Deep()
    except Exception:
        return 'swallowed'
""",
    "deep data": """
def solve():
    x, y = [], []
    for _ in range(100):
        x, y = [x], [y]
    try:
        return x == y
    except Exception:
        return 'swallowed'
""",
    "raised by the plan": """
def solve():
    try:
        raise RecursionError('mine')
    except Exception:
        return 'swallowed'
""",
    "carriage returns": caught("except Exception:\n    pass").replace("\n", "\r\n"),
    "a comment that ends in a backslash": caught("# \\\nexcept Exception:\n    pass"),
    "a continued clause": caught("except \\\n        Exception:\n    pass"),
    "a form feed": caught("except Exception:\n    pass").replace("    deep", "\f        deep"),
}  # fmt: skip


async def test_no_plan_swallows_the_limit_on_recursion() -> None:
    """Each of these plans would return a value in Python."""
    async with asyncio.timeout(3 * TEST_TIMEOUT_SECONDS), Sandbox(SHALLOW) as box:
        for name, plan in SWALLOWING.items():
            result = await box.run(plan, CATALOG, Tools())
            assert _kind(result) == "limit", name
            assert "30 deep" in str(result.failure), name


@pytest.mark.parametrize("clause", ["except Exception:", "finally:"])
async def test_the_limit_ends_the_plan_whatever_the_depth(clause: str) -> None:
    """Where the last frames are used up, the guard must still be able to call."""
    plan = (
        "def step(n):\n    return deep(n)\ndef deep(n):\n    try:\n        return step(n + 1)\n"
        f"    {clause}\n        return n\ndef solve():\n    return deep(0)"
    )
    async with asyncio.timeout(3 * TEST_TIMEOUT_SECONDS):
        for depth in range(4, 12):
            async with Sandbox(dataclasses.replace(SHALLOW, recursion_depth=depth)) as box:
                assert _kind(await box.run(plan, CATALOG, Tools())) == "limit", depth


async def test_the_line_of_a_guarded_limit_is_that_of_the_call() -> None:
    failure = await failed(caught("except:\n    pass"), limits=SHALLOW)
    assert (failure.line, failure.line_text) == (6, "deep(0)")


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (["x = 1", "while True:", "    try:", "        nope()", "    except NameError:",
          "        pass"], 5),
        (["while True:", "    try:", "        nope", "    except NameError:", "        pass"], 4),
        (["try:", "    [await add(i, i)", "     for i in range(9)]", "except Exception:",
          "    pass"], 3),
        (["for i in range(9):", "    await tools.add(i, i)"], 3),
    ],
)  # fmt: skip
async def test_a_limit_of_ours_names_its_line_where_it_can(lines: list[str], line: int) -> None:
    failure = await failed(solve(*lines))
    assert (failure.kind, failure.line) == ("limit", line)
    assert failure.line_text == lines[line - 2].strip()


UNREADABLE = {
    "a null": "# \0\n",
    "brackets": f"x = {'(' * 250}1{')' * 250}\n",
    "levels of indentation": "".join(f"{' ' * n}if 1:\n" for n in range(105)) + " " * 105 + "1\n",
}
"""What the interpreter reads and Python's own parser doesn't."""


async def test_a_plan_that_python_cannot_read_does_not_pass_unguarded() -> None:
    quiet = "class Quiet:\n    def __enter__(self): pass\n    def __exit__(self, *a): return True\n"
    swallowing = [
        DEEP + solve("try: deep(0)", "except Exception: pass", "return 'swallowed'"),
        DEEP + solve("try: deep(0)", "finally: return 'swallowed'"),
        DEEP + solve("\\", "    try: deep(0)", "except Exception: return 'swallowed'"),
        DEEP + quiet + solve("with Quiet(): deep(0)", "return 'swallowed'"),
    ]
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox(SHALLOW) as box:
        for name, head in UNREADABLE.items():
            for plan in swallowing:
                result = await box.run(head + plan, CATALOG, Tools())
                assert (result.value, _kind(result)) == (None, "unsupported"), name
                assert "can't be used in this plan" in str(result.failure), name
            harmless = await box.run(f"{head}{solve('return 1')}", CATALOG, Tools())
            assert harmless.value == 1, name


async def test_the_interpreter_says_what_is_wrong_with_a_plans_syntax_all_the_same() -> None:
    failure = await failed(solve("try:", "    x = = 1", "finally:", "    pass"))
    assert (failure.kind, failure.line, failure.line_text) == ("syntax", 3, "x = = 1")


ESCAPES = {
    "an __exit__": ("class Quiet:\n    def __enter__(self): pass\n    def __exit__(self, *a):\n"
                    "        return True\ndef solve():\n    with Quiet():\n        deep(0)", 6),
    "an __exit__ of later": ("class Quiet:\n    def __enter__(self): pass\n"
                             "setattr(Quiet, '__ex' + 'it__', lambda *a: True)\n"
                             "def solve():\n    with Quiet():\n        deep(0)", 5),
    "a class made by type()": ("kind = type\nQuiet = kind('Q', (), {'__enter__': print,"
                               " '__exit__': lambda *a: True})\n"
                               "def solve():\n    with Quiet() as q, Quiet():\n        deep(0)", 4),
    "a name that hides type": ("class Quiet:\n    def __enter__(self): pass\n"
                               "type = lambda x: None\ndef solve():\n    with Quiet(): deep(0)", 5),
    "exec": ("def solve():\n    exec('try:\\n    deep(0)\\nexcept: pass')", 2),
    "exec by another name": ("run = exec\ndef solve():\n    run('x = 1')", 3),
    "exec behind eval": ("def solve():\n    eval('exec')('x = 1')", 2),
    "exec behind names for eval": ("def solve():\n    eval('exec', {})('x = 1')", 2),
    "eval behind eval": ("def solve():\n    eval(\"eval('exec', {})\")('x = 1')", 2),
    "eval by another name": ("run = eval\ndef solve():\n    run('exec', {})('x = 1')", 3),
    "the guard's names": ("def solve():\n    names = locals()", 2),
    "the guard's names, evaluated": ("def solve():\n    names = eval('locals()')", 2),
}  # fmt: skip


@pytest.mark.parametrize("escape", ESCAPES)
async def test_what_would_run_past_the_guard_is_refused(escape: str) -> None:
    plan, line = ESCAPES[escape]
    failure = await failed(f"{plan}\n{DEEP}", limits=SHALLOW)
    assert (failure.kind, failure.line) == ("unsupported", line)


async def test_a_plain_eval_sees_what_is_around_it() -> None:
    lines = ("x = 2", "return [eval('x * 21'), f\"{len('abc')}\"]")
    assert (await run(solve(*lines))).value == [42, "3"]
    own = "def eval(text):\n    return 'own'\n" + solve("return eval('1')")
    assert (await run(own)).value == "own"
    lines = ("match len:", "    case eval:", "        return eval('abc')")
    assert (await run(solve(*lines))).value == 3


async def test_a_context_of_decimal_works() -> None:
    plan = "import decimal\n" + solve(
        "with (decimal.localcontext() as c):",
        "    c.prec = 3",
        "    return str(decimal.Decimal(1) / 3)",
    )
    assert (await run(plan)).value == "0.333"


def test_a_layout_that_cannot_be_guarded_is_refused_with_its_line() -> None:
    for plan, line in (
        ("try:\n    x = 1\n\\\nexcept ValueError:\n    pass", 4),
        ("try:\n    x = 1\nfinally: \\\n    y = 2", 4),
        ("try:\n    x = 1\nfinally \\\n    : y = 2", 4),
    ):
        with pytest.raises(Unsupported, match="on lines of their own") as refused:
            guard_plan(plan, GUARD_NAMES)
        assert refused.value.line == line


@pytest.mark.parametrize("name", ["__bool__", "__setattr__", "__len__", "__lt__", "__new__"])
async def test_a_method_that_would_be_ignored_is_refused_with_its_line(name: str) -> None:
    plan = f"class Box:\n    size = 1\n    def {name}(self, *a):\n        return 1\n"
    failure = await failed(plan + solve("return 1"))
    assert (failure.kind, failure.line) == ("unsupported", 3)
    assert f"{name}() is not supported" in failure.message


@pytest.mark.parametrize("plan", ["def (", "x" * 13_000, "\0", "(" * 3000 + ")" * 3000])
def test_what_cannot_be_parsed_stays_as_it_is(plan: str) -> None:
    guarded = guard_plan(plan, GUARD_NAMES)
    assert (guarded.text, guarded.prelude, guarded.lines) == (plan, "", (1,))


def test_a_plan_without_anything_to_guard_stays_as_it_is() -> None:
    plan = "# é\nimport json\n" + solve("for x in [1]:", "    print(x)", "return f'{x}'")
    assert guard_plan(plan, GUARD_NAMES).text == plan


def _kind(result: SandboxResult) -> str | None:
    return result.failure.kind if result.failure else None
