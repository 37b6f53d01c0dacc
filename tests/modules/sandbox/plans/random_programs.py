r"""Random small programs: each ends in a value that JSON can hold, the same at every run.

The grammar is data. In a template `<int>` stands for an expression of that type, and for more:

- `<int n w>`: the names `n` and `w`, which the template binds, can be read in it;
- `<n>` or `<w>`: such a name itself: an integer, or a text where it starts with `w`;
- `<new int>`: the name of a new variable, that the statements after this one know;
- `<old int>`: a variable that may be assigned to; `<var int>`: a name that can be read;
- `<block n>`: some statements; `<@1 new int>`, then `<@1>`: the same name again.

The numbers, texts and lists that variables hold are bounded, so no program takes long.
Nothing hangs on the order of a set, the hash of a text, the width of an integer, or a clock.
"""

import re
from collections.abc import Sequence

from hypothesis import strategies as st

_HOLE = re.compile(r"<([^<>=\s][^<>=]*)>")
_TYPES = ("int", "float", "str", "bool", "ints", "strs", "dict", "set")
_RETURNED = dict.fromkeys(_TYPES, "{}") | {"set": "sorted({})"}

_LEAVES: dict[str, Sequence[str]] = {
    "int": ["0", "1", "-1", "2", "3", "7", "10", "-13", "42", "255", "1000", "10**12"],
    "float": ["0.5", "1.25", "-2.75", "0.1", "3.0", "1e3", "-0.0", "2.5"],
    "str": ["''", "'a'", "'Hello'", "'two words'", "'12'", "'äß€'", "'x,y,z'", "'line\\nbreak'"],
    "bool": ["True", "False"],
    "ints": ["[]", "[1]", "[3, 1, 2]", "[5, -5, 5, 0]", "list(range(6))"],
    "strs": ["[]", "['b', 'a']", "['one', 'three', 'five']", "'to be or not'.split()"],
    "dict": ["{}", "{'a': 1}", "{'x': 3, 'y': -1, 'z': 3}", "dict(one=1, two=2)"],
    "set": ["set()", "{1, 2, 3}", "{5, -1}"],
}

