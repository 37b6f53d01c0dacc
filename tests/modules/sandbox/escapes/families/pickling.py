"""Copying and reading back: protocols that name a function to call."""

from tests.modules.sandbox.escapes.attempt import read_family

ATTEMPTS = read_family(
    "pickling",
    r"""
#: process | a pickle that names posix.system
def solve():
    import pickle
    return pickle.loads(b"cposix\nsystem\n(S'touch @MARKER@'\ntR.")

#: environment | a pickle of protocol 4
def solve():
    import pickle
    data = b'\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c' + bytes([len(CODE)]) + CODE + b'\x85R.'
    return pickle.loads(data)
CODE = b'__import__("os").environ["@VARIABLE@"]'

#: file | an object that pickles as a call of open
def solve():
    import pickle
    class Loot:
        def __reduce__(self):
            return (eval, ('open("@FILE@").read()',))
    return pickle.loads(pickle.dumps(Loot()))

#: file | copying an object calls what it names
def solve():
    import copy
    class Loot:
        def __reduce_ex__(self, protocol):
            return (open, ('@FILE@',))
    return copy.copy(Loot()).read()

#: environment | a deep copy calls what it names
def solve():
    import copy
    class Loot:
        def __deepcopy__(self, known):
            return __import__('os').environ['@VARIABLE@']
    return copy.deepcopy([Loot()])[0]

#: file | the Python version of the unpickler
def solve():
    import io
    import pickle
    reader = pickle._Unpickler(io.BytesIO(b''))
    return reader.find_class('builtins', 'open')('@FILE@').read()

#: environment | a finder of classes that takes dots
def solve():
    import pickle
    data = b'\x80\x04\x8c\x06random\x8c\x0c_os.environb\x93.'
    return pickle.loads(data)[b'@VARIABLE@'].decode()

#: file | a dispatch table for the copier
def solve():
    import copy
    import copyreg
    class Loot:
        pass
    copyreg.pickle(Loot, lambda thing: (open, ('@FILE@',)))
    return copy.copy(Loot()).read()

#: file | JSON objects go through a hook
def solve():
    import json
    return json.loads('{"path": "@FILE@"}', object_hook=lambda o: open(o['path']).read())

#: environment | JSON numbers go through eval
def solve():
    import json
    code = '__import__("os").environ["@VARIABLE@"]'
    return json.loads('1.5', parse_float=lambda text: eval(code))

#: file | what JSON doesn't know goes through a hook
def solve():
    import json
    return json.dumps({'@FILE@'}, default=lambda paths: open(*paths).read())

#: process | a logging configuration names a factory
def solve():
    import logging.config
    logging.config.dictConfig({
        'version': 1,
        'formatters': {'loot': {'()': 'os.system', 'command': 'touch @MARKER@'}},
    })

#: process | a shelf
def solve():
    import pickle
    import shelve
    shelf = shelve.Shelf({b'x': b"cos\nsystem\n(S'touch @MARKER@'\ntR."})
    return shelf['x']

#: environment | an enumeration of functions
def solve():
    import enum
    class Loot(enum.Enum):
        def _generate_next_value_(name, start, count, last):
            return __import__('os').environ['@VARIABLE@']
        A = enum.auto()
    return Loot.A.value

#: file | a message between processes
def solve():
    from multiprocessing.reduction import ForkingPickler
    class Loot:
        def __reduce__(self):
            return (eval, ('open("@FILE@").read()',))
    return ForkingPickler.loads(ForkingPickler.dumps(Loot()))
""",
)
