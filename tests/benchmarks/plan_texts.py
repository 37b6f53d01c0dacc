"""The plans that the sandbox is measured with."""

from collections.abc import Mapping

ONE_LINE = 'def solve():\n    return "FINAL_ANSWER: done"\n'
"""The least that a plan can be; it is all border and no work."""

USUAL_WORK = """import json
import math
def solve():
    rows = json.loads('[{"name": "a", "n": 3}, {"name": "b", "n": 4}, {"name": "c", "n": 12}]')
    total = 0
    for row in rows:
        total = total + row["n"] ** 2
    longest = sorted(rows, key=lambda row: -row["n"])[0]["name"]
    words = [word.upper() for word in "one two three four five".split() if len(word) > 3]
    return f"FINAL_ANSWER: {math.sqrt(total)} {longest} {len(words)}"
"""
"""What plans do between calls: read JSON, add up, sort, choose, put into a sentence."""

ONE_CALL = 'async def solve():\n    return f"FINAL_ANSWER: {await add(a=1234567, b=7654321)}"\n'

PARALLEL_CALLS = """import asyncio
async def solve():
    waits = [tools.wait(number=number) for number in range(5)]
    return await asyncio.gather(*waits)
"""

SPINNING = "async def solve():\n    while True:\n        pass\n"

SPINNING_AFTER_A_CALL = """async def solve():
    await tools.wait(number=0)
    while True:
        pass
"""
"""Tells by its call that it is running."""

_DENSE_PIECES = {
    "statements": "a;",
    "calls": "a();",
    "attributes": "a.b;",
    "chained calls": "a.b().c;",
    "tools": "tools.wait;",
    "tool calls": "tools.wait(number=1);",
    "awaited tool calls": "await tools.wait(number=1);",
    "bare tool calls": "wait(number=1);",
    "raw calls": "mcp.call_tool('wait',{{'number':1}});",
    "assignments": "a=1;",
    "many names": "{0}=a{0};",
    "lambdas": "lambda:0;",
    "f-strings": "f'{{a}}';",
    "comprehensions": "[a for a in a];",
    "generators that await": "sum(await a() for a in b);",
    "imports": "import mcp;",
    "subscripts": "a[0];",
    "tuples": "(),;",
    "dicts": "{{}};",
    "operators": "a+-a;",
}
"""Statements of which a plan can be full; `{0}` is a name of its own."""

_DENSE_CHAINS = {
    "a sum": ("", "a+", "a"),
    "a list": ("[", "0,", "]"),
    "nested lists": ("", "[],", "0"),
    "a chain of attributes": ("a", ".b", ""),
    "a chain of calls": ("a", "()", ""),
    "parentheses": ("", "(", ""),
    "minus signs": ("", "-", "1"),
    "one long text": ("'", "x", "'"),
    "arguments": ("tools.wait(", "a,", "a)"),
    "keywords of a tool": ("tools.wait(", "**a,", "**a)"),
    "elif": ("0\n    if a:a", "\n    elif a:a", ""),
    "blank lines": ("0", "\n", "\n    return 0"),
}
"""One long expression each: its beginning, what is repeated, its end."""


def dense_plans(size_bytes: int) -> Mapping[str, str]:
    """Plans of almost that size, of as many nodes as fit, by what they are full of.

    Which of them costs most to check is for the measurement to find.
    """
    head = "async def solve():\n    "
    plans: dict[str, str] = {}
    for name, piece in _DENSE_PIECES.items():
        body, number = "", 0
        while len(head + body) + len(text := piece.format(f"n{number}")) <= size_bytes:
            body, number = body + text, number + 1
        plans[name] = head + body
    for name, (begin, repeated, end) in _DENSE_CHAINS.items():
        count = (size_bytes - len(head + begin + end)) // len(repeated)
        plans[name] = head + begin + repeated * count + end
    return plans
