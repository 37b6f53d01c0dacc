"""Keeps secrets out of all that is written down or shown: one list of names, one of shapes.

A secret is known by the name of the variable, header or setting that holds it, or by its shape. Its
value is found as it is, and as JSON, Python, HTML, a URL and Base64 write it; not in pieces, nor
encoded in other ways, such as compressed, in hexadecimal or as a list of its characters.
"""

import base64
import html
import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote, quote_plus, unquote

from core.base.json_text import Json, JsonObject
from core.base.text import lazy_pattern

EXTRA_NAME: Final = "SECRET"
"""What stands in place of a secret whose name is not known."""

MIN_VALUE_CHARACTERS: Final = 8
"""Shorter values of variables occur in ordinary text, and are found as words of their own alone."""

MIN_SECRET_CHARACTERS: Final = 6
"""The same for secrets that are named one by one, hence surely meant."""

MIN_BEGINNING_CHARACTERS: Final = 6
"""Of a secret that was cut off, so many characters before the "…" are found."""

MAX_CUTS: Final = 50
"""In how many places of a text a secret is looked for that was cut off."""

ENDINGS: Final = (
    *("APIKEY", "ACCESSKEY", "PRIVATEKEY", "SECRETKEY", "TOKEN", "SECRET", "SECRETS", "PASSWORD"),
    *("PASSWD", "PASSPHRASE", "PASSCODE", "CREDENTIAL", "CREDENTIALS"),
)
"""How a word of a name ends that says what it holds: the PGPASSWORD, the authtoken."""

WORDS: Final = frozenset({"KEY", "KEYS", "PAT"})
"""Words that say so by themselves; PAT is a "personal access token"."""

LAST_WORDS: Final = frozenset({"PASS", "PWD", "AUTH"})
"""Words that say so at the end of a longer name: DB_PASS, MYSQL_PWD, REDIS_AUTH."""

HARMLESS_LAST_WORDS: Final = frozenset(
    {"FILE", "PATH", "DIR", "FOLDER", "SOCK", "NAME", "TYPE", "FORMAT", "LENGTH", "LIMIT", "COUNT"}
    | {"TTL", "TIMEOUT", "EXPIRY", "LIFETIME", "ALGORITHM", "COMMAND", "HELPER", "URL", "URI"}
)
"""A name that ends so tells of a secret and holds none; passwords in addresses have a shape."""

