"""What plans may write, and for all that the interpreter lacks a way that works."""

import asyncio
from typing import TypeAlias

import pytest

from modules.sandbox import Sandbox
from modules.sandbox.language.alternatives import BUILTINS, METHODS, MODULE_NAMES, MODULES
from modules.sandbox.language.prelude import AVAILABLE_MODULES, PLAN_LANGUAGE_NOTES
from tests.modules.sandbox.sandbox_tools import (
    CATALOG,
    TEST_TIMEOUT_SECONDS,
    Tools,
    failed,
    solve,
)

Lacking: TypeAlias = tuple[str, int, str, str]
"""A plan with what is lacking, its line, words of the advice, and the plan that follows it."""


def module_names(name: str) -> Lacking:
    """A name that a module lacks; the advice is in the table."""
    module, _, attribute = name.partition(".")
    return f"import {module}\nx = {module}.{attribute}", 2, MODULE_NAMES[name], "x = 1"


CLASS = "class A:\n    x = 1\n"
POINT = "from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int = 1\n    b: int = 2\n"
GATHER = "import asyncio\nx = await asyncio.gather(add(1, 2), add(3, 4))"

LACKING: dict[str, Lacking] = {
    "yield": ("def g():\n    yield 1", 2, "return a list", "def g():\n    return [1]"),
    "yield from": ("def g():\n    yield from [1]", 2, "a list", "def g():\n    return [1]"),
    "an async generator": ("async def g():\n    yield 1", 2, "a list", "x = [1]"),
    "next() of a generator": ("x = next(n for n in [1, 2])", 1, "next(iter([",
                              "x = next(iter([n for n in [1, 2]]), None)"),
    "send": ("g = (n for n in [1])\ng.send(None)", 2, "is a list here", "g = [1]"),
    "inheritance": ("class E(ValueError):\n    pass", 1, "RuntimeError", "e = RuntimeError('x')"),
    "object as base": ("class E(object):\n    pass", 1, "plain functions", "class E:\n    pass"),
    "a metaclass": ("class E(metaclass=type):\n    pass", 1, "plain functions", "e = {}"),
    "super": (CLASS + "    def f(self):\n        return super().f()\nA().f()", 4, "plain function",
              "def f():\n    return 1\nx = f()"),
    "property": (CLASS + "    @property\n    def f(self):\n        return 1", 3, "plain method",
                 CLASS + "    def f(self):\n        return 1\nx = A().f()"),
    "staticmethod": (CLASS + "    @staticmethod\n    def f():\n        return 1", 3,
                     "outside of the class", "def f():\n    return 1"),
    "a nested class": ("class A:\n    class B:\n        x = 1", 2, "outside of the class", CLASS),
    "code in a class": ("class A:\n    for i in [1]:\n        pass", 2, "keep to methods", CLASS),
    "several names in a class": ("class A:\n    a, b = 1, 2", 2, "one name = value a line",
                                 "class A:\n    a = 1\n    b = 2"),
    "__len__": (CLASS + "    def __len__(self):\n        return 1", 3, "a plain name",
                CLASS + "    def size(self):\n        return 1\nx = A().size()"),
    "dataclass(order)": (POINT.replace("@dataclass", "@dataclass(order=True)"), 2, "key=",
                         POINT + "x = sorted([P(2), P(1)], key=lambda p: p.a)"),
    "async with": ("async with tools:\n    pass", 1, "await tools.name", "x = await add(1, 2)"),
    "async for": ("async for x in [1]:\n    pass", 1, "plain for loop", "for x in [1]:\n    pass"),
    "an async comprehension": ("x = [n async for n in [1]]", 1, "for loop with await",
                               "for n in [1]:\n    x = await add(n, 1)"),
    "a task group": ("import asyncio\nasync with asyncio.TaskGroup() as group:\n    pass", 2,
                     "asyncio.gather(call1, call2)", GATHER),
    "a timeout": ("import asyncio\nasync with asyncio.timeout(1):\n    x = await add(1, 2)", 2,
                  "own time limit", "x = await add(1, 2)"),
    "with": (CLASS + "with A():\n    pass", 3, "try/finally",
             "try:\n    x = 1\nfinally:\n    y = 2"),
    "with open": ("with open('x') as f:\n    pass", 1, "use a tool", "x = await echo('x')"),
    "pathlib": ("import pathlib\npathlib.Path('x').read_text()", 2, "a tool that reads", "x = 1"),
    "os.environ": ("import os\nos.environ", 2, "no environment", "x = 1"),
    "del": ("d = {'a': 1}\ndel d['a']", 2, "d.pop(key)", "d = {'a': 1}\nd.pop('a')\nd = None"),
    "import *": ("from math import *", 1, "from math import sqrt", "from math import sqrt"),
    "except*": ("try:\n    x = 1\nexcept* ValueError:\n    pass", 1, "plain except",
                "try:\n    x = 1\nexcept ValueError:\n    pass"),
    "two texts": ("x = 1\nraise ValueError('a', x)", 2, "one text", "e = ValueError(str(1))"),
    "an exception in one": ("x = KeyError('a')\nraise ValueError(x)", 2, "ValueError(str(x))",
                            "x = KeyError('a')\ne = ValueError(str(x))"),
    "a tool in map()": ("x = list(map(add, [1], [2]))", 1, "not through map()",
                        "x = [await add(n, 2) for n in [1]]"),
    "object()": ("x = object()", 1, "None or a list", "x = []\ny = x is None"),
    "type() with bases": ("x = type('A', (object,), {})", 1, "functions and dicts", "x = {}"),
    "print(file=)": ("print(1, file=[])", 1, "without file=", "print(1)"),
    "json default": ("import json\njson.dumps({1}, default=list)", 2, "into text, lists",
                     "import json\nx = json.dumps(list({1}))"),
    "json hook": ("import json\njson.loads('{}', object_hook=dict)", 2, "after json.loads",
                  "import json\nx = dict(json.loads('{}'))"),
    "latin-1": ("x = 'a'.encode('latin-1')", 1, "utf-8", "x = 'a'.encode('utf-8')"),
    "exec": ("exec('x = 1')", 1, "into the plan itself", "x = 1"),
    "eval with names": ("eval('x', {'x': 1})", 1, "eval(text)", "x = 1\ny = eval('x')"),
    "locals": ("x = locals()", 1, "a dict", "x = {}"),
    "dir": ("x = dir(1)", 1, "name the attributes", "x = 1"),
    "callable": ("x = callable(len)", 1, "isinstance(x, str)", "x = isinstance(len, str)"),
    "an unknown exception": ("try:\n    x = {}['a']\nexcept ConnectionError:\n    x = 1", 3,
                             "catch RuntimeError",
                             "try:\n    x = {}['a']\nexcept Exception:\n    x = 1"),
    "is_integer": ("x = (1.5).is_integer()", 1, "x == int(x)", "x = 1.5\ny = x == int(x)"),
    "bit_length": ("x = (5).bit_length()", 1, "len(bin(n)) - 2", "n = 5\nx = len(bin(n)) - 2"),
    "as_integer_ratio": ("x = (1.5).as_integer_ratio()", 1, "decimal.Decimal(x)",
                         "import decimal\nx = decimal.Decimal(1.5).as_integer_ratio()"),
    "to_bytes": ("x = (5).to_bytes(2, 'big')", 1, "bytes.fromhex",
                 "n = 5\nx = bytes.fromhex(f'{n:04x}')"),
    "from_bytes": ("x = int.from_bytes(b'a', 'big')", 1, "int(data.hex(), 16)",
                   "data = b'a'\nx = int(data.hex(), 16)"),
    "translate": ("x = 'a'.translate({})", 1, "replace()", "x = 'a'.replace('a', 'b')"),
    "format_map": ("x = '{a}'.format_map({'a': 1})", 1, "format(**values)",
                   "x = '{a}'.format(**{'a': 1})"),
    "difference_update": ("s = {1}\ns.difference_update({1})", 2, "s - other", "s = {1} - {1}"),
    "__dict__": (CLASS + "x = A().__dict__", 3, "a dict", "x = {}"),
    "__name__": ("def f():\n    pass\nx = f.__name__", 3, "as text", "x = 'f'"),
    "isocalendar": ("import datetime\nx = datetime.date(2020, 1, 2).isocalendar()", 2, "'%V'",
                    "import datetime\nx = datetime.date(2020, 1, 2).strftime('%V')"),
    "functools.wraps": ("from functools import wraps", 1, "leave it out", "import functools"),
    "statistics.kde": ("import statistics\nstatistics.kde([1])", 2, "only: StatisticsError, corr",
                       "import statistics\nx = statistics.fmean([1])"),
    "from string": ("from string import Template", 1, "only: ascii_letters", "x = '{}'.format(1)"),
    "enum": ("import enum", 1, "plain constants", "RED = 1"),
    "heapq": ("import heapq", 1, "sorted(values)[:n]",
              "values, n = [2, 1], 1\nx = sorted(values)[:n]"),
    "operator": ("from operator import itemgetter", 1, "a lambda", "x = lambda n: n[0]"),
    "fractions": ("import fractions", 1, "decimal", "import decimal"),
    "collections.abc": ("from collections.abc import Iterable", 1, "use typing",
                        "from typing import Iterable"),
    "urllib": ("import urllib.request", 1, "use a tool", "x = await echo('x')"),
    "io": ("from io import StringIO", 1, "lists of lines", "x = '\\n'.join(['a', 'b'])"),
    "contextlib": ("from contextlib import suppress", 1, "try/finally", "x = 1"),
    "zoneinfo": ("import zoneinfo", 1, "datetime.timezone",
                 "import datetime\nx = datetime.timezone(datetime.timedelta(hours=1))"),
    "uuid": ("import uuid", 1, "getrandbits", "import random\nx = random.getrandbits(128)"),
    "some module": ("import zlib", 1, "there is only: asyncio", "import json"),
    **{name: module_names(name) for name in MODULE_NAMES if name != "typing.NamedTuple"},
    "OrderedDict": ("from collections import OrderedDict", 1, "use a dict", "x = dict(a=1)"),
    "ChainMap": ("from collections import ChainMap", 1, "{**defaults", "x = {**{'a': 1}, **{}}"),
    "NamedTuple": ("from typing import NamedTuple", 1, "collections.namedtuple",
                   "import collections\nx = collections.namedtuple('Point', ['x', 'y'])(1, 2)"),
    "asdict": ("from dataclasses import asdict", 1, "{'a': p.a",
               POINT + "p = P()\nx = {'a': p.a, 'b': p.b}"),
    "UTC": ("from datetime import UTC", 1, "timezone.utc",
            "import datetime\nx = datetime.timezone.utc"),
}  # fmt: skip


