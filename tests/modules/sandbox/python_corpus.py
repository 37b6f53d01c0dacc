"""Expressions and plans for comparison with Python: what models write, with drawn values."""

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

Draw: TypeAlias = Callable[[], object]


_FLOATS = (
    *(0.5, 1.5, 2.5, 0.15, 2.675, 1.005, 0.1, 1e16, 1e-7, 123456.789, -0.0, 1e22, 9.995, 0.125),
    *(4.35, 1e100, -2.5, 3.0, 99.99, 1e-5, 5e-324),
)
_TEXTS = (
    *("", "a", "Hello World", " pad  ded ", "a,b,,c", "x=1;y=2", "line1\nline2\r\n", "äöü ß"),
    *("ǅ ŉ", "one two  three", "A1b2", "12", "-3.5", "1_000", "tab\there", "it's", '"q"'),
    *("back\\slash", "ＡＢ", "Straße", "İI", "mc donald's", "a-b_c", "\x1c\x85 x", "😀 ok"),
    *("[]", '"j"', "1e5", " 7 ", "nan"),
)
_PATTERNS = (
    *(r"a*", r"\d+", r"\d*", r"\w+", r"[a-z]+", r"\s*", r",\s*", r"\b", r"(\w)(\d)?", r"(a)|(b)"),
    *(r"x?", r"^\w+", r"\w+$", r"(?i)A", r"[^,]+", r".", r".*", r"(?<=a)b*", r"a|", r"\W+", r"c\Z"),
    *(r"(?:ab)*", r"(\d+)-(\d+)", r"\$?\d+(?:\.\d+)?", r"[A-Z][a-z]*", r"$", r"(?m)^", r"(.)\1"),
    *(r"a{1,2}", r"a+?", r"(?=b)", r"\S+", r"\D*", r"[\w.]+@[\w.]+", r"(?P<x>b)?", r"(a*)(b*)"),
    *(r"[[a]+", r"(?m)\w$", r"a*?", r"|a", r"b*|a", r"[^\]]*", r"\\", r"(?<!a)b?"),
)
_SEARCHED = (
    *("baac", "abc 123 a1", "a, b,c", "aab12", "12-34 x 5-6", "Hello World 42", "", "[a]\\b"),
    *("x@y.com $3.50", "AaBb\nccc\n", "äb1 z", "foo  bar", "a.b.c", "aaa", "abxd", "c\n", " xyy"),
)
_ATTRIBUTES = (
    *("append", "upper", "get", "keys", "nope", "split", "strip", "items", "sort", "add", "join"),
    *("pop", "copy", "count", "index"),
)
_SPECS = (
    *(".2f", ".1f", ".0f", ".3e", "g", ".3g", "e", "", "10.2f", "<10.1f", "^12.3f", "010.2f"),
    *("+.2f", ",.2f", ".1%", "_.2f", ".10g", "n", ".15g", ".17g", "#.3g", ">8", ".3"),
)
_WHOLE_SPECS = (
    *("d", "x", "b", "o", "X", "08d", ",", "_", "+d", "#x", ">12", "<8", "^9", "c", "e", ".2f"),
    *("n", "%", "010,d", "_b", "=+8"),
)
_PERCENT_SPECS = (
    *(".2f", "d", "s", "r", "5.1f", "05d", "x", "e", "g", "+d", "i", "-8.3f", "%", ".3s", "o"),
)
_DATE_SPECS = (
    *("%Y-%m-%d", "%d %B %Y", "%a %b %d", "%j", "%H:%M:%S", "%I:%M %p", "%y %U %W %w", "%V", "%G"),
    *("%x", "%c", "%A", "%e", "%-d"),
)
_FIELD = re.compile(r"\{\{|\}\}|\{(\w+)(![rs])?(:[^}]*)?\}")


