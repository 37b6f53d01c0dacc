"""The documents server: search over the user's own documents, with sources, over MCP.

Runs alone, over stdio: `python -m servers.documents_server`, or as a file from anywhere; with `dev`
it says how to try it by hand. It answers at once; documents are indexed and watched in the
background. `servers.rag.library.options` says what it reads and where its index lies. Nothing heavy
is imported at the top, because `servers.shared.bootstrap` has a say in how imports happen.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


def build_server() -> "MCPServer":
    """The server with its tools; imports the MCP SDK (about a second)."""
    from servers.documents_tools import build_server

    return build_server()


def main() -> None:
    """Serve until stdin closes; ends the process."""
    from servers.shared.bootstrap import run_alone

    run_alone("documents", "servers.documents_server", build_server, sys.argv[1:])


if __name__ == "__main__":
    if not __package__:
        # Run as a file: Python put servers/ itself on the path, where `servers` isn't found and
        # every sibling could shadow a top-level module. What is wanted is the folder above.
        here = Path(__file__).resolve().parent
        sys.path[:] = [str(here.parent), *(p for p in sys.path if Path(p).resolve() != here)]
    main()
