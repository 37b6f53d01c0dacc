"""As much of trafilatura 2 as is used; its own annotations leave out half."""

from lxml.html import HtmlElement

class Document:
    title: str | None
    author: str | None
    date: str | None

def extract_metadata(filecontent: HtmlElement, *, extensive: bool) -> Document: ...
