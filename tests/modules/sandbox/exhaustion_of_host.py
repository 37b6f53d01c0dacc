"""Plans that try to use up the host: its memory, its screen, its tools, its patience, its parser.

The second half of the table in `exhaustion`.
"""

from tests.modules.sandbox.exhaustion import (
    DEEP,
    SELF_MADE,
    SHARED,
    Snippet,
    ends,
    sources,
    stopped,
)

HOST_FAMILIES: dict[str, tuple[Snippet, ...]] = {
    "exceptions": (
        *ends(
            "the plan's own exception ends it; the host shortens the message",
            {"error", "limit", "unsupported"},
            "raise ValueError('x' * 10**7)",
            "raise ValueError('\u00e9' * 10**6)",
            "{}['x' * 10**6]",
            f"{DEEP}raise ValueError(x)",
            "raise AttributeError('\\'' + 'a' * 10**6)",
            "datetime.datetime.fromisoformat('2' * 10**6)",
        ),
        *stopped(
            "e = ValueError('x')\nwhile True:\n    try: raise RuntimeError(str(e)) from e\n"
            "    except RuntimeError as r: e = r",
            "m = 'x'\nwhile True:\n    try: raise ValueError(m + m)\n"
            "    except ValueError as e: m = str(e)",
        ),
    ),
    "printing": (
        *stopped(
            "print('x' * 10**7)",
            "while True: print('x')",
            "while True: print('x', end='')",
            "while True: print(end='')",
            "while True: print('\U0001f4a9' * 100)",
            "import sys\nwhile True: print('x' * 100, file=sys.stderr)",
            "print(*['a'] * 10**5, sep='x' * 10**4)",
            "try: raise ValueError\nfinally:\n    while True: print('x' * 100)",
        ),
        *ends("little is printed", {"value"}, "print('\\ud800' * 100)"),
        *ends("deeper than the stack is", {"limit"}, f"{DEEP}print(x)"),
    ),
    "coroutines": (
        *stopped(
            "async def f(): return 1\nx = []\nwhile True: x.append(f())",
            "x = []\nwhile True: x.append(tools.add(1, 2))",
            "async def f(): return 1\nawait asyncio.gather(*[f() for i in range(10**6)])",
            "async def f():\n    while True: pass\nawait asyncio.gather(tools.add(1, 1), f())",
        ),
        *ends(
            "one coroutine runs once",
            {"error", "value"},
            "x = []\nasync def f(): return await x[0]\nx.append(f())\nawait x[0]",
            "c = tools.add(1, 1)\nawait asyncio.gather(*[c] * 10)",
        ),
    ),
    "calls": (
        *stopped(
            "while True: await tools.add(1, 1)",
            "while True:\n    try: await tools.add(1, 1)\n    except BaseException: pass",
            "while True:\n    try: await tools.fail('error')\n    except BaseException: pass",
            "await asyncio.gather(*[tools.add(i, i) for i in range(2000)])",
            "while True:\n    try: await mcp.call_tool('nope', {})\n    except BaseException: pass",
            "while True:\n    try: __call_tool__(-1, [], {})\n    except BaseException: pass",
            "while True:\n    try: nope\n    except NameError: pass",
            "while True:\n    try: await search_tools('x')\n    except BaseException: pass",
            "x = 'x' * 100\nwhile True: x = await tools.echo([x, x])",
            "x = 'x'\nwhile True:\n    try: x = await tools.echo(x + x)\n"
            "    except BaseException: x = x + x",
        ),
    ),
    "arguments": (
        *ends(
            "refused before it is sent: a failed call, which the plan may handle",
            {"tool", "limit"},
            "await tools.echo('x' * 10**7)",
            f"{DEEP}await tools.echo(x)",
            f"{SHARED}await tools.echo(x)",
            "s = 'x' * 10**6\nawait tools.echo([s] * 10**5)",
            "await tools.echo(*range(10**5))",
            "await tools.echo(**{f'k{i}': i for i in range(10**4)})",
            "await tools.echo({'k' * 10**7: 1})",
            "await tools.echo(**{'k' * 10**7: 1})",
            "await mcp.call_tool('x' * 10**7, {})",
            "await tools.echo(10 ** 10**6)",
            "await search_tools('x' * 10**6)",
        ),
        *ends(
            "within the limits",
            {"value"},
            "x = 0\nfor i in range(99): x = [x]\nreturn await tools.echo(x)",
            "return await tools.echo(10 ** 4299)",
        ),
        *ends("no value of JSON", {"tool"}, f"{SELF_MADE}return await tools.echo(x)"),
    ),
    "results": (
        *stopped(
            "return 'x' * 10**7",
            "return list(range(10**5))",
            "return [[]] * 10**6",
            "return {'k' * 10**7: 1}",
            "return 10 ** 10**6",
            "return [10 ** 4000] * 10**5",
            "s = 'x' * 10**6\nreturn [s] * 10**5",
            f"{DEEP}return x",
            f"{SHARED}return x",
            "x = {}\nfor i in range(30000): x = {'a': x}\nreturn x",
        ),
    ),
    "memory": (
        *ends(
            "dropped when it is read back, which the plan doesn't notice",
            {"value"},
            "memory['x'] = 'x' * 10**7",
            "for i in range(9): memory[i] = memory[str(i)] = 'x' * 10**6",
            "memory['k' * 10**7] = 1",
            "memory['x'] = {'k' * 10**7: 1}",
            "memory['x'] = 10 ** 10**5",
            "memory['x'] = [10 ** 4000] * 10**4",
            "for i in range(10**5): memory[str(i)] = i",
            "memory['x'] = [[]] * 10**6",
            "memory['s'] = ['x' * 10**6] * 10**5",
            f"{DEEP}memory['x'] = x",
            f"{SHARED}memory['x'] = x",
            f"{SELF_MADE}memory['x'] = x",
            "memory['x'] = memory",
        ),
        *stopped(
            "while True: memory['x'] = 1",
            "n = 0\nwhile True:\n    n += 1\n    memory[str(n)] = 'x' * n",
        ),
    ),
    "clocks": (
        *stopped(
            "t = time.monotonic()\nwhile time.monotonic() - t < 10**6: pass",
            "hashlib.pbkdf2_hmac('sha256', b'a', b'b', 10**9)",
            "a = tools.meet('nobody')\nwhile True: pass",
        ),
    ),
    "every limit after the other": (
        *stopped(
            "while True:\n    try: [0] * 10**12\n    except BaseException: pass",
            "def a():\n    def b():\n        while True: pass\n    while True:\n"
            "        try: b()\n        except BaseException: pass\na()",
            "sorted([3, 1, 2], key=lambda v: [0] * 10**12)",
            "def f(x='x' * 10**12): pass",
            "class A:\n    def __repr__(self): return 'x' * 10**12\nf'{A()}'",
            "for n in range(9):\n    try: print('x' * 10**6)\n    except BaseException: pass\n"
            "try: 'x' * 10**12\nexcept BaseException: pass\ndef f(): return f()\n"
            "try: f()\nexcept BaseException: pass\nwhile True:\n"
            "    try: await tools.add(1, 1)\n    except BaseException: pass",
            "def f(): return f()\ntry: f()\nexcept BaseException: pass",
        ),
    ),
    "sources": (
        *sources(
            "the interpreter's parser has bounds of its own; one name is not defined",
            {"syntax", "limit", "error"},
            "(" * 20_000 + ")" * 20_000,
            "-" * 20_000 + "1",
            "x = " + "not " * 20_000 + "1",
            "x = " + "+".join("1" * 20_000),
            "x = a" + ".b" * 20_000,
            "x = " + "lambda: " * 20_000 + "1",
            "".join(" " * i + "if 1:\n" for i in range(1000)) + " " * 1000 + "pass",
            "x = " + "f'{" * 200 + "1" + "}'" * 200,
            "x = [0 " + "for a in [1] " * 5000 + "]",
            "x = " + "9" * 200_000,
            "@f\n" * 20_000 + "def g(): pass",
            "x = 1" + " " * 2**18,
        ),
        *sources(
            "long, and no burden",
            {"value"},
            "x = 1\n" * 20_000,
            "def f(" + ", ".join(f"a{i}" for i in range(20_000)) + "): pass",
            "x = '" + "y" * 200_000 + "'",
            "x" * 200_000 + " = 1",
            "\n".join(f"x{i} = {i}" for i in range(10_000)),
        ),
    ),
}  # fmt: skip
"""Families as in `exhaustion.FAMILIES`."""

WAITING = stopped(
    "await asyncio.sleep(10**9)",
    "time.sleep(10**9)",
    "while True: time.sleep(0.001)",
    "while True: await asyncio.sleep(1e-9)",
    "await asyncio.sleep(float('inf'))",
    "await tools.meet('nobody')",
    "while True:\n    try: await tools.meet('nobody')\n    except BaseException: pass",
    "await asyncio.gather(tools.meet('nobody'), tools.add(1, 1))",
)
"""Waits for what never comes: ended by the wall time, which costs nothing but patience."""
