"""The source of a page as it came, for those who want to take it apart themselves."""

from servers.web.faults import PageUnavailable
from servers.web.ports import Fetched, ReadPage


class SourceReader:
    """Gives the text of what came, whatever it is made of; a `ports.PageReader`."""

    async def read(self, fetched: Fetched) -> ReadPage:
        """The source, decoded.

        Raises:
            PageUnavailable: it is no text.
        """
        from servers.rag.extraction.encodings import is_text
        from servers.web.reading.charsets import page_text

        if not is_text(fetched.body):
            kind = fetched.media_type or "of an unknown type"
            raise PageUnavailable(
                f"{fetched.url[:200]} is no text, but {kind}; leave out raw to read what it says",
                fetched.status,
            )
        return ReadPage(fetched.url, page_text(fetched.body, fetched.charset))
