"""One writer at a time in a folder, among the processes of this program."""

import errno
import fcntl
import time

_POLL_SECONDS = 0.005


def lock_folder(descriptor: int, deadline: float) -> None:
    """Lock the open folder; closing the descriptor gives the lock back.

    `deadline` is in seconds of `time.monotonic`. A file system without locks gives none, silently:
    writers read before they write, and replace files as a whole.

    Raises:
        TimeoutError: another process holds it until the deadline.
    """
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TimeoutError(errno.ETIMEDOUT, "another process holds its folder") from None
            time.sleep(_POLL_SECONDS)
        except OSError:
            return
        else:
            return
