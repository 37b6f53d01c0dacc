"""What offered modules carry along: the modules that they themselves import."""

from tests.modules.sandbox.escapes.attempt import read_family

ATTEMPTS = read_family(
    "module attributes",
    r"""
#: file | json.codecs.open
def solve():
    import json
    return json.codecs.open('@FILE@', encoding='utf-8').read()

#: file | json.codecs.builtins
def solve():
    import json
    return json.codecs.builtins.open('@FILE@').read()

#: environment | json.decoder.scanner.re.enum.sys
def solve():
    import json
    return json.decoder.scanner.re.enum.sys.modules['os'].environ['@VARIABLE@']

#: environment | re.enum.sys
def solve():
    import re
    return re.enum.sys.modules['os'].environ['@VARIABLE@']

#: file | re.enum.bltns
def solve():
    import re
    return re.enum.bltns.open('@FILE@').read()

#: environment | re.copyreg.__builtins__
def solve():
    import re
    return re.copyreg.__builtins__['__import__']('os').environ['@VARIABLE@']

#: process | math.__loader__
def solve():
    import math
    import itertools
    for module in (math, itertools):
        loader = module.__loader__
        if hasattr(loader, 'load_module') and hasattr(loader, 'create_module'):
            try:
                return loader.load_module('posix').system('touch @MARKER@')
            except ImportError:
                pass

#: process | itertools.__spec__.loader
def solve():
    import itertools
    return itertools.__spec__.loader.load_module('posix').system('touch @MARKER@')

#: environment | datetime.sys
def solve():
    import datetime
    known = datetime.sys if hasattr(datetime, 'sys') else datetime.datetime_CAPI
    return known.modules['os'].environ['@VARIABLE@']

#: environment | _strptime below datetime
def solve():
    import datetime
    datetime.datetime.strptime('2026', '%Y')
    import _strptime
    return _strptime.locale.sys.modules['os'].environ['@VARIABLE@']

#: environment | collections._sys
def solve():
    import collections
    return collections._sys.modules['os'].environ['@VARIABLE@']

#: environment | collections.abc is another module
def solve():
    import collections.abc
    import _collections_abc
    return _collections_abc.sys.modules['os'].environ['@VARIABLE@']

#: environment | random._os
def solve():
    import random
    return random._os.environ['@VARIABLE@']

#: environment | random._inst
def solve():
    import random
    known = random._inst.__class__.seed.__globals__
    return known['_os'].environ['@VARIABLE@']

#: process | asyncio.subprocess
async def solve():
    import asyncio
    process = await asyncio.create_subprocess_exec('touch', '@MARKER@')
    return await process.wait()

#: process | asyncio.base_events.subprocess
def solve():
    import asyncio
    return asyncio.base_events.subprocess.call(['touch', '@MARKER@'])

#: socket | asyncio.base_events.socket
def solve():
    import asyncio
    s = asyncio.base_events.socket.socket()
    return str(s.connect(('127.0.0.1', @PORT@)))

#: environment | asyncio.base_events.os
def solve():
    import asyncio
    return asyncio.base_events.os.environ['@VARIABLE@']

#: environment | statistics.random
def solve():
    import statistics
    return statistics.random._os.environ['@VARIABLE@']

#: environment | string._re.enum
def solve():
    import string
    return string._re.enum.sys.modules['os'].environ['@VARIABLE@']

#: environment | typing.sys
def solve():
    import typing
    return typing.sys.modules['os'].environ['@VARIABLE@']

#: file | dataclasses.builtins
def solve():
    import dataclasses
    return dataclasses.builtins.open('@FILE@').read()

#: environment | dataclasses.inspect
def solve():
    import dataclasses
    return dataclasses.inspect.os.environ['@VARIABLE@']

#: file | csv.io
def solve():
    import csv
    known = csv.io if hasattr(csv, 'io') else csv.re.enum.sys.modules['io']
    return known.open('@FILE@').read()

#: environment | functools.reduce beside its globals
def solve():
    import functools
    known = functools.wraps.__globals__['__builtins__']
    return known['__import__']('os').environ['@VARIABLE@']

#: environment | copy.deepcopy's globals
def solve():
    import copy
    known = copy.deepcopy.__globals__['__builtins__']
    return known['__import__']('os').environ['@VARIABLE@']

#: environment | decimal's numbers
def solve():
    import decimal
    import numbers
    known = numbers.Number.__hash__
    return decimal.__builtins__['__import__']('os').environ['@VARIABLE@']

#: file | base64's own program
def solve():
    import base64
    found = []
    class Out:
        def write(self, data):
            found.append(data)
    base64.encode(base64.main.__globals__['__builtins__']['open']('@FILE@', 'rb'), Out())
    return base64.b64decode(b''.join(found)).decode()

#: file | hashlib reads files for digests
def solve():
    import hashlib
    known = hashlib.__get_builtin_constructor.__globals__['__builtins__']
    return known['open']('@FILE@').read()

#: environment | heapq and bisect
def solve():
    import bisect
    import heapq
    for module in (bisect, heapq):
        known = module.__builtins__
        return known['__import__']('os').environ['@VARIABLE@']

#: environment | calendar, pprint and enum know sys
def solve():
    import pprint
    return pprint._sys.modules['os'].environ['@VARIABLE@']

#: environment | contextlib.os
def solve():
    import contextlib
    return contextlib.os.environ['@VARIABLE@']

#: process | queue.threading, logging.os
def solve():
    import logging
    return logging.os.system('touch @MARKER@')

#: process | webbrowser.subprocess
def solve():
    import webbrowser
    return webbrowser.subprocess.call(['touch', '@MARKER@'])
""",
)
