"""A reader of pages that misbehaves as the page says; it takes the place of `child`."""

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import cast

from servers.reading.process.page_messages import Told, unpacked, with_head


def main() -> None:
    """Answer each request by what the page says."""
    for line in sys.stdin:
        request = cast(dict[str, object], json.loads(line))
        _, body = unpacked(Path(str(request["path"])).read_bytes())
        text = with_head(Told(title="a title"), body.decode())
        match body:
            case b"crashes":
                os.kill(os.getpid(), signal.SIGSEGV)
            case b"babbles":
                text = "no head"
            case b"hangs":
                threading.Event().wait()
            case _:
                pass
        found: dict[str, object] = {"markdown": text, "title": "", "page_starts": [], "notes": []}
        sys.stdout.write(json.dumps({"id": request["id"], "extracted": found}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
