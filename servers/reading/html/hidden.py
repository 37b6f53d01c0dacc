"""Text in a page that its readers don't see: taken out, as that is how pages talk to models.

Covered: the attribute `hidden`, `aria-hidden`, `<template>` and what else never shows; inline
styles that hide (display, visibility, content-visibility, opacity, a font of no size, clipping, no
extent, far off the screen) or write in the colour of the ground, as far as inline styles and old
attributes tell it, white where none does; and rules in the page's own `<style>` whose selector is
one class or id. Not covered: style sheets in files of their own, selectors of several parts, what
scripts do, text under another element, and text in pictures. Text that a page hides until it is
asked for (a folded answer) goes too where it is hidden in these ways.

Sources: W3C, CSS Display 3, CSS Color 4 (named and hexadecimal colours), CSS Masking 1.
"""

import re
from collections.abc import Iterable

from servers.reading.html.tree import Element

NEARLY_EQUAL = 40
"""Two colours are one to the eye if red, green and blue together differ by no more, of 765."""

OFF_SCREEN_PIXELS = 900
FONT_PIXELS_MIN = 2.0
STYLE_CHARS_MAX = 200_000
STYLE_RULES_MAX = 2_000

_NOT_ROOTS = frozenset({"html", "body", "head"})
_STYLED = "//*[@hidden or @aria-hidden or @style or @color or @bgcolor or self::template]"
_LENGTH = re.compile(r"(-?\d*\.?\d+)\s*(px|em|rem|ex|ch|pt|vw|vh|%|in|cm|mm)?(?![\w.])")
_PIXELS = {"em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "pt": 1.33, "vw": 12.8, "vh": 8.0,
           "%": 12.8, "in": 96.0, "cm": 37.8, "mm": 3.8}  # fmt: skip
_PLACES = ("left", "right", "top", "bottom", "margin-left", "margin-top", "text-indent")
_NAMED = {
    "white": (255, 255, 255), "snow": (255, 250, 250), "ivory": (255, 255, 240),
    "whitesmoke": (245, 245, 245), "ghostwhite": (248, 248, 255), "floralwhite": (255, 250, 240),
    "azure": (240, 255, 255), "mintcream": (245, 255, 250), "black": (0, 0, 0),
    "red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0),
    "gray": (128, 128, 128), "grey": (128, 128, 128), "silver": (192, 192, 192),
    "navy": (0, 0, 128), "orange": (255, 165, 0), "purple": (128, 0, 128),
}  # fmt: skip
_HEX = re.compile(r"#([0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})\b")
_NUMBER = r"(\d+\.?\d*%?|\.\d+%?)"
_RGB = re.compile(rf"rgba?\(\s*{_NUMBER}[\s,]+{_NUMBER}[\s,]+{_NUMBER}(?:\s*[,/]\s*{_NUMBER})?")
_WORD = re.compile(r"\b[a-z]+\b")
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_RULE = re.compile(r"([^{}]{1,500})\{([^{}]{0,5000})\}")
_SELECTOR = re.compile(r"(?:[a-z]\w*)?([.#])([\w-]+)", re.IGNORECASE)

Colour = tuple[int, int, int]
WHITE: Colour = (255, 255, 255)


def drop_hidden(tree: Element) -> int:
    """Take out what is hidden, and count its characters; root and body stay in any case."""
    classes, ids = _hidden_names(tree)
    count = 0
    for each in tree.xpath(_STYLED):
        if each.tag not in _NOT_ROOTS and _is_hidden(each):
            count += _drop(each)
    if classes or ids:
        for each in tree.xpath("//*[@class or @id]"):
            named = set((each.get("class") or "").split()) & classes
            if (named or each.get("id") in ids) and each.tag not in _NOT_ROOTS:
                count += _drop(each)
    return count


def _hides(style: str) -> bool:
    """Whether declarations of CSS hide what they are for, colours aside."""
    rules = _declarations(style)
    return (
        rules.get("display") == "none"
        or rules.get("visibility") in ("hidden", "collapse")
        or rules.get("content-visibility") == "hidden"
        or _is_nothing(rules.get("opacity"), 0.05)
        or _is_nothing(rules.get("font-size"), FONT_PIXELS_MIN)
        or _is_clipped(rules)
        or _is_shrunk(rules)
        or _is_off_screen(rules)
    )


def _declarations(style: str) -> dict[str, str]:
    """The declarations of a style, the last of each property, in lower case."""
    plain = _COMMENT.sub("", style).lower().replace("!important", "")
    pairs = (each.partition(":") for each in plain.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs if value.strip()}


def _colour_of(value: str) -> Colour | None:
    """The colour that a value names; None for none that is known."""
    value = value.strip().lower()
    if found := _HEX.search(value):
        digits = _long_digits(found[1])
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)
    if found := _RGB.search(value):
        red, green, blue = (_part(found[number]) for number in (1, 2, 3))
        return red, green, blue
    return next((_NAMED[word] for word in _WORD.findall(value) if word in _NAMED), None)


def _is_see_through(value: str) -> bool:
    if found := _HEX.search(value):
        return _long_digits(found[1])[6:] == "00"
    if found := _RGB.search(value):
        return found[4] is not None and float(found[4].rstrip("%")) == 0
    return value.startswith("transparent")


def _long_digits(digits: str) -> str:
    """Six or eight digits of a colour that may be written with three or four."""
    return "".join(digit * 2 for digit in digits) if len(digits) < 6 else digits


def _is_hidden(each: Element) -> bool:
    if each.tag == "template" or each.get("hidden") is not None:
        return True
    if (each.get("aria-hidden") or "").strip().lower() == "true":
        return True
    style = each.get("style")
    if style and _hides(style):
        return True
    return (bool(style and "color" in style.lower()) or each.get("color") is not None) and (
        _is_in_colour_of_ground(each)
    )


