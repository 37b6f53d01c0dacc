"""The process that reads pages: `python -m servers.reading.process.page_child SETTINGS`.

Parsers of HTML are large and partly written in C, and pages are written by anybody: this process
is bounded in time and memory as the one that reads files is, and is replaced when a page ends it.
"""

import os
import sys

from servers.reading.limits import Limits
from servers.reading.pictures.captioner_choice import open_captioner
from servers.reading.process.child import main
from servers.reading.process.page_extractor import PageExtractor

MODULE = "servers.reading.process.page_child"


def page_extractor(limits: Limits, captions: str) -> PageExtractor:
    """What reads pages."""
    return PageExtractor(limits, lambda: open_captioner(captions, os.environ))


if __name__ == "__main__":
    # Nothing is worth the time of taking all the modules down.
    os._exit(main(sys.argv[1:], page_extractor))
