"""`doctor`: what works here and what doesn't, found out without starting a server."""

import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from config.server_list import ServerList, secret_values
from config.settings import Places
from core.dispatch.start_failures import StartFailures
from core.errors import ExitCode
from core.values import Json, JsonObject
from core.version import __version__
from modules.cli.command import Diagnose
from modules.cli.doctor_configuration import (
    file_checks,
    read_models,
    read_profile,
    read_servers,
    server_checks,
)
from modules.cli.doctor_documents import documents_checks
from modules.cli.doctor_findings import Check, check_document, checks_text, exit_code
from modules.cli.doctor_models import model_checks
from modules.cli.doctor_sandbox import Examine, limits_check, sandbox_checks
from modules.cli.doctor_web import web_checks
from modules.cli.surroundings import Surroundings
from modules.composition import sandbox_limits
from modules.sandbox import SandboxLimits
from modules.terminal.streams import Complaints
from modules.terminal.waits import Waits

if TYPE_CHECKING:
    from config.schema import AgentProfile

MOST_COLUMNS = 100
"""Wider terminals get lines of this width; pipes get them whole."""


def diagnose(
    command: Diagnose,
    places: Places,
    complaints: Complaints,
    environ: Mapping[str, str],
    examine: Examine | None = None,
) -> ExitCode:
    """Look at everything and tell it on stdout; a broken configuration is a finding too.

    `examine` tells of the second wall, see `sandbox_checks`.

    Raises:
        StdoutLost: nobody reads it.
    """
    options = command.options
    profile_file = options.profile or places.config_file("profiles.yaml")
    profile, of_profile = read_profile(profile_file)
    models, of_models = read_models(places.config_file("models.json"))
    configuration = [of_profile, of_models]
    servers: ServerList | None = None
    if profile is not None:
        servers, of_servers = read_servers(
            profile, places, profile_file, options.mcp_config, environ
        )
        configuration += of_servers
    listed = servers or ServerList((), (), ())
    complaints.redactor.learn(secret_values((*listed.specs, *listed.disabled)))
    verbose, quiet = options.verbose, options.quiet
    waits = Waits(sys.stderr, complaints.say, environ, verbose=verbose, quiet=quiet)
    with waits.during("doctor", "the checks"):
        checks = [
            *_program(),
            *_sandbox(profile, examine, is_verbose=options.verbose),
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
    around = Surroundings(places, listed, sys.stdout, sys.stderr, complaints)
    if options.json:
        around.print_json(around.redactor.object(_document(checks)))
    else:
        around.print(around.redactor.text(checks_text(checks, _columns())))
    return exit_code(checks)


def _program() -> Iterator[Check]:
    yield Check("program", "Cortex-R", "ok", __version__)
    yield Check("program", "Python", "ok", f"{platform.python_version()}, {sys.executable}")
    yield Check("program", "platform", "ok", platform.platform())


def _sandbox(
    profile: "AgentProfile | None", examine: Examine | None, *, is_verbose: bool
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
