"""Strategies for the texts of plans: any text, Python-like plans, real plans with mistakes."""

import re
from pathlib import Path

from hypothesis import strategies as st

from tests.modules.sandbox.sandbox_tools import solve

EXAMPLES = Path(__file__).parents[3] / "prompts"
_FENCED = re.compile(r"```python\n(.*?)```", re.DOTALL)

ODD_TEXTS = (
    *("", "\0", "\x1b[2J\x1b]0;x\x07", "\u202e", "\ud800", "\ufeff", "e\u0301" * 50, "\U0001f4a9"),
    *("__class__", "{0.__class__}", "%s%n", "'", '"""', "\\", "\r\n", "9" * 400, "x" * 3000),
)
"""Texts that have broken terminals, parsers, encoders and templates."""

NAMES = (
    *("a", "b", "x", "tools", "mcp", "add", "echo", "solve", "find", "search_tools", "asyncio"),
    *("é", "ﬁnd", "ªdd", "__call_tool__", "__tool_0", "__outcome__", "__class__", "math", "str"),
)

LITERALS = (
    *("0", "1", "-7", "2.5", "1e308", "10**40", "True", "None", "[]", "{}", "(1, 2)", "b'x'"),
    *("{1, 2}", "range(3)", "float('nan')", "1j", "...", "lambda: 0", "f'{a}'", "int", "{1: {2}}"),
)


def expressions() -> st.SearchStrategy[str]:
    """Python-like expressions, calls of tools in every style among them."""
    leaves = (
        st.sampled_from(NAMES) | st.sampled_from(LITERALS) | st.sampled_from(ODD_TEXTS).map(repr)
    )
    return st.recursive(leaves, _compound, max_leaves=6)


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    one, two = inner, st.tuples(inner, inner)
    return st.one_of(
        one.map("await tools.echo({})".format),
        one.map("tools.echo(value={})".format),
        two.map(lambda pair: f"await tools.add(a={pair[0]}, b={pair[1]})"),
        two.map(lambda pair: f"await add({pair[0]}, {pair[1]})"),
        two.map(lambda pair: f"await mcp.call_tool({pair[0]}, {pair[1]})"),
        one.map("await mcp.call_tool('echo', {{'value': {}}})".format),
        one.map("await tools.fail({})".format),
        one.map("await search_tools({})".format),
        one.map("await __call_tool__(0, [{}], {{}})".format),
        two.map(lambda pair: f"await asyncio.gather(echo({pair[0]}), {pair[1]})"),
        two.map(lambda pair: f"({pair[0]} + {pair[1]})"),
        two.map(lambda pair: f"{{{pair[0]}: {pair[1]}}}"),
        two.map(lambda pair: f"[{pair[0]} for a in {pair[1]}]"),
        two.map(lambda pair: f"({pair[0]})[{pair[1]}]"),
        two.map(lambda pair: f"[{pair[0]}, {pair[1]}] * 3"),
        one.map("({}).x".format),
        one.map("str({})".format),
        one.map("({})()".format),
        one.map("f'{{{}!r}}'".format),
    )


def statements() -> st.SearchStrategy[list[str]]:
    """One statement as lines, compound ones with a body."""
    name, value = st.sampled_from(NAMES), expressions()
    simple = st.one_of(
        value,
        st.tuples(name, value).map(lambda pair: f"{pair[0]} = {pair[1]}"),
        value.map("return {}".format),
        value.map("return f'FINAL_ANSWER: {{{}}}'".format),
        value.map("print({})".format),
        value.map("raise RuntimeError({})".format),
        name.map("import {}".format),
        name.map("global {}".format),
        st.sampled_from(["pass", "break", "continue", "raise", "while True: pass", "x = x + x"]),
    ).map(lambda line: [line])
    return st.recursive(simple, _blocks, max_leaves=4)


def _blocks(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    body = inner.map(lambda lines: [f"    {line}" for line in lines])
    return st.one_of(
        st.tuples(inner, inner).map(lambda pair: [*pair[0], *pair[1]]),
        body.map(lambda lines: ["try:", *lines, "except BaseException as error:", "    a = error"]),
        body.map(lambda lines: ["try:", *lines, "finally:", "    print('done')"]),
        body.map(lambda lines: ["for a in range(9):", *lines]),
        body.map(lambda lines: ["while True:", *lines]),
        body.map(lambda lines: ["def solve():", *lines]),
        body.map(lambda lines: ["async def f():", *lines, "x = await f()"]),
        st.tuples(expressions(), body).map(lambda pair: [f"if {pair[0]}:", *pair[1]]),
    )


def grammar_made() -> st.SearchStrategy[str]:
    """A `solve()` of such statements, sometimes with statements before it."""
    body = st.lists(statements(), min_size=1, max_size=4).map(lambda parts: sum(parts, list[str]()))
    before = st.lists(statements(), max_size=1).map(lambda parts: sum(parts, list[str]()))
    return st.tuples(before, body).map(lambda pair: "\n".join([*pair[0], solve(*pair[1])]))


def any_text() -> st.SearchStrategy[str]:
    """Text of any characters, also lone surrogates, bare or as the body of `solve()`."""
    text = st.text(st.characters(), max_size=200) | st.sampled_from(ODD_TEXTS)
    return text | text.map(lambda body: solve(*body.split("\n")))


def real_plans() -> tuple[str, ...]:
    """The plans that the prompts show, and the tests' own kinds of plans."""
    shown = [
        plan
        for style in ("tools", "mcp")
        for plan in _FENCED.findall((EXAMPLES / f"plan_examples_{style}.txt").read_text())
    ]
    return (
        *shown,
        solve("return f'FINAL_ANSWER: {await tools.add(a=1, b=2)}'"),
        solve("add = tools.add(1, 2)", "return 'FINAL_ANSWER: ' + str(add)"),
        "import asyncio\n"
        + solve("x = await asyncio.gather(*[echo(i) for i in range(4)])", "return x"),
        solve("try:", "    return await tools.fail('error')", "except RuntimeError as e:",
              "    return f'FURTHER_PROCESSING_REQUIRED: {e}'"),
        solve("found = await search_tools('find', limit=3)", "name = found[0]['name']",
              "return await mcp.call_tool(name, {'query': 'x'})"),
        solve("r = await mcp.call_tool('echo', {'value': [1, {'a': None}]})",
              "return f'FINAL_ANSWER: {r.content[0].text}'"),
    )  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A real plan after a few mistakes: pieces lost, doubled, replaced, moved."""
    text = draw(st.sampled_from(real_plans()))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        piece = draw(
            st.sampled_from(["", text[start:end] * 2, text[end:][:20], "\n", "    ", "await "])
            | st.sampled_from(NAMES)
            | st.sampled_from(LITERALS)
            | st.sampled_from(ODD_TEXTS)
        )
        text = text[:start] + piece + text[end:]
    return text
