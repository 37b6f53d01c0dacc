"""`doctor`: what works here and what doesn't, found out without starting a server."""

import asyncio
import platform
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import fields
from importlib.metadata import version
from typing import Final

from config.schema import AgentProfile, WallName
from config.server_list import ServerList
from core.dispatch.start_failures import StartFailures
from core.errors import CallRefused, ExitCode, SandboxUnavailable
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import PlanFailure
from core.values import Json, JsonObject
from core.version import __version__
from modules.cli.doctor_configuration import (
    documents_checks,
    file_checks,
    model_checks,
    readable,
    server_checks,
    web_checks,
)
from modules.cli.doctor_findings import Check, State, check_document, checks_text, exit_code
from modules.cli.parser import command_parser, read_words
from modules.cli.surroundings import Options, Surroundings
from modules.sandbox import Sandbox, SandboxLimits, limits_of
from modules.sandbox.component import COMPILING, compiled, find_compiled
from modules.sandbox.walls.launcher import ADVICE, Wall, examine_walls

_HELP: Final = """\
Say what works here and what doesn't: the sandbox and the walls around it, where files are kept,
the profile, the model that would answer, your documents, the configured servers. Starts no server,
writes no file but the sandbox's machine code where there is none yet, as the first plan would, and
shows whether keys are set, never what they are.

A wall that is missing is a finding; it counts as broken where sandbox.require in the profile
names it. With --json it is one object: ok, exit_code, version, python, platform and checks (area,
name, state, detail, advice; a state is ok, note, missing or broken).

Exits with 0 where all works that is needed, 2 where the configuration has to be corrected, else
1 where something is broken: the sandbox does not start, or a wall is missing that is required.

examples:
  agent.py doctor
  agent.py doctor --json | jq '.checks[] | select(.state != "ok")'"""

MOST_COLUMNS: Final = 100
"""Wider terminals get lines of this width; pipes get them whole."""

TRIAL_SECONDS: Final = 20.0
"""Bound on starting the sandbox and running two plans; 0.1 s is usual."""

_TRIAL_PLAN: Final = "async def solve():\n    return 1\n"
_RUNTIME: Final = "wasmtime"

Examine = Callable[[SandboxLimits], Sequence[Wall]]


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `doctor`; raises as `read_words`."""
    parser = command_parser(program, "doctor", _HELP)
    parser.set_defaults(run=diagnose)
    return read_words(parser, words, "; doctor takes options only")


def diagnose(around: Surroundings, examine: Examine = examine_walls) -> ExitCode:
    """Look at everything and tell it on stdout; a broken configuration is a finding too.

    `examine` tells of the second wall, see `sandbox_checks`.
    """
    places, environ = around.places, around.environ
    models_file = places.config_file("models.json")
    profile, of_profile = readable("profile", lambda: around.profile, around.profile_file)
    models, of_models = readable("models", lambda: around.models, models_file)
    servers: ServerList | None = None
    of_servers: list[Check] = []
    if profile is not None:
        servers, of_servers = readable("servers", lambda: around.servers)
    with around.waits().during("doctor", "the checks"):
        checks = [
            *_program(),
            *_sandbox(profile, examine, is_verbose=around.options.verbose),
            *file_checks(places, profile, environ),
            *of_profile,
            *of_models,
            *of_servers,
        ]
        if profile is not None and models is not None:
            checks += model_checks(profile, models, environ, places.home)
        if profile is not None:
            checks += documents_checks(profile, places, environ)
            checks += web_checks(profile, environ)
        if servers is not None:
            checks += server_checks(servers, StartFailures(places.failures_file))
    redactor, columns = around.redactor, around.columns
    text = checks_text(checks, columns and min(columns, MOST_COLUMNS))
    around.report(redactor.object(_document(checks)), redactor.text(text))
    return exit_code(checks)


def _program() -> Iterator[Check]:
    yield Check("program", "Cortex-R", "ok", __version__)
    yield Check("program", "Python", "ok", f"{platform.python_version()}, {sys.executable}")
    yield Check("program", "platform", "ok", platform.platform())


def _sandbox(
    profile: AgentProfile | None, examine: Examine, *, is_verbose: bool
) -> Iterator[Check]:
    """The sandbox under the profile's limits, under those by default where there is no profile."""
    section = profile.sandbox if profile is not None else None
    limits = limits_of(section) if section is not None else SandboxLimits()
    yield from sandbox_checks(limits, section.require if section is not None else (), examine)
    if is_verbose:
        yield limits_check(limits)


