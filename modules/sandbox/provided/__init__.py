"""Python that plans find in the sandbox: what the interpreter lacks, or does otherwise than Python.

A plan that imports one of these modules gets an object with the module's functions in front of it;
`modules.sandbox.provided.builtin_functions` stands for some builtins. Everything runs inside the
sandbox, under the plan's limits. `tests/sandbox/test_same_as_python.py` compares it with Python.
"""

from types import MappingProxyType

from modules.sandbox.provided.exact_statistics import STATISTICS, STATISTICS_NAMES
from modules.sandbox.provided.patterns import PATTERN_NAMES, PATTERNS
from modules.sandbox.provided.tasks import TASK_NAMES, TASKS

_STRING = r"""
    class string:
        pass
    ascii_lowercase = "abcdefghijklmnopqrstuvwxyz"
    ascii_uppercase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    ascii_letters = ascii_lowercase + ascii_uppercase
    digits = "0123456789"
    hexdigits = digits + "abcdef" + "ABCDEF"
    octdigits = "01234567"
    punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    whitespace = " \t\n\r\x0b\x0c"
    printable = digits + ascii_letters + punctuation + whitespace

    def capwords(s, sep=None):
        words = s.split() if sep is None else s.split(sep)
        return (sep or " ").join([word.capitalize() for word in words])
"""

_SOURCES = MappingProxyType(
    {"asyncio": TASKS, "re": PATTERNS, "statistics": STATISTICS, "string": _STRING}
)

PROVIDED_MODULES = MappingProxyType(
    {
        "asyncio": TASK_NAMES,
        "re": PATTERN_NAMES,
        "statistics": STATISTICS_NAMES,
        "string": (
            *("ascii_letters", "ascii_lowercase", "ascii_uppercase", "capwords", "digits"),
            *("hexdigits", "octdigits", "printable", "punctuation", "whitespace"),
        ),
    }
)
"""What each of these modules has."""


def provided_name(module: str) -> str:
    """What the object that stands for a module is called in the sandbox."""
    return f"__provided_{module}__"


def provided_source(module: str, recursion_error: str, door: str) -> str:
    """The Python that makes a provided module, to be fed before a plan that imports it.

    What catches exceptions in it calls `door` for a `recursion_error`, as the guard has it.
    """
    builder = f"__provide_{module}__"
    offer = "".join(f"    module.{name} = {name}\n" for name in PROVIDED_MODULES[module])
    source = _SOURCES[module]
    if module == "asyncio":
        source = source.format(recursion_error=recursion_error, door=door)
    return (
        f"def {builder}():{source}\n"
        f"    module = {module}()\n{offer}    return module\n"
        f"{provided_name(module)} = {builder}()\n"
    )
