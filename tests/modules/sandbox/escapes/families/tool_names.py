"""Tools that were not given, called by names that might be taken for others.

Runners offer `math.add` and `math.echo` and know of `files.read_secret(path)`,
`host.read_variable(name)`, `net.connect(port)` and `shell.run(command)`, which would do it.
"""

from tests.modules.sandbox.escapes.attempt import read_family

ATTEMPTS = read_family(
    "name confusion of tools",
    r"""
#: file | a tool that wasn't offered, by its name
async def solve():
    return await tools.files.read_secret(path='@FILE@')

#: file | a bare name
async def solve():
    return await read_secret(path='@FILE@')

#: environment | through mcp.call_tool
async def solve():
    result = await mcp.call_tool('read_variable', {'name': '@VARIABLE@'})
    return result.content[0].text

#: environment | through mcp.call_tool with the server's name
async def solve():
    result = await mcp.call_tool('host.read_variable', {'name': '@VARIABLE@'})
    return result.content[0].text

#: process | every index behind tools
async def solve():
    for index in range(-12, 12):
        try:
            await __call_tool__(index, ['touch @MARKER@'], {})
        except Exception:
            pass

#: process | indexes that are no integers
async def solve():
    for index in (True, 4.0, '4', [4], None, 10**40, -1):
        try:
            await __call_tool__(index, ['touch @MARKER@'], {})
        except Exception:
            pass

#: file | the prelude's own functions, by number
async def solve():
    for read in (__tool_0, __tool_1, __tool_2):
        try:
            return await read('@FILE@')
        except Exception:
            pass

#: file | the prelude's functions are named in the plan
async def solve():
    # files read_secret host read_variable shell run net connect
    return await __tool_2(path='@FILE@')

#: file | letters that look alike
async def solve():
    last = None
    for name in ('Read_Secret', 'FILES.READ_SECRET', 'files.reаd_secret', 'ｆiles.read_secret',
                 'files.read_secret ', ' files.read_secret', 'files.read_secret\0', 'read_secret\n',
                 'files/read_secret', 'files.read\u00adsecret', 'files..read_secret'):
        try:
            return (await mcp.call_tool(name, {'path': '@FILE@'})).content[0].text
        except Exception as error:
            last = error
    return str(last)

#: file | one server's name before another's tool
async def solve():
    for name in ('math.read_secret', 'math.files.read_secret', 'math.add/../files.read_secret',
                 'math.add.files.read_secret', 'add;read_secret', 'add\nread_secret'):
        try:
            return (await mcp.call_tool(name, {'path': '@FILE@'})).content[0].text
        except Exception:
            pass

#: environment | a function marker with another name
async def solve():
    call = add
    call.__name__ = 'read_variable'
    return await call('@VARIABLE@')

#: environment | a method put on the tools
async def solve():
    async def read_variable(*given, **named):
        return await __call_tool__(3, list(given), named)
    tools.add = read_variable
    return await tools.add('@VARIABLE@')

#: file | the raw call with a list of names
async def solve():
    for given in (['files.read_secret'], [['files', 'read_secret']], [{'name': 'read_secret'}],
                  ['read_secret', {'path': '@FILE@'}], []):
        try:
            found = await __call_raw__(given, {'path': '@FILE@'})
            return str(found)
        except Exception:
            pass

#: file | our functions called in forms that nobody foresaw
async def solve():
    for call in (lambda: __call_tool__(0, 1, 2), lambda: __call_raw__(), lambda: __call_tool__(),
                 lambda: __call_tool__('files.read_secret', ['@FILE@'], {}),
                 lambda: __call_raw__(['os.system'], {}), lambda: __search_tools__(1, 2),
                 lambda: __call_raw__(['read_secret', {'path': '@FILE@'}], {'raw': True})):
        try:
            print(await call())
        except Exception:
            pass
    return await __call_tool__(99, ['@FILE@'], {})

#: file | a second name among the keyword arguments
async def solve():
    result = await mcp.call_tool('add', name='files.read_secret', tool_name='files.read_secret',
                                 arguments={'path': '@FILE@'})
    return result.content[0].text

#: process | a name that is a call
async def solve():
    for name in ("add') or __import__('os').system('touch @MARKER@') or ('", '$(touch @MARKER@)',
                 '`touch @MARKER@`', '; touch @MARKER@', '../../bin/touch @MARKER@'):
        try:
            await mcp.call_tool(name, {'a': 1, 'b': name})
        except Exception:
            pass

#: file | names of the host's own functions
async def solve():
    for name in ('open', 'os.open', 'eval', 'builtins.open', '__import__', 'solve', 'tools', 'mcp',
                 '__call_tool__', '__call_raw__', '__search_tools__', 'call_tool', 'resolve'):
        try:
            return str(await mcp.call_tool(name, {'path': '@FILE@', 'file': '@FILE@'}))
        except Exception:
            pass

#: file | a result of a search is changed before use
async def solve():
    found = await search_tools('add two numbers', limit=1)
    found[0]['name'] = 'files.read_secret'
    return await tools.files.read_secret(path='@FILE@')

#: file | a result of a call is more than its value
async def solve():
    value = await tools.echo('x')
    return str(value.__class__.__base__.__subclasses__()) + open('@FILE@').read()

#: environment | the tool's function knows its module
async def solve():
    return tools.add.__globals__['__builtins__']['__import__']('os').environ['@VARIABLE@']

#: environment | the client's class knows its module
async def solve():
    known = mcp.__class__.call_tool.__globals__
    return str(known['os'].environ['@VARIABLE@'])

#: file | arguments that are objects
async def solve():
    class Path:
        def __str__(self):
            return open('@FILE@').read()
        __repr__ = __fspath__ = __json__ = __str__
    return await tools.echo(Path())

#: file | arguments that are functions and types
async def solve():
    for value in (open, eval, print, type, solve, tools, mcp, lambda: open('@FILE@').read()):
        try:
            return await tools.echo(value)
        except Exception:
            pass

#: socket | an argument that is shared, nested and huge
async def solve():
    value = ['x' * 1000]
    for _ in range(30):
        value = [value, value]
    await tools.echo(value)
    return await tools.net.connect(port=@PORT@)

#: socket | an argument that holds itself
async def solve():
    value = {}
    value['self'] = value
    try:
        await tools.echo(value)
    except Exception:
        pass
    return await connect(@PORT@)

#: file | a keyword that hides another
async def solve():
    return await tools.add(a=1, b=2, tool='files.read_secret', name='read_secret', path='@FILE@')

#: process | very many calls, so that one slips through
async def solve():
    import asyncio
    calls = [tools.shell.run(command='touch @MARKER@') for _ in range(50)]
    return await asyncio.gather(*calls)

#: process | an attribute of a tool
async def solve():
    return await tools.add.run(command='touch @MARKER@')

#: process | a server in place of a tool
async def solve():
    tools.math = tools.shell
    return await tools.math.run('touch @MARKER@')
""",
    needs_tools=True,
)
