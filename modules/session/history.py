"""What the items of a session tell: requests with their answers, what was used and done."""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, replace
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from core.asking import AskLeave, Leave, LeaveQuestion
from core.base.clock import Clock
from core.base.frozen import frozen
from core.base.memory.exchanges import GROUNDED, LEFT, UNDONE, DatedExchange, dated_exchanges
from core.base.redaction import Redactor
from core.base.text import one_line
from core.errors import StorageError
from core.tools.json_schema import as_object
from core.turn import SANDBOX_STEP, USAGE, Exchange, MemoryItem, Usage
from core.values import JsonObject

MAX_USAGE: Final = 10**15
"""More than this of calls, tokens or dollars in one run is no figure of ours."""

LEAVE_CHARACTERS_MAX: Final = 500
"""How much is kept of a value that was doubted, and of the user's words beside a no."""

MODEL_CALLS: Final = "model_calls"
"""Key of the metadata under which the calls of models stand that led to a plan."""

PERCEPTION: Final = "perception"
"""Key of the metadata under which it stands what was perceived before a plan, and how long."""

QUESTION: Final = "question"
"""Key of the metadata under which a plan's question to the user stands."""

BESIDE: Final = "beside"
"""Key of the metadata under which it stands what models were asked for beside all runs."""

SUBTASK: Final = "subtask"
"""Key of the metadata under which the subtask stands that an item is about, by its id."""

TEAM: Final = "team"
"""Key of the metadata under which it stands what kind of a team's event an item tells of."""

TRACE: Final = "trace_id"
"""Key of the metadata of a run's first item under which its trace stands."""

FOLDER: Final = "folder"
"""Key of the metadata under which the folder stands that a session belongs to."""

LEAVE: Final = "leave"
"""Key of the metadata under which the user's answer to a question about calls stands."""

RULES: Final = "rules"
"""Key in it of the rules that would have allowed what the user did."""

_OF_A_RUN: Final = {QUESTION, "status", USAGE, GROUNDED, MODEL_CALLS, PERCEPTION, TEAM, LEAVE}


def exchanges(items: Iterable[MemoryItem]) -> tuple[Exchange, ...]:
    """The session's requests with their answers that count, as plans are written with them."""
    return tuple(
        Exchange(one.request, one.answer, one.calls, one.grounded) for one in dated_exchanges(items)
    )


def runs_in(items: Iterable[MemoryItem]) -> list[list[MemoryItem]]:
    """The items of each run, the one that begins it first, in their order.

    What is about the session, as a title is, belongs to none: it may be of any later day. So does
    what models were asked for beside all runs.
    """
    runs: list[list[MemoryItem]] = []
    for item in items:
        if item.type == "run_metadata" and item.user_query is not None:
            runs.append([item])
        elif runs and _is_of_a_run(item):
            runs[-1].append(item)
    return runs


def _is_of_a_run(item: MemoryItem) -> bool:
    if item.type != "run_metadata":
        return True
    return BESIDE not in item.metadata and not _OF_A_RUN.isdisjoint(item.metadata)


def taken_back(items: Iterable[MemoryItem], now: float) -> tuple[DatedExchange, MemoryItem] | None:
    """The last exchange that counts, and the item with which it counts no more; None without one.

    `now` is Unix time in seconds.
    """
    if not (counted := dated_exchanges(items)):
        return None
    last, text = counted[-1], "Took the last request back: it counts no more"
    told: JsonObject = {UNDONE: last.asked_at, LEFT: len(counted) - 1}
    return last, MemoryItem(timestamp=now, type="run_metadata", text=text, metadata=told)


def leave_kept(
    ask: AskLeave,
    keep: Callable[[MemoryItem], Awaitable[None]],
    redactor: Redactor,
    clock: Clock = time.time,
) -> AskLeave:
    """Asks as `ask` does, and has the user's answer kept, without secrets, as an item.

    `clock` gives Unix seconds. An answer that can't be kept holds all the same.
    """

    async def asking(question: LeaveQuestion) -> Leave | None:
        if (answer := await ask(question)) is None:
            return None
        said = {
            "for": answer.rule or "; ".join(question.rules),
            "words": answer.words,
        }
        tool = question.tool
        told: JsonObject = {"tool": tool, "holds": answer.holds}
        if answer.holds != "no":
            rules = _rules_of(question, answer)
            told[RULES] = [rule for rule in rules if redactor.text(rule) == rule]
        for name, text in said.items():
            told[name] = one_line(redactor.text(text), LEAVE_CHARACTERS_MAX)
        if answer.only is not None:
            told["calls"] = [number + 1 for number in sorted(answer.only)]
        verb = "did not allow" if answer.holds == "no" else "allowed"
        with suppress(StorageError):
            text = f"The user {verb} {tool}"
            await keep(
                MemoryItem(
                    timestamp=clock(), type="run_metadata", text=text, metadata={LEAVE: told}
                )
            )
        return answer

    return asking


