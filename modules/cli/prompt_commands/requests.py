"""Commands about requests: asked again, taken back, planned, run by hand, and what prompts hold."""

import asyncio
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from core.base.memory.exchanges import DatedExchange, dated_exchanges
from core.base.text import counted, one_line
from core.errors import ExitCode, UsageError
from core.strategy import CHARACTERS_PER_TOKEN
from core.turn import SANDBOX_STEP, MemoryItem
from modules.cli.parser import GRAPH_SUFFIXES
from modules.cli.plan import planned
from modules.cli.prompt_commands.command import (
    Ask,
    AtPrompt,
    ShownPlan,
    prompt_command,
)
from modules.cli.run_plan_file import may_call_tools, read_plan
from modules.memory.past import Past, exchange_characters, room_characters
from modules.planning.by_hand import GivenPlan
from modules.planning.prompt.sizes import MeasuredPrompt
from modules.session.history import SUBTASK, exchanges, taken_back
from modules.session.request import clean_request
from modules.team.writing import graph_from, graph_text, graph_yaml, load_graph
from modules.terminal.input.candidates import Candidate, path_candidates
from modules.terminal.tables import table_for

SHOWN_CHARACTERS: Final = 200
"""How much of a request is repeated."""

_RUN: Final = "/run "
_NO_EDITOR: Final = "there is no terminal here to edit at"


@prompt_command(
    "retry",
    "Requests",
    "ask the last request again",
    details="The answer that went before is taken back, as by /undo. In a session that goes "
    "on, files that went along do not go along again.",
)
async def _retry(at: AtPrompt, words: str) -> ExitCode | Ask | None:
    """Ask the last request again, as if it had not been asked.

    Raises:
        UsageError: nothing was asked.
    """
    request = await _last_asked(at)
    asked = dated_exchanges(await at.conversation.session.load(), with_undone=True)
    if asked and not asked[-1].undone and _is_of(asked[-1], request, at):
        await _take_back(at)
    at.say("loop", f"asks again: {one_line(request, SHOWN_CHARACTERS)}")
    return await _run.run(at, request.removeprefix(_RUN)) if _is_file(request) else Ask(request)


def _is_of(exchange: DatedExchange, request: str, at: AtPrompt) -> bool:
    """Whether it is that of a request, which is kept without secrets and without the @ of files."""
    return at.redact(clean_request(request)).replace("@", "") == exchange.request.replace("@", "")


async def _last_asked(at: AtPrompt) -> str:
    if (request := await at.last_asked()) is None:
        raise UsageError("nothing was asked yet; type a request")
    return request


@prompt_command(
    "edit",
    "Requests",
    "change the last request at the prompt",
    "[REQUEST]",
    "It is sent with Enter, as any other. Ctrl-G opens what is typed in $EDITOR.",
)
async def _edit(at: AtPrompt, words: str) -> None:
    """Put the last request, or the words, into the next prompt.

    Raises:
        UsageError: nothing was asked, or there is no prompt.
    """
    if at.edit is None:
        raise UsageError(f"{_NO_EDITOR}; send the changed request itself")
    at.next_text = words or await _last_asked(at)


@prompt_command(
    "undo",
    "Requests",
    "take the last request and its answer back",
    details="No prompt tells of them any more; the session's file keeps them. What you have "
    "stated in them stays until /forget. Once more takes back the one before.",
)
async def _undo(at: AtPrompt, words: str) -> None:
    """Take the last exchange that counts back.

    Raises:
        UsageError: there is none.
        StorageError: that can't be kept.
    """
    if (exchange := await _take_back(at)) is None:
        raise UsageError("there is nothing to take back: no request of this session counts")
    left = len(dated_exchanges(at.conversation.session.items))
    told = one_line(exchange.request, SHOWN_CHARACTERS)
    at.say("memory", f"taken back: {told}\nearlier requests that still count: {left}")


async def _take_back(at: AtPrompt) -> DatedExchange | None:
    found = taken_back(await at.conversation.session.load(), time.time())
    if found is None:
        return None
    exchange, item = found
    await at.conversation.session.keep(item)
    return exchange


def _plan_words(at: AtPrompt, text: str) -> Iterable[Candidate]:
    if " " not in text.lstrip():
        yield Candidate("edit", "change the plan that was shown last")


