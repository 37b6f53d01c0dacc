"""Run every measurement and print its table."""

import asyncio
import tempfile
from pathlib import Path

from tests.benchmarks import iteration, one_shot, tool_calls
from tests.benchmarks.table import print_machine, print_table


def main() -> None:
    """Measure one thing after the other, each in a home of its own."""
    print_machine()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        print_table("One-shot run of the INDIA request, cold process", one_shot.measure(home))
        print_table("One loop iteration", asyncio.run(iteration.measure(home)))
        print_table("A tool call", asyncio.run(tool_calls.measure(home)))


if __name__ == "__main__":
    main()
