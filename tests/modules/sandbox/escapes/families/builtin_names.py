"""Built-in functions, called plainly or without looking like a call."""

from tests.modules.sandbox.escapes.attempt import read_family

ATTEMPTS = read_family(
    "builtins",
    r"""
#: file | open
def solve():
    return open('@FILE@').read()

#: environment | eval
def solve():
    return eval('__import__("os").environ["@VARIABLE@"]')

#: file | exec
def solve():
    found = {}
    exec('text = open("@FILE@").read()', found)
    return found['text']

#: file | compile, and a function of its code
def solve():
    code = compile('open("@FILE@").read()', 'x', 'eval')
    return eval(code)

#: process | __import__
def solve():
    return __import__('os').system('touch @MARKER@')

#: socket | __import__ by another name
def solve():
    load = __import__
    s = load('sock' + 'et')
    return s.socket().connect(('127.0.0.1', @PORT@))

#: file | __builtins__ as a dict or a module
def solve():
    known = __builtins__
    if type(known).__name__ != 'dict':
        known = known.__dict__
    return known['open']('@FILE@').read()

#: file | globals
def solve():
    return globals()['__builtins__']['open']('@FILE@').read()

#: file | vars of the module of print
def solve():
    return vars(print.__self__)['op' + 'en']('@FILE@').read()

#: environment | dir and getattr
def solve():
    module = __import__([name for name in ['sy', 'os'] if len(name) == 2][1])
    for name in dir(module):
        if name.startswith('envi') and not name.endswith('b'):
            return getattr(module, name)['@VARIABLE@']

#: file | map calls for us
def solve():
    return next(map(open, ['@FILE@'])).read()

#: environment | sorted calls for us
def solve():
    seen = []
    class Low:
        pass
    sorted(['seen.append(__import__("os").environ["@VARIABLE@"])'],
           key=lambda text: eval(text, {'seen': seen}))
    return seen[0]

#: file | max and its key
def solve():
    found = []
    max(['found.append(open("@FILE@").read())'] * 2, key=lambda t: exec(t, {'found': found}) or 0)
    return found[0]

#: file | a decorator is a call without brackets
def solve():
    path = lambda kind: '@FILE@'
    @list
    @open
    @path
    class Text:
        pass
    return Text[0]

#: environment | decorators that import and look up
def solve():
    @eval
    @str
    @(lambda kind: '__import__("os").environ["@VARIABLE@"]')
    class Found:
        pass
    return Found

#: file | a default value is evaluated when defined
def solve(text=open('@FILE@').read()):
    return text

#: file | the body of a class is run when defined
class Found:
    text = open('@FILE@').read()
def solve():
    return Found.text

#: environment | the top level of the plan runs before solve
import os
found = os.environ['@VARIABLE@']
def solve():
    return found

#: file | an annotation is evaluated when defined
def solve(x: open('@FILE@').read() = 1):
    return solve.__annotations__['x']

#: file | the interpreter's licence printer reads any file
def solve():
    printer = copyright
    printer._Printer__filenames = ['@FILE@']
    printer._Printer__lines = None
    printer._Printer__data = ''
    printer._Printer__setup()
    return printer._Printer__lines[0]

#: environment | the globals of exit
def solve():
    known = exit.__class__.__init__.__globals__
    return known['sys'].modules['os'].environ['@VARIABLE@']

#: file | print with a file of another descriptor
def solve():
    import io
    print('', file=io.StringIO(), flush=True)
    number = __import__('os').open('@FILE@', 0)
    return open(number, closefd=False).read()

#: file | iter over a reader, and a starred call
def solve():
    return ''.join(iter(open(*['@FILE@'], **{'encoding': 'utf-8'}).read, ''))

#: file | input reads another standard input
def solve():
    import sys
    sys.stdin = open('@FILE@')
    return input()

#: process | the hook of breakpoint
def solve():
    import os
    import sys
    sys.breakpointhook = os.system
    return breakpoint('touch @MARKER@')

#: process | __build_class__ of a function
def solve():
    def body():
        __import__('os').system('touch @MARKER@')
    return getattr(print.__self__, '__build_class__')(body, 'Any') and 1

#: file | type with three arguments
def solve():
    kind = type('Reader', (), {'read': lambda self: open('@FILE@').read()})
    return kind().read()
""",
)
