"""A host that is brought to its limits first, and may then forget to check."""

from tests.modules.sandbox.escapes.attempt import read_family

ATTEMPTS = read_family(
    "exhaustion of the host",
    r"""
#: file | at the bottom of a recursion
def solve():
    def down(levels):
        try:
            return down(levels + 1)
        except RecursionError:
            return open('@FILE@').read()
    return down(0)

#: environment | in the handler of a lack of memory
def solve():
    try:
        'x' * 10**15
    except (MemoryError, OverflowError):
        return __import__('os').environ['@VARIABLE@']

#: file | a result that is nested deeper than the host can follow
def solve():
    value = [open('@FILE@').read()]
    print(value)
    for _ in range(100_000):
        value = [value]
    return value

#: file | a secret at the end of a long result
def solve():
    return 'x' * (3 * 2**20) + open('@FILE@').read()

#: environment | a secret at the end of long printed text
def solve():
    for _ in range(100):
        print('y' * 1000)
    print(__import__('os').environ['@VARIABLE@'])

#: file | a dict with very many keys
def solve():
    rows = {str(i): i for i in range(100_000)}
    rows['loot'] = open('@FILE@').read()
    return rows

#: environment | a value that holds itself
def solve():
    value = {'loot': __import__('os').environ['@VARIABLE@']}
    value['again'] = value
    return value

#: file | a tree that is small here and huge when written
def solve():
    value = [open('@FILE@').read()]
    for _ in range(16):
        value = [value, value]
    return value

#: environment | an integer with too many digits
def solve():
    try:
        return str(10**5000)
    except ValueError as error:
        return error.__traceback__.tb_frame.f_builtins['__import__']('os').environ['@VARIABLE@']

#: process | an error with a message of a megabyte
def solve():
    try:
        raise ValueError('x' * 10**6)
    finally:
        __import__('os').system('touch @MARKER@')

#: file | errors that are each other's cause
def solve():
    error = ValueError(open('@FILE@').read())
    for _ in range(2000):
        wrapper = KeyError('x')
        wrapper.__cause__ = error
        error = wrapper
    raise ValueError(str(error.__cause__) and open('@FILE@').read()) from error

#: file | lone surrogates and zero bytes around a secret
def solve():
    return '\ud800\0' + open('@FILE@').read() + '\udfff'

#: environment | not a number, infinity, and negative zero as keys
def solve():
    rows = {float('nan'): 1, float('inf'): 2, -0.0: 3, None: 4, True: 5}
    rows[(1,)] = __import__('os').environ['@VARIABLE@']
    return str(rows)

#: socket | a loop that goes on trying
def solve():
    for _ in range(1000):
        try:
            import socket
            socket.create_connection(('127.0.0.1', @PORT@), 1)
            return 'connected'
        except BaseException:
            pass

#: file | every exception is swallowed, again and again
def solve():
    for _ in range(20_000):
        try:
            return open('@FILE@').read()
        except BaseException:
            continue

#: environment | a pattern that takes for ever, then the variable
def solve():
    import re
    re.match(r'(a|aa)+$', 'a' * 22 + 'b')
    return __import__('os').environ['@VARIABLE@']

#: process | finally after the time is over
def solve():
    try:
        for _ in range(100_000):
            pass
    finally:
        __import__('os').system('touch @MARKER@')
""",
)
