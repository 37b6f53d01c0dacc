"""A page for callers that have no event loop: the documents' reader of link files."""

import asyncio

from servers.web.fetching.fetcher import open_fetcher
from servers.web.options import WebOptions, read_options
from servers.web.ports import Fetched


def fetch_blocking(url: str, options: WebOptions | None = None) -> Fetched:
    """What the server at a URL answers; blocks, in an event loop of its own.

    Without `options` those of this process are taken.

    Raises:
        WebError: as `ports.Fetcher.fetch`, and if the options can't be read.
    """
    return asyncio.run(open_fetcher(options or read_options()).fetch(url))
