"""Plans that try to use up time, memory, output, tools or the host, in families.

A snippet is the body of `solve()`. It is judged by how it may end: most must be stopped by a limit,
and those run again and again inside `try: … except BaseException`: Python's own errors, of memory
and depth, may be caught, and then the clock ends the plan. The others end with an error of the plan
or with a small value: each group says why.
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from core.turn import FailureKind
from modules.sandbox import SandboxLimits
from modules.sandbox.limits import KIB, MIB
from tests.modules.sandbox.sandbox_tools import solve

Ending: TypeAlias = FailureKind | Literal["value"]

LIMIT_ONLY: frozenset[Ending] = frozenset({"limit"})

LIMITS = SandboxLimits(
    cpu_seconds=0.1,
    wall_seconds=5,
    memory_bytes=64 * MIB,
    printed_bytes=2_000,
    result_bytes=20_000,
    source_bytes=256 * KIB,
    argument_bytes=20_000,
    tool_result_bytes=200_000,
)
"""Small, so that every family is through in a second or two."""

PATIENT_LIMITS = replace(LIMITS, cpu_seconds=5)
"""For snippets that end by themselves: on a busy machine a short time would be over before."""

IMPORTS = (
    "import asyncio, base64, bisect, collections, copy, csv, dataclasses, datetime, decimal\n"
    "import functools, hashlib, itertools, json, math, random, re, time, unicodedata\n"
)


@dataclass(frozen=True, slots=True)
class Snippet:
    """The body of a plan, or what precedes one (`whole`); how it may end, why not by a limit."""

    text: str
    endings: frozenset[Ending] = LIMIT_ONLY
    why: str = ""
    whole: bool = False

    @property
    def is_stopped(self) -> bool:
        """Whether nothing but a limit may end it."""
        return self.endings == LIMIT_ONLY

    @property
    def plan(self) -> str:
        """The plan that is run."""
        lines = self.text.split("\n")
        if self.whole:
            return f"{self.text}\n{solve('return 1')}"
        if not self.is_stopped:
            return IMPORTS + solve(*lines)
        body = [f"        {line}" for line in lines]
        caught = ["    except BaseException:", "        pass"]
        return IMPORTS + solve("while True:", "    try:", *body, *caught)


def stopped(*texts: str) -> tuple[Snippet, ...]:
    """Bodies that a limit must end, whatever they catch."""
    return tuple(map(Snippet, texts))


def ends(why: str, endings: set[Ending], *texts: str) -> tuple[Snippet, ...]:
    """Bodies that end in another way, and why that is as good."""
    return tuple(Snippet(text, frozenset(endings), why) for text in texts)


def sources(why: str, endings: set[Ending], *texts: str) -> tuple[Snippet, ...]:
    """Texts that burden the parser, before a `solve()` that is harmless."""
    return tuple(Snippet(text, frozenset(endings), why, whole=True) for text in texts)


DEEP = "x = []\nfor i in range(30000): x = [x]\n"
SELF_MADE = "x = []\nx.append(x)\n"
SHARED = "x = [0] * 100\nfor i in range(20): x = [x] * 100\n"

FAMILIES: dict[str, tuple[Snippet, ...]] = {
    "loops": (
        *stopped(
            "while True: pass",
            "while True:\n    try: pass\n    finally: continue",
            "[[[0 for a in range(10**4)] for b in range(10**4)] for c in range(10**4)]",
            "class A:\n    def __repr__(self):\n        while True: pass\nf'{A()}'",
        ),
    ),
    "recursion": (
        *stopped(
            "def f(n): return f(n + 1)\nf(0)",
            "def a(): return b()\ndef b(): return a()\na()",
            "f = lambda g: g(g)\nf(f)",
            "async def f(): return await f()\nawait f()",
            "def f(n): return f(n - 1) + f(n - 1) if n else 1\nf(60)",
            "def f(v): return sorted([v], key=f)\nf(1)",
            "def f(v): return list(map(f, [v]))\nf(1)",
            "class A:\n    def __str__(self): return f'{self}'\nstr(A())",
            "def f():\n    try: return f()\n    finally: f()\nf()",
            "@functools.lru_cache(maxsize=None)\ndef f(n): return f(n + 1)\nf(0)",
            "async def f(n): return await asyncio.gather(f(n + 1))\nawait f(0)",
        ),
    ),
    "numbers": (
        *stopped(
            "10 ** 10 ** 9",
            "1 << 10**12",
            "x = 3\nwhile True: x = x * x",
            "pow(3, 10**10000, 10**10000 + 7)",
            "math.factorial(10**7)",
            "n = 10 ** 10**6\nwhile True: n // 7",
            "hex(1 << 10**9)",
            "decimal.getcontext().prec = 10**8\ndecimal.Decimal(1) / 3",
            "int(decimal.Decimal('1e100000000'))",
            "random.getrandbits(10**12)",
        ),
        *ends(
            "refused before anything is computed: too many digits, too large an exponent or date",
            {"error", "limit"},
            "x = 2\nwhile True: x = x ** x",
            "str(10 ** 10**6)",
            "int('9' * 10**6)",
            "decimal.Decimal('9' * 10**6) * 2",
            "decimal.Decimal(10) ** 10**9",
            "datetime.timedelta(days=10**12)",
        ),
    ),
    "endless iterators": (
        *stopped(
            "sum(range(10**12))",
            "-1 in itertools.count()",
            "list(itertools.product(range(1000), repeat=10))",
            "for p in itertools.product(range(10**9), repeat=3): pass",
            "list(itertools.accumulate(itertools.repeat(10**100), lambda a, b: a * b))",
            "list(collections.Counter({'a': 10**12}).elements())",
        ),
    ),
    "text": (
        *stopped(
            "'x' * 10**12",
            "s = 'x'\nwhile True: s = s + s",
            "s = 'aa'\nwhile True: s = s.replace('a', s)",
            "('a' * 10**6).replace('', 'b' * 10**6)",
            "('x' * 10**6).join(['y'] * 10**6)",
            "''.join(itertools.repeat('x'))",
            "'\\t'.expandtabs(10**9)",
            "'a'.center(10**10)",
            "while True: unicodedata.normalize('NFKD', '\ufdfa' * 10**4)",
            "ascii('\U0001f4a9' * 10**7)",
            "s = 'x'\nwhile True: s = f'{s}{s}{s}'",
            "'{:>1000000000}'.format(1)",
            "'%1000000000d' % 1",
            "'%*d' % (10**9, 1)",
            "('{0}' * 10**6).format('x' * 10**6)",
            "b'x' * 10**12",
            "bytes(10**12)",
        ),
    ),
    "regular expressions": (
        *stopped(
            "re.search(r'(?=(a+))\\1*b', 'a' * 10**5)",
            "while True: re.findall(r'\\w', 'a' * 10**4)",
            "i = 0\nwhile True:\n    i += 1\n    re.compile('a{%d}' % (i % 1000))",
        ),
        *stopped(
            "re.match(r'(a+)+$', 'a' * 40 + '!')",
            "re.match(r'(a|aa)+$', 'a' * 60 + '!')",
            "re.search(r'(.*)(.*)(.*)(.*)(.*)x', 'a' * 2000)",
            "re.match(r'(a*)*\\1b', 'a' * 60)",
            "re.search(r'(?:(?=a*)a*)*b', 'a' * 30)",
        ),
        *ends(
            "too deep a pattern is an error of `re`",
            {"error", "limit"},
            "re.compile('(' * 10**5 + ')' * 10**5)",
        ),
    ),
    "containers": (
        *stopped(
            "[0] * 10**12",
            "x = [0]\nwhile True: x = x + x",
            "d = {}\ni = 0\nwhile True:\n    d[i] = i\n    i += 1",
            "{i * (2**61 - 1): 0 for i in range(10**8)}",
            "class A: pass\na = A()\nwhile True:\n    b = A()\n    b.x = a\n    a = b",
            "random.sample(range(10**12), 10**7)",
            "@dataclasses.dataclass\nclass P:\n    x: object\np = None\nwhile True: p = P(p)",
        ),
    ),
    "deep and self-made": (
        *stopped(
            f"{DEEP}json.dumps(x)",
            f"{DEEP}copy.deepcopy(x)",
            "x = y = []\nfor i in range(30000): x, y = [x], [y]\nx == y",
            "t = (int,)\nfor i in range(30000): t = (t,)\nisinstance(1, t)",
            "t = ()\nfor i in range(30000): t = (t, t)\nhash(t)",
            "a = b = 0\nfor i in range(99): a, b = (a, a), (b, b)\na == b",
            "x, y = [], []\nx.append(y)\ny.append(x)\nx == y",
            "f = lambda: 0\nfor i in range(1000): f = (lambda g: lambda: g())(f)\nf()",
            f"{SHARED}json.dumps(x)",
            "json.dumps([[1]], indent=10**9)",
            "json.dumps([0] * 10**4, separators=('x' * 10**6, ':'))",
            "json.loads('[' + '0,' * 10**7 + '0]')",
        ),
        *ends(
            "deeper than the stack is",
            {"limit"},
            f"{DEEP}return len(repr(x))",
        ),
        *ends(
            "cut off with dots",
            {"value"},
            f"{SELF_MADE}return repr(x)",
        ),
        *ends(
            "no value of JSON",
            {"error"},
            f"{SELF_MADE}return x",
            "d = {}\nd['d'] = d\nreturn d",
        ),
        *ends(
            "the json module has its own bounds on depth and digits",
            {"error", "limit"},
            f"{SELF_MADE}json.dumps(x)",
            "json.loads('[' * 10**6)",
            "json.loads('9' * 10**6)",
        ),
    ),
}  # fmt: skip
"""What a plan does to its own worker; the host's half of the table is `exhaustion_of_host`."""
