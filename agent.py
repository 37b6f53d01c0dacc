"""Cortex-R at the terminal: arguments in, exit code out."""

import sys

if __name__ == "__main__":
    sys.exit("Cortex-R is being built; see CONTRIBUTING.md")
