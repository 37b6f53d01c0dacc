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
import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final

from core.base.frozen import frozen
from core.base.text import has_hidden, lazy_pattern
from core.provenance import paths
from core.provenance.arguments import ArgumentText
from core.provenance.urls import address_key, host_key, parse_url
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

_ADDRESS: Final = r"[\w.+'-]{1,64}@[\w.-]{1,255}"
_PLAIN_ADDRESS = lazy_pattern(
    rf"(?:(?:\"[^\"\\@<>\n]{{0,80}}\"|[\w .'-]{{0,80}})\s?<({_ADDRESS})>|({_ADDRESS}))"
    r"\s?(?:[,;]\s?|$)"
)
_BARE_HOST = lazy_pattern(r"\w[\w.-]*(?::\d{1,5})?(?:[/?#]|$)")
_NOT_SIMPLE: Final = frozenset(";|&<>`$(){}!\n\r\0")
"""Signs that make more than one simple command of a line, wherever they stand in it."""

_RUNS_OTHERS: Final = frozenset(
    [
        *("sh", "bash", "dash", "zsh", "ksh", "fish", "env", "exec", "eval", "command", "builtin"),
        *("xargs", "sudo", "su", "doas", "timeout", "time", "nohup", "nice", "setsid", "watch"),
        *("busybox", "ssh", "chroot", "unshare", "script", "stdbuf", "ionice"),
    ]
)
"""Programs that are given a command; a pattern that begins with `*` does not reach through them."""


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

    def is_for(self, tool: str) -> bool:
        """Whether it is for a tool, which is named as `server.tool`.

        A name with a dot names the server too: no other may offer a tool that is called so.
        """
        is_bare = "." not in self.tool
        return tool == self.tool or (is_bare and tool.partition(".")[2] == self.tool)

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
    return Rule(tool, patterns)


def is_written(rule: Rule) -> bool:
    """Whether a rule is read as what it is; not where the name of an argument is an odd one."""
    odd = {ANYTHING, "#"} & {name for name, _ in rule.patterns or ()}
    try:
        return not odd and read_rule(str(rule)) == rule
    except RuleError:
        return False


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
    is_seen = pattern.isprintable() and not has_hidden(pattern)
    if is_seen and pattern and pattern == pattern.strip() and not {*pattern} & {*',"'}:
        return pattern
    return json.dumps(pattern, ensure_ascii=not is_seen)


