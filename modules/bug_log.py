"""Where tracebacks of our own bugs go: the log file; the user is told in one line."""

import os
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from core.base.private_files import make_private_folder, open_private

MAX_MESSAGE_CHARACTERS = 200
"""How much of an exception's own text the line quotes."""

MAX_TRACEBACK_CHARACTERS = 64_000
"""How much of a traceback is kept: its end, which names the fault."""


def log_bug(error: Exception, log_file: Path | None, redact: Callable[[str], str]) -> str:
    """Append the traceback to the log; gives the line that tells of the bug.

    `redact` takes secrets out of both. Where there is no log, or it can't be written, the
    traceback follows the line.
    """
    from core.process.server_log import trim_log  # late, as all of this is
    from modules.terminal.printing import one_line

    message = one_line(str(error), MAX_MESSAGE_CHARACTERS)
    told = redact(f"a bug in Cortex-R: {type(error).__name__}: {message}; details: ")
    lines = "".join(traceback.format_exception(error))[-MAX_TRACEBACK_CHARACTERS:]
    text = redact(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n{lines}")
    if log_file is None:
        return f"{told}\n{text}"
    try:
        make_private_folder(log_file.parent)
        with os.fdopen(open_private(log_file, os.O_WRONLY | os.O_APPEND), "ab") as log:
            log.write(text.encode("utf-8", "backslashreplace"))
    except OSError:
        return f"{told}\n{text}"
    trim_log(log_file)
    return f"{told}{log_file}"
