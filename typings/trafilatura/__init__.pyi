"""As much of trafilatura 2 as is used; its own annotations leave out half."""

from lxml.html import HtmlElement

def extract(
    filecontent: HtmlElement | str,
    *,
    fast: bool = ...,
    output_format: str = ...,
    include_comments: bool = ...,
    include_tables: bool = ...,
    include_links: bool = ...,
    include_formatting: bool = ...,
    with_metadata: bool = ...,
) -> str | None: ...
