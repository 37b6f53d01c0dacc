"""Hears of changes in the document folders while the server runs.

The system's own notifications where there are any left (Linux allows a user so many watched
folders), else by looking every few seconds: slower, and said in the status. What is heard is
only that something changed; the comparison with the index finds out what.
"""

import logging
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from watchfiles import Change, watch

from servers.rag.folders.scan import IgnoreRules, is_inside

logger = logging.getLogger(__name__)

DEBOUNCE_MS = 1_000
"""Changes that follow each other are told as one, at the latest after this long."""

QUIET_MS = 100
"""... and as soon as it has been quiet this long."""

POLL_DELAY_MS = 5_000
MISSING_FOLDERS_SECONDS = 30.0
LOOK_UP_MS = 1_000
"""How often it is looked whether a folder appeared or went, though nothing was heard."""


OnChange: TypeAlias = Callable[[frozenset[str] | None], None]


class Watcher:
    """Calls `on_change` from a thread of its own when something changes in the folders.

    It is told the paths, or None where everything has to be looked through.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        rules: IgnoreRules,
        on_change: OnChange,
        own: Sequence[Path] = (),
    ) -> None:
        self.note = ""
        self._folders = [os.path.realpath(folder) for folder in folders]
        self._own = [os.path.realpath(folder) for folder in own]
        self._rules = rules
        self._on_change = on_change
        self._closing = threading.Event()
        self._polls = False
        self._thread = threading.Thread(target=self._run, name="watching", daemon=True)

    def start(self) -> None:
        """Begin; once."""
        self._thread.start()

    def close(self, seconds: float) -> None:
        """End it, and wait for that not longer than given."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def concerns(self, path: str) -> bool:
        """Whether a changed path can matter: not one of the index, nor an ignored one."""
        if any(is_inside(path, own) for own in self._own):
            return False
        for folder in self._folders:
            if path == folder:
                return True
            if is_inside(path, folder):
                relative = Path(path).relative_to(folder)
                above = [str(parent) for parent in relative.parents][:-1]
                return not (
                    self._rules.ignores(str(relative), is_folder=False)
                    or any(self._rules.ignores(parent, is_folder=True) for parent in above)
                )
        return False

    def _run(self) -> None:
        while not self._closing.is_set():
            present = [folder for folder in self._folders if Path(folder).is_dir()]
            if not present:
                self._closing.wait(MISSING_FOLDERS_SECONDS)
                continue
            try:
                self._watch(present)
            except Exception as error:  # noqa: BLE001 - whatever the system says, watching goes on
                self._fall_back(error)

    def _watch(self, present: Sequence[str]) -> None:
        """Watch until it ends, or until another of the folders appears or goes."""

        def wanted(_: Change, path: str) -> bool:
            return self.concerns(path)

        is_new = True
        for changes in watch(
            *present,
            watch_filter=wanted,
            debounce=DEBOUNCE_MS,
            step=QUIET_MS,
            stop_event=self._closing,
            rust_timeout=LOOK_UP_MS,
            yield_on_timeout=True,
            debug=False,  # it would go to stdout, which is the protocol's
            raise_interrupt=False,
            force_polling=self._polls or None,
            poll_delay_ms=POLL_DELAY_MS,
            ignore_permission_denied=True,
        ):
            if is_new:
                self._on_change(None)  # what happened before the watch stood was missed
            elif changes:
                self._on_change(frozenset(path for _, path in changes))
            is_new = False
            if [folder for folder in self._folders if Path(folder).is_dir()] != list(present):
                return

    def _fall_back(self, error: Exception) -> None:
        """Look every few seconds from now on; where even that fails, try again later."""
        if self._closing.is_set():
            return
        logger.warning("watching the document folders failed: %s", error)
        if self._polls:
            self._closing.wait(MISSING_FOLDERS_SECONDS)
        self._polls = True
        self.note = (
            f"the system gives no notice of changed files ({error}); "
            f"they are looked for every {POLL_DELAY_MS // 1000} seconds"
        )
