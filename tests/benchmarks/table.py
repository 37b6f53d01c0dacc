"""The printed table: rows of figures under the machine, the date and the versions."""

import os
import platform
import statistics
from collections.abc import Sequence
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


def print_table(title: str, rows: Sequence[Row]) -> None:
    """Print one section."""
    width = max(len(row.what) for row in rows)
    lines = [f"\n{title}"]
    lines += [f"  {row.what:<{width}}  {row.value:<36} {row.aim}".rstrip() for row in rows]
    print("\n".join(lines), flush=True)  # noqa: T201 — the table is the output


def print_machine() -> None:
    """Print what the figures were measured on."""
    names = ("mcp", "pydantic", "pydantic-monty")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    print(  # noqa: T201 — the table is the output
        f"{datetime.now().astimezone():%Y-%m-%d %H:%M}  {platform.machine()}, "
        f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, {versions}",
        flush=True,
    )
