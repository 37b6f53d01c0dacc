"""Frames of generators, coroutines and tracebacks, and what they know of those that called."""

from tests.modules.sandbox.escapes.attempt import read_family

ATTEMPTS = read_family(
    "frames",
    r"""
#: file | a generator's own frame and its builtins
def solve():
    def walk():
        yield 1
    return walk().gi_frame.f_builtins['open']('@FILE@').read()

#: environment | a running generator looks at who called it
def solve():
    def walk():
        yield generator.gi_frame.f_back
    generator = walk()
    frame = next(generator)
    while frame is not None:
        if 'os' in frame.f_globals:
            return frame.f_globals['os'].environ['@VARIABLE@']
        frame = frame.f_back

#: file | a generator expression's frame
def solve():
    rows = (row for row in (1, 2))
    return rows.gi_frame.f_globals['__builtins__']['open']('@FILE@').read()

#: environment | a coroutine's frame
async def solve():
    async def nothing():
        return 1
    waiting = nothing()
    known = waiting.cr_frame.f_builtins
    waiting.close()
    return known['__import__']('os').environ['@VARIABLE@']

#: file | an asynchronous generator's frame
async def solve():
    async def rows():
        yield 1
    return rows().ag_frame.f_builtins['open']('@FILE@').read()

#: file | a traceback's frame
def solve():
    try:
        1 / 0
    except ZeroDivisionError as error:
        return error.__traceback__.tb_frame.f_builtins['open']('@FILE@').read()

#: environment | the frames above a traceback
def solve():
    try:
        raise ValueError
    except ValueError as error:
        frame = error.__traceback__.tb_frame
        while frame:
            if '__spec__' in frame.f_globals and 'os' in frame.f_globals:
                return frame.f_globals['os'].environ['@VARIABLE@']
            frame = frame.f_back

#: environment | the innermost frame of a library's error
def solve():
    import random
    try:
        random.choice([])
    except IndexError as error:
        last = error.__traceback__
        while last.tb_next:
            last = last.tb_next
        return last.tb_frame.f_globals['_os'].environ['@VARIABLE@']

#: file | an error's context has a traceback too
def solve():
    try:
        try:
            [].missing
        except AttributeError:
            raise KeyError
    except KeyError as error:
        frame = error.__context__.__traceback__.tb_frame
        return frame.f_builtins['open']('@FILE@').read()

#: environment | what an exit method is given
def solve():
    class Guard:
        def __enter__(self):
            return self
        def __exit__(self, kind, error, trace):
            self.load = trace.tb_frame.f_builtins['__import__']
            return True
    guard = Guard()
    with guard:
        raise ValueError
    return guard.load('os').environ['@VARIABLE@']

#: file | an error thrown into a generator comes back with frames
def solve():
    def rows():
        try:
            yield 1
        except ValueError as error:
            yield error.__traceback__.tb_frame.f_builtins
    generator = rows()
    next(generator)
    return generator.throw(ValueError())['open']('@FILE@').read()

#: environment | sys._getframe
def solve():
    import sys
    frame = sys._getframe()
    while frame:
        for thing in list(frame.f_globals.values()):
            if hasattr(thing, 'environ'):
                return thing.environ['@VARIABLE@']
        frame = frame.f_back

#: environment | the inspect module's stack
def solve():
    import inspect
    for entry in inspect.stack():
        if 'os' in entry.frame.f_globals:
            return entry.frame.f_globals['os'].environ['@VARIABLE@']

#: file | walk_stack of the traceback module
def solve():
    import traceback
    for frame, _ in traceback.walk_stack(None):
        return frame.f_builtins['open']('@FILE@').read()

#: file | the stack of the current task
async def solve():
    import asyncio
    async def inner():
        return asyncio.current_task().get_stack()
    frame = (await asyncio.create_task(inner()))[0]
    return frame.f_builtins['open']('@FILE@').read()

#: environment | a trace function is handed every frame
def solve():
    import sys
    import random
    seen = []
    def look(frame, event, argument):
        seen.append(frame.f_globals)
    sys.settrace(look)
    random.seed(1)
    sys.settrace(None)
    return [known for known in seen if '_os' in known][0]['_os'].environ['@VARIABLE@']

#: process | an except* clause takes a class that is none
def solve():
    class Anything(type):
        def __subclasscheck__(self, kind):
            return True
    try:
        raise ExceptionGroup('group', [ValueError(1)])
    except* ValueError as group:
        frame = group.exceptions[0].__traceback__ or group.__traceback__
        known = frame.tb_frame.f_builtins
    known['__import__']('os').system('touch @MARKER@')

#: file | a code object with other names
def solve():
    def read(name):
        return harmless(name)
    code = read.__code__.replace(co_names=tuple(['open']))
    return type(read)(code, read.__globals__)('@FILE@').read()

#: file | a context manager's generator
def solve():
    import contextlib
    @contextlib.contextmanager
    def scope():
        yield 1
    return scope().gen.gi_frame.f_builtins['open']('@FILE@').read()

#: environment | a logger finds its caller
def solve():
    import logging
    frame = logging.currentframe()
    while frame:
        if 'os' in frame.f_globals:
            return frame.f_globals['os'].environ['@VARIABLE@']
        frame = frame.f_back
""",
)
