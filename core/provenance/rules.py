"""What the user allows beforehand: a tool, and patterns for its arguments.

`TOOL`, `TOOL(*)` for anything, or `TOOL(argument=pattern, …)`. Patterns are shell patterns (`*`,
`?`, `[…]`) over a value in its normal form, by what the value is:

* a path with `~`, `..` and links resolved, relative to the folder that its server runs in;
* a web address by its parts, so that a pattern for the host never reaches into the path;
* an e-mail address by the address alone: several in one text must all match, and what is more than
  plain addresses matches nothing;
* a command as one simple command whose first word stands in the pattern as it is;
* a number by its value; another text as it stands.

A list matches if each of its values does. An argument that the rule does not name is not bound.
"""

import fnmatch
import json
import os.path
import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Final

from core.base.frozen import frozen
from core.base.text import lazy_pattern
from core.provenance import paths
from core.provenance.arguments import ArgumentText, words_of
from core.provenance.urls import addresses_in, host_key, parse_url
from core.values import Json

RULE_CHARACTERS_MAX: Final = 4_096
"""A longer rule is refused."""

VALUE_CHARACTERS_MAX: Final = 20_000
"""A longer value matches no pattern but `*`."""

ANYTHING: Final = "*"

_RULE = lazy_pattern(r"\s*([^\s()=,]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_NAME = lazy_pattern(r"\s*([^=,()\"\s]+)\s*=")
_SPECIAL = lazy_pattern(r"([*?\[])")
_WILD: Final = frozenset("*?[")
_PLAIN_URL = lazy_pattern(r"[A-Za-z]+://[^\s@\\/?#,;:\"'<>]+(:\d+)?([/?#][!-\[\]-~]*)?")
"""One address, whoever reads it: no white space or user name, and no second one in it."""

_PLAIN_ADDRESS = lazy_pattern(r"(?:[\w .'-]{0,80}<([^<>\s]+)>|([^<>\s]+))")
_NOT_SIMPLE: Final = frozenset(";|&<>`$(){}\n\r\0")
"""Signs that make more than one simple command of a line, wherever they stand in it."""


class RuleError(ValueError):
    """A text that is no rule; the message says what to write instead."""


@frozen
class Rule:
    """A tool (`server.tool`, or its own name) that may be called without a question.

    `patterns` by argument; None: whatever is safe (see the package), empty: with anything.
    """

    tool: str
    patterns: tuple[tuple[str, str], ...] | None = None

    @property
    def is_anything(self) -> bool:
        """Whether it allows any call of the tool."""
        return self.patterns == ()

    def pattern(self, argument: str) -> str | None:
        """The pattern for an argument; None where the rule does not name it."""
        return next((p for name, p in self.patterns or () if name == argument), None)

    def __str__(self) -> str:
        """As the user writes it."""
        if self.patterns is None:
            return self.tool
        named = ", ".join(f"{name}={_quoted(pattern)}" for name, pattern in self.patterns)
        return f"{self.tool}({named or ANYTHING})"


def read_rule(text: str) -> Rule:
    """The rule that a text is.

    Raises:
        RuleError: it is none.
    """
    found = _RULE.fullmatch(text) if len(text) <= RULE_CHARACTERS_MAX else None
    if found is None:
        raise RuleError(
            f"{text[:200]!r} is no rule; write TOOL, TOOL(*) for anything, or "
            "TOOL(argument=pattern, …), such as 'files.write_file(path=/home/me/notes/*)'"
        )
    tool, inner = found[1], found[2]
    if inner is None:
        return Rule(tool)
    if inner.strip() == ANYTHING:
        return Rule(tool, ())
    patterns = tuple(_patterns(inner, text))
    if len({name for name, _ in patterns}) < len(patterns):
        raise RuleError(f"the rule {text[:200]!r} names an argument twice")
    for name, pattern in patterns:
        if ArgumentText(words_of(name), "").is_command and not _program(pattern):
            raise RuleError(
                f"in the rule {text[:200]!r}, the pattern for a command names no program; begin it "
                f"with one, such as 'git status*', or write {tool}(*) for any command"
            )
    return Rule(tool, patterns)


def _patterns(inner: str, rule: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(inner) or at == 0:
        if (named := _NAME.match(inner, at)) is None:
            raise RuleError(
                f"in the rule {rule[:200]!r}, {inner[at:].strip()[:80]!r} names no argument; "
                "write argument=pattern, or * alone for anything; a pattern with a comma "
                'stands in double quotes: text="a, b"'
            )
        pattern, at = _pattern(inner, named.end(), rule)
        yield named[1], pattern


def _pattern(inner: str, at: int, rule: str) -> tuple[str, int]:
    """The pattern that begins at a place, and where the next argument's name begins."""
    start = at + len(inner[at:]) - len(inner[at:].lstrip())
    if not inner.startswith('"', start):
        pattern, _, _ = inner[at:].partition(",")
        return pattern.strip(), at + len(pattern) + 1
    try:
        pattern, end = json.JSONDecoder(strict=False).raw_decode(inner, start)
    except ValueError:
        raise RuleError(f"the rule {rule[:200]!r} has a quotation that does not end") from None
    rest = inner[end:].lstrip()
    if rest and not rest.startswith(","):
        raise RuleError(f"in the rule {rule[:200]!r}, a comma is missing behind {pattern[:80]!r}")
    return str(pattern), len(inner) - len(rest) + 1


def _quoted(pattern: str) -> str:
    is_plain = pattern and pattern == pattern.strip() and pattern.isprintable()
    return (
        pattern
        if is_plain and not {*pattern} & {*',"'}
        else json.dumps(pattern, ensure_ascii=False)
    )


def literal(value: Json) -> str:
    """The pattern that matches just this value."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _SPECIAL.sub(r"[\1]", text)


def origin_of_url(url: str) -> str:
    """The pattern for all addresses of a plain web address's host; of another, for itself."""
    parsed = parse_url(url)
    is_plain = _PLAIN_URL.fullmatch(url.strip()) is not None and url.count("://") == 1
    if parsed is None or parsed.scheme not in ("http", "https") or not is_plain:
        return literal(url)
    origin = "/".join(parsed.key.partition("?")[0].split("/")[:3])
    return f"{literal(origin)}/*"


@frozen
class Around:
    """Where relative paths of a server's calls begin, and the user's home; "" where unknown."""

    folder: str = ""
    home: str = ""


def matches(pattern: str, argument: ArgumentText, value: Json, around: Around) -> bool:
    """Whether a value of this argument matches; may look at links on the disk.

    `argument` says by its name what the value is for.
    """
    if isinstance(value, list):
        return bool(value) and all(matches(pattern, argument, each, around) for each in value)
    if not isinstance(value, str) or len(value) > VALUE_CHARACTERS_MAX:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_same = pattern in (ANYTHING, literal(value))
        return is_same or (is_number and _matches_number(pattern, str(value)))
    return pattern == literal(value) or _matches_text(pattern, argument, value, around)


def _matches_text(pattern: str, argument: ArgumentText, value: str, around: Around) -> bool:
    """Whether a text matches, by what it is; what it is, its name says, or the pattern's form."""
    if argument.is_command:
        return _matches_command(pattern, value)
    if pattern == ANYTHING:
        return True
    if "://" in pattern or (argument.is_url and not argument.is_path):
        return _matches_url(pattern, value)
    if "@" in pattern:
        return _matches_addresses(pattern, value)
    if argument.is_path or pattern.startswith(("/", "~/", "./", "../")):
        return all(_matches_path(pattern, form, around) for form in (value, *_decoded(value)))
    return _matches_number(pattern, value) or fnmatch.fnmatchcase(value, pattern)


def _matches_number(pattern: str, value: str) -> bool:
    if fnmatch.fnmatchcase(value, pattern):
        return True
    try:
        return Decimal(pattern) == Decimal(value)
    except InvalidOperation:
        return False


def _matches_command(pattern: str, value: str) -> bool:
    """Whether a command is one simple command that the pattern covers.

    Its first word stands in the pattern as it is, so that no program that runs others (`env`, `sh`)
    is let in by a `*`.
    """
    if {*value} & _NOT_SIMPLE or value.count('"') % 2 or value.count("'") % 2:
        return False
    program = _program(pattern)
    words = value.split(None, 1)
    is_same = bool(words) and words[0] == program and "=" not in program
    return is_same and fnmatch.fnmatchcase(value.strip(), pattern)


def _program(pattern: str) -> str:
    """The word that a pattern for commands begins with; "" where that is no word as it stands."""
    word, space, _ = pattern.partition(" ")
    word = word if space else word.rstrip(ANYTHING)
    return "" if {*word} & _WILD else word


def _matches_url(pattern: str, value: str) -> bool:
    """Whether an address matches part by part."""
    url = parse_url(value)
    if url is None or any(map(str.isspace, value.strip())) or "\0" in value:
        return False
    scheme, _, rest = pattern.partition("://") if "://" in pattern else ("https", "", pattern)
    place, slash, path = rest.partition("/")
    host, colon, port = place.partition(":")
    wanted = host.lower() if {*host} & _WILD else host_key(host)
    has, _, where = url.key.partition("://")
    authority, has_slash, has_path = where.partition("/")
    if "?" in authority:
        authority, _, query = authority.partition("?")
        has_slash, has_path = "/", f"?{query}"
    return (
        fnmatch.fnmatchcase(has, scheme.lower())
        and fnmatch.fnmatchcase(authority, f"{wanted}{colon}{port}")
        and fnmatch.fnmatchcase(f"/{has_path}", f"/{path.rstrip('/') if slash else ''}")
        and (not has_slash or bool(slash))
        and (not url.fragment or path.endswith(ANYTHING))
    )


def _matches_addresses(pattern: str, value: str) -> bool:
    """Whether a text is nothing but plain addresses, and each matches."""
    text = unicodedata.normalize("NFKC", value)
    if not text.isprintable():
        return False
    keys: list[str] = []
    for part in re.split("[,;]", text):
        plain = _PLAIN_ADDRESS.fullmatch(part.strip())
        found = [key for _, key in addresses_in(part)]
        if plain is None or len(found) != 1 or part.count("@") != 1:
            return False
        keys.append(found[0])
    wanted, _, domain = pattern.lower().rpartition("@")
    return all(
        fnmatch.fnmatchcase(key.rpartition("@")[0], wanted)
        and fnmatch.fnmatchcase(key.rpartition("@")[2], domain)
        for key in keys
    )


def _decoded(value: str) -> Iterator[str]:
    yield from (form for form in paths.candidates(value) if form and form != value)


def _matches_path(pattern: str, value: str, around: Around) -> bool:
    if "\0" in value or "\\" in value or len(value) > paths.PATH_CHARACTERS_MAX:
        return False
    fixed = _SPECIAL.split(pattern, maxsplit=1)[0]
    folder, slash, rest = fixed.rpartition("/")
    wild = f"{rest}{pattern[len(fixed) :]}"
    if wild in ("..", "."):
        folder, wild = fixed, ""
    base = _resolved(f"{folder}{slash}" if slash else ".", around)
    path = _resolved(value, around)
    if base is None or path is None or ".." in wild.split("/"):
        return False
    if wild and not {*wild} & _WILD:
        return path == _resolved(pattern, around)
    return fnmatch.fnmatchcase(path, f"{literal(base).rstrip('/')}/{wild}")


def _resolved(path: str, around: Around) -> str | None:
    """The path from the root, without links; None where nobody knows what it is relative to."""
    plain = paths.normal(path, around.home)
    if not plain.startswith("/"):
        if not around.folder or plain.startswith("~"):
            return None
        plain = f"{around.folder}/{plain}"
    try:
        return os.path.realpath(plain)
    except (OSError, ValueError):
        return None
