"""Text formatting that walks attributes by itself, or hands live objects to a plan's own class."""

from tests.modules.sandbox.escapes.attempt import read_family

ATTEMPTS = read_family(
    "format-string walks",
    r"""
#: environment | str.format over a module's attributes
def solve():
    import random
    return '{0._os.environ[@VARIABLE@]}'.format(random)

#: environment | str.format by keyword through a function's globals
def solve():
    import random
    return '{f.__func__.__globals__[_os].environ[@VARIABLE@]}'.format(f=random.seed)

#: environment | format_map with a mapping of modules
def solve():
    import re
    return '{re.enum.sys.modules[os].environ[@VARIABLE@]}'.format_map({'re': re})

#: environment | the unbound str.format, mapped
def solve():
    import re
    return list(map(str.format, ['{0.enum.sys.modules[os].environ[@VARIABLE@]}'], [re]))[0]

#: environment | the format text is put together, the method's name too
def solve():
    import json
    text = '{0.code' + 'cs.sys.modu' + 'les[os].envi' + 'ron[@VARIABLE@]}'
    return getattr(text, 'for' + 'mat')(json)

#: environment | a Formatter hands the object over
def solve():
    import string
    import re
    module, _ = string.Formatter().get_field('0.enum.sys.modules[os]', (re,), {})
    return module.environ['@VARIABLE@']

#: environment | vformat of a Formatter
def solve():
    import string
    import random
    return string.Formatter().vformat('{0._os.environ[@VARIABLE@]}', (random,), {})

#: file | a Formatter of the plan's own keeps what it is given
def solve():
    import string
    kept = []
    class Keeper(string.Formatter):
        def format_field(self, value, spec):
            kept.append(value)
            return ''
    Keeper().format('{0.__globals__[__builtins__]}', solve)
    return kept[0]['open']('@FILE@').read()

#: environment | percent formatting with a mapping of the plan's own
def solve():
    class Walk:
        def __getitem__(self, name):
            thing = solve
            for part in name.split('.'):
                if part.startswith('#'):
                    thing = thing[part[1:]]
                else:
                    thing = getattr(thing, part)
            return thing
    name = '__globals__.#__builtins__.#__import__'
    load = Walk()[name]
    class Environment:
        def __getitem__(self, name):
            return load('os').environ[name]
    return '%(@VARIABLE@)s' % Environment()

#: environment | a log record's format in braces
def solve():
    import logging
    import random
    record = logging.makeLogRecord({'it': random})
    return logging.Formatter('{it._os.environ[@VARIABLE@]}', style='{').format(record)

#: file | an object's own __format__ runs where the text is made
def solve():
    class Reader:
        def __format__(self, spec):
            return open(spec).read()
    return f'{Reader():@FILE@}'

#: environment | a template's mapping
def solve():
    import string
    class Environment:
        def __getitem__(self, name):
            return __import__('os').environ[name]
    return string.Template('$@VARIABLE@').substitute(Environment())

#: environment | a nested field gives the name of the next
def solve():
    import random
    name = '@VARIABLE@'
    walk = '{0._os.environ[{1}]}'.replace('{1}', name)
    return f'{walk}'.format(random)

#: environment | the error of a failed format carries the object
def solve():
    import re
    try:
        '{0.enum.sys.modules[os].no_such_thing}'.format(re)
    except AttributeError as error:
        return error.obj.environ['@VARIABLE@']

#: environment | an indexed walk through all subclasses
def solve():
    kinds = ().__class__.__base__.__subclasses__()
    for position in range(len(kinds)):
        walk = '{0[%d].__init__.__globals__[environ][@VARIABLE@]}' % position
        try:
            return walk.format(kinds)
        except (AttributeError, KeyError, TypeError):
            pass

#: environment | a namespace that formats itself
def solve():
    import types
    import os.path
    box = types.SimpleNamespace(p=os.path)
    return '{0.p.os.environ[@VARIABLE@]}'.format(box)
""",
)
