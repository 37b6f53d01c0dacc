"""The tools of the documents server, each a few lines over `servers.rag`.

A docstring here is the tool's description: planners read it and rank tools by its words. This file
stands beside the server's script because cached tool lists are valid while those files are.
"""

import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool

from core.base.text import one_line
from servers.rag.errors import OptionsError, RagError
from servers.rag.indexing.progress import IndexProgress
from servers.rag.library.async_library import AsyncLibrary, Tell
from servers.rag.library.library_protocol import Library
from servers.rag.library.options import read_options
from servers.rag.library.wording import document_text, documents_text, passages_text, source_mark
from servers.reading.source import ExtractionError
from servers.schemas import (
    ExtractPdfInput,
    GetDocumentInput,
    ListDocumentsInput,
    SearchDocumentsInput,
    TextOutput,
    WebpageInput,
)
from servers.shared.bootstrap import EXIT_UNUSABLE
from servers.shared.errors import ToolInputError
from servers.tooling import ToolContext, read_only_tools
from servers.web import options as web_options
from servers.web.client import WebClient
from servers.web.progress import on_the_web

PDF_CHARACTERS_MAX = 400_000
"""How much of a PDF one call gives; a plan takes no more than a few megabytes."""

PAGE_CHARACTERS_MAX = 100_000
"""How much of a web page one call gives."""


class DocumentTools:
    """The tools, which all ask one library, and one web for its pages."""

    def __init__(self, library: AsyncLibrary, web: WebClient) -> None:
        self._library = library
        self._web = web

    async def search_stored_documents(
        self, input: SearchDocumentsInput, context: ToolContext
    ) -> TextOutput:
        """Search the user's stored documents for passages that answer a question, with sources."""
        with _explained():
            found, notes = await self._library.search(
                input.query, input.top_k, input.file, input.mode, _telling(context)
            )
        return TextOutput(result=passages_text(found.passages, notes))

    async def list_documents(self, input: ListDocumentsInput, context: ToolContext) -> TextOutput:
        """List the user's stored documents, also those that can't be searched, and why."""
        with _explained():
            entries, notes = await self._library.documents(_telling(context))
        return TextOutput(result=documents_text(entries, input.offset, notes))

    async def get_document(self, input: GetDocumentInput, context: ToolContext) -> TextOutput:
        """Read one of the user's stored documents as markdown, 8,000 characters from offset on."""
        with _explained():
            file, markdown = await self._library.text(input.file, _telling(context))
        return TextOutput(result=document_text(file, markdown, input.offset))

    async def extract_pdf(self, input: ExtractPdfInput) -> TextOutput:
        """Extract the text of a PDF file inside the document folders, as markdown."""
        if not input.file_path.lower().endswith(".pdf"):
            raise ToolInputError("file_path must name a PDF; get_document reads other documents")
        with _explained():
            extracted = await self._library.extract(input.file_path)
        notes = [f"Note: {one_line(note)}" for note in extracted.notes]
        text = _cut(extracted.markdown, PDF_CHARACTERS_MAX)
        told = ("\n".join(notes), text, source_mark(input.file_path, f"0-{len(text)}"))
        return TextOutput(result="\n\n".join(part for part in told if part))

    async def convert_webpage_url_into_markdown(
        self, input: WebpageInput, context: ToolContext
    ) -> TextOutput:
        """Convert a public web page (URL) into markdown."""
        with on_the_web(context, input.url):
            text = await self._web.page(input.url, input.offset, PAGE_CHARACTERS_MAX)
        return TextOutput(result=text)


def build_server() -> MCPServer:
    """The server with its tools, as the environment says; opens no document.

    Raises:
        SystemExit: the options can't be used; what is wrong is on stderr.
    """
    try:
        options, of_web = read_options(), web_options.read_options()
    except (OptionsError, web_options.OptionsError) as error:
        sys.stderr.write(f"documents server: {error}\n")
        sys.exit(EXIT_UNUSABLE)

    def open_library() -> Library:
        from servers.rag.library.library import DocumentLibrary  # 0.3 s, on a thread of its own

        return DocumentLibrary.open(options)

    return server_at(AsyncLibrary(open_library, options.folders), WebClient(of_web))


def server_at(library: AsyncLibrary, web: WebClient) -> MCPServer:
    """The server over a library and a web, which it closes when it ends."""

    @asynccontextmanager
    async def until_closed(server: MCPServer) -> AsyncGenerator[None]:
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


def document_tools(library: AsyncLibrary, web: WebClient) -> list[Tool]:
    """All tools of the documents server, in the order in which they are listed."""
    tools = DocumentTools(library, web)
    return [
        *read_only_tools(
            [
                tools.search_stored_documents,
                tools.list_documents,
                tools.get_document,
                tools.extract_pdf,
            ]
        ),
        *read_only_tools([tools.convert_webpage_url_into_markdown], open_world=True),
    ]


@contextmanager
def _explained() -> Generator[None]:
    """Turn what goes wrong in the engine into a message for the caller."""
    try:
        yield
    except (RagError, ExtractionError) as error:
        raise ToolInputError(one_line(str(error))) from error


def _telling(context: ToolContext) -> Tell:
    async def tell(progress: IndexProgress) -> None:
        what = f"indexing {one_line(progress.file)}" if progress.file else "indexing"
        await context.report_progress(progress.files_done, progress.files_total or None, what)

    return tell


def _cut(text: str, limit: int) -> str:
    rest = len(text) - limit
    return text if rest <= 0 else f"{text[:limit]}\n\n[{rest} more characters left out]"