def drawn(template: str, rng: random.Random) -> str:
    """A template with its fields drawn; a field of no kind stays, as in an f-string of a plan."""
    kinds = _kinds(rng)

    def field(found: re.Match[str]) -> str:
        if found[0] in ("{{", "}}"):
            return found[0][0]
        if found[1] not in kinds:
            return found[0]
        value = kinds[found[1]]()
        if found[2] == "!r":
            return repr(value)
        return format(value, found[3][1:]) if found[3] else str(value)

    return _FIELD.sub(field, template)


def expressions() -> Sequence[str]:
    """The templates of expressions, one a line; `{kind}` is drawn, `!r` quotes it."""
    return _lines("same_expressions.txt")


def plans() -> list[str]:
    r"""The templates of plans, one a line with `\n` for a new line; each binds `x`."""
    return [line.replace("\\n", "\n") for line in _lines("same_plans.txt")]


def _lines(name: str) -> list[str]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return text.removesuffix("\n").split("\n")


def _kinds(rng: random.Random) -> dict[str, Draw]:
    """How each kind of field is drawn."""
    pick = rng.choice

    def number() -> float:
        return pick(
            [
                pick(_FLOATS),
                round(rng.uniform(-1000, 1000), 3),
                rng.uniform(-1e6, 1e6),
                rng.randrange(-50, 50) / 8,
            ]
        )

    def price() -> float:
        return rng.randrange(200_000) / pick([100, 100, 1000])

    def whole() -> int:
        wide, wider = rng.randrange(-1000, 1000), rng.randrange(-(10**6), 10**6)
        return pick([0, 1, -1, 2, 7, 10, wide, wider, 10**20 + rng.randrange(99)])

    def text() -> str:
        letters = "".join(pick("abcXYZ 09,.-_ \téß") for _ in range(rng.randrange(8)))
        return pick(_TEXTS) if rng.random() < 0.7 else letters

    def many(one: Draw, least: int = 0, most: int = 6) -> list[object]:
        return [one() for _ in range(rng.randrange(least, most))]

    def table() -> dict[str, int]:
        return {pick("abcdef"): rng.randrange(-9, 99) for _ in range(rng.randrange(5))}

    return {
        "n1": lambda: rng.randrange(1, 13),
        "yy": lambda: rng.randrange(100),
        "f": number,
        "m": price,
        "i": whole,
        "s": text,
        "d": table,
        "f1": lambda: number() or 1.5,
        "i1": lambda: whole() or 3,
        "m1": lambda: price() + 0.01,
        "fp": lambda: abs(number()),
        "ip": lambda: abs(whole()),
        "h": lambda: f"{whole():x}",
        "n": lambda: rng.randrange(5),
        "neg": lambda: -rng.randrange(1, 4),
        "sm": lambda: rng.uniform(-5, 5),
        "w": lambda: rng.randrange(14),
        "c": lambda: pick([",", " ", "a", "b", "-", ".", "ab", "\n", ""]),
        "c1": lambda: pick("aZ9é€😀ß"),
        "li": lambda: many(lambda: rng.randrange(-9, 20)),
        "lf": lambda: many(number, 1),
        "lm": lambda: many(price, 1),
        "ls": lambda: many(text),
        "lm3": lambda: many(price, 4, 5),
        "ld": lambda: many(lambda: str(rng.randrange(99))),
        "spec": lambda: pick(_SPECS),
        "ispec": lambda: pick(_WHOLE_SPECS),
        "sspec": lambda: pick(["", ">10", "<10", "^10", ".3", "*^9", "10.2", "s", "-<6"]),
        "pspec": lambda: pick(_PERCENT_SPECS),
        "dfmt": lambda: pick(_DATE_SPECS),
        "p": lambda: pick(_PATTERNS),
        "t": lambda: pick(_SEARCHED),
        "meth": lambda: pick(_ATTRIBUTES),
        "y": lambda: rng.randrange(1970, 2040),
        "mo": lambda: rng.randrange(1, 13),
        "da": lambda: rng.randrange(1, 29),
    }