def _is_in_colour_of_ground(each: Element) -> bool:
    rules = _declarations(each.get("style") or "")
    value = rules.get("color") or rules.get("-webkit-text-fill-color") or each.get("color") or ""
    if _is_see_through(value):
        return not _has_painted_letters(rules)
    colour = _colour_of(value)
    ground = _ground_of(each)
    if colour is None or ground is None:
        return False
    return sum(abs(one - other) for one, other in zip(colour, ground, strict=True)) <= NEARLY_EQUAL


def _has_painted_letters(rules: dict[str, str]) -> bool:
    """Letters as a window on a coloured ground, as headings are painted now."""
    return "text" in rules.get("background-clip", "") + rules.get("-webkit-background-clip", "")


def _ground_of(each: Element) -> Colour | None:
    """The colour behind an element: white if nothing tells; None behind a picture."""
    for around in (each, *each.iterancestors()):
        rules = _declarations(around.get("style") or "")
        value = rules.get("background-color") or rules.get("background") or ""
        value = value or around.get("bgcolor") or ""
        if "url(" in value or "gradient(" in value or "background-image" in rules:
            return None
        if value and "transparent" not in value and "none" not in value.split():
            return _colour_of(value)
    return WHITE


def _is_nothing(value: str | None, most: float) -> bool:
    """Whether a number or length is below a bound; percentages of opacity count as shares."""
    if not value or "calc" in value:
        return False
    found = _LENGTH.match(value)
    if found is None:
        return False
    number, unit = float(found[1]), found[2] or ""
    scale = 0.16 if unit == "%" and most == FONT_PIXELS_MIN else 0.01 if unit == "%" else 1.0
    return number * (_PIXELS.get(unit, 1.0) if unit != "%" else scale) < most


def _is_clipped(rules: dict[str, str]) -> bool:
    clip = rules.get("clip", "").replace(" ", "").replace(",", "")
    if clip.startswith("rect("):
        numbers = [float(found[0]) for found in _LENGTH.findall(rules["clip"])]
        if len(numbers) == 4 and numbers[1] - numbers[3] <= 1 and numbers[2] - numbers[0] <= 1:
            return True
    path = rules.get("clip-path", "").replace(" ", "")
    return path.startswith(("inset(50%", "inset(100%", "circle(0", "polygon(00"))


def _is_shrunk(rules: dict[str, str]) -> bool:
    """No width or height with the rest cut off, or scaled to nothing."""
    if re.search(r"scale[xy]?\(\s*0(?:\.0+)?\s*[,)]", rules.get("transform", "")):
        return True
    is_cut = any(rules.get(name, "").startswith(("hidden", "clip")) for name in (
        "overflow", "overflow-x", "overflow-y"))  # fmt: skip
    names = ("width", "height", "max-width", "max-height")
    return is_cut and any(_is_nothing(rules.get(name), 2.0) for name in names)


def _is_off_screen(rules: dict[str, str]) -> bool:
    values = [rules.get(name, "") for name in _PLACES if name in rules]
    if "translate" in rules.get("transform", ""):
        values += re.findall(r"-?\d*\.?\d+\s*\w+", rules["transform"])
    for value in values:
        found = _LENGTH.match(value)
        if found is None:
            continue
        pixels = float(found[1]) * _PIXELS.get(found[2] or "", 1.0)
        if pixels <= -OFF_SCREEN_PIXELS or pixels >= 10 * OFF_SCREEN_PIXELS:
            return True
    return False


def _hidden_names(tree: Element) -> tuple[set[str], set[str]]:
    """The classes and ids that rules of the page itself hide, outside of `@media` and the like."""
    classes: set[str] = set()
    ids: set[str] = set()
    for sheet in tree.iter("style"):
        plain = _outside_of_blocks(_COMMENT.sub("", (sheet.text or "")[:STYLE_CHARS_MAX]))
        for selectors, body in _RULE.findall(plain)[:STYLE_RULES_MAX]:
            if _hides(body):
                _collect(selectors.split(","), classes, ids)
    return classes, ids


def _collect(selectors: Iterable[str], classes: set[str], ids: set[str]) -> None:
    for selector in selectors:
        if found := _SELECTOR.fullmatch(selector.strip()):
            (classes if found[1] == "." else ids).add(found[2])


def _outside_of_blocks(sheet: str) -> str:
    """A style sheet without the blocks of `@media`, `@supports` and others that hold rules."""
    kept: list[str] = []
    place = 0
    while (begin := sheet.find("@", place)) >= 0:
        kept.append(sheet[place:begin])
        opened, ended = sheet.find("{", begin), sheet.find(";", begin)
        if ended >= 0 and (opened < 0 or ended < opened):
            place = ended + 1
            continue
        place = _end_of_block(sheet, opened)
    return "".join(kept) + sheet[place:]


def _end_of_block(sheet: str, opened: int) -> int:
    """The place after the bracket that closes the one at `opened`."""
    depth = 0
    for found in re.finditer(r"[{}]", sheet[opened:] if opened >= 0 else ""):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return opened + found.end()
    return len(sheet)


def _part(text: str) -> int:
    value = float(text.rstrip("%"))
    return round(value * 2.55 if text.endswith("%") else value)


def _drop(each: Element) -> int:
    """How many characters went; of scripts and of what is gone already none."""
    if each.getparent() is None:
        return 0
    has_script = next(each.iter("script", "style"), None) is not None
    count = 0 if has_script else len(each.text_content())
    each.drop_tree()
    return count