_SHAPES: Final = (
    (
        "PRIVATE KEY-----",
        r"(?P<start>-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)"
        r"(?:[^-]*(?:-(?!----)[^-]*)*(?P<end>-----END [A-Z ]{0,40}PRIVATE KEY-----)"
        r"|(?:[A-Za-z0-9+/=\s]|\\[nr])+)",
    ),
    ("://", r"(?P<start>://[^\s/:@\"']{0,200}:)(?![$<{*…])[^\s/@\"']{1,200}(?P<end>@)"),
    ("eyJ", r"(?<![\w-])eyJ[\w-]{8,4000}\.eyJ[\w-]{8,4000}\.[\w-]{16,4000}"),
    ("sk-", r"(?<![\w-])sk-(?=[\w-]{0,200}[0-9])(?=[\w-]{0,200}[A-Z])[\w-]{20,200}"),
    ("sk-", r"(?<![\w-])sk-[0-9a-f]{32}(?![\w-])"),
    ("gsk_", r"(?<![\w-])gsk_[A-Za-z0-9]{40,100}"),
    ("xai-", r"(?<![\w-])xai-[A-Za-z0-9]{60,200}"),
    ("AKIA", r"(?<![A-Za-z0-9])AKIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("ASIA", r"(?<![A-Za-z0-9])ASIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("AIza", r"AIza[\w-]{35}"),
    ("gh", r"(?<![A-Za-z0-9])gh[opsur]_[A-Za-z0-9]{30,255}"),
    ("github_pat_", r"github_pat_\w{22,255}"),
    ("glpat-", r"glpat-[\w-]{20,200}"),
    ("xox", r"xox[abeprs]-[\w-]{10,200}"),
    ("hf_", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,200}"),
)
"""What a secret looks like that nobody told us of: a text in it, and the pattern."""

MASK_NAME: Final = "MASK"
"""What stands in place of what one of the user's own patterns matches."""

WORDS_BESIDE_KEY: Final = 5
"""A text of a key and no more other words is given away by mistake; more of them ask something."""

_LONE_KEY: Final = lazy_pattern(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[\w+=~-]{24,1000}")
"""A word that could be the key of a service whose form nobody told us of."""

_ASSIGNED: Final = lazy_pattern(
    r"(?:export +|set +|setx +|\$env:)?(?P<name>[A-Za-z_]\w{0,100}) ?[=:] ?[\"']?\S{8,8000}"
)
"""What a shell or a file says of a variable."""

_NUMBER: Final = lazy_pattern(r"[-+.e0-9]+")
_MAX_NUMBER_BITS: Final = 10_000
"""Python makes no decimal text of much larger integers."""

_CAMEL_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_URL_PASSWORD: Final = re.compile(
    r"(?P<scheme>[a-z+]{0,20})://(?P<user>[^\s/:@]{0,200}):(?P<password>[^\s/@]{1,200})@"
)
_LETTERS_OF_QUOTED: Final = lazy_pattern("%[0-9A-F]{2}")
_LINE_END: Final = lazy_pattern(r"\r?\n|\\n")


def names_a_secret(name: str) -> bool:
    """Whether a variable, header, option or URL parameter of this name holds a secret by custom."""
    words = re.split(r"[^A-Z0-9]+", _CAMEL_HUMP.sub("_", name.strip("-_")).upper())
    if words[-1] in HARMLESS_LAST_WORDS:
        return False
    if len(words) > 1 and words[-1] in LAST_WORDS and words != ["OLD", "PWD"]:
        return True
    return any(word in WORDS or word.endswith(ENDINGS) for word in words)


def secrets_of(name: str, value: str) -> Iterator[str]:
    """What of the value of a variable or setting is secret, and each line of it.

    That is the whole where the name says so, and the password of an address in any case, unless
    it is the user's name once more, as those are that everybody knows.
    """
    stripped = value.strip()
    if len(stripped) >= MIN_VALUE_CHARACTERS and names_a_secret(name):
        yield stripped
        yield from _lines(stripped)
    for found in _URL_PASSWORD.finditer(stripped):
        for password in (found["password"], unquote(found["password"])):
            if len(password) >= MIN_SECRET_CHARACTERS and password not in found.group(1, 2):
                yield password


def is_little_but_a_key(text: str) -> bool:
    """Whether a text is a key or token, or says one in a few words."""
    text = text.strip()
    if _LONE_KEY.fullmatch(text):
        return True
    assigned = _ASSIGNED.fullmatch(text)
    if assigned is not None and names_a_secret(assigned["name"]):
        return True
    rest = text
    for sign, shape in _SHAPES:
        if sign in rest and sign != "://":
            rest = re.sub(shape, " ", rest)
    return rest != text and len(rest.split()) <= WORDS_BESIDE_KEY


class Redactor:
    """Replaces secrets by `[redacted NAME]`; safe to use from several threads."""

    def __init__(self, environ: Mapping[str, str], extra: Iterable[str] = ()) -> None:
        """Collect the secrets of `environ`, and `extra` ones.

        `extra` are secrets from elsewhere, such as the headers of a server; a variable that
        holds the same value lends it its name.
        """
        self._names: dict[str, str] = {}
        self._forms: dict[str, str] = {}
        self._longest_first: tuple[str, ...] = ()
        self._words: dict[str, str] = {}
        self._has_numbers = False  # whether one of them may be in a number
        self._masks: tuple[re.Pattern[str], ...] = ()
        self._learning = threading.Lock()
        for name, value in environ.items():
            for secret in secrets_of(name, value):
                self._names.setdefault(secret, name)
            word = value.strip()
            if MIN_SECRET_CHARACTERS <= len(word) < MIN_VALUE_CHARACTERS and names_a_secret(name):
                self._words.update((form, name) for form in _forms(word))
        self.learn(extra)

    def learn(self, secrets: Iterable[str]) -> None:
        """From now on, keep these out too; a name that one has already stays."""
        with self._learning:
            for raw in secrets:
                for value in (raw.strip(), *_lines(raw)):
                    if len(value) >= MIN_SECRET_CHARACTERS:
                        self._names.setdefault(value, EXTRA_NAME)
            forms: dict[str, str] = {}
            for value, name in self._names.items():
                for form in _forms(value):
                    forms.setdefault(form, name)
            # Longest first, so that a secret that holds another goes as a whole.
            self._forms = forms
            self._longest_first = tuple(sorted(forms, key=len, reverse=True))
            self._has_numbers = any(map(_NUMBER.fullmatch, (*forms, *self._words)))

    def mask(self, patterns: Sequence[str]) -> None:
        """From now on, keep out what these regular expressions match."""
        self._masks = tuple(dict.fromkeys((*self._masks, *map(re.compile, patterns))))

    def __repr__(self) -> str:
        """The names of the variables, never their values."""
        return f"Redactor({', '.join(sorted(set(self._names.values())))})"

    def text(self, text: str) -> str:
        """`text` without secrets; linear in its length, as far as the user's own masks are."""
        for mask in self._masks:
            text = mask.sub(_label(MASK_NAME), text)
        if len(text) < MIN_BEGINNING_CHARACTERS:
            return text
        # Looking for each form is many times quicker than one pattern of them all.
        forms = self._forms
        if found := [form for form in self._longest_first if form in text]:
            pattern = "|".join(map(re.escape, found))
            text = re.sub(pattern, lambda match: _label(forms.get(match[0], EXTRA_NAME)), text)
        if words := [word for word in self._words if word in text]:
            pattern = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
            text = re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", lambda m: _label(self._words[m[0]]), text)
        for sign, shape in _SHAPES:
            if sign in text:
                text = re.sub(shape, _without_middle, text)
        return self._without_beginnings(text) if "…" in text else text

    def json(self, value: Json) -> Json:
        """`value` with every text in it, keys too, without secrets; a number may be one too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._number(value)
        if isinstance(value, list):
            return [self.json(element) for element in value]
        if isinstance(value, dict):
            return self.object(value)
        return value

    def object(self, value: JsonObject) -> JsonObject:
        """As `json`, for what is known to be an object."""
        return {self.text(key): self.json(inner) for key, inner in value.items()}

    def _number(self, number: float) -> Json:
        """The number, or the text that is left of it: the number of a card needs no letter."""
        if not (self._masks or self._has_numbers):
            return number
        if isinstance(number, int) and number.bit_length() > _MAX_NUMBER_BITS:
            return number
        text = str(number)
        clean = self.text(text)
        return number if clean == text else clean

    def _without_beginnings(self, text: str) -> str:
        """`text` without the beginnings of secrets that were cut off before a "…"."""
        for place in [found.start() for found in re.finditer("…", text)][-MAX_CUTS:][::-1]:
            for form in self._longest_first:
                beginning = _beginning_before(text, place, form)
                if beginning:
                    label = _label(self._forms.get(form, EXTRA_NAME))
                    text = f"{text[: place - beginning]}{label}{text[place:]}"
                    break
        return text


def _beginning_before(text: str, place: int, form: str) -> int:
    """How many characters before `place` are the beginning of `form`; 0 if too few are."""
    for length in range(min(len(form) - 1, place), MIN_BEGINNING_CHARACTERS - 1, -1):
        if text.startswith(form[:length], place - length):
            return length
    return 0


def _label(name: str) -> str:
    return f"[redacted {name}]"


def _without_middle(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return f"{groups.get('start') or ''}{_label(EXTRA_NAME)}{groups.get('end') or ''}"


def _lines(value: str) -> Iterator[str]:
    """The lines of a secret of several, such as a key in PEM form, without those that frame it."""
    lines = _LINE_END.split(value)
    if len(lines) > 1:
        for line in map(str.strip, lines):
            if len(line) >= MIN_VALUE_CHARACTERS and not line.startswith("-----"):
                yield line


def _forms(value: str) -> Iterator[str]:
    """The value as other texts hold it."""
    yield value
    for is_ascii in (True, False):
        escaped = json.dumps(value, ensure_ascii=is_ascii)[1:-1]
        yield escaped
        yield escaped.replace("/", "\\/")  # as PHP writes it
        yield json.dumps(escaped, ensure_ascii=is_ascii)[1:-1]
    yield repr(value)[1:-1]
    yield repr(f"'{value}")[2:-1]
    if "'" in value:
        yield value.replace("'", "\\'")
        yield value.replace("'", "'\"'\"'")  # as `shlex.quote` writes it
    yield html.escape(value)
    data = value.encode("utf-8", "surrogatepass")
    for quoted in (quote_plus(data), quote(data), quote(data, safe="")):
        yield quoted
        yield _LETTERS_OF_QUOTED.sub(lambda found: found[0].lower(), quoted)
    if len(data) >= MIN_VALUE_CHARACTERS:
        yield from _in_base64(data)


def _in_base64(data: bytes) -> Iterator[str]:
    """The characters that stand for `data` wherever it lies in what was encoded (RFC 4648)."""
    for before in range(3):
        text = base64.b64encode(bytes(before) + data).decode()
        # The first characters hold bits of what stands before, the last ones of what follows.
        start = (0, 2, 3)[before]
        end = len(text) - (0, 3, 2)[(before + len(data)) % 3]
        yield text[start:end]
        yield text[start:end].replace("+", "-").replace("/", "_")
