"""What a site's robots.txt asks of us (RFC 9309).

Our own parser, since that of the standard library takes the first rule that matches where the RFC
wants the longest, and knows no `*` or `$`. Crawl-delay and other extensions are left out.
"""

import re
from collections.abc import Iterator
from urllib.parse import quote, unquote_to_bytes

from core.base.frozen import frozen

TEXT_BYTES_MAX = 500 * 1024
"""So much is parsed (RFC 9309, 2.5); what lies behind is left out."""

LINE_CHARS_MAX = 2_000

FRESH_SECONDS = 60 * 60.0
"""RFC 9309, 2.4, allows a day; within a long session a site may change its mind."""

FAILURE_SECONDS = 60.0
"""A site that couldn't say anything is asked again sooner."""

SITES_MAX = 256

_TOKEN = re.compile(r"[A-Za-z_-]+")


@frozen
class Rule:
    """One Allow or Disallow line; `pattern` in the form in which paths are compared."""

    is_allowing: bool
    pattern: str

    def matches(self, path: str) -> bool:
        """Whether the pattern covers a path: `*` any characters, `$` the end (2.2.3)."""
        is_anchored = self.pattern.endswith("$")
        first, *rest = self.pattern.removesuffix("$").split("*")
        if not path.startswith(first):
            return False
        place = len(first)
        # Each piece at its first occurrence, so the time grows with the length and no faster.
        for piece in rest[:-1]:
            found = path.find(piece, place)
            if found < 0:
                return False
            place = found + len(piece)
        if not rest:
            return place == len(path) or not is_anchored
        last = rest[-1]
        if is_anchored:
            return path.endswith(last) and len(path) - len(last) >= place
        return path.find(last, place) >= 0


@frozen
class Rules:
    """The rules of a site that hold for us; with none, everything is allowed.

    `failure` tells why the site could not say any, in which case nothing is.
    """

    rules: tuple[Rule, ...] = ()
    failure: str = ""

    def allow(self, path: str) -> bool:
        """Whether a path (with its query) may be read: the longest pattern decides, Allow in a tie.

        robots.txt itself may always be read (2.2.2).
        """
        compared = _compared(path)
        if compared == "/robots.txt":
            return True
        if self.failure:
            return False
        matching = (rule for rule in self.rules if rule.matches(compared))
        best = max(matching, key=lambda rule: (len(rule.pattern), rule.is_allowing), default=None)
        return best is None or best.is_allowing

    @property
    def fresh_seconds(self) -> float:
        """How long they count."""
        return FAILURE_SECONDS if self.failure else FRESH_SECONDS


def parse_robots(text: bytes, product: str) -> Rules:
    """The rules for a product: of all groups that name it, else of those for `*` (2.2.1)."""
    ours: list[Rule] = []
    anyones: list[Rule] = []
    agents: list[str] = []
    is_named = is_among_rules = False
    for key, value in _lines(text[:TEXT_BYTES_MAX]):
        if key == "user-agent":
            agents = [] if is_among_rules else agents
            is_among_rules = False
            agents.append(_agent(value))
            is_named = is_named or agents[-1] == product.lower()
            continue
        is_among_rules = True
        if not value:
            continue  # an empty pattern matches nothing
        rule = Rule(key == "allow", _compared(value))
        if product.lower() in agents:
            ours.append(rule)
        elif "*" in agents:
            anyones.append(rule)
    return Rules(tuple(ours if is_named else anyones))


def _lines(text: bytes) -> Iterator[tuple[str, str]]:
    """Keys in lower case and values, of the lines that mean something."""
    for line in re.split(r"\r\n|\r|\n", text.decode("utf-8-sig", errors="replace")):
        key, colon, value = line[:LINE_CHARS_MAX].partition("#")[0].partition(":")
        key = key.strip().lower()
        if colon and key in ("user-agent", "allow", "disallow"):
            yield key, value.strip()


def _agent(value: str) -> str:
    """The product token of a User-agent line, in lower case: what follows it says nothing."""
    if value.startswith("*"):
        return "*"
    found = _TOKEN.match(value)
    return found[0].lower() if found else ""


def _compared(path: str) -> str:
    """A path in one way of percent-encoding (2.2.2): what needs none is decoded, the rest upper.

    `*` and `$` are special in a pattern only where they stand plainly, so encoded ones stay so.
    """
    safe = "/?&=:@!$'()*+,;-._~[]"
    parts = re.split(r"(%[0-9A-Fa-f]{2})", path)
    return "".join(
        _octet(part) if part[:1] == "%" and len(part) == 3 else quote(part, safe=safe + "%")
        for part in parts
    )


def _octet(encoded: str) -> str:
    char = unquote_to_bytes(encoded).decode("latin-1")
    is_unreserved = char.isascii() and (char.isalnum() or char in "-._~")
    return char if is_unreserved else encoded.upper()
