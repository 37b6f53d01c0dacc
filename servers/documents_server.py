"""The documents server: search over the user's own documents, with sources, over MCP.

Runs alone, over stdio: `python -m servers.documents_server`, or as a file from anywhere; with `dev`
it says how to try it by hand. It answers at once; documents are indexed and watched in the
background. `servers.rag.library.options` says what it reads and where its index lies.
"""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from servers.rag.library.async_library import AsyncLibrary
    from servers.rag.library.library_protocol import Library
    from servers.web.client import Web


def build_server() -> "MCPServer":
    """The server with its tools; imports the MCP SDK (about a second), opens no document."""
    from servers.rag.errors import OptionsError
    from servers.rag.library.async_library import AsyncLibrary
    from servers.rag.library.options import read_options
    from servers.shared.bootstrap import EXIT_UNUSABLE
    from servers.web import options as web_options
    from servers.web.client import WebClient

    try:
        options, of_web = read_options(), web_options.read_options()
    except (OptionsError, web_options.OptionsError) as error:
        sys.stderr.write(f"documents server: {error}\n")
        sys.exit(EXIT_UNUSABLE)

    def open_library() -> "Library":
        from servers.rag.library.library import DocumentLibrary

        return DocumentLibrary.open(options)

    return server_at(AsyncLibrary(open_library, options.folders), WebClient(of_web))


def server_at(library: "AsyncLibrary", web: "Web") -> "MCPServer":
    """The server over a library and a web, which it closes when it ends."""
    from mcp.server.mcpserver import MCPServer

    from servers.documents_tools import document_tools

    @asynccontextmanager
    async def until_closed(server: "MCPServer") -> AsyncGenerator[None]:
        library.begin()
        try:
            yield
        finally:
            await library.aclose()
            await web.aclose()

    return MCPServer(
        "documents",
        title="Cortex-R documents server",
        instructions="The user's own documents. Quote them, and name the sources.",
        tools=document_tools(library, web),
        lifespan=until_closed,
        log_level="WARNING",
    )


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
