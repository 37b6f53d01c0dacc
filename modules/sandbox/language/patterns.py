r"""`re` for plans: the interpreter's own regular expressions, corrected where Python's differ.

The interpreter searches as Rust's `regex` does, which finds no empty match right behind another
match (`re.findall("a*", "baac")`), takes `$` for the very end and `\Z` for the end before a last
line end, and knows nested classes. It replaces neither by functions nor by escapes such as `\n`.

Empty matches are filled in by trying the pattern at the end of each match. That is exact but for
patterns that look back from there, or whose empty alternative comes first: these are refused.
"""

PATTERN_NAMES = (
    *("A", "ASCII", "DOTALL", "I", "IGNORECASE", "M", "MULTILINE", "Match", "NOFLAG", "Pattern"),
    *("PatternError", "S", "compile", "error", "escape", "findall", "finditer", "fullmatch"),
    *("match", "search", "split", "sub", "subn"),
)

PATTERNS = r'''
    import re as true
    class re:
        pass
    A = ASCII = true.A
    I = IGNORECASE = true.I
    M = MULTILINE = true.M
    S = DOTALL = true.S
    NOFLAG = 0
    Match, error, PatternError, escape = true.Match, true.error, true.error, true.escape
    compiled = {}

    opening = true.compile(
        r"\?(?:P<\w+>|P=\w+|<[=!]|[=!:>]|#[^)]*|[a-zA-Z-]+:?|\([^)]*\))"
    )
    digits = "0123456789"

    class Group:
        """What is known of a group so far: whether each of its alternatives needs a character."""

        def __init__(self, looks):
            self.looks, self.this, self.others = looks, False, True

        def needs(self):
            return self.this and self.others and not self.looks

    def translated(pattern):
        """The pattern as Rust reads it, once more for texts with a last line end, and of it:

        whether it looks back, tries what is empty first, and surely needs a character.
        """
        pieces, ends, at, counted = [], [], 0, False
        in_class, looks_back, empty_first = False, False, False
        groups, needs = [Group(False)], False
        while at < len(pattern):
            piece = pattern[at]
            at += 1
            if in_class:
                if piece == "\\":
                    piece += pattern[at : at + 1]
                    at += 1
                elif piece == "]" and at > first_of_class:
                    in_class = False
                elif piece in ("[", "&", "~"):
                    piece = "\\" + piece
                pieces.append(piece)
                ends.append(piece)
                counted = False
                continue
            end = None
            if piece == "{":
                times = pattern[at : pattern.find("}", at) + 1]
                if len(times) > 1 and not times[:-1].strip("0123456789,"):
                    piece, at = piece + times, at + len(times)
            if piece in ("*", "?") or piece[:2] in ("{0", "{,"):
                if counted and piece == "?":
                    empty_first = True
                else:
                    needs = False
            elif piece != "+" and (len(piece) == 1 or piece[0] != "{"):
                groups[-1].this = groups[-1].this or needs
                needs = False
                if piece == "\\":
                    piece += pattern[at : at + 1]
                    at += 1
                    needs = piece[1:] not in "bBAZ" and piece[1:] not in digits
                    looks_back = looks_back or piece in ("\\b", "\\B", "\\A")
                    piece = "\\z" if piece == "\\Z" else piece
                elif piece == "(":
                    prefix = opening.match(pattern[at:])
                    prefix = prefix.group() if prefix is not None else ""
                    looks_back = looks_back or prefix in ("?<=", "?<!")
                    groups.append(Group(prefix in ("?=", "?!", "?<=", "?<!")))
                    piece, at = piece + prefix, at + len(prefix)
                elif piece == ")" and len(groups) > 1:
                    needs = groups.pop().needs()
                elif piece == "|":
                    empty_first = empty_first or pattern[at : at + 1] not in ("", ")")
                    groups[-1].others = groups[-1].others and groups[-1].this
                    groups[-1].this = False
                elif piece == "[":
                    in_class, needs = True, True
                    first_of_class = at + (2 if pattern[at : at + 1] == "^" else 1)
                elif piece == "^":
                    looks_back = True
                elif piece == "$":
                    end = r"(?=\n?\z)"
                else:
                    needs = piece != ")"
            repeats = piece in ("*", "+", "?") or (piece[0] == "{" and len(piece) > 1)
            counted = repeats and not counted
            pieces.append(piece)
            ends.append(piece if end is None else end)
        groups[-1].this = groups[-1].this or needs
        return "".join(pieces), "".join(ends), looks_back, empty_first, groups[-1].needs()

    class EmptyMatch:
        """A match of nothing, found in the rest of a text `by` characters from its start."""

        def __init__(self, found, by, string):
            self.found, self.by, self.string = found, by, string

        def group(self, *names):
            return self.found.group(*names)

        def __getitem__(self, name):
            return self.found[name]

        def groups(self):
            return self.found.groups()

        def groupdict(self):
            return self.found.groupdict()

        def start(self, group=0):
            return max(self.found.start(group) + self.by, -1)

        def end(self, group=0):
            return self.start(group)

        def span(self, group=0):
            return self.start(group), self.start(group)

    class Pattern:
        def __init__(self, pattern, flags):
            text, ends, self.looks_back, self.empty_first, needs = translated(pattern)
            self.own = true.compile(text, flags)
            lines = flags & M or true.search(r"\(\?[a-zA-Z]*m", pattern)
            self.ends = None if lines or ends == text else ends
            self.pattern, self.flags = pattern, flags
            self.only_at_start = not lines and "|" not in pattern and pattern[:1] == "^"
            zero_width = true.search(r"[$^]|\\[bBAZ]|\(\?[=!<]", pattern)
            self.may_be_empty = not needs and (bool(zero_width) or self.own.match("") is not None)

        def of(self, string):
            """The interpreter's own pattern for a text: `$` looks ahead for a last line end."""
            if self.ends is None or not isinstance(string, str) or string[-1:] != "\n":
                return self.own
            if isinstance(self.ends, str):
                self.ends = true.compile(self.ends, self.flags)
            return self.ends

        def search(self, string):
            return self.of(string).search(string)

        def match(self, string):
            return self.of(string).match(string)

        def fullmatch(self, string):
            return self.of(string).fullmatch(string)

        def finditer(self, string):
            return iter(self.matches(string))

        def matches(self, string):
            found = [match for match in self.of(string).finditer(string)]
            if not self.may_be_empty:
                return found
            filled, end = [], None
            for match in found:
                start = match.start()
                if end is not None and start > end:
                    self.fill(filled, end, string)
                filled.append(match)
                end = match.end() if match.end() > start else None
                if end is None and self.empty_first and start < len(string):
                    self.refuse()
            if end is not None:
                self.fill(filled, end, string)
            return filled

        def fill(self, filled, end, string):
            """Add what Python finds of nothing right behind a match."""
            if self.only_at_start:
                return
            if self.looks_back:
                self.refuse()
            match = self.of(string).match(string[end:])
            if match is not None and match.end() == 0:
                filled.append(EmptyMatch(match, end, string))
                if self.empty_first and end < len(string):
                    self.refuse()

        def refuse(self):
            raise NotImplementedError(
                f"{self.pattern!r} can match nothing at all: write a pattern that needs a character"
            )

        def findall(self, string):
            if not self.may_be_empty:
                return self.of(string).findall(string)
            values = []
            for match in self.matches(string):
                groups = match.groups()
                if len(groups) > 1:
                    values.append(tuple([group or "" for group in groups]))
                else:
                    values.append((groups[0] or "") if groups else match.group())
            return values

        def subn(self, repl, string, count=0):
            pieces, at, made = [], 0, 0
            for match in self.matches(string):
                if count and made >= count:
                    break
                pieces.append(string[at : match.start()])
                pieces.append(expanded(match, repl) if isinstance(repl, str) else repl(match))
                at, made = match.end(), made + 1
            pieces.append(string[at:])
            return "".join(pieces), made

        def sub(self, repl, string, count=0):
            plain = isinstance(repl, str) and "\\" not in repl
            if plain and (repl == "" or not self.may_be_empty):
                return self.of(string).sub(repl, string, count)
            return self.subn(repl, string, count)[0]

        def split(self, string, maxsplit=0):
            if not self.may_be_empty:
                return self.of(string).split(string, maxsplit)
            pieces, at = [], 0
            for number, match in enumerate(self.matches(string)):
                if maxsplit and number >= maxsplit:
                    break
                pieces.append(string[at : match.start()])
                pieces.extend(match.groups())
                at = match.end()
            return [*pieces, string[at:]]

    escapes = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "f": "\f", "v": "\v", "b": "\b"}

    def expanded(match, template):
        """A replacement with its groups and escapes filled in."""
        if "\\" not in template:
            return template
        pieces, at = [], 0
        while at < len(template):
            step = template[at]
            at += 1
            if step != "\\":
                pieces.append(step)
                continue
            step = template[at : at + 1]
            at += 1
            if step == "g" and template[at : at + 1] == "<" and ">" in template[at:]:
                end = template.index(">", at)
                name = template[at + 1 : end]
                at = end + 1
                pieces.append(match.group(int(name) if name.isdigit() else name) or "")
            elif step.isdigit() and step != "0":
                if template[at : at + 1].isdigit():
                    step += template[at]
                    at += 1
                pieces.append(match.group(int(step)) or "")
            elif step in escapes:
                pieces.append(escapes[step])
            elif step == "\\":
                pieces.append(step)
            elif step == "" or step.isalpha() or step == "0":
                raise error(f"bad escape \\{step} in a replacement")
            else:
                pieces.append("\\" + step)
        return "".join(pieces)

    def compile(pattern, flags=0):
        if isinstance(pattern, Pattern):
            return pattern
        key = (pattern, flags)
        if key not in compiled:
            compiled[key] = Pattern(pattern, flags)
        return compiled[key]

    def search(pattern, string, flags=0):
        return compile(pattern, flags).search(string)

    def match(pattern, string, flags=0):
        return compile(pattern, flags).match(string)

    def fullmatch(pattern, string, flags=0):
        return compile(pattern, flags).fullmatch(string)

    def findall(pattern, string, flags=0):
        return compile(pattern, flags).findall(string)

    def finditer(pattern, string, flags=0):
        return compile(pattern, flags).finditer(string)

    def sub(pattern, repl, string, count=0, flags=0):
        return compile(pattern, flags).sub(repl, string, count)

    def subn(pattern, repl, string, count=0, flags=0):
        return compile(pattern, flags).subn(repl, string, count)

    def split(pattern, string, maxsplit=0, flags=0):
        return compile(pattern, flags).split(string, maxsplit)
'''
