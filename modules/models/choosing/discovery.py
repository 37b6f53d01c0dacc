"""What can answer on this machine without a key: Ollama, a llama.cpp server, weights in a file.

Looked for by automatic choice at every start without a key, so by the standard library, which is
there at once. Nobody is asked anywhere else but on this machine, unless OLLAMA_HOST or
LLAMA_SERVER_URL names another.
"""

import importlib.util
import json
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from config.http_address import url_problem
from core.base.frozen import frozen
from core.base.ollama import HOST_VARIABLE, checked_address
from modules.models.ollama.facts import (
    InstalledModel,
    chat_models,
    installed_models,
    is_listing,
)

LLAMA_SERVER_VARIABLE = "LLAMA_SERVER_URL"
LLAMA_SERVER_URL = "http://127.0.0.1:8080"
"""Where llama.cpp's server listens unless told otherwise."""

LOCAL_MODEL_VARIABLE = "CORTEX_LOCAL_MODEL"
MODELS_FOLDER = "models"
"""Under CORTEX_HOME: where weights are looked for."""

PROBE_TIMEOUT_SECONDS = 0.3
NAMED_TIMEOUT_SECONDS = 2.0
"""For a server that a variable names: it may be far, and somebody wants it."""

MAX_REPLY_BYTES = 1024 * 1024
MODEL_NAME_CHARACTERS_MAX = 200
_MODELS_READ = 100
_FILES_READ = 1000


@frozen
class LlamaServer:
    """A server of llama.cpp's kind.

    `base_url` is that of its OpenAI protocol; `model` the name that it gives what it runs.
    """

    base_url: str
    model: str
    context_tokens: int | None = None


@frozen
class Running:
    """Who answered: Ollama's models that can chat, last used first, and a llama.cpp server."""

    ollama: tuple[str, ...] = ()
    llama_server: LlamaServer | None = None


@frozen
class OllamaFound:
    """A server that answered, at this address, and its models: those in memory first."""

    address: str
    models: tuple[InstalledModel, ...]


def find_running(environ: Mapping[str, str], timeout_seconds: float | None = None) -> Running:
    """Ask for both at once; what does not answer in time is not there.

    The time is PROBE_TIMEOUT_SECONDS, for a server that a variable names NAMED_TIMEOUT_SECONDS.
    """
    ollama: list[str] = []
    seconds = timeout_seconds or _patience(HOST_VARIABLE, environ)

    def ask_ollama() -> None:
        ollama.extend(find_ollama(environ, seconds))

    thread = threading.Thread(target=ask_ollama, name="find-ollama", daemon=True)
    deadline = time.monotonic() + seconds
    thread.start()
    server = find_llama_server(environ, timeout_seconds)
    thread.join(max(0.0, deadline - time.monotonic()))
    return Running(tuple(ollama), server)


def find_ollama(
    environ: Mapping[str, str], timeout_seconds: float = PROBE_TIMEOUT_SECONDS
) -> list[str]:
    """Names of the installed models that write text: those in memory first, then newest first.

    Models that Ollama runs in its cloud are left out: nothing leaves the machine unasked. Empty
    where no Ollama answers in time.
    """
    found = look_for_ollama(environ, timeout_seconds)
    return [model.name for model in chat_models(found.models)] if found is not None else []


def look_for_ollama(
    environ: Mapping[str, str], timeout_seconds: float = PROBE_TIMEOUT_SECONDS
) -> OllamaFound | None:
    """The server at OLLAMA_HOST, else on loopback, with all its models; None if none answers."""
    try:
        address = checked_address(environ)
    except ValueError:
        return None  # whoever chooses Ollama is told what is wrong with it
    deadline = time.monotonic() + timeout_seconds
    listing = get_json(f"{address}/api/tags", deadline)
    if listing is None or not is_listing(listing):
        return None  # another service may have that port
    models = installed_models(listing)
    if len(models) > 1:  # then it matters which of them is in memory
        models = installed_models(listing, get_json(f"{address}/api/ps", deadline))
    return OllamaFound(address, models)


def llama_server_url(environ: Mapping[str, str]) -> str | None:
    """Where a llama.cpp server is looked for; None if LLAMA_SERVER_URL says nothing of use.

    A path behind the place is kept, but for `/v1`; a port that is missing is that of the scheme.
    """
    given = environ.get(LLAMA_SERVER_VARIABLE, "").strip()
    if not given:
        return LLAMA_SERVER_URL
    if url_problem(given) is not None or not given.isascii():
        return None
    parts = urlsplit(given)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = parts.port or (443 if parts.scheme == "https" else 80)
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return f"{parts.scheme}://{host}:{port}{path}"


def find_llama_server(
    environ: Mapping[str, str], timeout_seconds: float | None = None
) -> LlamaServer | None:
    """The server at LLAMA_SERVER_URL, else at its usual place, if one answers like it.

    It is known by its list of models (`GET /v1/models`): of OpenAI's form, and not empty. So a
    web server that happens to listen there is none; llama-cpp-python's server is one too. What
    it says is not trusted: a name that can't be one is skipped.
    """
    url = llama_server_url(environ)
    if url is None:
        return None
    seconds = timeout_seconds or _patience(LLAMA_SERVER_VARIABLE, environ)
    listing = get_json(f"{url}/v1/models", time.monotonic() + seconds)
    if not isinstance(listing, dict):
        return None
    elements = cast("dict[str, object]", listing).get("data")
    if not isinstance(elements, list):
        return None
    models = list(_models(cast("list[object]", elements)[:_MODELS_READ]))
    chosen = next((model for model in models if model[1]), models[0] if models else None)
    if chosen is None:
        return None
    return LlamaServer(f"{url}/v1", chosen[0], chosen[2])


