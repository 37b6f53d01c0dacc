"""What a plan can write instead of what the interpreter lacks.

Each entry was found by running the construct in the interpreter (pydantic-monty 1.4) and in
Python; `tests/modules/sandbox/language/test_alternatives.py` runs them again, with alternatives.
"""

from collections.abc import Mapping
from types import MappingProxyType

from modules.sandbox.language.prelude import AVAILABLE_MODULES

_GATHER = "use await asyncio.gather(call1, call2)"
_NO_TIMEOUT = "await the call itself: every tool call has its own time limit"
_NO_LOCKS = "leave it out: gather() may be given any number of calls"
_NOT_IN_MAP = "call the tool in an async function, with await, not through map()"
CATCH = "catch RuntimeError, which a failing tool raises, or Exception"
"""What to write instead of an exception that the interpreter doesn't know."""

CONSTRUCTS: Mapping[str, str] = MappingProxyType(
    {
        "yield": "build and return a list instead",
        "inheritance": "use plain functions and dicts, and RuntimeError for errors",
        "method decorators": "write a plain method, or a function outside of the class",
        "'del'": "assign None, use d.pop(key), or build a new list or dict without the item",
        "async comprehension": "use a for loop with await inside",
        "async for": "use a plain for loop with await inside",
        "async with": "call the tool directly with await tools.name(…)",
        "Wildcard imports": "name what you import, as in from math import sqrt",
        "except*": "use a plain except",
        "type aliases": "leave the alias out: annotations are not checked",
        "class bodies": "keep to methods and name = value; put other code outside of the class",
        "class variable targets": "write one name = value a line",
        "dataclass()": "use @dataclass without that option, and sorted(…, key=…) for order",
        "synchronous context": _NOT_IN_MAP,
    }
)
"""Words of a NotImplementedError → what to write instead; the first that is found counts."""

OTHER_ERRORS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "TypeError": {
            "JSONEncoder.__init__()": "turn such values into text, lists or dicts first",
            "JSONDecoder.__init__()": "convert the values after json.loads(text)",
            "'list' object is not an iterator": (
                "write next(iter([x for x in values]), None): a generator expression is a list here"
            ),
            "cannot create 'object' instances": "use None or a list as the marker",
            "can only concatenate list (not ": "use values.extend(more) for what is no list",
            "type() bases are": "use plain functions and dicts",
            "print() 'file' argument": "print without file=, or add to a list of lines",
        },
        "RuntimeError": {
            "Internal error in monty: exceptions can only": (
                "give an exception one text, as in ValueError(str(x))"
            ),
            "'os.": "plans see no environment: use a value or a tool",
        },
        "PermissionError": {
            "Permission denied: '": "plans reach no files: use a tool that reads or writes them",
        },
        "LookupError": {"unknown encoding: ": "use utf-8 or ascii"},
    }
)
"""How other exceptions begin that say what is lacking, by type → what to write instead."""

BUILTINS: Mapping[str, str] = MappingProxyType(
    {
        "aiter": "use a plain for loop",
        "anext": "use a plain for loop",
        "ascii": "use repr(text)",
        "breakpoint": "print() what you want to see",
        "bytearray": "use bytes, or a list of integers",
        "callable": "use isinstance(x, str) or the like",
        "classmethod": "write a function outside of the class",
        "compile": "write the code into the plan itself",
        "delattr": "use setattr(thing, name, None)",
        "dir": "name the attributes yourself",
        "exit": "return from the function",
        "globals": "keep such values in a dict",
        "help": "print() what you want to see",
        "input": "nobody can be asked here: return what is missing as the answer",
        "issubclass": "use isinstance(value, kind)",
        "memoryview": "use slices of bytes",
        "quit": "return from the function",
        "staticmethod": "write a function outside of the class",
        "super": "classes inherit nothing: call a plain function",
        "vars": "keep such values in a dict",
        "__import__": "write an import statement",
        "__builtins__": "use the builtins by their names",
    }
)
"""Builtins that the interpreter lacks; of exceptions see `CATCH`."""