_EXPRESSIONS: dict[str, Sequence[str]] = {
    "int": [
        *["(<int> + <int>)", "(<int> - <int>)", "(<int> * <int>)", "-<int>", "abs(<int>)"],
        *["(<int> // (<int> or 1))", "(<int> % (<int> or 7))", "divmod(<int>, 7)[1]"],
        *["(<int> & <int>)", "(<int> ^ <int>)", "(<int> >> 2)", "(<int> << 3)", "~<int>"],
        *["(<int> % 10) ** 3", "pow(<int>, 3, 1009)", "(<int> if <bool> else <int>)"],
        *["len(<str>)", "len(<ints>)", "len(<dict>)", "len(<set>)", "len(<strs>)"],
        *["sum(<ints>)", "max(<ints>, default=<int>)", "min(<ints>, default=0)"],
        *["sum(<set>)", "max(<set>, default=0)", "sum(<dict>.values())", "round(<float>)"],
        *["<dict>.get(<str>, <int>)", "<str>.count(<str>)", "<str>.find('o')", "int(<bool>)"],
        *["<ints>.count(<int>)", "ord((<str> or '?')[0])", "int(str(<int>)[-1])"],
        "sum(<int n> for <n> in <ints> if <bool n>)",
        "next((<n> for <n> in <ints> if <bool n>), <int>)",
        "sum(1 for <w> in <strs> if <bool w>)",
        "(lambda <n>: <int n>)(<int>)",
        "max(<ints>, key=lambda <n>: (<int n>, <n>), default=-1)",
        "sum(<n> * <m> for <n>, <m> in zip(<ints>, <ints>))",
        *["<var fun>(<int>)", "<var fun>(<int>, <int>)", "sum(<var gen>(<int>))"],
        *["next(<var gen>(<int>), <int>)", "<var class>(<int>).value", "<var class>(<int>).half"],
        *["(<var class>(<int>) + <var class>(<int>)).value", "<var class>(<int>).grown(<int>)"],
    ],
    "float": [
        *["(<float> + <float>)", "(<float> - <float>)", "(<float> * <float>)", "abs(<float>)"],
        *["(<float> / (abs(<float>) + 1))", "float(<int> % 1000)", "round(<float>, 2)"],
        *["((<int> % 1000) / 8)", "min(<float>, <float>)", "max(<float>, 0.25)", "-<float>"],
        *["(<float> if <bool> else <float>)", "(<float> // 0.75)"],
    ],
    "str": [
        *["(<str> + <str>)", "(<str> * 2)", "<str>[1:]", "<str>[::-1]", "<str>[-3:]", "<str>[::2]"],
        *["<str>.upper()", "<str>.title()", "<str>.strip()", "<str>.replace('o', '0')"],
        *["<str>.center(9, '.')", "<str>.zfill(5)", "<str>.swapcase()", "<str>.capitalize()"],
        *["str(<int>)", "repr(<str>)", "str(<float>)", "str(<ints>)", "repr(<dict>)", "hex(<int>)"],
        *["', '.join(<strs>)", "''.join(sorted(<str>))", "<str>.partition(' ')[0]"],
        *["chr(97 + <int> % 26)", "format(<int>, ',')", "'{:>8.2f}|'.format(<float>)"],
        *["('%05d/%s' % (<int>, <str>))", "'{0!r:<8}|{1:+d}'.format(<str>, <int>)", "bin(<int>)"],
        *["f'{<var int>:>6}|{<var str>:<4}|'", "f'{<var int>:,} {<var float>:.3e}'"],
        *["f'{<var str>!r} {<var int> + 1}'", "(<str> if <bool> else <str>)", "str(<bool>)"],
        *["str(sorted(<set>))", "<str>.encode().hex()", "type(<ints>).__name__", "ascii(<str>)"],
        *["' '.join(<str w> for <w> in <strs>)", "repr(<var class>(<int>))", "min(<str>, <str>)"],
        "<str>.translate(str.maketrans('abc', 'xyz'))",
    ],
    "bool": [
        *[
            "<int> < <int>",
            "<int> == <int>",
            "0 <= <int> < 100",
            "<str> < <str>",
            "<ints> == <ints>",
        ],
        *["<int> in <ints>", "<str> in <str>", "<str> in <dict>", "<int> in <set>", "not <bool>"],
        *["(<bool> and <bool>)", "(<bool> or <bool>)", "bool(<str>)", "<int> % 2 == 0"],
        *["<str>.isdigit()", "<str>.startswith('H')", "<set> <= <set>", "<float> > <float>"],
        *["any(<bool n> for <n> in <ints>)", "all(<bool w> for <w> in <strs>)"],
        *["isinstance(<int>, int)", "<var class>(<int>) < <var class>(<int>)"],
    ],
    "ints": [
        *["[<int>, <int>]", "[*<ints>, <int>]", "(<ints> + <ints>)", "<ints>[1:]", "<ints>[::-1]"],
        *[
            "sorted(<ints>)",
            "sorted(<ints>, reverse=True)",
            "list(<dict>.values())",
            "(<ints> * 2)",
        ],
        *["sorted(<set>)", "list(range(<int> % 8))", "list(range(9, 0, -2))", "[len(<str>)]"],
        "[<int n> for <n> in <ints>]",
        "[<n> for <n> in <ints> if <bool n>]",
        "[<n> + <m> for <n> in <ints>[:4] for <m> in <ints>[:3]]",
        "[<n> * <m> for <n>, <m> in enumerate(<ints>)]",
        "[<int w> for <w> in <strs>]",
        "list(map(lambda <n>: <int n>, <ints>))",
        "list(filter(lambda <n>: <bool n>, <ints>))",
        "sorted(<ints>, key=lambda <n>: (<int n>, <n>))",
        *["[<n> for <m> in [<ints>, <ints>] for <n> in <m>]", "list(reversed(<ints>))"],
        *["list(<var gen>(<int>))", "[*<var gen>(<int>), *<ints>]", "list(dict.fromkeys(<ints>))"],
        "[<n>.value for <n> in sorted(map(<var class>, <ints>))]",
    ],
    "strs": [
        *["[<str>, <str>]", "<str>.split()", "<str>.split(',')", "list(<str>)[:5]", "list(<dict>)"],
        *["sorted(<strs>)", "(<strs> + [<str>])", "<strs>[:2]", "<str>.splitlines()"],
        *["[str(<n>) for <n> in <ints>]", "[<str w> for <w> in <strs>]", "<strs>[::-1]"],
        *["sorted(<strs>, key=len)", "sorted(<strs>, key=lambda <w>: (<int w>, <w>))"],
        "[<w> for <w> in <strs> if <bool w>]",
    ],
    "dict": [
        *["{<str>: <int>}", "{**<dict>, <str>: <int>}", "(<dict> | <dict>)", "dict(<dict>)"],
        *["dict(zip(<strs>, <ints>))", "{<w>: <int w> for <w> in <strs>}"],
        *["{str(<n>): <int n> for <n> in <ints>}", "{'k': <int>, 'l': <int>}"],
        "{<w>: <n> for <w>, <n> in <dict>.items() if <bool n>}",
        "dict(sorted(<dict>.items(), key=lambda kv: (kv[1], kv[0])))",
    ],
    "set": [
        *["{<int>, <int>}", "set(<ints>)", "(<set> | <set>)", "(<set> & <set>)", "(<set> - <set>)"],
        *["(<set> ^ <set>)", "{<int n> for <n> in <ints>}", "set(<dict>.values())"],
    ],
    "risky": [
        *["<ints>[<int> % 5]", "<dict>[<str>]", "<int> // (<int> % 3)", "int(<str>)"],
        *["<ints>.index(<int>)", "min(<ints>)", "max(<set>)", "<int> + <str>", "<ints>.missing"],
    ],
}