def _patience(variable: str, environ: Mapping[str, str]) -> float:
    named = environ.get(variable, "").strip()
    return NAMED_TIMEOUT_SECONDS if named else PROBE_TIMEOUT_SECONDS


def _models(elements: list[object]) -> Iterator[tuple[str, bool, int | None]]:
    """Name, whether it is loaded, and context of each; a server of several says which is loaded."""
    for element in elements:
        match element:
            case {"id": str(name), "object": "model"} if _is_name(name):
                found = cast("dict[str, object]", element)
                yield name, _is_loaded(found.get("status")), _context(found.get("meta"))
            case _:
                continue


def _is_loaded(status: object) -> bool:
    match status:
        case {"value": "loaded"}:
            return True
        case _:
            return False


def _is_name(text: str) -> bool:
    return 0 < len(text) <= MODEL_NAME_CHARACTERS_MAX and text.isprintable()


def _context(meta: object) -> int | None:
    """`meta.n_ctx`: the tokens that prompt and reply may have; older servers don't say."""
    match meta:
        case {"n_ctx": int(tokens)} if 512 <= tokens <= 100_000_000:
            return tokens
        case _:
            return None


def get_json(url: str, deadline: float) -> object:
    """The JSON at an http or https `url`; None for whatever is in the way of it.

    Whoever listens is not trusted: all of it is over at the deadline, in seconds of
    `time.monotonic`, and a reply of more than `MAX_REPLY_BYTES` is none.
    """
    opened: list[HTTPConnection] = []
    answers: list[object] = []

    def ask() -> None:
        # What TLS and JSON raise is among them.
        with suppress(OSError, HTTPException, ValueError, OverflowError, RecursionError):
            answers.append(_asked(url, deadline, opened))

    # In a thread, which is left behind: neither a resolver nor a trickle of bytes has a time-out.
    thread = threading.Thread(target=ask, name="probe", daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if not answers:
        for connection in opened:
            with suppress(OSError, AttributeError):  # the latter: it is not connected yet
                connection.sock.shutdown(socket.SHUT_RDWR)  # which ends the thread
    return answers[0] if answers else None


def _asked(url: str, deadline: float, opened: list[HTTPConnection]) -> object:
    """The JSON that a GET is answered with; None for any status but 200.

    Raises:
        OSError, HTTPException, ValueError: no answer, not in time, or none of that form.
    """
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    seconds = max(0.001, deadline - time.monotonic())
    with closing(kind(parts.hostname or "", parts.port, timeout=seconds)) as connection:
        opened.append(connection)
        connection.request("GET", parts.path or "/", headers={"Accept": "application/json"})
        response = connection.getresponse()
        body = response.read(MAX_REPLY_BYTES + 1)
    is_answer = response.status == HTTPStatus.OK and len(body) <= MAX_REPLY_BYTES
    return json.loads(body) if is_answer else None


def local_models(environ: Mapping[str, str], home: Path | None) -> tuple[Path, ...]:
    """GGUF files: the one that CORTEX_LOCAL_MODEL names, else those under CORTEX_HOME/models.

    Of weights in several parts the first counts, and what only sees for another model does not.
    """
    if named := environ.get(LOCAL_MODEL_VARIABLE, "").strip():
        file = local_file(named, home)
        return (file,) if file is not None else ()
    return installed_weights(home)


def installed_weights(home: Path | None) -> tuple[Path, ...]:
    """The GGUF files under CORTEX_HOME/models, by name."""
    if home is None:
        return ()
    try:
        entries = sorted((home / MODELS_FOLDER).glob("*.gguf"))[:_FILES_READ]
        return tuple(entry for entry in entries if _is_whole_model(entry) and entry.is_file())
    except OSError:
        return ()


def local_file(named: str, home: Path | None) -> Path | None:
    """The file that a path means, or a name under CORTEX_HOME/models with or without `.gguf`."""
    folder = home / MODELS_FOLDER if home is not None else None
    try:
        candidates = [Path(named).expanduser()]
        if folder is not None and "/" not in named:
            candidates += [folder / named, folder / f"{named}.gguf"]
        return next((file.absolute() for file in candidates if file.is_file()), None)
    except (OSError, ValueError, RuntimeError):  # no path at all, or a home that is not known
        return None


def can_run_local() -> bool:
    """Whether llama-cpp-python is installed; it is not imported."""
    return importlib.util.find_spec("llama_cpp") is not None


def _is_whole_model(file: Path) -> bool:
    """Not the second part of something, and not the eyes of another model (`mmproj`)."""
    part = re.search(r"-(\d{5})-of-\d{5}\.gguf\Z", file.name)
    return not file.name.startswith("mmproj") and (part is None or part[1] == "00001")