async def test_whatever_is_lacking_is_named_with_its_line_and_a_way_that_works() -> None:
    wrong: list[str] = []
    async with asyncio.timeout(3 * TEST_TIMEOUT_SECONDS), Sandbox() as box:
        for name, (lacking, line, words, instead) in LACKING.items():
            failure = (await box.run(_in_solve(lacking), CATALOG, Tools())).failure
            found = failure and (failure.kind, failure.line and failure.line - 1)
            if found != ("unsupported", line) or words not in str(failure):
                wrong.append(f"{name}: {failure}")
            follows = await box.run(_in_solve(instead), CATALOG, Tools())
            if follows.failure is not None:
                wrong.append(f"{name}, instead: {follows.failure}")
    assert wrong == []


def _in_solve(lines: str) -> str:
    """A plan of these lines; the first is line 2."""
    return solve(*lines.split("\n"), "return 'done'")


async def test_whatever_the_tables_call_lacking_is_lacking() -> None:
    """Should the interpreter learn something, its advice goes."""
    found: list[str] = []
    lines = {name: f"x = {name}" for name in BUILTINS}
    lines |= {name: f"import {name}" for name in MODULES}
    values = ("1", "1.5", "'a'", "{1}", "[n for n in []]", "ValueError('a')", "len", "date.today()")
    async with asyncio.timeout(3 * TEST_TIMEOUT_SECONDS), Sandbox() as box:
        for name, line in lines.items():
            failure = (await box.run(solve(line), CATALOG, Tools())).failure
            if failure is None or failure.kind != "unsupported":
                found.append(name)
        for name in METHODS:
            calls = "\n".join(_call_if_it_has(value, name) for value in values)
            plan = _in_solve(f"from datetime import date\nhas = []\n{calls}\nassert not has, has")
            if (failure := (await box.run(plan, CATALOG, Tools())).failure) is not None:
                found.append(f"{name}: {failure}")
    assert found == []


