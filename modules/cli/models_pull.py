"""`models pull`: have Ollama download a model, and tell how far it is."""

import asyncio
import re
import time
from collections.abc import Callable
from contextlib import aclosing

from config.models_file import ModelEntry, ModelsFile
from core.base.text import size_text
from core.errors import ExitCode, UsageError
from core.values import JsonObject
from modules.cli.surroundings import Surroundings
from modules.models.choosing.names import resolve
from modules.models.credentials import KeyringStore, find_key
from modules.models.ollama.facts import PullProgress
from modules.models.ollama.model import ollama_errors
from modules.terminal.display.region import Region, row

STAGE = "models"
LINE_EVERY_PERCENT = 10
"""How often a log is told of a download; a terminal's line is always the newest."""

MIN_LOGGED_BYTES = 10 * 1024 * 1024
"""Smaller parts of a model, such as its licence, get no lines of their own in a log."""

_NAME = re.compile(r"[A-Za-z0-9_][\w./:-]{0,199}", re.ASCII)
"""A model's name as Ollama takes it (types/model/name.go), roughly; the server checks it."""


async def pull_model(around: Surroundings) -> ExitCode:
    """Download a model, telling progress on stderr; cancelling stops the download.

    Raises:
        SettingsError: models.json can't be used.
        UserError: the name is none, or that of a model that is not Ollama's.
        ModelUnavailable: Ollama can't be reached, or failed.
    """
    from modules.models.ollama.service import OllamaService  # imports httpx2

    entry = _entry(around.options.name, around.models)
    key = find_key(entry, around.environ, KeyringStore(around.places.home))
    service = OllamaService(entry, ollama_errors(entry, around.environ, key))
    report = _report_for(around)
    began = time.monotonic()
    try:
        async with aclosing(service.pull()) as progresses:
            async for progress in progresses:
                report.tell(progress)
    except asyncio.CancelledError:
        report.end()
        around.complaints.say(STAGE, "the download has stopped; the next pull goes on where it was")
        raise
    finally:
        report.end()
        await service.aclose()
    document: JsonObject = {
        "model": f"ollama:{entry.model}",
        "size_bytes": report.size_bytes,
        "seconds": round(time.monotonic() - began, 3),
    }
    done = f"pulled {entry.model} ({size_text(report.size_bytes)})"
    tip = f'; try it: agent.py --model ollama:{entry.model} "15% of 80"'
    return around.report(document, done if around.options.quiet else f"{done}{tip}")


def _entry(name: str, models: ModelsFile) -> ModelEntry:
    """The Ollama entry that a name means: as with --model, and else a name of Ollama's own.

    Raises:
        UsageError: it is none, or that of another backend.
    """
    found = resolve(name, models)
    match found:
        case ModelEntry(type="ollama", model=str()):
            pass
        case ModelEntry(type="ollama"):
            raise UsageError(
                "say which model Ollama should download, such as: agent.py models pull qwen3:4b "
                "(https://ollama.com/library)"
            )
        case ModelEntry():
            raise UsageError(
                f"'{name}' is answered by {found.type}, which has nothing to download; a model of "
                "Ollama's is meant by ollama:NAME"
            )
        case _:
            found = ModelEntry(type="ollama", model=name)
    if _NAME.fullmatch(found.model or "") is None:
        raise UsageError(
            f"{name[:100]!r} can't be the name of a model; names are like qwen3:4b "
            "(https://ollama.com/library)"
        )
    return found


class PullReport:
    """Tells a download's progress: as a line that is written over, or in a few lines for a log."""

    def __init__(self, live: Region, log: Callable[[str], None]) -> None:
        self._live = live
        self._log = log
        self._sizes: dict[str, int] = {}
        self._logged: tuple[str, int] = ("", -1)

    @property
    def size_bytes(self) -> int:
        """The size of all parts that were told of."""
        return sum(self._sizes.values())

    def tell(self, progress: PullProgress) -> None:
        """Tell one report of the server."""
        total, done = progress.total_bytes, progress.completed_bytes
        if not total:
            self._live.show([row(progress.status)])
            self._tell_once(progress.status, 0, progress.status)
            return
        self._sizes[progress.digest] = total
        percent = min(100, 100 * (done or 0) // total)
        text = f"{progress.status}: {percent}% of {size_text(total)}"
        self._live.show([row(text)])
        if total >= MIN_LOGGED_BYTES:
            self._tell_once(progress.digest, percent // LINE_EVERY_PERCENT, text)

    def end(self) -> None:
        """Leave the terminal's line empty; safe to call twice."""
        self._live.clear()

    def _tell_once(self, what: str, how_far: int, text: str) -> None:
        if self._logged != (what, how_far):
            self._logged = (what, how_far)
            self._log(text)


def _report_for(around: Surroundings) -> PullReport:
    """A terminal gets the live line, a log the other lines, and who wants quiet neither."""
    stream = around.stderr
    if stream is not None and stream.isatty():
        return PullReport(Region(None if around.options.quiet else stream), lambda text: None)
    return PullReport(Region(None), lambda text: around.remark(STAGE, text))
