"""`sessions search`: what was asked and answered before, found by words and by meaning."""

import json
from typing import Final

from config.server_list import memory_server
from core.base.text import one_line
from core.errors import ExitCode, ServerError, UsageError
from core.values import JsonObject
from modules.cli.servers import display_for, opened
from modules.cli.surroundings import Surroundings
from modules.memory.earlier import search_memory

FOUND: Final = 5
"""How many exchanges are shown where nothing else is said."""


def search_sessions(around: Surroundings) -> ExitCode:
    """Ask the memory server, also where the profile has none; it brings its index up to date.

    Raises:
        UsageError: memory is off.
        ServerError: the server did not start, or did not answer.
    """
    if not around.profile.memory.memory_service:
        raise UsageError("memory is off (memory_service in the profile): nothing is searched")
    return around.run(_search(around))


async def _search(around: Surroundings) -> ExitCode:
    options, display = around.options, display_for(around)
    spec = memory_server(around.servers, around.profile, around.places, around.environ)
    arguments: JsonObject = {
        "query": " ".join(options.query),
        "top_k": options.limit,
        "mode": options.mode,
        "as_json": options.json,
    }
    async with opened([spec], around, display, tries_all=True) as dispatcher:
        with display.progress.during("memory", "sessions to be searched"):
            result = await search_memory(dispatcher, spec.id, arguments)
    text = around.redactor.text(str(result.value))
    if result.is_error:
        return around.complaints.fail(one_line(text), ExitCode.TOOL_FAILED)
    if not options.json:
        around.print(text)
        return ExitCode.ANSWERED
    try:
        around.print_json(json.loads(text))
    except ValueError as error:
        raise ServerError(spec.id, "the memory server's answer is no JSON") from error
    return ExitCode.ANSWERED