@prompt_command(
    "plan",
    "Requests",
    "write the plan or the graph for a request, and do not run it",
    "[REQUEST|edit]",
    "/run runs it. Without a request it is the last plan that ran; `edit` opens what was "
    "shown last in $EDITOR: a plan, or a graph as YAML.",
    _plan_words,
)
async def _plan(at: AtPrompt, words: str) -> ExitCode:
    """Write a plan or a graph and show it; without words, show the last plan that ran.

    Raises:
        UsageError: there is none, or no terminal to change it at.
    """
    if words == "edit":
        return await _edit_plan(at)
    if not words:
        return _show(at, await _last_plan(at))
    request, conversation = clean_request(words), at.conversation
    done = await planned(conversation, request, conversation.profile.strategy.graph)
    if done.chosen.graph is not None:
        at.say("plan", done.why)
        return _show(at, ShownPlan(graph_yaml(done.chosen.graph), request, is_graph=True))
    if done.source is None:
        at.say("plan", done.message)
        return done.exit_code
    return _show(at, ShownPlan(done.source, request))


async def _edit_plan(at: AtPrompt) -> ExitCode:
    if at.edit is None:
        raise UsageError(f"{_NO_EDITOR}; /run FILE runs the plan of a file")
    plan = at.plan or await _last_plan(at)
    try:
        source = await at.edit(plan.source)
    except UnicodeDecodeError as error:
        raise UsageError("what was saved is not UTF-8 text; the plan stays as it was") from error
    if source.strip() in ("", plan.source.strip()):
        at.say("plan", "nothing was changed")
        return ExitCode.ANSWERED
    return _show(at, replace(plan, source=source, is_users=True))


def _show(at: AtPrompt, plan: ShownPlan) -> ExitCode:
    at.plan = plan
    if plan.is_graph:
        graph = graph_from(plan.source)
        at.say("plan", f"{counted(len(graph.ids), 'subtask')}\n{graph_text(graph)}")
    else:
        (at.show_code or at.say)("plan", plan.source)
    at.say("plan", "/run runs it, /plan edit changes it")
    return ExitCode.ANSWERED


async def _last_plan(at: AtPrompt) -> ShownPlan:
    """The last plan that ran in the session, and the request that it was for."""
    request, source = "", None
    for item in await at.conversation.session.load():
        if item.type == "run_metadata" and item.user_query is not None:
            request = item.user_query
        source = _plan_in(item) or source
    if source is None:
        raise UsageError("no plan ran in this session yet; /plan REQUEST writes one")
    return ShownPlan(source, request)


def _plan_in(item: MemoryItem) -> str | None:
    """The source of a plan, unless a part of a request led to it."""
    is_plan = item.type == "tool_output" and item.tool_name == SANDBOX_STEP
    is_plan = is_plan and SUBTASK not in item.metadata
    source = (item.tool_args or {}).get("plan") if is_plan else None
    return source if isinstance(source, str) else None


def paths(at: AtPrompt, text: str) -> Iterable[Candidate]:
    """The files and folders that the last word may become."""
    word = "" if text[-1:].isspace() else (text.split() or [""])[-1]
    for each in path_candidates(f"@{word}", Path.cwd()):
        yield replace(each, text=each.text.removeprefix("@"))


@prompt_command(
    "run",
    "Requests",
    "run the plan or graph that was shown last, or a file's",
    "[FILE]",
    "A plan is repaired, checked and bounded as every plan, and asks for what has to be "
    "allowed; one that fails is not written anew. A graph's file ends in .yaml.",
    paths,
)
async def _run(at: AtPrompt, words: str) -> Ask:
    """Run the plan that was shown last, or that of a file.

    Raises:
        UsageError: there is none, or it can't be read.
    """
    if words:
        is_graph = words.strip("\"'").endswith(GRAPH_SUFFIXES)
        bytes_max = at.conversation.profile.sandbox.source_bytes
        source = await asyncio.to_thread(_read, words, None if is_graph else bytes_max)
        at.plan = ShownPlan(source, f"{_RUN}{words}", is_users=True, is_graph=is_graph)
    plan = at.plan
    if plan is not None and plan.is_graph:
        return Ask(plan.request, graph=graph_from(plan.source))
    if plan is None:
        raise UsageError("no plan was shown yet; /plan REQUEST writes one, /run FILE reads one")
    if await asyncio.to_thread(may_call_tools, plan.source):
        with at.during("mcp", "the tools that the plan may call"):
            await at.dispatcher.initialize()
    said = plan.source if plan.is_users else ""
    answers = not _is_file(plan.request)
    return Ask(plan.request, GivenPlan(plan.source, answers=answers, said=said))


