"""Python that plans find in the sandbox: modules that the interpreter lacks, or has otherwise."""

import re
from types import MappingProxyType

from modules.sandbox.language.exact_statistics import STATISTICS, STATISTICS_NAMES
from modules.sandbox.language.patterns import PATTERN_NAMES, PATTERNS

NEEDS_TASKS = re.compile(
    r"\b(?:create_task|ensure_future|wait_for|return_exceptions|shield|to_thread"
    r"|asyncio\s*\.\s*TimeoutError)\b"
)
"""What a plan writes that the interpreter's own `asyncio` hasn't got."""

TASK_NAMES = (
    *("TimeoutError", "awaited", "create_task", "ended", "ensure_future", "gather", "run"),
    *("shield", "sleep", "to_thread", "wait_for"),
)

TASKS = """
    import asyncio as true
    class asyncio:
        pass
    run, sleep = true.run, true.sleep
    waiting = []

    class Task:
        def __init__(self, call):
            self.call, self.is_done, self.value, self.error = call, False, None, None
            waiting.append(self)

        async def work(self):
            try:
                self.value = await awaited(self.call)
            except {recursion_error}:
                {stop}()
            except Exception as error:
                self.error = error
            self.is_done = True

        def done(self):
            return self.is_done

        def cancelled(self):
            return False

        def cancel(self):
            raise NotImplementedError("tasks can't be cancelled: leave it out")

        def exception(self):
            self.check()
            return self.error

        def result(self):
            self.check()
            if self.error is not None:
                raise self.error
            return self.value

        def check(self):
            if not self.is_done:
                raise NotImplementedError("this task has no result yet: await it where it was made")

    async def begun():
        tasks = waiting[:]
        waiting.clear()
        await true.gather(*[task.work() for task in tasks])

    async def result(task):
        await begun()
        return task.result()

    class Gathered:
        def __init__(self, calls, return_exceptions):
            self.calls, self.return_exceptions = calls, return_exceptions

    async def results(gathered):
        tasks = [call if isinstance(call, Task) else Task(call) for call in gathered.calls]
        await begun()
        if gathered.return_exceptions:
            return [task.value if task.exception() is None else task.error for task in tasks]
        return [task.result() for task in tasks]

    def gather(*calls, return_exceptions=False):
        if return_exceptions or waiting or any([isinstance(call, Task) for call in calls]):
            return Gathered(calls, return_exceptions)
        return true.gather(*calls)

    def awaited(call):
        if isinstance(call, Task):
            return result(call)
        if isinstance(call, Gathered):
            return results(call)
        return result(Task(call)) if waiting else call

    def create_task(call, name=None, context=None):
        return Task(call)

    ensure_future = create_task

    def wait_for(call, timeout=None):
        return call

    def shield(call):
        return call

    async def to_thread(function, *args, **kwargs):
        return function(*args, **kwargs)

    async def ended(outcome):
        tasks = waiting[:]
        await begun()
        for task in tasks:
            task.result()
        return outcome
"""


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


def provided_source(module: str, recursion_error: str, stop: str) -> str:
    """The Python that makes a provided module, to be fed before a plan that imports it.

    What catches exceptions in it calls `stop` for a `recursion_error`, as the guard has it.
    """
    builder = f"__provide_{module}__"
    offer = "".join(f"    module.{name} = {name}\n" for name in PROVIDED_MODULES[module])
    source = _SOURCES[module]
    if module == "asyncio":
        source = source.format(recursion_error=recursion_error, stop=stop)
    return (
        f"def {builder}():{source}\n"
        f"    module = {module}()\n{offer}    return module\n"
        f"{provided_name(module)} = {builder}()\n"
    )
