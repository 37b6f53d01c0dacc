"""A fetcher without a guard, over real HTTP: searching is tested, not fetching."""

import ssl

import httpx2

from servers.web.errors import PageUnavailable
from servers.web.ports import Because, Fetched


class PlainFetcher:
    """Asks whatever it is told, redirects followed; every status without success is an error."""

    async def fetch(
        self,
        url: str,
        *,
        because: Because = "typed",
        headers: dict[str, str] | None = None,
        form: dict[str, str] | None = None,
        json: object = None,
    ) -> Fetched:
        method = "GET" if form is None and json is None else "POST"
        no_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # loading them takes long
        async with httpx2.AsyncClient(
            verify=no_certificates, trust_env=False, follow_redirects=True
        ) as client:
            try:
                answer = await client.request(method, url, headers=headers, data=form, json=json)
            except httpx2.TransportError as error:
                raise PageUnavailable(f"{url} gave no answer ({type(error).__name__})") from error
        if not answer.is_success:
            raise PageUnavailable(
                f"it answered {answer.status_code}: try later", answer.status_code
            )
        media_type, _, _ = answer.headers.get("content-type", "").partition(";")
        return Fetched(
            str(answer.url),
            answer.status_code,
            media_type.lower(),
            answer.charset_encoding or "",
            answer.content,
        )


class EchoingFetcher:
    """Fails with all it was told in the message, as no fetcher should."""

    def __init__(self, status: int | None = None) -> None:
        self._status = status

    async def fetch(
        self,
        url: str,
        *,
        because: Because = "typed",
        headers: dict[str, str] | None = None,
        form: dict[str, str] | None = None,
        json: object = None,
    ) -> Fetched:
        raise PageUnavailable(f"failed: {url} {headers} {form} {json}", self._status)
