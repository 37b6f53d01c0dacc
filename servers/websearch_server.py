"""The websearch server: searching the web and reading its pages, over MCP.

Runs alone, over stdio: `python -m servers.websearch_server`, or as a file from anywhere; with `dev`
it says how to try it by hand. It asks nobody anything before it is asked itself.
`servers.web.options` says which engine it uses and what it may read. Its tools, and with them the
MCP SDK, are imported by `servers.shared.bootstrap`.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:
        # Run as a file: Python put servers/ itself on the path, where `servers` isn't found and
        # every sibling could shadow a top-level module. What is wanted is the folder above.
        here = Path(__file__).resolve().parent
        sys.path[:] = [str(here.parent), *(p for p in sys.path if Path(p).resolve() != here)]
    from servers.shared.bootstrap import run_alone

    run_alone("websearch", sys.argv[1:])
