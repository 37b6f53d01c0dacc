"""The printed table: rows of figures under the machine, the date and the versions."""

import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version


@dataclass(frozen=True)
class Row:
    """One figure: what, its value as text, the ratio or aim it is held against."""

    what: str
    value: str
    aim: str = ""


def spread(seconds: Sequence[float]) -> str:
    """`median ms (min … max)`."""
    ms = [value * 1000 for value in seconds]
    return f"{statistics.median(ms):.2f} ms ({min(ms):.2f} … {max(ms):.2f})"


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile; of one value three times that value."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def middle_half(seconds: Sequence[float]) -> str:
    """`median ms (lower quartile … upper quartile)`, for calls whose extremes are the machine's."""
    low, middle, high = quartiles([value * 1000 for value in seconds])
    return f"{middle:.2f} ms ({low:.2f} … {high:.2f})"


def at_most(value: float, bound: float, unit: str = "") -> str:
    """The aim, and whether a figure meets it, as it is printed to two decimals."""
    verdict = "met" if round(value, 2) <= bound else "MISSED"
    return f"aim: at most {bound:g}{unit}: {verdict}"


def print_table(title: str, rows: Sequence[Row]) -> None:
    """Print one section."""
    width = max(len(row.what) for row in rows)
    lines = [f"\n{title}"]
    lines += [f"  {row.what:<{width}}  {row.value:<36} {row.aim}".rstrip() for row in rows]
    print("\n".join(lines), flush=True)  # noqa: T201 — the table is the output


def print_machine() -> None:
    """Print what the figures were measured on."""
    names = ("mcp", "pydantic", "wasmtime")
    versions = listed({name: version(name) for name in names})
    print(  # noqa: T201 — the table is the output
        f"{datetime.now().astimezone():%Y-%m-%d %H:%M}  {platform.machine()}, "
        f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, {versions}, load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def listed(versions: Mapping[str, str]) -> str:
    """`mcp 2.3.0, pydantic 2.12.4`."""
    return ", ".join(f"{name} {number}" for name, number in versions.items())
