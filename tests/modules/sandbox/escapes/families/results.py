"""Results that are not what they seem: whoever writes, compares or copies them runs the plan."""

from tests.modules.sandbox.escapes.attempt import read_family

ATTEMPTS = read_family(
    "tampering with results",
    r"""
#: file | an object whose text is read when it is shown
def solve():
    class Late:
        def __str__(self):
            return open('@FILE@').read()
    return Late()

#: environment | an object whose representation is
def solve():
    class Late:
        def __repr__(self):
            return __import__('os').environ['@VARIABLE@']
    return [Late()]

#: file | a text of another class
def solve():
    class Text(str):
        def __str__(self):
            return open('@FILE@').read()
    return Text('harmless')

#: file | a dict whose items are others
def solve():
    class Late(dict):
        def items(self):
            yield 'a', open('@FILE@').read()
        def __repr__(self):
            return str(list(self.items()))
    return Late(a=1)

#: environment | a list that is made while it is read
def solve():
    class Late(list):
        def __iter__(self):
            yield __import__('os').environ['@VARIABLE@']
        def __repr__(self):
            return str(list(iter(self)))
    return Late([1])

#: process | a number that acts when it is measured
def solve():
    class Number(int):
        def __repr__(self):
            __import__('os').system('touch @MARKER@')
            return '1'
        __str__ = bit_length = __abs__ = __repr__
    return Number(1)

#: file | an object that claims to be a text
def solve():
    class Liar:
        @property
        def __class__(self):
            return str
        def encode(self, *how):
            return open('@FILE@', 'rb').read()
        def __str__(self):
            return self.encode().decode()
    return Liar()

#: file | a key of a dict that reads
def solve():
    class Key(str):
        def __hash__(self):
            return 1
        def __repr__(self):
            return open('@FILE@').read()
        __str__ = __repr__
    return {Key('a'): 1}

#: environment | an error with a text of its own
def solve():
    class Sly(Exception):
        def __str__(self):
            return __import__('os').environ['@VARIABLE@']
    raise Sly

#: file | the text of an error
def solve():
    raise ValueError(open('@FILE@').read())

#: environment | an exit with a message
def solve():
    raise SystemExit(__import__('os').environ['@VARIABLE@'])

#: file | an interruption with a message
def solve():
    raise KeyboardInterrupt(open('@FILE@').read())

#: environment | a class with a name
def solve():
    return type(__import__('os').environ['@VARIABLE@'], (), {})

#: file | a generator that the host would finish
def solve():
    class Rows:
        def __init__(self):
            self.rows = (open(path).read() for path in ['@FILE@'])
        def __str__(self):
            return next(self.rows)
    return Rows()

#: environment | a set whose order asks
def solve():
    class Item:
        def __hash__(self):
            return 1
        def __eq__(self, other):
            return False
        def __lt__(self, other):
            return True
        def __repr__(self):
            return __import__('os').environ['@VARIABLE@']
    return {Item(), Item()}

#: file | type is the plan's own function when solve has ended
async def solve():
    return 'harmless'
def type(value, *rest):
    print(open('@FILE@').read())
    return str
type(1)

#: environment | the plan's outcome is put there before
__outcome__ = __import__('os').environ['@VARIABLE@']
def solve():
    return __outcome__

#: file | solve is a class
class solve:
    def __new__(cls):
        return open('@FILE@').read()

#: file | solve is an object that can be called
class Solver:
    def __call__(self):
        return open('@FILE@').read()
solve = Solver()

#: environment | solve gives something that can be awaited
def solve():
    class Later:
        def __await__(self):
            return __import__('os').environ['@VARIABLE@']
            yield
        def __str__(self):
            return self.__await__.__func__.__globals__['__builtins__']['__import__'](
                'os').environ['@VARIABLE@']
    return Later()

#: environment | printed text with the terminal's own signs
def solve():
    print('\x1b[2J\x1b]0;' + __import__('os').environ['@VARIABLE@'] + '\x07')
    return '\r\x1b[1A'
""",
)
