"""Terminals as an emulator shows them: what stands on the screen after so much was written."""

import pyte

COLUMNS = 100
ROWS = 40

END_OF_UPDATE = "\x1b[?2026l"


def screen_lines(written: str, columns: int = COLUMNS, rows: int = ROWS) -> list[str]:
    """The lines on a new screen, those that scrolled away too, without empty ones at the end."""
    screen = pyte.HistoryScreen(columns, rows, history=10_000, ratio=0.5)
    pyte.Stream(screen).feed(on_terminal(written))
    return lines_of(screen)


def lines_of(screen: pyte.HistoryScreen) -> list[str]:
    """What stands on a screen and above it."""
    above = ["".join(line[x].data for x in range(screen.columns)) for line in screen.history.top]
    lines = [line.rstrip() for line in [*above, *screen.display]]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def on_terminal(written: str) -> str:
    """What reaches the screen: the terminal's driver makes each line end a return as well."""
    return written.replace("\r\n", "\n").replace("\n", "\r\n")