def _call_if_it_has(value: str, method: str) -> str:
    """Lines that note a method that is there, whatever it makes of being called."""
    return (
        f"try:\n    has.append(({value}).{method}())\nexcept AttributeError:\n    pass\n"
        f"except Exception as error:\n    has.append(str(error))"
    )


NOTED = {
    "fractions": "import fractions",
    "operator": "import operator",
    "heapq": "import heapq",
    "enum": "import enum",
    "io, ": "import io",
    "contextlib": "import contextlib",
    "input()": "input()",
    "TaskGroup": "import asyncio\nasyncio.TaskGroup()",
    "Semaphore": "import asyncio\nasyncio.Semaphore(2)",
    "timeout()": "import asyncio\nasync with asyncio.timeout(1):\n    x = 1",
    "yield (build a list)": "def g():\n    yield 1",
    "async with": "async with tools:\n    pass",
    "async for": "async for x in [1]:\n    pass",
    "async comprehensions": "x = [n async for n in [1]]",
    "class inheritance": LACKING["inheritance"][0],
    "own exceptions (use RuntimeError)": LACKING["inheritance"][0],
    "decorators on methods": LACKING["property"][0],
    "__len__": LACKING["__len__"][0],
    "__lt__": LACKING["__len__"][0].replace("len", "lt"),
    "__bool__": LACKING["__len__"][0].replace("len", "bool"),
    "super()": LACKING["super"][0],
    "callable()": "callable(1)",
    "issubclass()": "issubclass(int, int)",
    "exec()": "exec('1')",
    "`with` (use try/finally)": LACKING["with"][0],
    "`del` (assign None instead)": LACKING["del"][0],
    "`next(x for …)`": LACKING["next() of a generator"][0],
    "exceptions with more than one text": LACKING["two texts"][0],
}
"""What the notes call lacking, in their words, and a plan that needs it."""


