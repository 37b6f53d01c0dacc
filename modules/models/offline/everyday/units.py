"""Units of everyday life, and conversions between them, exact as the units are defined.

Source of what a unit is in SI: NIST SP 811 (2008), appendix B. Cups, pints and gallons are US
customary. A kilobyte has 1,000 bytes and a kibibyte 1,024 (IEC 80000-13).
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from core.base.frozen import frozen
from modules.models.offline.everyday.rule import AS_NUMBER, NUMBER_FORM, read_number

_TABLE: Final = """
length 0.000001: µm micrometre micrometer micron
length 0.001: mm millimetre millimeter
length 0.01: cm centimetre centimeter
length 1: m metre meter
length 1000: km kilometre kilometer
length 0.0254: in inch inches
length 0.3048: ft foot feet
length 0.9144: yd yard
length 1609.344: mi mile
length 1852: nmi nautical-mile
mass 0.000001: mg milligram
mass 0.001: g gram gramme
mass 1: kg kilogram kilo
mass 1000: t tonne metric-ton
mass 0.028349523125: oz ounce
mass 0.45359237: lb lbs pound
mass 6.35029318: st stone
volume 0.001: ml millilitre milliliter
volume 0.01: cl centilitre centiliter
volume 0.1: dl decilitre deciliter
volume 1: l litre liter
volume 1000: m³ m3 cubic-metre cubic-meter
volume 0.00492892159375: tsp teaspoon
volume 0.01478676478125: tbsp tablespoon
volume 0.0295735295625: fl-oz fluid-ounce
volume 0.2365882365: cup
volume 0.473176473: pt pint
volume 0.946352946: qt quart
volume 3.785411784: gal gallon
area 1: m² m2 sqm square-metre square-meter
area 10000: ha hectare
area 1000000: km² km2 square-kilometre square-kilometer
area 0.09290304: ft² ft2 sqft square-foot square-feet
area 4046.8564224: acre
area 2589988.110336: square-mile
time 0.001: ms millisecond
time 1: s sec second
time 60: min minute
time 3600: h hr hour
time 86400: d day
time 604800: week
time 1209600: fortnight
speed 1: m/s mps metres-per-second meters-per-second
speed 0.44704: mph miles-per-hour
speed 1852/3600: kn knot
speed 1000/3600: km/h kmh kph kilometres-per-hour kilometers-per-hour
data 0.125: bit
data 1: b byte
data 1000: kb kilobyte
data 1000000: mb megabyte
data 1000000000: gb gigabyte
data 1000000000000: tb terabyte
data 1024: kib kibibyte
data 1048576: mib mebibyte
data 1073741824: gib gibibyte
data 1099511627776: tib tebibyte
"""

_TEMPERATURES: Final = "c celsius °c degrees-celsius|f fahrenheit °f degrees-fahrenheit|k kelvin"

_TO_KELVIN: Final = {
    "c": '@n@ + Decimal("273.15")',
    "f": '(@n@ + Decimal("459.67")) * 5 / 9',
    "k": "@n@",
}
_FROM_KELVIN: Final = {
    "c": 'kelvin - Decimal("273.15")',
    "f": 'kelvin * 9 / 5 - Decimal("459.67")',
    "k": "kelvin",
}


@frozen
class Unit:
    """A unit: `factor` is what one of it is in its kind's base unit; `symbol` names it."""

    kind: str
    factor: str
    symbol: str


def _units() -> Mapping[str, Unit]:
    units: dict[str, Unit] = {}
    for line in _TABLE.strip().splitlines():
        head, _, names = line.partition(": ")
        kind, factor = head.split()
        symbol, *others = [name.replace("-", " ") for name in names.split()]
        for name in (symbol, *others):
            plural = [f"{name}s"] if name.isalpha() and len(name) > 2 else []
            units |= dict.fromkeys([name, *plural], Unit(kind, factor, symbol))
    for group in _TEMPERATURES.split("|"):
        symbol, *names = [name.replace("-", " ") for name in group.split()]
        units |= dict.fromkeys([symbol, *names], Unit("temperature", symbol, symbol))
    return MappingProxyType(units)


UNITS: Final = _units()
"""Every unit by its names, in lower case."""

_AMOUNT: Final = rf"(?P<n>{NUMBER_FORM}) ?(?P<of>[^\d\s].*?)"
_CONVERSIONS: Final = (
    rf"(?:convert |change )?{_AMOUNT} (?:to|in|into|as|is how many) (?P<to>\S.*)",
    rf"how many (?P<to>\S.*?) (?:(?:is|are|are there|makes?|equals?)(?: in)?|in) {_AMOUNT}",
)


def conversion(text: str) -> str | None:
    """The lines of a plan for "5 miles to km"; None if the text converts no units of one kind."""
    for form in _CONVERSIONS:
        found = re.fullmatch(form, text, re.IGNORECASE)
        if found is None:
            continue
        source, target = (UNITS.get(_name(found[side])) for side in ("of", "to"))
        number = read_number(found["n"])
        if source and target and number and source.kind == target.kind:
            return _lines(source, target).replace("@n@", number)
    return None


def _name(text: str) -> str:
    return " ".join(text.lower().split()).removeprefix("degrees ").rstrip(".")


def _lines(source: Unit, target: Unit) -> str:
    if source.kind == "temperature":
        steps = f"kelvin = {_TO_KELVIN[source.factor]}\nanswer = {_FROM_KELVIN[target.factor]}"
    else:
        steps = f"answer = @n@ * {_ratio(source)} / ({_ratio(target)})"
    return f'{steps}\n{AS_NUMBER}\nanswer = f"{{answer}} {_shown(target)}"'


def _ratio(unit: Unit) -> str:
    return " / ".join(f'Decimal("{part}")' for part in unit.factor.split("/"))


def _shown(unit: Unit) -> str:
    """The unit behind a value: `°C`, `km`; of data, in capitals."""
    if unit.kind == "temperature":
        return unit.symbol.upper() if unit.symbol == "k" else f"°{unit.symbol.upper()}"
    if unit.kind == "data" and unit.symbol != "bit":
        return unit.symbol.upper().replace("IB", "iB")
    return unit.symbol
