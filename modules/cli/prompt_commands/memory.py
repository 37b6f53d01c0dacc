"""Commands about what outlasts a session: earlier sessions searched, facts shown and forgotten."""

import asyncio
from collections.abc import Callable
from typing import Final

from config.server_list import memory_server_id
from core.base.clock import moment
from core.base.memory.facts import Fact, FactError, FactStore
from core.errors import ExitCode, StorageError, UsageError
from modules.cli.prompt_commands.command import AtPrompt, prompt_command
from modules.memory.earlier import search_memory

FOUND: Final = 5
"""So many exchanges are shown."""


@prompt_command(
    "search",
    "Sessions",
    "earlier sessions, by words and by meaning",
    "WORDS",
    "The memory server looks, and is started if need be.",
)
async def _search(at: AtPrompt, words: str) -> ExitCode:
    """What was asked and answered before, by words and by meaning.

    Raises:
        UsageError: memory is off, nothing is to be looked for, or no server can look.
        ServerError: the server did not start, or did not answer.
    """
    _check_is_on(at)
    if not words:
        raise UsageError("say what to look for: /search notice period of the lease")
    server = memory_server_id(at.setting.servers.specs, at.setting.places.root)
    if server is None:
        raise UsageError(
            "the profile has no memory server (config/profiles.yaml of Cortex-R shows its entry); "
            f'in another terminal: agent.py sessions search "{words}"'
        )
    with at.during("memory", "sessions to be searched"):
        result = await search_memory(at.dispatcher, server, {"query": words, "top_k": FOUND})
    at.say("memory", at.redact(str(result.value)))
    return ExitCode.TOOL_FAILED if result.is_error else ExitCode.ANSWERED


@prompt_command("memory", "Sessions", "what you have stated and is kept", "[WORDS]")
async def _memory(at: AtPrompt, words: str) -> None:
    facts = await _facts(at, lambda store: store.find(words))
    newest = sorted(facts, key=lambda fact: -fact.when)
    at.say("memory", "\n".join(map(_line, newest)) or "nothing that you have stated is kept")


@prompt_command(
    "forget",
    "Sessions",
    "forget what you have stated",
    "WORDS",
    "By its id, or by words that only it has. Sessions in which it was said stay; "
    "agent.py sessions delete deletes them.",
)
async def _forget(at: AtPrompt, words: str) -> None:
    if not words:
        raise UsageError("say what to forget, its words or its id; /memory shows what is kept")
    gone = await _facts(at, lambda store: store.forget(words))
    if not gone:
        raise UsageError(f"nothing is kept that says {words!r}; /memory shows what is")
    at.say("memory", "\n".join(f"forgotten: {fact.text}" for fact in gone))


async def _facts(at: AtPrompt, ask: Callable[[FactStore], tuple[Fact, ...]]) -> tuple[Fact, ...]:
    _check_is_on(at)
    store = FactStore(at.kept.folder, at.setting.complaints.redactor)
    try:
        facts = await asyncio.to_thread(ask, store)
    except FactError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise StorageError(f"{store.path} can't be used: {error.strerror or error}") from error
    for note in store.notes:
        at.say("memory", note)
    return facts


def _check_is_on(at: AtPrompt) -> None:
    if not at.kept.is_on:
        raise UsageError("memory is off (memory_service, or --no-memory): none is read")


def _line(fact: Fact) -> str:
    before = "".join(f"; before: {old.text}, {moment(old.when)[:10]}" for old in fact.older)
    return f"{fact.fact_id}  {fact.text} ({moment(fact.when)[:10]}{before})"


MEMORY_COMMANDS: Final = (_search, _memory, _forget)
