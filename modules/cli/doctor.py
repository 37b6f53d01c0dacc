"""`doctor`: what works here and what doesn't, found out without starting a server."""

import argparse
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence

from config.schema import AgentProfile
from config.server_list import ServerList
from core.dispatch.start_failures import StartFailures
from core.errors import ExitCode
from core.values import Json, JsonObject
from core.version import __version__
from modules.cli.doctor_configuration import (
    documents_checks,
    file_checks,
    read_models,
    read_profile,
    read_servers,
    server_checks,
    web_checks,
)
from modules.cli.doctor_findings import Check, check_document, checks_text, exit_code
from modules.cli.doctor_models import model_checks
from modules.cli.doctor_sandbox import Examine, limits_check, sandbox_checks
from modules.cli.parser import command_parser, read_words
from modules.cli.surroundings import Surroundings
from modules.composition import sandbox_limits
from modules.sandbox import SandboxLimits
from modules.sandbox.walls.launcher import examine_walls

_HELP = """\
Say what works here and what doesn't: the sandbox and the walls around it, where files are kept,
the profile, the model that would answer, your documents, the configured servers. Starts no server,
writes no file, and shows whether keys are set, never what they are.

A wall that is missing is a finding; it counts as broken where sandbox.require in the profile
names it. With --json it is one object: ok, exit_code, version, python, platform and checks (area,
name, state, detail, advice; a state is ok, note, missing or broken).

Exits with 0 where all works that is needed, 2 where the configuration has to be corrected, else
1 where something is broken: the sandbox does not start, or a wall is missing that is required.

examples:
  agent.py doctor
  agent.py doctor --json | jq '.checks[] | select(.state != "ok")'"""

MOST_COLUMNS = 100
"""Wider terminals get lines of this width; pipes get them whole."""


def parse(words: Sequence[str], program: str) -> argparse.Namespace:
    """Read the words behind `doctor`; raises as `read_words`."""
    parser = command_parser(program, "doctor", _HELP)
    parser.set_defaults(run=diagnose)
    return read_words(parser, words, "; doctor takes options only")


def diagnose(
    found: argparse.Namespace, around: Surroundings, examine: Examine = examine_walls
) -> ExitCode:
    """Look at everything and tell it on stdout; a broken configuration is a finding too.

    `examine` tells of the second wall, see `sandbox_checks`.

    Raises:
        StdoutLost: nobody reads it.
    """
    places, environ = around.places, around.environ
    profile, of_profile = read_profile(around)
    models, of_models = read_models(around)
    configuration = [of_profile, of_models]
    servers: ServerList | None = None
    if profile is not None:
        servers, of_servers = read_servers(around)
        configuration += of_servers
    with around.waits().during("doctor", "the checks"):
        checks = [
            *_program(),
            *_sandbox(profile, examine, is_verbose=around.options.verbose),
            *file_checks(places, profile, environ),
            *configuration,
        ]
        if profile is not None and models is not None:
            checks += model_checks(profile, models, environ, places.home)
        if profile is not None:
            checks += documents_checks(profile, places, environ)
            checks += web_checks(profile, environ)
        if servers is not None:
            checks += server_checks(servers, StartFailures(places.failures_file))
    if around.options.json:
        around.print_json(around.redactor.object(_document(checks)))
    else:
        around.print(around.redactor.text(checks_text(checks, _columns())))
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
    limits = sandbox_limits(section) if section is not None else SandboxLimits()
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


def _columns() -> int | None:
    """How wide to make lines; None where nobody sees a width."""
    if not sys.stdout.isatty():
        return None
    return min(shutil.get_terminal_size().columns, MOST_COLUMNS)
