"""How the web tools are set up: the profile's `web` section, as it reaches the servers.

`agent.py` hands the section over as JSON in `CORTEX_WEB`; run by hand without it, a server takes
the defaults. Keys of search engines stand in variables of their own.
"""

import os
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from servers.web.errors import WebError

OPTIONS_VARIABLE = "CORTEX_WEB"
KEY_VARIABLES = {"brave": "BRAVE_API_KEY", "tavily": "TAVILY_API_KEY"}


class OptionsError(WebError):
    """`CORTEX_WEB` holds something else than what is expected."""


class WebOptions(BaseModel):
    """All that can be set.

    `search` names the engine and `search_url` replaces its address. `allow_private` names hosts
    (as they stand in a URL) that are read although they are not on the public internet.
    `robots` says whose pages are left out on a site's wish (RFC 9309): those that a search
    `found`, `always` or `never`. `captions` describes pictures that have no alternative text; as
    in the documents section, `none` by default because each costs a download.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    search: Literal["duckduckgo", "searxng", "brave", "tavily"] = "duckduckgo"
    search_url: str | None = None
    allow_private: tuple[str, ...] = ()
    robots: Literal["found", "always", "never"] = "found"
    captions: str = "none"
    searches_per_minute: Annotated[int, Field(ge=1)] = 30
    pages_per_minute: Annotated[int, Field(ge=1)] = 20
    timeout_seconds: Annotated[float, Field(gt=0)] = 30.0
    page_bytes: Annotated[int, Field(ge=1)] = 10 * 1024 * 1024
    cache_seconds: Annotated[float, Field(ge=0)] = 300.0


def read_options(environ: Mapping[str, str] = os.environ) -> WebOptions:
    """The options of this process.

    Raises:
        OptionsError: the variable holds no such JSON; the message names the key.
    """
    given = environ.get(OPTIONS_VARIABLE)
    if not given:
        return WebOptions()
    try:
        return WebOptions.model_validate_json(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "it"
        raise OptionsError(f"{OPTIONS_VARIABLE}: {place}: {first['msg']}") from None