METHODS: Mapping[str, str] = MappingProxyType(
    {
        "__class__": "use type(x)",
        "__dict__": "keep such values in a dict",
        "__doc__": "leave it out",
        "__name__": "write the name as text",
        "add_note": "put the note into the exception's text",
        "as_integer_ratio": "use decimal.Decimal(x).as_integer_ratio()",
        "bit_count": "use bin(n).count('1')",
        "bit_length": "use len(bin(n)) - 2",
        "difference_update": "write s = s - other",
        "format_map": "use text.format(**values)",
        "from_bytes": "use int(data.hex(), 16)",
        "intersection_update": "write s = s & other",
        "is_integer": "use x == int(x)",
        "isocalendar": "use day.strftime('%V') for the week",
        "maketrans": "use replace()",
        "send": "a generator expression is a list here",
        "symmetric_difference_update": "write s = s ^ other",
        "to_bytes": "use bytes.fromhex(f'{n:04x}')",
        "translate": "use replace()",
    }
)
"""Methods and attributes of builtin types that the interpreter lacks."""

MODULES: Mapping[str, str] = MappingProxyType(
    {
        "abc": "use plain functions",
        "calendar": "use datetime",
        "cmath": "use math",
        "collections.abc": "use typing",
        "concurrent": _GATHER,
        "contextlib": "use try/finally",
        "enum": "use plain constants",
        "fractions": "use decimal, or integers",
        "heapq": "use sorted(values)[:n]",
        "httpx": "use a tool",
        "inspect": "leave it out",
        "io": "use lists of lines and '\\n'.join(lines)",
        "logging": "use print()",
        "numpy": "use lists, math and statistics",
        "operator": "use a lambda",
        "pandas": "use lists of dicts, csv and statistics",
        "pickle": "use json",
        "pprint": "use json.dumps(value, indent=2)",
        "requests": "use a tool",
        "secrets": "use random",
        "shutil": "use a tool",
        "socket": f"use a tool; there is only: {', '.join(AVAILABLE_MODULES)}",
        "sqlite3": "use dicts, or a tool",
        "subprocess": "use a tool",
        "textwrap": "use slices of the text",
        "threading": _GATHER,
        "traceback": "use str(error)",
        "urllib": "use a tool",
        "uuid": "use random.getrandbits(128)",
        "warnings": "leave it out",
        "zoneinfo": "use datetime.timezone(datetime.timedelta(hours=h))",
    }
)
"""Modules that the interpreter lacks."""

MODULE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "asyncio.CancelledError": CATCH,
        "asyncio.Event": _NO_LOCKS,
        "asyncio.Lock": _NO_LOCKS,
        "asyncio.Queue": "use a list",
        "asyncio.Semaphore": _NO_LOCKS,
        "asyncio.TaskGroup": _GATHER,
        "asyncio.as_completed": _GATHER,
        "asyncio.get_event_loop": "leave it out: solve() is called anyway",
        "asyncio.get_running_loop": "await the call itself",
        "asyncio.iscoroutine": "await the call itself",
        "asyncio.new_event_loop": "await the call itself",
        "asyncio.timeout": _NO_TIMEOUT,
        "asyncio.wait": _GATHER,
        "collections.ChainMap": "use {**defaults, **values}",
        "collections.OrderedDict": "use a dict, which keeps its order",
        "dataclasses.asdict": "write {'a': p.a, 'b': p.b}",
        "dataclasses.astuple": "write (p.a, p.b)",
        "dataclasses.fields": "name the fields yourself",
        "dataclasses.replace": "make a new one: Point(p.a, 2)",
        "datetime.UTC": "use datetime.timezone.utc",
        "functools.cached_property": "keep the value in an attribute",
        "functools.cmp_to_key": "use key=lambda x: … with a tuple",
        "functools.total_ordering": "use sorted(…, key=…)",
        "functools.wraps": "leave it out",
        "re.VERBOSE": "write the pattern without white space and comments",
        "re.X": "write the pattern without white space and comments",
        "sys.exc_info": "use except Exception as error",
        "sys.exit": "return from the function",
        "sys.setrecursionlimit": "use a loop",
        "sys.stdin": "nobody can be asked here: return what is missing as the answer",
        "typing.NamedTuple": "use collections.namedtuple('Point', ['x', 'y'])",
        "typing.TypeAlias": "leave the alias out: annotations are not checked",
        "typing.TypedDict": "use a plain dict",
        "typing.cast": "leave it out",
    }
)
"""Names that a module of the interpreter lacks."""

UNSUPPORTED_METHODS = frozenset(
    {
        *("__bool__", "__bytes__", "__class_getitem__", "__complex__", "__delattr__", "__format__"),
        *("__ge__", "__getattr__", "__getattribute__", "__gt__", "__iadd__", "__le__", "__len__"),
        *("__lt__", "__ne__", "__new__", "__reversed__", "__setattr__"),
    }
)
"""Methods that Python would call by itself and the interpreter doesn't, some of them in silence."""
