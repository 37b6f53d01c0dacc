"""Walks from a harmless value to the interpreter's own modules, attribute by attribute."""

from tests.modules.sandbox.escapes.attempt import read_family

ATTEMPTS = read_family(
    "attribute walks",
    r"""
#: file | a loader among the subclasses of object
def solve():
    for kind in ().__class__.__base__.__subclasses__():
        if kind.__name__ == 'FileLoader':
            return kind('x', '@FILE@').get_data('@FILE@').decode()

#: environment | the globals of os._wrap_close
def solve():
    for kind in [].__class__.__mro__[-1].__subclasses__():
        if kind.__name__ == '_wrap_close':
            return kind.__init__.__globals__['environ']['@VARIABLE@']

#: process | any class whose __init__ knows sys
def solve():
    for kind in ''.__class__.__mro__[1].__subclasses__():
        start = getattr(kind, '__init__', None)
        known = getattr(start, '__globals__', {})
        if 'sys' in known and 'os' in known['sys'].modules:
            return known['sys'].modules['os'].system('touch @MARKER@')

#: socket | the import function in the builtins of a warnings class
def solve():
    for kind in {}.__class__.__base__.__subclasses__():
        if kind.__name__ == 'catch_warnings':
            load = kind()._module.__builtins__['__import__']
            return load('socket').create_connection(('127.0.0.1', @PORT@), 2)

#: process | the importer of built-in modules
def solve():
    for kind in (0).__class__.__base__.__subclasses__():
        if kind.__name__ == 'BuiltinImporter':
            return kind.load_module('posix').system('touch @MARKER@')

#: file | a built-in function's module
def solve():
    return print.__self__.open('@FILE@').read()

#: file | a function's globals
def solve():
    return solve.__globals__['__builtins__']['open']('@FILE@').read()

#: file | a lambda's builtins
def solve():
    return (lambda: 0).__builtins__['open']('@FILE@').read()

#: environment | the function that copies objects
def solve():
    known = ().__reduce_ex__(2)[0].__globals__['__builtins__']
    return known['__import__']('os').environ['@VARIABLE@']

#: file | names put together
def solve():
    base = getattr(getattr((), '__cl' + 'ass__'), '__ba' + 'se__')
    for kind in getattr(base, '__subcl' + 'asses__')():
        if getattr(kind, '__na' + 'me__') == 'FileIO'[::-1][::-1] or kind.__name__ == '_IOBase':
            for low in kind.__subclasses__():
                for one in low.__subclasses__():
                    if one.__name__ == 'FileIO':
                        return one('@FILE@').read().decode()

#: environment | names spelt backwards and in hex
def solve():
    get = lambda thing, name: getattr(thing, name[::-1])
    kinds = get(get((), '__ssalc__'), '__esab__')
    for kind in getattr(kinds, '\x5f\x5fsubclasses\x5f\x5f')():
        if get(kind, '__eman__') == '_wrap_close':
            known = get(get(kind, '__tini__'), '__slabolg__')
            return known['environ']['@VARIABLE@']

#: file | attributes asked of object itself
def solve():
    look = object.__getattribute__
    kinds = type.__subclasses__(look(look((), '__class__'), '__class__').mro(tuple)[-1])
    return [k for k in kinds if k.__name__ == 'FileLoader'][0]('x', '@FILE@').get_data(
        '@FILE@').decode()

#: file | a class pattern looks attributes up without a dot
def solve():
    match ():
        case object(__class__=kind):
            match kind:
                case object(__base__=base):
                    for one in type.__subclasses__(base):
                        match one:
                            case object(__name__='FileLoader', get_data=read):
                                return read(one('x', '@FILE@'), '@FILE@').decode()

#: file | a pattern that captures a function's globals
def solve():
    match solve:
        case object(__globals__={'__builtins__': {'open': read}}):
            return read('@FILE@').read()

#: environment | an AttributeError gives the object back
def solve():
    try:
        solve.nothing_of_that_name
    except AttributeError as error:
        known = getattr(error, 'obj').__globals__['__builtins__']
        return known['__import__']('os').environ['@VARIABLE@']

#: process | getattr folded over a list of names
def solve():
    import functools
    names = ['__class__', '__base__']
    base = functools.reduce(getattr, names, ())
    kinds = [k for k in base.__subclasses__() if k.__name__ == '_wrap_close']
    return functools.reduce(getattr, ['__init__', '__globals__'], kinds[0])['system'](
        'touch @MARKER@')

#: environment | operator.attrgetter with dots
def solve():
    import operator
    kinds = operator.attrgetter('__class__.__base__.__subclasses__')(())()
    for kind in kinds:
        if kind.__name__ == '_wrap_close':
            return operator.attrgetter('__init__.__globals__')(kind)['environ']['@VARIABLE@']

#: file | a method's function, a closure's cell
def solve():
    opener = print.__self__.open
    def keep():
        return opener
    class Box:
        def method(self):
            return keep.__closure__[0].cell_contents
    return Box().method.__func__(None)('@FILE@').read()

#: environment | operator.methodcaller on a class
def solve():
    import operator
    kinds = operator.methodcaller('__subclasses__')(type(1).__base__)
    for kind in kinds:
        if kind.__name__ == 'Quitter' or kind.__name__ == '_wrap_close':
            known = kind.__init__.__globals__
            if 'environ' in known:
                return known['environ']['@VARIABLE@']
            return known['os'].environ['@VARIABLE@']

#: file | vars of a type instead of attributes
def solve():
    find = vars(type)['__subclasses__']
    for kind in find(vars(type)['__base__'].__get__(tuple)):
        if vars(type)['__name__'].__get__(kind) == 'FileLoader':
            return vars(kind)['get_data'](kind('x', '@FILE@'), '@FILE@').decode()

#: environment | the collector knows what a function refers to
def solve():
    import gc
    for thing in gc.get_referents(solve):
        if type(thing).__name__ == 'dict' and '__builtins__' in thing:
            return thing['__builtins__']['__import__']('os').environ['@VARIABLE@']

#: file | augmented walk in a chain of walrus and subscripts
def solve():
    return (base := ().__class__.__base__) and [
        found('x', '@FILE@').get_data('@FILE@').decode()
        for found in base.__subclasses__()
        if 'FileLoader' in f'{found}' and 'get_data' in found.__dict__
    ][0]
""",
)