def literal(value: Json) -> str:
    """The pattern that matches just this value."""
    if isinstance(value, list) and len(value) == 1:
        return literal(value[0])
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
        is_each = bool(value) and all(matches(pattern, argument, each, around) for each in value)
        return is_each or pattern == literal(value)
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
        return all(
            _matches_path(pattern, form, around)
            for form in {value, *filter(None, paths.candidates(value))}
        )
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

    A program that runs others is covered where the pattern begins with its name.
    """
    text = unicodedata.normalize("NFKC", value)
    is_open = text.count('"') % 2 or text.count("'") % 2 or text.endswith("\\")
    words = value.split(None, 1)
    if {*text} & _NOT_SIMPLE or is_open or not words:
        return False
    program = words[0].rpartition("/")[2]
    begins, space, _ = pattern.partition(" ")
    named = begins if space else begins.rstrip(ANYTHING)
    if {*named} & _WILD or not named:
        is_same = program not in _RUNS_OTHERS and "=" not in program
    else:
        is_same = words[0] == named and "=" not in named
    return is_same and fnmatch.fnmatchcase(value.strip(), pattern)


def _matches_url(pattern: str, value: str) -> bool:
    """Whether an address matches part by part."""
    url = parse_url(value)
    is_odd = not value.strip().isprintable() or {*value.strip()} & {*" \\"}
    is_odd = is_odd or value.partition("?")[0].count("://") > 1
    has_scheme = "://" in value
    if url is None or is_odd or (has_scheme is not ("://" in pattern)):
        return False
    if not has_scheme and not _BARE_HOST.match(value.strip()):
        return False
    scheme, _, rest = pattern.partition("://") if "://" in pattern else ("https", "", pattern)
    place, slash, path = rest.partition("/")
    has, _, where = url.key.partition("://")
    authority, _, query = where.partition("?")
    authority, has_slash, has_path = authority.partition("/")
    has_path += f"?{query}" if query else ""
    return (
        fnmatch.fnmatchcase(has, scheme.lower())
        and _matches_host(place, authority)
        and fnmatch.fnmatchcase(f"/{has_path}", f"/{path.rstrip('/') if slash else ''}")
        and (not (has_slash or query) or bool(slash))
        and (not url.fragment or path.endswith(ANYTHING))
    )


def _matches_host(pattern: str, authority: str) -> bool:
    """Whether host and port match; `*.` stands for any subdomains, another `*` for one label."""
    host, _, port = pattern.partition(":")
    has, _, has_port = authority.partition(":")
    if has_port != port and not fnmatch.fnmatchcase(has_port, port):
        return False
    labels = (host.lower() if {*host} & _WILD else host_key(host)).split(".")
    found = has.split(".")
    if labels == [ANYTHING]:
        return True
    if labels[0] == ANYTHING and len(found) > len(labels):
        found = [ANYTHING, *found[len(found) - len(labels) + 1 :]]
    return len(labels) == len(found) and all(map(fnmatch.fnmatchcase, found, labels))


def _matches_addresses(pattern: str, value: str) -> bool:
    """Whether a text is nothing but plain addresses, and each matches."""
    wanted, _, domain = unicodedata.normalize("NFKC", pattern).lower().rpartition("@")
    domain = domain if {*domain} & _WILD else address_key("", domain)[1:]
    keys = [key.rpartition("@") for key in plain_addresses(value)]
    return bool(keys) and all(
        fnmatch.fnmatchcase(local, wanted) and fnmatch.fnmatchcase(host, domain)
        for local, _, host in keys
    )


def plain_addresses(text: str) -> list[str]:
    """The e-mail addresses of a text that is nothing else, in the form for comparisons.

    Only plain ones, each with a name before it or none; nothing where there is anything more.
    """
    text = unicodedata.normalize("NFKC", text).strip()
    keys: list[str] = []
    at = 0
    while at < len(text):
        found = _PLAIN_ADDRESS.match(text, at)
        if found is None:
            return []
        local, _, host = (found[1] or found[2]).rpartition("@")
        keys.append(address_key(local, host))
        at = found.end()
    return keys


def _matches_path(pattern: str, value: str, around: Around) -> bool:
    """Whether a path matches, as it is written and as it is on the disk, links followed."""
    is_odd = {*value} & {*"\0\\"} or value != value.strip() or value.endswith("/")
    if is_odd or len(value) > paths.PATH_CHARACTERS_MAX:
        return False
    fixed = _SPECIAL.split(pattern, maxsplit=1)[0]
    begins = len(pattern) if fixed == pattern else fixed.rfind("/") + 1
    base, wild = _places(pattern[:begins] or ".", around)[0], pattern[begins:]
    if base is None or ".." in wild.split("/"):
        return False
    whole = f"{literal(base).rstrip('/')}/{wild}" if wild else literal(base)
    return all(
        place is not None and fnmatch.fnmatchcase(place, whole) for place in _places(value, around)
    )


def _places(path: str, around: Around) -> tuple[str | None, ...]:
    """Where a path leads, its `..` taken off in the text, and after links as the disk has it.

    None where nobody knows what it is relative to, or its links go in a circle.
    """
    if path[:5].lower() == "file:":
        path = paths.normal(path)
    elif around.home and (path == "~" or path.startswith("~/")):
        path = f"{around.home}{path[1:]}"
    if around.folder and not path.startswith(("/", "~")):
        path = f"{around.folder}/{path}"
    if not path.startswith("/"):
        return (None,)
    try:
        return tuple(str(Path(each).resolve()) for each in (paths.normal(path), path))
    except (OSError, ValueError, RuntimeError):
        return (None,)
