"""How the memory server is set up: what the profile says of memory, as it reaches the server.

`agent.py` hands it over as JSON in `CORTEX_MEMORY`, with an absolute path. Run by hand without it,
the server takes `memory/` below `CORTEX_HOME`, else below the checkout that it lies in.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.base.memory.indexed import INDEX_FOLDER
from core.base.memory.session_json import MAX_FILE_BYTES
from servers.rag.errors import OptionsError
from servers.rag.library.options import HOME_VARIABLE, DocumentOptions

OPTIONS_VARIABLE = "CORTEX_MEMORY"

NO_SESSIONS = ("*.*", "!*.json", "*.*.json", "/profiles/", f"/{INDEX_FOLDER}/")
"""What lies in the memory folder beside sessions: facts, damaged files, and other profiles, which
are never looked into."""


class MemoryOptions(BaseModel):
    """All that can be set.

    `embedder` is as in `DocumentOptions`; `mask` holds regular expressions whose matches are
    masked in facts, as they are in sessions. Not `is_on`, the server answers that it is off.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: Path
    embedder: str = "auto"
    mask: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    is_on: bool = True

    @property
    def of_documents(self) -> DocumentOptions:
        """The same, as the engine takes it: sessions are its documents."""
        return DocumentOptions(
            folders=(self.folder,),
            index_folder=self.folder / INDEX_FOLDER,
            ignore=NO_SESSIONS,
            embedder=self.embedder,
            captions="none",
            file_bytes=MAX_FILE_BYTES,
            watch=False,
        )


def read_options(environ: Mapping[str, str] = os.environ) -> MemoryOptions:
    """The options of this process.

    Raises:
        OptionsError: the variable holds no such JSON; the message names the key.
    """
    given = environ.get(OPTIONS_VARIABLE)
    if not given:
        home = Path(environ.get(HOME_VARIABLE) or Path(__file__).resolve().parents[2])
        return MemoryOptions(folder=home.expanduser().absolute() / "memory")
    try:
        return MemoryOptions.model_validate_json(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "it"
        raise OptionsError(f"{OPTIONS_VARIABLE}: {place}: {first['msg']}") from None
