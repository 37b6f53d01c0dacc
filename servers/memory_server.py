"""The memory server: past conversations searched, and facts about the user kept, over MCP.

Runs alone, over stdio: `python -m servers.memory_server`, or as a file from anywhere; with `dev` it
says how to try it by hand. `servers.memory.options` says which folder it reads. Sessions are taken
into its index when they are searched. Its tools, and with them the MCP SDK, are imported by
`servers.shared.bootstrap`.
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

    run_alone("memory", sys.argv[1:])
