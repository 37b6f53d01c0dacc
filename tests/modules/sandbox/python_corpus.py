"""Expressions and plans for comparison with Python: what models write, with drawn values."""

import random
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

Draw: TypeAlias = Callable[[], object]

EXPRESSIONS = r"""
round({f}, {n})
round({f})
round({f}, {neg})
round({i}, {neg})
round({m}, 2)
round({m} * {i}, 2)
round({m} / {i1}, 2)
round({m} * 1.19, 2)
round({m} * 0.5, 2)
round(sum({lm}), 2)
round(sum({lm}) / len({lm}), 2)
f'{{{m}:.2f}}'
f'{{{f}:{spec}}}'
f'{{{i}:{ispec}}}'
f'{{{s!r}:{sspec}}}'
format({f}, '{spec}')
format({i}, '{ispec}')
'{{:{spec}}}'.format({f})
'{{:{ispec}}}'.format({i})
'{{:{sspec}}}'.format({s!r})
'%{pspec}' % {f}
'%{pspec}' % {i}
'%s %r' % ({s!r}, {s!r})
str({f})
repr({f})
str({lf})
float('{f}')
int({f})
int('{i}')
int('{h}', 16)
hex({i})
oct({i})
bin({i})
divmod({i}, {i1})
divmod({f}, {f1})
{i} // {i1}
{i} % {i1}
{f} // {f1}
{f} % {f1}
{i} / {i1}
{f} / {f1}
{f} + {f} * {f1}
{f} - {f}
{f} ** {n}
{i} ** {n}
{i1} ** -{n}
(-{i1}) ** 0.5
abs({f})
pow({i}, {n}, {i1})
sum({lf})
sum({lm})
sum({li})
min({lf}), max({lf})
sorted({lf}, reverse=True)
sorted({ls})
sorted({ls}, key=len)
sorted({ls}, key=str.lower)
sorted({d}, key={d}.get)
max({d}, key={d}.get)
list(map(str.strip, {ls}))
list(map(str.upper, {ls}))
list(filter(str.isdigit, {ls}))
list(map({s!r}.count, {ls}))
str.join(',', {ls}), str.upper({s!r}), (lambda d: list(map(d.get, 'abc')))({d})
sorted({ls}, key=lambda x: (len(x), x))
sorted({d}.items(), key=lambda kv: (-kv[1], kv[0]))
max({d}.items(), key=lambda kv: kv[1])
list(map(len, {ls}))
list(map(int, {ld}))
list(map(float, {ld}))
list(filter(None, {li}))
list(zip({li}, {ls}))
list(enumerate({ls}, 1))
list(reversed({li}))
{li}[{n}:]
{li}[::-1]
{li}[-{n}:{n}]
{ls!s}[:{n}]
{s!r}[{n}:]
{s!r}[::-1]
{s!r}[::2]
{s!r}.upper()
{s!r}.lower()
{s!r}.title()
{s!r}.capitalize()
{s!r}.swapcase()
{s!r}.casefold()
{s!r}.strip()
{s!r}.strip({c!r})
{s!r}.lstrip({c!r})
{s!r}.rstrip()
{s!r}.split()
{s!r}.split({c!r})
{s!r}.split({c!r}, 1)
{s!r}.split(None, 1)
{s!r}.rsplit({c!r}, 1)
{s!r}.rsplit(None, 2)
{s!r}.splitlines()
{s!r}.splitlines(True)
{s!r}.partition({c!r})
{s!r}.rpartition({c!r})
{s!r}.replace({c!r}, 'xy')
{s!r}.replace({c!r}, '', 1)
{s!r}.replace('', '-')
{s!r}.find({c!r})
{s!r}.rfind({c!r})
{s!r}.index({c!r})
{s!r}.count({c!r})
{s!r}.count('')
{s!r}.startswith({c!r})
{s!r}.endswith(({c!r}, 'z'))
{s!r}.removeprefix({c!r})
{s!r}.removesuffix({c!r})
{s!r}.zfill({n})
{s!r}.center({w})
{s!r}.center({w}, '*')
{s!r}.ljust({w}, '.')
{s!r}.rjust({w})
{s!r}.expandtabs({n})
{s!r}.isalpha(), {s!r}.isdigit(), {s!r}.isalnum(), {s!r}.isspace()
{s!r}.isupper(), {s!r}.islower(), {s!r}.istitle()
{s!r}.isnumeric(), {s!r}.isdecimal(), {s!r}.isidentifier(), {s!r}.isprintable()
{s!r}.isascii()
{s!r}.encode()
{s!r}.encode('utf-8').hex()
{s!r}.join({ls})
', '.join(sorted(set({ls})))
len({s!r})
repr({s!r})
{s!r} * {n}
{s!r} + {s!r}
{s!r} < {s!r}, {s!r} == {s!r}
{c!r} in {s!r}
ord({c1!r}), chr(ord({c1!r}) + 1)
[ord(ch) for ch in {s!r}]
''.join(chr(ord(ch)) for ch in {s!r})
int({s!r})
float({s!r})
bool({s!r}), bool({li}), bool({f})
hasattr({li}, 'append'), hasattr({d}, 'get'), hasattr({s!r}, 'nope')
hasattr({s!r}, '{meth}')
hasattr({li}, '{meth}')
hasattr({d}, '{meth}')
getattr({s!r}, '{meth}', None) is None
getattr({li}, '{meth}', None) is None
type({f}).__name__, type({li}).__name__
type({m} * {i}).__name__
isinstance({i}, (int, float)), isinstance({f}, int), isinstance(True, int)
{li} + {li}
{li} == {li}
{li}.index({i})
{li}.count({i})
{li} * {n}
[x for x in {li} if x % 2]
[x * x for x in {li}]
sum(x * x for x in {li})
any(x > 3 for x in {li}), all({li})
set({li}) == set({li})
sorted(set({li}) & set({li}))
sorted(set({li}) | set({li}))
sorted(set({li}) ^ set({li}))
set({li}) <= set({li})
len(set({ls}))
frozenset({li}) == set({li})
{d}.get('a', 0)
{d}['a']
{d}['nope']
{li}[99]
list({d}.items())
list({d}.keys()), list({d}.values())
{d} | {d}
{{**{d}, 'z': 1}}
{{k: v * 2 for k, v in {d}.items()}}
{{v: k for k, v in {d}.items()}}
dict(zip({ls}, {li}))
dict(sorted({d}.items()))
sum({d}.values())
str({d})
repr({ls})
{d} == {d}
min({d}), max({d})
tuple({li}), list({s!r}), set({li}) == set()
math.sqrt({fp})
math.floor({f}), math.ceil({f}), math.trunc({f})
math.fsum({lf})
math.prod({li})
math.gcd({i}, {i1}), math.lcm({i}, {i1})
math.hypot({f}, {f})
math.log({fp}), math.log10({fp}), math.log2({fp})
math.log({fp}, 3)
math.exp({sm})
math.sin({f}), math.cos({f}), math.tan({f})
math.atan2({f}, {f})
math.pow({sm}, {n})
math.isclose({f}, {f})
math.factorial({n}), math.comb({w}, {n}), math.perm({w}, {n})
math.degrees({f}), math.radians({f})
math.isqrt({ip})
math.fmod({f}, {f1})
math.copysign({f}, -1), math.modf({f}), math.frexp({f})
math.dist([{f}, {f}], [{f}, {f}])
math.remainder({f}, {f1})
statistics.mean({lm})
statistics.mean({li})
statistics.fmean({lm})
statistics.median({lm})
statistics.median({li})
statistics.stdev({lm})
statistics.pstdev({lm})
statistics.variance({lm})
statistics.variance({li})
statistics.pvariance({li})
statistics.stdev({li})
statistics.harmonic_mean([40, 60])
statistics.harmonic_mean([abs(x) + 1 for x in {li}])
statistics.harmonic_mean([abs(x) + 1 for x in {lm}])
statistics.geometric_mean([abs(x) + 1 for x in {lm}])
statistics.quantiles({lm}, n=4)
statistics.quantiles({li}, n=4, method='inclusive')
statistics.mode({li}), statistics.multimode({li})
statistics.median_low({lm}), statistics.median_high({lm})
statistics.linear_regression({lm3}, {lm3})
statistics.correlation({lm3}, {lm3})
statistics.covariance({lm3}, {lm3})
re.findall({p!r}, {t!r})
re.findall({p!r}, {t!r}, re.IGNORECASE)
[m.span() for m in re.finditer({p!r}, {t!r})]
re.sub({p!r}, '-', {t!r})
re.sub({p!r}, r'<\g<0>>', {t!r})
re.sub({p!r}, '-', {t!r}, count=1)
re.split({p!r}, {t!r})
re.split({p!r}, {t!r}, maxsplit=1)
(lambda m: m and (m.group(), m.span(), m.groups()))(re.search({p!r}, {t!r}))
(lambda m: m and m.group())(re.match({p!r}, {t!r}))
bool(re.fullmatch({p!r}, {t!r}))
(lambda m: m and m.groupdict())(re.search(r'(?P<w>\w+) (?P<n>\d+)', {t!r}))
re.escape({s!r})
re.compile({p!r}).findall({t!r})
json.dumps({d})
json.dumps({lf})
json.dumps({s!r})
json.dumps({s!r}, ensure_ascii=False)
json.dumps({d}, indent=2)
json.dumps({d}, sort_keys=True, separators=(',', ':'))
json.loads(json.dumps({d}))
json.loads('[{f}, {i}, true, null]')
json.loads({s!r})
str(Decimal('{m}') * {i})
str(Decimal('{m}') / Decimal('{m1}'))
str(Decimal('{m}').quantize(Decimal('0.1')))
str(round(Decimal('{m}'), 1))
str(Decimal({f}))
str(Decimal('{f}') + Decimal('{m}'))
str(sum([Decimal('{m}'), Decimal('{m}')]))
f"{{Decimal('{m}'):.1f}}"
int(Decimal('{m}'))
float(Decimal('{m}')) == {m}
Decimal('{m}') == {m}
str(date({y}, {mo}, {da}))
(date({y}, {mo}, {da}) - date({y}, {mo}, {da})).days
str(date({y}, {mo}, {da}) + timedelta(days={w}) * 30)
list(map(date.fromisoformat, ["2020-01-02"])), list(map(bytes.fromhex, ["0a"]))
date({y}, {mo}, {da}).weekday(), date({y}, {mo}, {da}).isoweekday()
date({y}, {mo}, {da}).strftime('{dfmt}')
datetime({y}, {mo}, {da}, 13, 5, 9).strftime('{dfmt}')
datetime({y}, {mo}, {da}, 13, 5, 9).isoformat()
str(datetime({y}, {mo}, {da}, 13, 5) - datetime({y}, {mo}, {da}))
str(datetime.fromisoformat('{y}-{mo:02}-{da:02}T10:00:00'))
str(datetime.strptime('{y}-{mo}-{da}', '%Y-%m-%d').date())
str(datetime.strptime('{y}-{mo:02}-{da:02} {n}', '%Y-%m-%d %H'))
str(datetime.strptime('{da}/{mo}/{y} {n1}:0{n} PM', '%d/%m/%Y %I:%M %p'))
str(datetime.strptime('{n1}AM', '%I%p')), str(datetime.strptime('{n1}', '%I'))
str(datetime.strptime('{da:02}.{mo:02}.{yy:02}', '%d.%m.%y'))
str(datetime.strptime('{n}:{n}:{n}', '%H:%M:%S').time()), str(datetime.strptime('{y}', '%Y'))
str(datetime.strptime('{mo}/{y}', '%m/%Y')), str(datetime.strptime('{n}:{n}', '%M:%S'))
datetime.strptime(' {y}', '%Y')
str(timedelta(hours={n}, minutes={i}))
timedelta(days={n}, hours={n}).total_seconds()
repr(date({y}, {mo}, {da}))
date({y}, {mo}, {da}) < date({y}, {mo}, {da})
str(date({y}, {mo}, {da}).replace(day=1))
(date({y}, {mo}, {da}) - date({y}, 1, 1)).days // 7
Counter({ls}).most_common(2)
sorted(Counter({s!r}).items())
Counter({li})[{i}]
dict(Counter({ls}))
str(Counter({ls}))
sum(Counter({li}).values())
list(itertools.accumulate({li}))
list(itertools.chain({li}, {ls}))
list(itertools.combinations({li}, 2))
list(itertools.permutations({li}, 2))[:5]
list(itertools.product({li}, {ls}))[:5]
[(k, list(g)) for k, g in itertools.groupby({li}, key=lambda x: x % 2)]
list(itertools.islice({li}, {n}))
list(itertools.zip_longest({li}, {ls}))
list(itertools.pairwise({li}))
functools.reduce(lambda a, b: a + b, {li})
list(range({n}, {w}, 2)), len(range({i}))
bisect.bisect_left(sorted({li}), {i}), bisect.bisect(sorted({li}), {i})
hashlib.sha256({s!r}.encode()).hexdigest()
base64.b64encode({s!r}.encode()).decode()
{i} & {ip}, {i} | {ip}, {i} ^ {ip}, ~{i}
{i} << {n}, {i} >> {n}
{i} < {f} <= {i}
{f} == {i}, {i} == float({i})
not {li} or {i} and {f}
{i} if {li} else {f}
sum([0.1] * {n})
0.1 + 0.2, {m} * 3, {m} * 100
int({m} * 100)
{m} * 1.19, {m} * 0.19
'{i:,}', f'{{{i}:,}}', f'{{{f}:,.2f}}'
f'{{{m}:.1%}}', f'{{{f}:e}}', f'{{{f}:g}}'
f'{{{i}:>{w}}}|{{{s!r}:<{w}}}|{{{s!r}:^{w}}}'
f'{{{f}!r}} {{{s!r}!s:>10}}'
str([{s!r}, {f}, None, True, {d}])
str(({i},)), str(set()), str({{{i}}})
complex({i}, {n}) * 2
{li}.pop({n})
[{li}, {ls}][1:]
unicodedata.normalize('NFKD', {s!r})
unicodedata.name({c1!r}, '?')
string.capwords({s!r})
max({ls}, key=len), min({ls}, key=len)
max({lf}, default=0), max([], default=None)
' '.join(map(str, {lf}))
list(map(str, {lf}))
list(dict.fromkeys({li}))
{ls} < {ls}
sorted({li}, key=lambda x: -x)
sorted(zip({li}, {ls}))
[*{li}, *{ls}]
len(str({i})), str({i})[::-1]
sum(int(ch) for ch in str(abs({i})))
bytes.fromhex('0aff')
list({s!r}.encode())
{s!r}.encode().decode('utf-8')
slice(1, 2), list(range(10))[slice({n})]
abs({f})
eval('{i} + 1')
"""
"""One a line; `{kind}` is drawn, `!r` quotes it."""

