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

    def translated(pattern, dollar):
        """The pattern as Rust reads it, and whether it looks back, or tries what is empty first.

        And whether it surely needs a character: one that stands in no group and no alternative.
        """
        pieces, at, in_class, looks_back, empty_first, last = [], 0, False, False, False, ""
        depth, atom, needs, either = 0, False, False, False
        while at < len(pattern):
            piece = pattern[at]
            if piece == "\\":
                piece = pattern[at : at + 2]
                at += 2
                if not in_class:
                    looks_back = looks_back or piece in ("\\b", "\\B", "\\A")
                    needs = needs or atom
                    atom = depth == 0 and piece[1:] not in "bBAZ0123456789"
                    piece = "\\z" if piece == "\\Z" else piece
                pieces.append(piece)
                last = piece
                continue
            at += 1
            if piece == "{" and not in_class:
                times = pattern[at : pattern.find("}", at) + 1]
                if len(times) > 1 and not times[:-1].strip("0123456789,"):
                    piece, at = piece + times, at + len(times)
            if not in_class:
                if piece in ("*", "?") or piece[:2] in ("{0", "{,"):
                    atom = False
                elif piece != "+" and len(piece) == 1:
                    needs = needs or atom
                    atom = depth == 0 and piece not in "^$()|"
                depth += (piece == "(") - (piece == ")")
                either = either or (piece == "|" and depth == 0)
            if in_class:
                if piece == "]" and at > first_of_class:
                    in_class = False
                elif piece in ("[", "&", "~"):
                    piece = "\\" + piece
            elif piece == "[":
                in_class = True
                first_of_class = at + (2 if pattern[at : at + 1] == "^" else 1)
            elif piece == "^" or (piece == "(" and pattern[at : at + 3] in ("?<=", "?<!")):
                looks_back = True
            elif piece == "|":
                empty_first = empty_first or pattern[at : at + 1] not in ("", ")")
            elif piece == "?" and last in ("*", "+", "?", "}"):
                empty_first = True
            elif piece == "$":
                piece = dollar
            pieces.append(piece)
            last = piece[-1]
        return "".join(pieces), looks_back, empty_first, (needs or atom) and not either

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
            lines = flags & M or true.search(r"\(\?[a-zA-Z]*m", pattern)
            dollar = "$" if lines else r"(?=\n?\z)"
            text, self.looks_back, self.empty_first, needs = translated(pattern, dollar)
            self.own = true.compile(text, flags)
            self.only_at_start = not lines and "|" not in pattern and pattern[:1] == "^"
            self.pattern, self.flags = pattern, flags
            zero_width = true.search(r"[$^]|\\[bBAZ]|\(\?[=!<]", pattern)
            self.may_be_empty = not needs and (bool(zero_width) or self.own.match("") is not None)

        def search(self, string):
            return self.own.search(string)

        def match(self, string):
            return self.own.match(string)

        def fullmatch(self, string):
            return self.own.fullmatch(string)

        def finditer(self, string):
            return iter(self.matches(string))

        def matches(self, string):
            found = [match for match in self.own.finditer(string)]
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
            match = self.own.match(string[end:])
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
                return self.own.findall(string)
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
                return self.own.sub(repl, string, count)
            return self.subn(repl, string, count)[0]

        def split(self, string, maxsplit=0):
            if not self.may_be_empty:
                return self.own.split(string, maxsplit)
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