async def test_every_claim_of_the_notes_is_true() -> None:
    async with asyncio.timeout(2 * TEST_TIMEOUT_SECONDS), Sandbox() as box:
        for words, lines in NOTED.items():
            assert words in PLAN_LANGUAGE_NOTES
            failure = (await box.run(_in_solve(lines), CATALOG, Tools())).failure
            assert failure is not None, words
            assert failure.kind == "unsupported", words
        for module in AVAILABLE_MODULES:
            assert (await box.run(_in_solve(f"import {module}"), CATALOG, Tools())).failure is None


async def test_a_module_that_was_not_imported_is_advised() -> None:
    failure = await failed(solve("return json.dumps(1)"))
    assert failure.kind == "error"
    assert "write import json first" in failure.message


@pytest.mark.parametrize(
    "line",
    [
        "raise AttributeError('mine')",
        "raise NameError('mine')",
        "raise TypeError('mine')",
        "raise ValueError('no yield, not inheritance')",
        "raise RuntimeError('Permission denied: it is not supported in this environment')",
        "x = 'a'.nope()",
        "x = [].nope",
        "x = nope",
        "x = len(5)",
        "x = {}['a']",
    ],
)
async def test_ordinary_mistakes_are_errors_without_advice(line: str) -> None:
    failure = await failed(solve(line))
    assert (failure.kind, failure.line) == ("error", 2)
    assert ";" not in failure.message


WORKS = """
walrus: x = [y for n in [1] if (y := n)]
match: match [1, 2]:\\n    case [a, *b]:\\n        x = b
decorators: def d(f):\\n    return f\\n@d\\ndef g():\\n    return 1\\nx = g()
lambda defaults: x = (lambda a, b=2: a + b)(1)
positional only: def f(a, /, b, *, c):\\n    return a\\nx = f(1, 2, c=3)
nonlocal: def f():\\n    n = 0\\n    def g():\\n        nonlocal n\\n        n += 1\\n    g()\\nf()
f-string =: x = 5\\ny = f'{x=} {x:>5,.1f}'
set and dict comprehensions: x = {n for n in [1]}, {n: 1 for n in [1]}
slices: x = [1, 2, 3][::-1]\\nx[0:2] = [9]
chained comparison: x = 1 < 2 < 3
complex numbers: x = 1j * 2
bytes: x = b'a'.hex() + bytes([1]).hex() if False else b'a'.decode()
str.format: x = '{:>5} {a!r} {b[0]}'.format(1, a='x', b=[1])
percent: x = '%s %05.2f %%' % ('a', 1.5)
star assignment: a, *b = [1, 2, 3]
try with else: try:\\n    x = 1\\nexcept KeyError:\\n    x = 2\\nelse:\\n    x = 3
raise from: try:\\n    raise ValueError('a') from KeyError('b')\\nexcept ValueError:\\n    x = 1
cache: import functools\\n@functools.cache\\ndef f(n):\\n    return n\\nx = f(1)
iteration protocol: class A:\\n    def __iter__(self):\\n        return iter([1])\\nx = list(A())
operators of a class: class A:\\n    def __add__(self, o):\\n        return 1\\nx = A() + A()
a method as a value: d = {'a': 1}\\nx = sorted(d, key=d.get), [d.get\\n], max(d,\\n key=(d).get)
a method of a type: x = sorted(map(str.strip, [' b', 'A ']), key=str.lower)
a method of a part: x = [[2, 1]]\\nf = x[0].append\\nf(3)\\nassert x == [[2, 1, 3]]
a field called like a method: class A:\\n    count = 5\\nf = A().count\\nassert f == 5
a function for re.sub: import re\\nx = re.sub('a', lambda m: 'b', 'a')
generics: x: list[int] | None = None
while else: while False:\\n    pass\\nelse:\\n    x = 1
print: import sys\\nprint(1, 2, sep='-', end='', flush=True, file=sys.stderr)
"""


async def test_what_the_notes_do_not_forbid_works() -> None:
    wrong: list[str] = []
    async with asyncio.timeout(2 * TEST_TIMEOUT_SECONDS), Sandbox() as box:
        for entry in WORKS.strip().split("\n"):
            lines = entry.partition(": ")[2].replace("\\n", "\n")
            failure = (await box.run(_in_solve(lines), CATALOG, Tools())).failure
            if failure is not None:
                wrong.append(f"{entry}: {failure}")
    assert wrong == []
