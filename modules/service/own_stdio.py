"""Our own stdin and stdout, for a client that has started this process and speaks a protocol."""

import os
import sys
from typing import BinaryIO, Final

_SKIPPED_BYTES: Final = 64 * 1024


def take_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Stdin and stdout for the protocol alone.

    Whatever else reads descriptor 0 from now on, here or in a child, finds it empty; what it writes
    to descriptor 1 goes to stderr. They stay so: the process ends soon after.
    """
    sys.stdout.flush()
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return stdin, stdout


def next_line(stdin: BinaryIO, bytes_max: int) -> bytes:
    """The next line, with its end; empty where there are no more. Blocks.

    Of a line of more than `bytes_max` bytes one byte more is given, and the rest passed over.

    Raises:
        OSError: nothing can be read.
    """
    line = piece = stdin.readline(bytes_max + 1)
    if len(line) > bytes_max:
        while piece and not piece.endswith(b"\n"):
            piece = stdin.readline(_SKIPPED_BYTES)
    return line
