"""Calls that happen by themselves: descriptors, metaclasses, operators, protocols."""

from tests.modules.sandbox.escapes.attempt import read_family

ATTEMPTS = read_family(
    "descriptors and metaclasses",
    r"""
#: file | subscripting a class evaluates
def solve():
    class Run:
        __class_getitem__ = eval
    return Run['open("@FILE@").read()']

#: file | an operator is eval
def solve():
    class Run(type):
        __sub__ = lambda kind, text: eval(text)
    class Text(metaclass=Run):
        pass
    return Text - 'open("@FILE@").read()'

#: environment | a metaclass that looks names up
def solve():
    class Names(type):
        def __getattr__(cls, name):
            return __import__(name)
    class Modules(metaclass=Names):
        pass
    return Modules.os.environ['@VARIABLE@']

#: file | a metaclass prepares the body's names
def solve():
    class Names(dict):
        def __missing__(self, name):
            if name == 'loot':
                return open('@FILE@').read()
            raise KeyError(name)
    class Made(type):
        @classmethod
        def __prepare__(mcs, name, bases):
            return Names()
    class Body(metaclass=Made):
        text = loot
    return Body.text

#: environment | __set_name__ is called when the class is made
def solve():
    found = []
    class Field:
        def __set_name__(self, owner, name):
            found.append(__import__('os').environ['@VARIABLE@'])
    class Owner:
        field = Field()
    return found[0]

#: file | __init_subclass__
def solve():
    class Base:
        def __init_subclass__(cls, path):
            cls.text = open(path).read()
    class Sub(Base, path='@FILE@'):
        pass
    return Sub.text

#: process | __mro_entries__
def solve():
    class Entry:
        def __mro_entries__(self, bases):
            __import__('os').system('touch @MARKER@')
            return ()
    class Sub(Entry()):
        pass

#: file | a data descriptor that is open
def solve():
    class Reader:
        def __get__(self, thing, kind):
            return open('@FILE@').read()
    class Holder:
        text = Reader()
    return Holder.text

#: environment | a property of eval
def solve():
    class Holder(str):
        value = property(eval)
    return Holder('__import__("os").environ["@VARIABLE@"]').value

#: file | __instancecheck__
def solve():
    found = []
    class Check(type):
        def __instancecheck__(cls, path):
            found.append(open(path).read())
            return True
    class Any(metaclass=Check):
        pass
    isinstance('@FILE@', Any)
    return found[0]

#: file | entering a with statement
def solve():
    class Scope:
        def __enter__(self):
            return open('@FILE@')
        def __exit__(self, *error):
            return True
    with Scope() as file:
        return file.read()

#: environment | __del__ runs when nobody looks
def solve():
    found = []
    class Last:
        def __del__(self):
            found.append(__import__('os').environ['@VARIABLE@'])
    Last()
    return found[0]

#: process | a finaliser is called with arguments
def solve():
    import os
    import weakref
    class Thing:
        pass
    weakref.finalize(Thing(), os.system, 'touch @MARKER@')

#: process | what is registered for the exit
def solve():
    import atexit
    import os
    atexit.register(os.system, 'touch @MARKER@')
    atexit._run_exitfuncs()

#: process | an exit stack calls back
def solve():
    import contextlib
    import os
    with contextlib.ExitStack() as stack:
        stack.callback(os.system, 'touch @MARKER@')

#: file | comparing, hashing and sorting call back
def solve():
    found = []
    class Key:
        def __hash__(self):
            return 1
        def __eq__(self, other):
            found.append(open('@FILE@').read())
            return True
    {Key(): 1, Key(): 2}
    return found[0]

#: file | an index is asked for a number
def solve():
    found = []
    class Number:
        def __index__(self):
            found.append(open('@FILE@').read())
            return 0
    [1][Number()]
    return found[0]

#: file | an object becomes one of another class
def solve():
    class Plain:
        pass
    class Reader:
        def __call__(self):
            return open('@FILE@').read()
    thing = Plain()
    thing.__class__ = Reader
    return thing()

#: environment | bases are exchanged
def solve():
    class A:
        pass
    class B:
        def read(self):
            return __import__('os').environ['@VARIABLE@']
    class C(A):
        pass
    C.__bases__ = (B,)
    return C().read()

#: file | super finds the function's globals
def solve():
    class Base:
        def read(self):
            return 1
    class Sub(Base):
        def read(self):
            return super().read.__func__.__globals__['__builtins__']['open']('@FILE@').read()
    return Sub().read()

#: environment | a partial keeps the function
def solve():
    import functools
    load = functools.partial(__import__)
    return load.func('os').environ['@VARIABLE@']

#: file | unpacking and iterating call back
def solve():
    class Rows:
        def __iter__(self):
            return iter([open('@FILE@').read()])
    (text,) = Rows()
    return text
""",
)
