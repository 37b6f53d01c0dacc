"""What is told on the way, on stderr: the table alone is output."""

import sys


def say(text: str) -> None:
    """One line."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