def _document(checks: list[Check]) -> JsonObject:
    code = exit_code(checks)
    found: list[Json] = [check_document(check) for check in checks]
    return {
        "ok": code == ExitCode.ANSWERED,
        "exit_code": int(code),
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "checks": found,
    }


def sandbox_checks(
    limits: SandboxLimits, require: Collection[WallName], examine: Examine = examine_walls
) -> Iterator[Check]:
    """The first wall, tried out with a plan under these limits, and the parts of the second.

    `examine` tells of the second. Where no plan can run at all, it is told why, and no more.
    Blocks for some 100 ms, and needs a thread without a running event loop.
    """
    yield (component := _component())
    if component.state == "broken":
        return
    yield asyncio.run(_interpreter(limits))
    walls = examine(limits)
    # One reason for all, such as a system that has no such wall, is no part's own to mend.
    is_shared = len({(wall.stands, wall.detail) for wall in walls}) == 1
    for wall in walls:
        yield _wall(wall, is_required=wall.name in require, is_shared=is_shared)


def limits_check(limits: SandboxLimits) -> Check:
    """The bounds of one plan, each with its unit in its name."""
    told = ", ".join(f"{field.name} {getattr(limits, field.name):,}" for field in fields(limits))
    return Check("sandbox", "limits", "ok", told)


def _component() -> Check:
    """What plans run in: CPython as a component, and its machine code for this processor."""
    remarks: list[str] = []
    try:
        was_there = find_compiled() is not None
        file = compiled(tell=remarks.append)
    except SandboxUnavailable as error:
        return Check("sandbox", "component", "broken", str(error))
    name = f"CPython for {_RUNTIME} {version(_RUNTIME)}"
    if (elsewhere := [remark for remark in remarks if remark != COMPILING]) and not was_there:
        return Check("sandbox", "component", "note", f"{name}; {elsewhere[0]}")
    made = "" if was_there else " just now"
    return Check("sandbox", "component", "ok", f"{name}, compiled{made}: {file}")


async def _interpreter(limits: SandboxLimits) -> Check:
    try:
        async with asyncio.timeout(TRIAL_SECONDS), Sandbox(limits) as sandbox:
            first_ms, failure = await _timed(sandbox)
            next_ms, _ = await _timed(sandbox)
    except TimeoutError:
        failure = PlanFailure("crash", f"no plan ran within {TRIAL_SECONDS:g} s")
        first_ms = next_ms = 0.0
    except SandboxUnavailable as error:
        return Check("sandbox", "interpreter", "broken", str(error))
    if failure is not None:
        advice = (
            "raise that limit under sandbox in the profile"
            if failure.kind == "limit"
            else f"no plan can run; reinstall {_RUNTIME}"
        )
        return Check("sandbox", "interpreter", "broken", str(failure), advice)
    told = f"a plan runs: the first took {first_ms:.0f} ms, the next {next_ms:.1f} ms"
    return Check("sandbox", "interpreter", "ok", told)


async def _timed(sandbox: Sandbox) -> tuple[float, PlanFailure | None]:
    """Milliseconds that a plan takes that calls nothing, and why it failed, if so."""
    began = time.perf_counter()
    ran = await sandbox.run(_TRIAL_PLAN, ToolCatalog(()), _no_call)
    return (time.perf_counter() - began) * 1000, ran.failure


async def _no_call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
    raise CallRefused(f"{tool.name} is not on offer")


def _wall(wall: Wall, *, is_required: bool, is_shared: bool) -> Check:
    required = " (required by sandbox.require)" if is_required else ""
    if wall.stands:
        told = f"stands; {wall.detail}" if wall.detail else "stands"
        return Check("sandbox", wall.name, "ok", f"{told}{required}")
    state: State = "broken" if is_required else "missing"
    advice = "" if is_shared else ADVICE[wall.name]
    return Check("sandbox", wall.name, state, f"{wall.detail}{required}", advice)
