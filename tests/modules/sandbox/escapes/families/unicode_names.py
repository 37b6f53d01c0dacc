"""Names that look like others, and become them (NFKC, PEP 3131) or pass a filter on text."""

from tests.modules.sandbox.escapes.attempt import read_family

ATTEMPTS = read_family(
    "unicode names",
    r"""
#: file | open in full width
def solve():
    return ｏｐｅｎ('@FILE@').read()

#: file | open in mathematical italics
def solve():
    return 𝘰𝘱𝘦𝘯('@FILE@').read()

#: file | open with an ordinal sign
def solve():
    return ºpen('@FILE@').read()

#: file | open in modifier letters
def solve():
    return ᵒᵖᵉⁿ('@FILE@').read()

#: environment | import os with a long s
def solve():
    import oſ
    return oſ.environ['@VARIABLE@']

#: process | __import__ in bold
def solve():
    return __𝐢𝐦𝐩𝐨𝐫𝐭__('os').system('touch @MARKER@')

#: file | __globals__ in script letters
def solve():
    return solve.__𝓰𝓵𝓸𝓫𝓪𝓵𝓼__['__builtins__']['open']('@FILE@').read()

#: file | __class__ with full width letters
def solve():
    for kind in ().__ｃlass__.__ｂase__.__ｓubclasses__():
        if kind.__ｎame__ == 'FileLoader':
            return kind('x', '@FILE@').get_data('@FILE@').decode()

#: file | getattr in fraktur and a name in escapes
def solve():
    known = 𝔤𝔢𝔱𝔞𝔱𝔱𝔯(solve, '\N{LOW LINE}\x5fglobals\137\u005f')
    return known['__builtins__']['open']('@FILE@').read()

#: environment | a name of Cyrillic letters for eval
def solve():
    еvаl = eval
    return еvаl('__import__("os").environ["@VARIABLE@"]')

#: file | a keyword argument of another width
def solve():
    return open(ｆile='@FILE@', ｅncoding='utf-8').read()

#: environment | eval of a text in full width
def solve():
    return eval('__ｉmport__("os").ｅnviron["@VARIABLE@"]')

#: file | a ligature in an attribute
def solve():
    import importlib.machinery as machinery
    return machinery.SourceFileLoader('x', '@FILE@').path and open('@FILE@').read().strip('ﬁ')

#: process | a form feed and odd spaces before the call
def solve():
    return ( __import__ ('os') . system ('touch @MARKER@'))

#: file | marks that turn the line round hide the call
def solve():
    harmless = 1 # ‮ nothing to see ⁦
    return open('@FILE@').read() # ⁩ ‬ comment

#: environment | a name with combining marks that come apart
def solve():
    import os as oŝ
    return oŝ.environ['@VARIABLE@']
""",
)
