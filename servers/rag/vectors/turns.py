"""A lock that is handed over in turn."""

import threading


class Turns:
    """Keeps one that takes the lock again and again from starving another that waits for it.

    `threading.Lock` goes to whoever asks first after it was released, and that is mostly the
    thread that held it. Here one who waits already stands at the door, so that the holder finds
    the door taken when it comes back.
    """

    def __init__(self) -> None:
        self._door = threading.Lock()
        self._room = threading.Lock()

    def __enter__(self) -> None:
        """Wait for one's turn."""
        with self._door:
            self._room.acquire()

    def __exit__(self, *_: object) -> None:
        """Leave it to the next."""
        self._room.release()
