"""Misbehaves as a file's name or a page's text says, in the place of the real reader."""

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import cast

SIGNALS = {
    "crashes": signal.SIGSEGV,
    "crashes-at-first": signal.SIGSEGV,
    "runs-out-of-time": signal.SIGPROF,
}


def main() -> None:
    """Answer each request by the name of its file, or the text of its page."""
    for line in sys.stdin:
        request = cast(dict[str, object], json.loads(line))
        path = Path(str(request["path"]))
        name = path.read_text(encoding="utf-8") if request["task"] == "page" else path.stem
        behave(name, bool(request["is_careful"]))
        answer({"id": request["id"], "extracted": extracted(f"{name} {os.getpid()}")})


def behave(name: str, is_careful: bool) -> None:
    """Do what the name says, if it says anything."""
    if name in SIGNALS and not (is_careful and name == "crashes-at-first"):
        os.kill(os.getpid(), SIGNALS[name])
    match name:
        case "hangs":
            threading.Event().wait()
        case "babbles":
            sys.stdout.write("no JSON at all\n")
            sys.stdout.flush()
        case "never-ends":
            while True:
                sys.stdout.write("x" * 1_000_000)
        case "answers-another":
            answer({"id": 999, "extracted": extracted("of another file")})
        case "rests":
            rested = Path(os.environ["HOME"], "rested")
            if not rested.exists():
                rested.touch()
                sys.exit(64)
        case _:
            pass


def extracted(text: str) -> dict[str, object]:
    """A well-formed answer."""
    return {"markdown": text, "title": "a title", "page_starts": [], "notes": []}


def answer(told: dict[str, object]) -> None:
    """Write a line."""
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
