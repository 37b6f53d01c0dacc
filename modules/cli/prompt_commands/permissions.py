"""What calls need no yes: shown, allowed by name, and taken back."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from core.base.text import did_you_mean, near_names
from core.errors import UsageError, storing
from core.provenance.permissions import Permission
from core.provenance.rules import Rule, RuleError, read_rule
from modules.cli.prompt_commands.command import AtPrompt, prompt_command
from modules.terminal.input.candidates import Candidate

_ACTIONS: Final = ("allow", "forget")

_OF_ANOTHER: Final = "; does not count: its server is not there, or has another entry now"

USAGE: Final = (
    "/permissions alone shows them; /permissions allow RULE keeps one, such as "
    "files.write_file(path=/home/me/notes/*); /permissions forget NUMBER|TOOL|all takes back"
)


def _words(at: AtPrompt, text: str) -> Iterable[Candidate]:
    action, gap, behind = text.lstrip().partition(" ")
    if not gap:
        yield from map(Candidate, _ACTIONS)
    elif action == "allow" and " " not in behind:
        yield from (Candidate(tool.qualified_name) for tool in at.dispatcher.catalog.known)
    elif action == "forget":
        held = at.conversation.permissions
        names = dict.fromkeys(each.tool for each in (*held.session, *held.kept))
        yield from map(Candidate, (*names, "all"))


@prompt_command(
    "permissions",
    "Settings",
    "the calls that need no yes: shown, allowed, taken back",
    "[allow RULE | forget N|TOOL|all]",
    "What an «always» has allowed. A rule is TOOL, TOOL(argument=pattern, …), or TOOL(*) for "
    "anything, as with --approve.",
    _words,
)
async def _permissions(at: AtPrompt, words: str) -> None:
    """Show, allow, or take back.

    Raises:
        UsageError: there is no such action, tool, target or permission.
        StorageError: what is kept can't be changed.
    """
    action, _, rest = words.strip().partition(" ")
    match action, rest.strip():
        case "", _:
            at.say("tool", at.redact(await _overview(at)))
        case "allow", rule if rule:
            await _allow(at, rule)
        case "forget", which if which:
            await _forget(at, which)
        case _:
            raise UsageError(USAGE)


async def _overview(at: AtPrompt) -> str:
    """All that is allowed, numbered, and what decides about the rest."""
    held, security = at.conversation.permissions, at.conversation.profile.security
    kept = await asyncio.to_thread(lambda: held.kept)
    lines = ["allowed in this session:"]
    lines += _numbered(at, held.session, 1) or ["  nothing"]
    lines.append(f"allowed always, to this agent ({held.file or 'nothing is kept here'}):")
    lines += _numbered(at, kept, len(held.session) + 1) or ["  nothing"]
    lines.append("allowed by the profile and --approve:")
    lines += [f"  {rule}" for rule in at.conversation.policy.rules] or ["  nothing"]
    lines.append(
        f"security in the profile: approvals: {security.approvals}, "
        f"provenance: {security.provenance}"
    )
    if security.provenance == "strict":
        lines.append("strict: nothing is asked, and what is allowed here does not count")
    return "\n".join(lines)


def _numbered(at: AtPrompt, permissions: Sequence[Permission], first: int) -> list[str]:
    servers = at.conversation.policy.server_keys
    return [
        f"  {number}  {each.rule}"
        + (_OF_ANOTHER if each.server != servers.get(each.tool.partition(".")[0], "") else "")
        for number, each in enumerate(permissions, first)
    ]


async def _allow(at: AtPrompt, text: str) -> None:
    try:
        rule = read_rule(text)
    except RuleError as error:
        raise UsageError(str(error)) from None
    name = rule.tool
    if not (found := _called(at, name)):
        with at.during("mcp", "servers whose tools are not known yet"):
            await at.dispatcher.initialize()
        found = _called(at, name)
    if len(found) != 1:
        names = [tool.qualified_name for tool in at.dispatcher.catalog.known]
        meant = did_you_mean(sorted(found) or near_names(name, names), "/tools lists them")
        raise UsageError(f"no one tool is called {name!r}; {meant}")
    tool = found.pop()
    server = at.conversation.policy.server_keys.get(tool.partition(".")[0], "")
    new = Permission(Rule(tool, rule.patterns), server)
    held = at.conversation.permissions
    await asyncio.to_thread(partial(held.allow, for_good=True), new)
    if new in await asyncio.to_thread(lambda: held.kept):
        at.say("tool", at.redact(f"allowed always: {new.rule}"))


def _called(at: AtPrompt, name: str) -> set[str]:
    """The qualified names of the tools that are called so."""
    return {
        tool.qualified_name
        for tool in at.dispatcher.catalog.known
        if name in (tool.qualified_name, tool.name)
    }


async def _forget(at: AtPrompt, which: str) -> None:
    held = at.conversation.permissions
    all_held = (*held.session, *await asyncio.to_thread(lambda: held.kept))
    if which.isascii() and which.isdigit():
        gone = all_held[int(which) - 1 : int(which)] if int(which[:9]) > 0 else ()
    else:
        gone = [each for each in all_held if which in ("all", each.tool)]
    if not gone:
        raise UsageError(f"nothing is allowed under {which!r}; /permissions shows what is")
    with storing(held.file):
        await asyncio.to_thread(held.forget, gone)
    at.say("tool", at.redact("\n".join(f"no longer allowed: {each.rule}" for each in gone)))


PERMISSION_COMMANDS: Final = (_permissions,)
