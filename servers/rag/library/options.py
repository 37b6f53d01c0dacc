"""How the documents server is set up: the profile's `documents` section, as it reaches the server.

`agent.py` hands the section over as JSON in `CORTEX_DOCUMENTS`, with absolute paths. Run by hand
without it, the server takes `documents/` and `faiss_index/` below `CORTEX_HOME`, else below the
checkout that it lies in.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from servers.rag.errors import OptionsError

OPTIONS_VARIABLE = "CORTEX_DOCUMENTS"
HOME_VARIABLE = "CORTEX_HOME"

FILE_BYTES_MAX = 100 * 1024 * 1024
FILES_MAX = 200_000


class DocumentOptions(BaseModel):
    """All that can be set.

    `embedder` is `auto`, `none`, `minilm`, `ollama:MODEL` or `gemini:MODEL`; `captions` is `auto`,
    `none`, `ocr`, `ollama:MODEL` or `gemini:MODEL`; `vectors` is `faiss` or `milvus:ADDRESS` and
    says where nearest vectors are looked up; `topics_model` is the model of Ollama that
    `chunking: llm` asks. `word_weight` is the share of the words' score in a
    hybrid search. `ignore` holds patterns as in .gitignore.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    folders: tuple[Path, ...] = Field(min_length=1)
    index_folder: Path
    ignore: tuple[str, ...] = ()
    chunking: Literal["structure", "llm"] = "structure"
    topics_model: Annotated[str, Field(min_length=1)] = "phi4"
    embedder: str = "auto"
    captions: str = "auto"
    vectors: str = "faiss"
    word_weight: Annotated[float, Field(ge=0, le=1)] = 0.45
    file_bytes: Annotated[int, Field(ge=1)] = FILE_BYTES_MAX
    files: Annotated[int, Field(ge=1)] = FILES_MAX
    watch: bool = True


def read_options(environ: Mapping[str, str] = os.environ) -> DocumentOptions:
    """The options of this process.

    Raises:
        OptionsError: the variable holds no such JSON; the message names the key.
    """
    given = environ.get(OPTIONS_VARIABLE)
    if not given:
        home = Path(environ.get(HOME_VARIABLE) or Path(__file__).resolve().parents[3])
        home = home.expanduser().absolute()
        return DocumentOptions(folders=(home / "documents",), index_folder=home / "faiss_index")
    try:
        return DocumentOptions.model_validate_json(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "it"
        raise OptionsError(f"{OPTIONS_VARIABLE}: {place}: {first['msg']}") from None
