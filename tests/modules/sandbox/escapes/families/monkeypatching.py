"""Offered objects exchanged under the hands of those who use them later."""

from tests.modules.sandbox.escapes.attempt import read_family

ATTEMPTS = read_family(
    "monkeypatching",
    r"""
#: file | another code in a library's function
def solve():
    import re
    re.purge.__code__ = (lambda: enum.bltns.open('@FILE@').read()).__code__
    return re.purge()

#: environment | another code, with the library's globals
def solve():
    import random
    def read(self, *given):
        return _os.environ['@VARIABLE@']
    random.Random.choice.__code__ = read.__code__
    return random.choice([1])

#: environment | sys.modules gives another module
def solve():
    import sys
    sys.modules['json'] = sys.modules['os']
    import json
    return json.environ['@VARIABLE@']

#: file | a module of another class
def solve():
    import json
    class Sly(type(json)):
        def __getattr__(self, name):
            return open('@FILE@').read()
    json.__class__ = Sly
    return json.nothing_of_that_name

#: file | the encoder that the host will use
def solve():
    import json
    def default(self, value):
        return open('@FILE@').read()
    json.JSONEncoder.default = default
    return json.dumps({1, 2})

#: environment | json.dumps itself
def solve():
    import json
    kept = json.dumps
    json.dumps = lambda *given, **named: __import__('os').environ['@VARIABLE@']
    return {'a': 1}

#: file | json.loads is eval
def solve():
    import json
    json.loads = eval
    return json.loads('open("@FILE@").read()')

#: file | str in the builtins
def solve():
    import builtins
    builtins.str = lambda value: open('@FILE@').read()
    return 1

#: environment | print in the builtins
def solve():
    import builtins
    import sys
    builtins.print = lambda *words: sys.stdout.write(__import__('os').environ['@VARIABLE@'])
    print('harmless')

#: environment | standard output
def solve():
    import sys
    class Tee:
        def __init__(self, to):
            self.to = to
        def write(self, text):
            return self.to.write(text + __import__('os').environ['@VARIABLE@'])
        def flush(self):
            pass
    sys.stdout = Tee(sys.stdout)
    print('x')

#: file | the hook for unhandled errors
def solve():
    import sys
    found = []
    sys.unraisablehook = lambda what: found.append(open('@FILE@').read())
    class Bad:
        def __del__(self):
            raise ValueError
    Bad()
    return found[0]

#: file | defaults of a library's function
def solve():
    import json
    json.dumps.__kwdefaults__['default'] = lambda value: open('@FILE@').read()
    return json.dumps({1})

#: environment | a built-in type's table, found by the collector
def solve():
    import gc
    table = gc.get_referents(str.__dict__)[0]
    table['loot'] = lambda name: __import__('os').environ[name]
    import ctypes
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(str))
    return '@VARIABLE@'.loot()

#: process | a signal's handler
def solve():
    import os
    import signal
    signal.signal(signal.SIGUSR1, lambda *given: os.system('touch @MARKER@'))
    signal.raise_signal(signal.SIGUSR1)

#: environment | math's function is exchanged for import
def solve():
    import math
    math.sqrt = __import__
    return math.sqrt('os').environ['@VARIABLE@']

#: file | a class that all numbers claim to be
def solve():
    import numbers
    found = []
    class Sly(numbers.Number):
        @classmethod
        def __subclasshook__(cls, kind):
            found.append(open('@FILE@').read())
            return True
    isinstance('x', Sly)
    return found[0]

#: environment | the running loop's exception handler
async def solve():
    import asyncio
    found = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(
        lambda where, what: found.append(__import__('os').environ['@VARIABLE@']))
    loop.call_exception_handler({'message': 'x'})
    return found[0]

#: file | a warning shown by another function
def solve():
    import warnings
    found = []
    warnings.showwarning = lambda *given, **named: found.append(open('@FILE@').read())
    warnings.simplefilter('always')
    warnings.warn('x')
    return found[0]
""",
)
