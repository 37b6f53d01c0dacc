"""Python that plans find in the sandbox, where the interpreter lacks it or has it otherwise.

Modules, whose sources stand in `plan_modules`, written in what the interpreter knows of Python.
And `round`, `hasattr` and `getattr`, which give what Python's own give: the interpreter rounds a
product by powers of ten instead of the number itself, and doesn't know a builtin type's methods as
attributes (`hasattr([], "append")` is False there, `key=d.get` an error).
"""

import builtins
import collections
import datetime
import decimal
import inspect
import re
import textwrap
from collections.abc import Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from types import MappingProxyType

from core.base.text import lazy_pattern

NEEDS_TASKS = lazy_pattern(
    r"\b(?:create_task|ensure_future|wait_for|return_exceptions|shield|to_thread"
    r"|asyncio\s*\.\s*TimeoutError)\b"
)
"""What a plan writes that the interpreter's own `asyncio` hasn't got."""

PROVIDED_MODULES = MappingProxyType(
    {
        "asyncio": (
            *("TimeoutError", "awaited", "create_task", "ended", "ensure_future", "gather"),
            *("run", "shield", "sleep", "to_thread", "wait_for"),
        ),
        "re": (
            *("A", "ASCII", "DOTALL", "I", "IGNORECASE", "M", "MULTILINE", "Match", "NOFLAG"),
            *("Pattern", "PatternError", "S", "compile", "error", "escape", "findall"),
            *("finditer", "fullmatch", "match", "search", "split", "sub", "subn"),
        ),
        "statistics": (
            *("StatisticsError", "correlation", "covariance", "fmean", "geometric_mean"),
            *("harmonic_mean", "linear_regression", "mean", "median", "median_high"),
            *("median_low", "mode", "multimode", "pstdev", "pvariance", "quantiles", "stdev"),
            "variance",
        ),
        "string": (
            *("ascii_letters", "ascii_lowercase", "ascii_uppercase", "capwords", "digits"),
            *("hexdigits", "octdigits", "printable", "punctuation", "whitespace"),
        ),
    }
)
"""What each of these modules has."""

_SOURCES = Path(__file__).with_name("plan_modules")

_BUILTIN_TYPES = (
    *("bool", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "range", "set"),
    *("str", "tuple"),
)

PYTHON_TYPES: Mapping[str, type] = MappingProxyType(
    {
        **{name: getattr(builtins, name) for name in _BUILTIN_TYPES},
        "Counter": collections.Counter,
        "collections.defaultdict": collections.defaultdict,
        "collections.deque": collections.deque,
        "datetime.date": datetime.date,
        "datetime.datetime": datetime.datetime,
        "datetime.time": datetime.time,
        "datetime.timedelta": datetime.timedelta,
        "decimal.Decimal": decimal.Decimal,
        "re.Match": re.Match,
    }
)
"""Types whose methods the interpreter doesn't know as attributes, by its name for them."""

PARSE_TIME = "strptime"
"""The one method that is corrected also where it is called."""

_TYPES = tuple(PYTHON_TYPES.items())
_ALL_NAMES = MappingProxyType({kind: tuple(dir(python)) for kind, python in _TYPES})

METHOD_NAMES: frozenset[str] = frozenset(
    name
    for kind in PYTHON_TYPES.values()
    for name in dir(kind)
    if not name.startswith("_") and inspect.isroutine(getattr(kind, name))
)
"""What their methods are called, dunder methods aside."""

CLASS_METHODS: frozenset[str] = frozenset(
    name
    for kind in PYTHON_TYPES.values()
    for name in METHOD_NAMES.intersection(dir(kind))
    if inspect.isbuiltin(getattr(kind, name))
)
"""Those that are called on the type itself, as `dict.fromkeys` is."""

ROUND = """
__round__ = round
def round(number, ndigits=None):
    if type(number) is not float or not isinstance(ndigits, int) or number - number != 0:
        return __round__(number, ndigits)
    if ndigits > 323:
        return number
    if ndigits >= 0:
        return float(format(number, f".{int(ndigits)}f"))
    if ndigits < -308 or number == 0:
        return 0.0 * number
    tens = 10 ** -ndigits
    whole, rest = divmod(int(abs(number)), tens)
    rest = 2 * rest - tens + (0.5 if abs(number) != int(abs(number)) else 0)
    if rest > 0 or (rest == 0 and whole % 2):
        whole += 1
    return float(whole * tens) if number >= 0 else -float(whole * tens)
"""
"""Rounds the number that a float is, halves to even, as its text with so many digits does."""