PLANS = r"""
x = {li}; x.append({i}); x.sort(); x.reverse()
x = {d}; x['k'] = {i}; x.update(a=1); y = x.pop('k'); x['y'] = y
x = {}\nfor ch in {s!r}:\n    x[ch] = x.get(ch, 0) + 1
x = {}\nfor n in {li}:\n    x.setdefault(n % 3, []).append(n)
x = 0\nfor i, n in enumerate({li}):\n    if n < 0:\n        continue\n    x += i * n
x = None\nfor n in {li}:\n    if n > 9:\n        x = n\n        break\nelse:\n    x = 'none'
x, n = [], {n}\nwhile n:\n    x.append(n)\n    n -= 1
def f(a, b=2, *rest, c=3, **more):\n    return a, b, rest, c, more\nx = f({n}, {i}, 5, c=1, z=2)
def outer():\n    n = {n}\n    def inner():\n        nonlocal n\n        n += 1\n        return n\n    return inner(), inner()\nx = outer()
def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nx = fib({w})
try:\n    x = {i} / {n}\nexcept ZeroDivisionError as e:\n    x = str(e)
try:\n    x = int({s!r})\nexcept ValueError as e:\n    x = str(e)[:30]\nfinally:\n    y = 1
try:\n    x = {d}['a']\nexcept KeyError as e:\n    x = repr(e), str(e), e.args
try:\n    x = {li}[{n}]\nexcept IndexError as e:\n    x = str(e)\nelse:\n    x = x, 'else'
try:\n    raise RuntimeError({s!r})\nexcept (ValueError, RuntimeError) as e:\n    x = type(e).__name__, str(e)
a, *b = [0] + {li}; x = a, b
a, (b, c) = {n}, ({n}, {s!r}); a, b = b, a; x = a, b, c
x = [row[:] for row in [[0] * 2] * 2]; x[0][1] = {n}
x = [[0] * 2] * 2; x[0][1] = {n}
x = {li}; y = x; y.append(1); x = x, y is x
x = {li}; x[1:2] = [7, 8]
x = {li}; x.insert({n}, 'a'); x.extend((1, 2)); x.extend('bc')
x = {li}; y = x.pop() if x else None; x = x, y
x = set({li}); x.add({n}); x.discard(1); x = sorted(x)
x = {s!r}\nif (n := len(x)) > 3:\n    x = x[:3] + '...' + str(n)
x = [f'{k}={v}' for k, v in sorted({d}.items())]; x = ', '.join(x)
x = {{n: [m for m in range(n)] for n in range({n})}}
match {li}:\n    case []:\n        x = 'empty'\n    case [a]:\n        x = a\n    case [a, *rest]:\n        x = a, rest
match {d}:\n    case {{'a': a, **rest}}:\n        x = a, rest\n    case _:\n        x = 'other'
match {i}:\n    case 0 | 1:\n        x = 'small'\n    case int() as n if n < 0:\n        x = -n\n    case _:\n        x = 'big'
class P:\n    def __init__(self, a):\n        self.a = a\n    def __eq__(self, other):\n        return self.a == other.a\n    def __repr__(self):\n        return f'P({self.a})'\nx = P({n}), P({n}) == P({n}), [P({i})], f'{P(1)}'
class C:\n    total = 0\n    def add(self, n):\n        self.total += n\n        return self\nx = C().add({n}).add({i}).total, C.total
from dataclasses import dataclass\n@dataclass\nclass D:\n    a: int\n    b: str = 'z'\nx = D({n}), D({n}) == D({n}), D(1, b={s!r}).b
from collections import defaultdict\nx = defaultdict(list)\nfor n in {li}:\n    x[n % 2].append(n)\nx = dict(x)
from collections import deque\nx = deque({li}, maxlen=3)\nx.append({i})\nx = list(x)
from collections import namedtuple\nP = namedtuple('P', 'a b')\nx = P({n}, {s!r}), P(1, 2).a, P(1, 2) == (1, 2)
import re\nx = []\nfor m in re.finditer(r'(\w)(\d+)', {t!r}):\n    x.append((m.group(1), int(m[2]), m.start()))
import re\nx = re.sub(r'(\d+)', lambda m: str(int(m.group(1)) + 1), {t!r})
import re\nx = re.sub(r'(\w+) (\w+)', r'\2\n\1', {t!r})
import re\nx = re.subn({p!r}, '.', {t!r})
import re\np = re.compile({p!r}); x = p.pattern, p.split({t!r}), p.sub('<>', {t!r})
import random\nrandom.seed({n}); x = random.randint(1, 100), random.random(), random.choice('abc'), random.sample(range(9), 3)
import json\nx = json.dumps({{'d': {d}, 's': {s!r}, 'l': {lf}}}, indent=1)
import math\nx = [round(math.sqrt(abs(v)), 3) for v in {lf}]
import statistics\nx = round(statistics.stdev([*{lm}, 1, 2]), 2)
import itertools\nx = list(itertools.starmap(pow, [({n}, 2), (2, {n})]))
from functools import reduce, partial\nx = reduce(lambda a, b: a * b, {li}, 1), partial(round, ndigits=1)({f})
from decimal import Decimal, ROUND_HALF_UP\nx = str(Decimal(str({m})).quantize(Decimal('0.1'), rounding=ROUND_HALF_UP))
from datetime import date, timedelta\nx = [(date({y}, {mo}, {da}) + timedelta(weeks=n)).isoformat() for n in range({n})]
total = 0\nfor price, count in zip({lm}, {li}):\n    total += price * count\nx = f'{total:.2f}', round(total, 2)
words = {t!r}.lower().split(); x = sorted(set(words), key=lambda w: (-words.count(w), w))[:3]
f = round; x = f({f}, 1), list(map(round, {lf}))
x = [g(2) for g in [lambda n, k=k: n * k for k in range({n})]]
x = (lambda *a, **k: (a, k))(*{li}, **{d})
x = '\n'.join(f'{i:>3}| {line}' for i, line in enumerate({t!r}.splitlines(), 1))
x = 1\nx += {f}; x -= 1; x *= 2; x /= 4; x //= 1; x **= 2; x %= 7
x = {s!r}; x += 'é'; x *= 2; x = x, len(x), x.encode()[:3]
"""  # noqa: E501
"""One a line, with `\\n` for a new line; each binds `x`."""

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
    """The templates of expressions."""
    return EXPRESSIONS.strip("\n").split("\n")


def plans() -> list[str]:
    """The templates of plans, each of some lines that bind `x`."""
    return [line.replace("\\n", "\n") for line in PLANS.strip("\n").split("\n")]


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