_UNNAMED = {"int": "17", "float": "0.5", "str": "clip.__name__"}
"""What an f-string shows where no variable of the type is known: quotes cannot nest before 3.12."""

_BOUNDED = {
    "int": "clip({})",
    "float": "round({} % 1000.0, 4)",
    "str": "({})[:40]",
    "bool": "bool({})",
    "ints": "[clip(each) for each in ({})[:12]]",
    "strs": "[each[:20] for each in ({})[:8]]",
    "dict": "{{key[:20]: clip(each) for key, each in list(({}).items())[:8]}}",
    "set": "{{clip(each) for each in sorted({})[:8]}}",
}
"""How a value is cut when it enters a variable."""

_WRITTEN_OUT = """\
<old dict>.pop(<str>, None)

<old dict>.setdefault('new', clip(<int>))

<new int>, *<new ints> = [clip(<int>), *<ints>[:5]]

<@1 old int>, <@2 old int> = <@2>, <@1>

print(<str>, <int>, sep='|')

<new fun> = lambda <n>, <m>=3: clip(<int n m>)

<@1 new gen> = lambda <n>: (clip(<int n m>) for <m> in range(<n> % 5))

<@1 old int> += <int> % 1000
<@1> = clip(<@1>)

<@1 old str> += <str>[:5]
<@1> = <@1>[-40:]

<@1 old ints> += <ints>[:3]
del <@1>[:-12]

<@1 old ints>.append(clip(<int>))
del <@1>[12:]

<@1 old ints>.insert(0, clip(<int>))
<@1>.sort(key=lambda <n>: <bool n>)
del <@1>[9:]

<@1 old ints>.reverse()
<@1>[1:3] = [clip(<int>)]

<@1 old dict>[<str>[:9]] = clip(<int>)
while len(<@1>) > 8:
    <@1>.popitem()

<@1 old set>.add(clip(<int>))
<@1>.discard(<int>)

if <bool>:
    <block>

if <bool>:
    <block>
elif <bool>:
    <block>
else:
    <block>

if (<@1 new int> := clip(<int>)) > 3:
    <block>

for <n> in <ints>[:6]:
    <block n>

for <n>, <w> in enumerate(<strs>[:4]):
    <block n w>

for <w>, <n> in list(<dict>.items())[:4]:
    <block n w>

for <n> in range(<int> % 5):
    if <bool n>:
        continue
    <block n>
else:
    <block>

<n> = 4
while <n> > 0:
    <n> -= 1
    <block n>
    if <bool n>:
        break
else:
    <block>

match <int> % 4:
    case 0 | 1:
        <block>
    case <n> if <bool n>:
        <block n>
    case _:
        <block>

match <ints>:
    case [<n>, *_]:
        <block n>
    case []:
        <block>

try:
    <@1 old int> = clip(<risky>)
except (IndexError, KeyError):
    <block>
except Exception as error:
    print(type(error).__name__)
else:
    <block>
finally:
    print(<int>)

try:
    if <bool>:
        raise Refused(clip(<int>))
    <block>
except Refused as error:
    print('refused', *error.args)

try:
    assert <bool>, <str>
except AssertionError as error:
    print(error)

with Noted(<str>) as <w>:
    <block w>
    if <bool w>:
        raise Refused(<w>)

def <new fun>(<n>, <m>=2, *rest):
    return clip(<int n m>)

def <new fun>(<n>, <m>=-1):
    nonlocal <@1 old int>
    <@1> = clip(<@1> + <n>)
    return <@1> - <m>

@twice
def <new fun>(<n>, <m>=1):
    if <bool n m>:
        return clip(<int n>)
    return clip(<int m>)

def <new gen>(<n>):
    for <m> in range(abs(<n>) % 6):
        yield clip(<int n m>)
    yield from <ints n>[:3]

class <@1 new class>:
    def __init__(self, <n>):
        self.value = clip(<int n>)
    @property
    def half(self):
        return self.value // 2
    def grown(self, <m>):
        self.value = clip(self.value + <int m>)
        return self.value
    def __add__(self, other):
        return <@1>(clip(self.value + other.value))
    def __lt__(self, other):
        return self.value < other.value
    def __repr__(self):
        return f'{type(self).__name__[:1]}({self.value})'

class <new class>(<var class>):
    def __init__(self, <n>):
        super().__init__(<int n>)
        self.value ^= 1
    @property
    def half(self):
        return super().half + 1\
"""

