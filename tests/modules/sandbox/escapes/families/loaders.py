"""Codecs that hide a text from filters, and loaders that turn bytes into code."""

from tests.modules.sandbox.escapes.attempt import read_family

ATTEMPTS = read_family(
    "codecs and loaders",
    r"""
#: file | codecs.open
def solve():
    import codecs
    return codecs.open('@FILE@', encoding='utf-8').read()

#: environment | eval of a text in rot13
def solve():
    import codecs
    name = '@VARIABLE@'
    return eval(codecs.decode('__vzcbeg__("bf").raiveba[anzr]', 'rot13'), {'name': name})

#: environment | eval of a text in base64
def solve():
    import base64
    text = base64.b64decode('X19pbXBvcnRfXygib3MiKS5lbnZpcm9uW25hbWVd').decode()
    return eval(text, {'name': '@VARIABLE@'})

#: file | a source text in UTF-7
def solve():
    found = {}
    source = b'# coding: utf-7\ntext+AD0-open+ACg-path+ACk.read+ACgAKQ-\n'
    exec(compile(source, 'x', 'exec'), {'path': '@FILE@'}, found)
    return found['text']

#: file | a source text in escapes
def solve():
    found = {}
    source = b'# coding: unicode_escape\n\\x74ext = \\x6fpen(path).read()\n'
    exec(compile(source, 'x', 'exec'), {'path': '@FILE@'}, found)
    return found['text']

#: file | a codec of the plan's own
def solve():
    import codecs
    found = []
    def search(name):
        if name == 'loot':
            def decode(data, errors='strict'):
                return open('@FILE@').read(), len(data)
            return codecs.CodecInfo(decode, decode, name='loot')
    codecs.register(search)
    return b'x'.decode('loot')

#: file | an error handler of the plan's own
def solve():
    import codecs
    codecs.register_error('loot', lambda error: (open('@FILE@').read(), error.end))
    return b'\xff'.decode('ascii', 'loot')

#: file | code through marshal
def solve():
    import marshal
    import types
    code = marshal.loads(marshal.dumps(compile('open(path).read()', 'x', 'eval')))
    return types.FunctionType(code, {'path': '@FILE@', '__builtins__': __builtins__})()

#: environment | a code object made by hand
def solve():
    def read():
        return 1
    kind = type(read.__code__)
    code = compile('__import__("os").environ[name]', 'x', 'eval')
    made = code.replace(co_name='read', co_filename='<plan>')
    return type(read)(made, {'name': '@VARIABLE@'})()

#: environment | ast compiled after it was changed
def solve():
    import ast
    tree = ast.parse('len("os").harmless["@VARIABLE@"]', mode='eval')
    tree.body.value.value.func.id = '__import__'
    tree.body.value.attr = 'environ'
    return eval(compile(tree, 'x', 'eval'))

#: file | a text from numbers
def solve():
    text = ''.join(map(chr, [111, 112, 101, 110]))
    return getattr(print.__self__, text)('@FILE@').read()

#: file | a text from bytes and bits
def solve():
    name = (0x6E65706F).to_bytes(4, 'little').decode()
    return print.__self__.__dict__[name]('@FILE@').read()

#: environment | a module read from a zip archive
def solve():
    import sys
    import zipfile
    path = '@FOLDER@/loot.zip'
    with zipfile.ZipFile(path, 'w') as archive:
        archive.writestr('loot_in_zip.py', 'import os; text = os.environ["@VARIABLE@"]')
    sys.path.insert(0, path)
    import loot_in_zip
    return loot_in_zip.text

#: file | a module from a file that the plan wrote
def solve():
    import importlib.util
    path = '@FOLDER@/loot.py'
    with open(path, 'w') as file:
        file.write('text = open("@FILE@").read()')
    spec = importlib.util.spec_from_file_location('loot', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.text

#: environment | a module made of nothing
def solve():
    import types
    module = types.ModuleType('loot')
    exec('import os; text = os.environ["@VARIABLE@"]', module.__dict__)
    return module.text

#: process | a script's main module is run
def solve():
    import runpy
    path = '@FOLDER@/__main__.py'
    with open(path, 'w') as file:
        file.write('import os; os.system("touch @MARKER@")')
    runpy.run_path(path, run_name='__main__')

#: process | a library for the loader of extensions
def solve():
    import ctypes
    import ctypes.util
    return ctypes.PyDLL(None).PyRun_SimpleString(b'import os; os.system("touch @MARKER@")')
""",
)
