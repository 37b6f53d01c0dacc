"""Imports in all their forms, and the machinery behind them."""

from tests.modules.sandbox.escapes.attempt import read_family

ATTEMPTS = read_family(
    "imports and import hooks",
    r"""
#: environment | import os
def solve():
    import os
    return os.environ['@VARIABLE@']

#: environment | from os import getenv
def solve():
    from os import getenv as read
    return read('@VARIABLE@')

#: file | from pathlib import Path
from pathlib import Path
def solve():
    return Path('@FILE@').read_text()

#: process | import subprocess
def solve():
    import subprocess
    return subprocess.run(['touch', '@MARKER@'], check=True).returncode

#: socket | import socket
def solve():
    import socket
    with socket.socket() as s:
        s.connect(('127.0.0.1', @PORT@))

#: process | import posix, the module below os
def solve():
    import posix
    return posix.system('touch @MARKER@')

#: socket | import _socket, the module below socket
def solve():
    import _socket
    return str(_socket.socket().connect(('127.0.0.1', @PORT@)))

#: environment | a submodule brings its parent
def solve():
    import os.path as path
    return path.os.environ['@VARIABLE@']

#: environment | from posixpath import os
def solve():
    from posixpath import os as system
    return system.environ['@VARIABLE@']

#: environment | sys.modules
def solve():
    import sys
    return sys.modules['os'].environ['@VARIABLE@']

#: environment | a star import
from os import *
def solve():
    return environ['@VARIABLE@']

#: file | importlib
def solve():
    import importlib
    return importlib.import_module('io').open('@FILE@').read()

#: file | a loader that gives a file's bytes
def solve():
    from importlib.machinery import SourceFileLoader
    return SourceFileLoader('x', '@FILE@').get_data('@FILE@').decode()

#: file | a module that is no Python shows itself in the error
def solve():
    import importlib.util
    spec = importlib.util.spec_from_loader(
        'x', importlib.machinery.SourceFileLoader('x', '@FILE@'))
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        return spec.loader.get_source('x')

#: environment | a finder of the plan's own
def solve():
    import sys
    import importlib.util
    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == 'loot':
                return importlib.util.spec_from_loader(name, Finder)
        @staticmethod
        def create_module(spec):
            return None
        @staticmethod
        def exec_module(module):
            module.text = sys.modules['os'].environ['@VARIABLE@']
    sys.meta_path.insert(0, Finder)
    import loot
    return loot.text

#: process | __import__ put in the builtins
def solve():
    import builtins
    kept = builtins.__import__
    def load(name, *rest):
        return kept('os' if name == 'harmless' else name, *rest)
    builtins.__import__ = load
    import harmless
    return harmless.system('touch @MARKER@')

#: file | a path hook
def solve():
    import sys
    import pkgutil
    sys.path_importer_cache.clear()
    importer = pkgutil.get_importer('@FOLDER@')
    return importer.path and open(importer.path + '/secret.txt').read()

#: environment | the loader of this very module
def solve():
    import math
    loader = math.__spec__.loader
    known = type(loader).__dict__
    bootstrap = [f for f in known.values() if hasattr(f, '__globals__')]
    import importlib._bootstrap_external as external
    return external._os.environ[b'@VARIABLE@'].decode()

#: environment | runpy runs a module and gives its globals
def solve():
    import runpy
    return runpy.run_module('os')['environ']['@VARIABLE@']

#: file | runpy runs a file of the plan's
def solve():
    import runpy
    with open('@FOLDER@/script.py', 'w') as script:
        script.write('text = open("@FILE@").read()')
    return runpy.run_path(script.name)['text']

#: environment | pydoc finds modules by name
def solve():
    import pydoc
    return pydoc.locate('os').environ['@VARIABLE@']

#: environment | pkgutil resolves names
def solve():
    import pkgutil
    return pkgutil.resolve_name('os:environ')['@VARIABLE@']

#: environment | a relative import with a package of the plan's choice
__package__ = 'os'
def solve():
    from importlib import import_module
    known = {'__package__': 'importlib', '__name__': 'importlib.x'}
    module = __import__('', known, {}, ['_bootstrap_external'], 1)
    return module._bootstrap_external._os.environ[b'@VARIABLE@'].decode()

#: environment | an import hidden in a try of many
def solve():
    for name in ('nt', 'ntpath', 'os', 'posix'):
        try:
            module = __import__(name)
            return module.environ['@VARIABLE@']
        except (ImportError, AttributeError, KeyError):
            continue

#: environment | an import that is reloaded
def solve():
    import importlib
    import random
    try:
        importlib.reload(random)
    except OSError:
        pass
    return random._os.environ['@VARIABLE@']

#: process | a lazy import in a comprehension
def solve():
    return [m.system('touch @MARKER@') for m in [__import__('os')]]
""",
)