def _rules_of(question: LeaveQuestion, answer: Leave) -> Sequence[str]:
    """The rules that cover the calls that a yes is for, and no others."""
    if answer.rule:
        return (answer.rule,)
    rules = question.rules
    if answer.only is None or len(rules) == 1:
        return rules
    if len(rules) < len(question.calls):
        return ()  # which belongs to which call, nobody knows
    return [rule for number, rule in enumerate(rules) if number in answer.only]


def usage_item(used: Mapping[str, Usage], now: float) -> MemoryItem:
    """What tells what models used beside all runs, by their names."""
    by_model: JsonObject = {name: dict(asdict(each)) for name, each in used.items()}
    told: JsonObject = {USAGE: by_model, BESIDE: True}
    text = "Models were asked beside all runs"
    return MemoryItem(timestamp=now, type="run_metadata", text=text, metadata=told)


def folder_item(folder: Path, clock: Clock = time.time) -> MemoryItem:
    """What tells in which folder a session was begun; `clock` gives Unix seconds."""
    text = f"Begun in {folder}"
    told: JsonObject = {FOLDER: str(folder)}
    return MemoryItem(timestamp=clock(), type="run_metadata", text=text, metadata=told)


def folder_of(items: Iterable[MemoryItem]) -> str | None:
    """The folder that a session belongs to; None where nobody has said so."""
    found = (item.metadata.get(FOLDER) for item in items if item.type == "run_metadata")
    return next((folder for folder in found if isinstance(folder, str)), None)


def last_prompt_tokens(items: Sequence[MemoryItem]) -> int:
    """How long the newest prompt for a plan was, in tokens as its model counted; 0 if none was."""
    for item in reversed(items):
        calls = item.metadata.get(MODEL_CALLS)
        for call in reversed(calls) if isinstance(calls, list) else ():
            match call:
                case {"purpose": "decision", "usage": {"input_tokens": int(tokens)}}:
                    return tokens
                case _:
                    continue
    return 0


def usage_of(items: Iterable[MemoryItem]) -> dict[str, Usage]:
    """What the session's runs have used, by the names of models; what can't be read counts none."""
    used: dict[str, Usage] = {}
    for item in items:
        if item.type != "run_metadata" or USAGE not in item.metadata:
            continue
        try:
            by_model = _usage_reader().validate_python(item.metadata[USAGE])
        except ValidationError:
            continue
        for name, usage in by_model.items():
            if all(0 <= figure <= MAX_USAGE for figure in astuple(usage)):
                used[name] = used.get(name, Usage()) + usage
    return used


def model_calls_usage(item: MemoryItem) -> Usage:
    """What the calls of models have used that an item tells of; what can't be read counts none."""
    told, used = item.metadata.get(MODEL_CALLS), Usage()
    for call in told if isinstance(told, list) else ():
        with suppress(ValidationError):
            by_name = _usage_reader().validate_python({"": as_object(call).get("usage")})
            if all(0 <= figure <= MAX_USAGE for figure in astuple(by_name[""])):
                used += by_name[""]
    return used


@frozen
class Activity:
    """What a session has done, whichever model planned it; times are seconds.

    `seconds` are those of plans: writing them, and running them with their calls.
    """

    requests: int = 0
    plans: int = 0
    seconds: float = 0.0
    calls: int = 0
    call_seconds: float = 0.0


def activity_of(items: Iterable[MemoryItem]) -> Activity:
    """The session's requests, plans and calls that were sent, and the time that they took."""
    done = Activity()
    for item in items:
        if item.type == "run_metadata" and "start_time" in item.metadata:
            done = replace(done, requests=done.requests + 1)
        if item.type != "tool_output" or "kept" in item.metadata or "refused" in item.metadata:
            continue
        seconds = seconds_of(item) or 0.0
        if item.tool_name == SANDBOX_STEP:
            done = replace(done, plans=done.plans + 1, seconds=done.seconds + seconds)
        else:
            total = done.call_seconds + seconds
            done = replace(done, calls=done.calls + 1, call_seconds=total)
    return done


def seconds_of(item: MemoryItem) -> float | None:
    """The wall seconds that a call or a plan took; None where that can't be read."""
    seconds = item.metadata.get("seconds")
    if isinstance(seconds, int | float) and 0 <= seconds <= MAX_USAGE:
        return float(seconds)
    return None


@cache
def _usage_reader() -> TypeAdapter[dict[str, Usage]]:
    return TypeAdapter(dict[str, Usage])