_ATTRIBUTES = """
def __attribute_functions__():
    own_getattr, own_hasattr, any_type = getattr, hasattr, type(str)
    names = {names}

    def has_method(thing, name):
        kind = str(thing if type(thing) is any_type else type(thing))[8:-2]
        return type(name) is str and f" {{name}} " in names.get(kind, "")

    def has(thing, name):
        return own_hasattr(thing, name) or has_method(thing, name)

    def get(thing, name, *default):
        try:
            return own_getattr(thing, name)
        except AttributeError:
            if has_method(thing, name):
                if name in calls:
                    return calls[name](thing, type(thing) is any_type)
                raise NotImplementedError(
                    f"getattr() of {{name!r}} is not supported: write x.{{name}}() instead"
                )
            if default:
                return default[0]
            raise

    calls = {{}}
{calls}
    return get, has
"""

_PARSE_TIME = """
    def parsed(kind, text, format):
        wrong = ValueError(f"time data {text!r} does not match format {format!r}")
        if text[:1].isspace() and not format[:1].isspace():
            raise wrong
        names = format.replace("%%", "").split("%")[1:]
        has = "".join([name[:1] for name in names])
        texts, formats = "", ""
        for those, value, directive in (
            ("YyGcx", "1900", "%Y"), ("mbBjUWVcx", "1", "%m"), ("djuaAwUWVcx", "1", "%d"),
            ("HIXcs", "0", "%H"), ("McXs", "0", "%M"),
        ):
            if not any([name in has for name in those]):
                texts, formats = f"{texts}{value} ", f"{formats}{directive} "
        if "I" in has and "p" not in has:
            texts, formats = f"{texts}AM ", f"{formats}%p "
        try:
            found = kind.strptime(texts + text, formats + format)
        except ValueError:
            raise wrong
        return found.replace(year=found.year - 100) if "y" in has and found.year > 2068 else found

    calls["strptime"] = lambda thing, of_type: (
        lambda text, format: parsed(thing if of_type else type(thing), text, format)
    )
"""
"""`strptime` as in Python: the interpreter's drops an hour without minutes, and needs a date."""

_CALL = """
    def call(thing, of_type):
        if of_type and not {of_class}:
            return lambda first, *args, **kwargs: first.{name}(*args, **kwargs)
        return lambda *args, **kwargs: thing.{name}(*args, **kwargs)
    calls["{name}"] = call
"""


def provided_name(module: str) -> str:
    """What the object that stands for a module is called in the sandbox."""
    return f"__provided_{module}__"


def provided_source(module: str, recursion_error: str, stop: str) -> str:
    """The Python that makes a provided module, to be fed before a plan that imports it.

    What catches exceptions in it calls `stop` for a `recursion_error`, as the guard has it.
    """
    builder = f"__provide_{module}__"
    offer = "".join(f"    module.{name} = {name}\n" for name in PROVIDED_MODULES[module])
    source = _body(module)
    if module == "asyncio":
        source = source.format(recursion_error=recursion_error, stop=stop)
    return (
        f"def {builder}():\n{source}"
        f"    module = {module}()\n{offer}    return module\n"
        f"{provided_name(module)} = {builder}()\n"
    )


@cache
def _body(module: str) -> str:
    """A module's source as the body of a function, without the comment at its head."""
    text = (_SOURCES / f"{module}.txt").read_text(encoding="utf-8")
    return textwrap.indent(text.partition("\n\n")[2], "    ")


def attribute_functions(words: Set[str]) -> str:
    """`hasattr` and `getattr` for a plan that holds these words, as source text.

    A method comes as a function that calls it, if its name is one of the words.
    """
    return _attribute_functions(METHOD_NAMES & words, _ALL_NAMES) + (
        "getattr, hasattr = __attribute_functions__()\n"
    )


def bound_methods(prefix: str, methods: frozenset[str]) -> str:
    """For each of these methods a function that gives it as a value, as source text.

    It is called as the method, with the prefix: it can be written into a text of any quotes.
    """
    found = {kind: sorted(methods.intersection(dir(python))) for kind, python in _TYPES}
    named = [
        f'def {prefix}{name}(thing):\n    return {prefix}(thing, "{name}")\n' for name in methods
    ]
    built = f"{prefix}, __has__ = __attribute_functions__()\n"
    return "".join([_attribute_functions(methods, found), built, *sorted(named)])


def _attribute_functions(methods: frozenset[str], names: Mapping[str, Sequence[str]]) -> str:
    table = {kind: f" {' '.join(those)} " for kind, those in names.items() if those}
    calls = "".join(
        _PARSE_TIME
        if name == PARSE_TIME
        else _CALL.format(name=name, of_class=name in CLASS_METHODS)
        for name in sorted(methods)
    )
    return _ATTRIBUTES.format(names=repr(table), calls=calls)