_STATEMENTS: Sequence[str] = [
    *[f"<new {kind}> = {_BOUNDED[kind].format(f'<{kind}>')}" for kind in _TYPES],
    *[f"<old {kind}> = {_BOUNDED[kind].format(f'<{kind}>')}" for kind in _TYPES],
    *_WRITTEN_OUT.split("\n\n"),
]
_UNGUARDED = "<new int> = clip(<risky>)"
"""May raise: so some programs end in an error, the same one everywhere."""

_UNGUARDED_DRAW = 17
"""One of 50, away from the ends that hypothesis likes."""

_PRELUDE = '''\
import asyncio
import functools


def clip(number):
    """Bounds a number, so that no program grows numbers without end."""
    return max(-(10**30), min(number, 10**30))


def twice(function):
    @functools.wraps(function)
    def both(*args):
        return clip(function(*args) + function(*args))

    return both


class Refused(ValueError):
    pass


class Noted:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        return self.name[:10]

    def __exit__(self, kind, error, traceback):
        return kind is Refused


'''


class _Writer:
    """Writes one program; `draw` makes each choice, so that hypothesis can make it smaller."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._names = 0
        self._known: list[tuple[str, str]] = []
        """Name and type of what can be read."""
        self._assignable: list[tuple[str, str]] = []

    def program(self) -> str:
        """The text of a program that defines `solve`."""
        lines = self._block(self._draw(st.integers(4, 14)), nesting=2)
        if self._draw(st.integers(0, 49)) == _UNGUARDED_DRAW:
            lines.append(self._fill(_UNGUARDED, 2))
        kept = [(name, kind) for name, kind in self._assignable if kind in _RETURNED]
        pairs = [f"{name!r}: {_RETURNED[kind].format(name)}" for name, kind in kept]
        defined, pause = self._draw(
            st.sampled_from([("def", ""), ("async def", "    await asyncio.sleep(0)\n")])
        )
        body = "".join(f"    {line}\n" for line in "\n".join(lines).split("\n"))
        pairs.append(f"'end': {self._expression('str', 2)}")
        answer = f"    return {{{', '.join(pairs)}}}\n"
        return f"{_PRELUDE}{defined} solve():\n{pause}{body}{answer}"

    def _block(self, statements: int, nesting: int) -> list[str]:
        return [self._statement(nesting) for _ in range(statements)]

    def _inner_block(self, names: Sequence[tuple[str, str]], nesting: int) -> str:
        """Some statements that read `names`; what they define is unknown after them."""
        known, assignable = len(self._known), len(self._assignable)
        self._known += names
        written = self._block(self._draw(st.integers(1, 3)), nesting)
        del self._known[known:], self._assignable[assignable:]
        return "\n".join(written)

    def _statement(self, nesting: int) -> str:
        fitting = [
            template
            for template in _STATEMENTS
            if self._possible(template) and (nesting or "<block" not in template)
        ]
        return self._fill(self._draw(st.sampled_from(fitting)), 2, nesting)

    def _of(self, names: Sequence[tuple[str, str]], kind: str) -> list[str]:
        return [name for name, its in names if its == kind]

    def _possible(self, template: str) -> bool:
        """Whether the names that the template wants are there."""
        wanted = [hole.split()[-2:] for hole in _HOLE.findall(template)]
        return all(
            self._of(self._known if how == "var" else self._assignable, kind)
            for how, kind in (pair for pair in wanted if len(pair) == 2)
            if how == "old" or (how == "var" and kind not in _LEAVES)
        )

    def _expression(self, kind: str, depth: int) -> str:
        named = self._of(self._known, kind)
        if kind in _LEAVES and (depth <= 0 or self._draw(st.integers(0, 4)) == 0):
            return self._draw(st.sampled_from([*named, *named, *_LEAVES[kind]]))
        fitting = [template for template in _EXPRESSIONS[kind] if self._possible(template)]
        return self._fill(self._draw(st.sampled_from(fitting)), depth - 1)

    def _fill(self, template: str, depth: int, nesting: int = 0) -> str:
        bound: dict[str, str] = {}
        repeated: dict[str, str] = {}
        defined: list[tuple[str, str]] = []

        def filled(hole: re.Match[str]) -> str:
            label, words = "", hole[1].split()
            if words[0].startswith("@"):
                label, *words = words
                if not words:
                    return repeated[label]
            text = self._hole(words, depth, nesting, bound, defined)
            if label:
                repeated[label] = text
            if words[0] == "block":
                line = template[: hole.start()].rpartition("\n")[2]
                return text.replace("\n", "\n" + line)
            return text

        written = _HOLE.sub(filled, template)
        self._known += defined
        self._assignable += defined
        return written

    def _hole(
        self,
        words: list[str],
        depth: int,
        nesting: int,
        bound: dict[str, str],
        defined: list[tuple[str, str]],
    ) -> str:
        first, rest = words[0], words[1:]
        if first == "new":
            name = self._fresh(rest[0])
            defined.append((name, rest[0]))
            return name
        if first == "old":
            return self._draw(st.sampled_from(self._of(self._assignable, rest[0])))
        if first == "var":
            named = self._of(self._known, rest[0]) or [_UNNAMED[rest[0]]]
            return self._draw(st.sampled_from(named))
        for name in [first, *rest] if len(first) == 1 else rest:
            if name not in bound:
                bound[name] = self._fresh(name)
        if len(first) == 1:
            return bound[first]
        names = [(bound[name], "str" if name == "w" else "int") for name in rest]
        if first == "block":
            return self._inner_block(names, nesting - 1)
        known = len(self._known)
        self._known += names
        written = self._expression(first, depth)
        del self._known[known:]
        return written

    def _fresh(self, kind: str) -> str:
        self._names += 1
        return f"{kind}_{self._names}"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Texts of programs that define `solve`, plain or async, whose value JSON can hold."""
    return _Writer(draw).program()