def _is_file(request: str) -> bool:
    return request.startswith(_RUN)


def _read(words: str, bytes_max: int | None) -> str:
    """The plan in a file, of at most so many bytes, or the graph where there is no such bound."""
    file = Path(words.strip("\"'")).expanduser().absolute()
    if not file.is_file():  # to open a pipe would wait for its writer
        raise UsageError(f"{file}: there is no such file; /run FILE runs the plan of a file")
    if bytes_max is None:
        return graph_yaml(load_graph(file))
    return read_plan(str(file), sys.stdin.buffer, bytes_max)


@prompt_command(
    "context",
    "Requests",
    "what the next prompt holds, in tokens",
    "[REQUEST]",
    "With a request, what that one would hold; no model is asked.",
)
async def _context(at: AtPrompt, words: str) -> None:
    model, measured = at.conversation.model, MeasuredPrompt()
    if model.traits.reads_text:
        request = clean_request(words) if words else ""
        await at.conversation.ask(request, by_hand=measured)
    if (sizes := measured.sizes) is None:
        at.say("model", f"{model.name} reads no prompt: nothing has to fit into a context")
        return
    rows = [(part, f"{sizes.tokens(size):,}") for part, size in sizes.parts.items() if size]
    total, room = sizes.tokens(sum(sizes.parts.values())), sizes.context_tokens
    part = f"{total / room:.0%} of the {room:,} tokens" if room else "an unknown part of those"
    ratio = sizes.characters_per_token
    told = f"{ratio:.2f}, as it has counted" if ratio else f"{CHARACTERS_PER_TOKEN}, as a guess"
    lines = [
        "what the next prompt holds",
        table_for([("part", "tokens"), *rows, ("in all", f"{total:,}")]),
        f"{part} that {model.name} has room for; characters a token: {told}",
    ]
    if sizes.images:
        lines.append(f"and {counted(sizes.images, 'picture')}, which each service counts otherwise")
    if unknown := at.dispatcher.unlearned():
        names = ", ".join(spec.id for spec in unknown)
        lines.append(f"and the tools of servers that have not started yet: {names}")
    at.say("model", "\n".join(lines))


@prompt_command(
    "compact",
    "Requests",
    "have the older requests go into notes now",
    details="The model writes them; by itself it does so when there is no room for them.",
)
async def _compact(at: AtPrompt, words: str) -> ExitCode:
    conversation, traits = at.conversation, at.conversation.model.traits
    if not traits.reads_text:
        at.say("memory", f"nothing to do: {conversation.model.name} reads no prompt, and no notes")
        return ExitCode.ANSWERED
    history = exchanges(await conversation.session.load())
    room = room_characters(conversation.profile.memory.prompt_tokens, traits)
    summary = conversation.session.summary
    before = summary.told(history, room)
    if before.summarised >= len(history) - 1:
        at.say("memory", "nothing to do: there are notes on all requests but the last")
        return ExitCode.ANSWERED
    async with conversation.beside_runs() as model:
        if not await summary.compact(history, room, model):
            return ExitCode.NO_ANSWER  # why was told
    after = summary.told(history, room)
    per_token = traits.characters_per_token or CHARACTERS_PER_TOKEN
    sizes = [f"{_size(past) / per_token:,.0f}" for past in (before, after)]
    noted = counted(after.summarised, "request")
    at.say("memory", f"notes on {noted}: about {sizes[0]} tokens before, {sizes[1]} now")
    return ExitCode.ANSWERED


def _size(past: Past) -> int:
    return len(past.summary) + sum(map(exchange_characters, past.turns))


REQUEST_COMMANDS: Final = (_retry, _edit, _undo, _plan, _run, _context, _compact)
