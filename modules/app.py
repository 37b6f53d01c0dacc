"""The program from its arguments to its exit code: what is light, and what makes a start fast.

Python programs open an agent here, too.

The configuration is read and the servers that the request needs are spawned; only then
`modules.cli.interaction` is imported, with all that answers requests. A command is imported when it
is named.
"""

import contextlib
import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from config.dotenv import Environment, with_env_file
from config.schema import AgentProfile, load_profile
from config.server_list import ServerList, server_list
from config.settings import HOME_VARIABLE, Places, SettingsError, find_places
from core.base.redaction import names_a_secret
from core.dispatch.prespawn import prespawn
from core.dispatch.start_failures import StartFailures
from core.errors import CortexError, ExitCode, UsageError, UserError
from core.process.server import SpawnedServer, terminate
from core.process.watchdog import StopGrace
from core.run.execution import begin_of_process, working
from core.version import __version__
from modules.cli.command_line import (
    Arguments,
    OutputFormat,
    find_command,
    output_of,
    parse_arguments,
    parse_command,
    run_command,
    wanted_output,
)
from modules.cli.parser import Misused
from modules.planning.guidance.commands import request_meant
from modules.session.request import clean_request, read_request
from modules.terminal.answer import print_error_json
from modules.terminal.streams import Complaints, LogHandler, StdoutLost, log_bug, writing_stdout
from modules.terminal.waits import Waits, can_erase, let_interrupts_raise

if TYPE_CHECKING:
    from modules.service.python import AskPerson, PythonAgent

marks = logging.getLogger("cortex_r.marks")
"""Says at debug level when a stage of the start-up is passed; `make bench` listens."""


def open_agent(
    profile: str | Path | AgentProfile | None = None,
    *,
    model: str | None = None,
    home: str | Path | None = None,
    ask: "AskPerson | None" = None,
    session: str | None = None,
    mcp_config: Sequence[str | Path] = (),
    approve: Sequence[str] = (),
    files_in: str | Path | None = None,
) -> "AbstractAsyncContextManager[PythonAgent]":
    """An agent for a Python program, which `async with` opens; see docs/python.md.

    Args:
        profile: a file, or a profile that is made already; else the usual one is read.
        model: which model plans, as `--model` takes it; it goes before the profile's.
        home: in place of CORTEX_HOME, for this agent alone.
        ask: puts questions to a person. Without it nobody is there to be asked.
        session: the id of a session to go on with.
        mcp_config: files of further servers.
        approve: rules for calls that need no leave, as `--approve` takes them.
        files_in: where the paths of files start that requests name (`@notes.md`); None: requests
            read no files.

    Raises:
        SettingsError: on entering: profile, servers or models are not configured as they must be.
        UserError: on entering: no model can be chosen, or the session's id is of no known form.
    """
    from modules.service.python import opened  # late: all that answers requests

    return opened(
        profile,
        model=model,
        home=home,
        ask=ask,
        session=session,
        mcp_config=mcp_config,
        approve=approve,
        files_in=files_in,
    )


def run_agent(argv: Sequence[str]) -> int:
    """Run the agent on `argv` (without the program's name) and give its exit code.

    Never raises, except `SystemExit` for `--help`, `--version` and unknown options.
    """
    spawned: dict[str, SpawnedServer] = {}
    with contextlib.ExitStack() as work:
        work.enter_context(_ended_by_interrupt(wanted_output(argv), spawned))
        return _run_and_tell(argv, work, spawned)


@contextlib.contextmanager
def _ended_by_interrupt(
    output: OutputFormat, spawned: Mapping[str, SpawnedServer]
) -> Generator[None]:
    """Inside, Ctrl-C ends the process, and servers that run already, until work has begun.

    An exception in its place would be lost, or made another, where modules are imported and files
    are checked.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _end_unused(spawned)
        with contextlib.suppress(RuntimeError):  # something else is being printed
            _print_failure("interrupted", ExitCode.INTERRUPTED, output)
            sys.stdout.flush()
        begun = "\r\x1b[K" if sys.stderr.isatty() and can_erase(os.environ) else ""
        os.write(2, f"{begun}interrupted\n".encode())
        os._exit(ExitCode.INTERRUPTED)

    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        if before is not None:  # one that Python did not put there can't be put back
            signal.signal(signal.SIGINT, before)


def _run_and_tell(
    argv: Sequence[str], work: contextlib.ExitStack, spawned: dict[str, SpawnedServer]
) -> int:
    """The exit code, once it is told what went wrong; a request is worked on within `work`."""
    places: Places | None = None
    complaints = Complaints(os.environ)
    redact = complaints.redactor.text
    handler = LogHandler(lambda: places.log_file if places else None, redact, complaints.tell)
    logging.getLogger().addHandler(handler)
    program = Path(sys.argv[0]).name or "agent.py"
    output = wanted_output(argv)
    try:
        _leave_deleted_folder(work, complaints)
        if (words := find_command(argv, program)) is not None:
            output = "text"  # each command has JSON of its own
            with writing_stdout():
                found = parse_command(words, program)
            output = output_of(found)
            places = find_places(os.environ)
            environ = _environment(places, complaints, is_quiet=found.quiet)
            let_interrupts_raise()
            return int(run_command(found, places, complaints, environ))
        with writing_stdout():
            arguments = parse_arguments(argv, __version__, program)
            arguments.typed = (program, *argv)
        places = find_places(os.environ)
        environ = _environment(places, complaints, is_quiet=arguments.quiet)
        if arguments.request is not None:  # what goes wrong below names its trace, too
            work.enter_context(working(begin_of_process(os.environ)))
        return int(_run(arguments, places, complaints, environ, spawned))
    except Misused as error:
        _print_failure(redact(error.message), ExitCode.BAD_USAGE, output)
        raise
    except (SettingsError, UserError) as error:
        told, code = str(error), ExitCode.BAD_USAGE
    except (CortexError, StdoutLost) as error:
        told, code = str(error), ExitCode.WORLD_FAILED
    except KeyboardInterrupt:
        told, code = "interrupted", ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - whatever it is, it is logged and told
        log_file = places.log_file if places is not None else None
        told, code = log_bug(error, log_file, redact), ExitCode.WORLD_FAILED
    finally:
        logging.getLogger().removeHandler(handler)
    _print_failure(redact(told), code, output)
    return int(complaints.fail(told, code))


def _leave_deleted_folder(work: contextlib.ExitStack, complaints: Complaints) -> None:
    """Go to an empty folder, for as long as the work lasts, if the working folder is there no more.

    Raises:
        UsageError: CORTEX_HOME starts from the working folder.
    """
    try:
        Path.cwd()
    except FileNotFoundError:
        pass
    else:
        return
    home = os.environ.get(HOME_VARIABLE)
    if home and not Path(home).expanduser().is_absolute():
        raise UsageError(
            f"the working folder was deleted, and {HOME_VARIABLE}={home} is a path from there; "
            "go to another folder: cd"
        )
    os.chdir(work.enter_context(tempfile.TemporaryDirectory(prefix="cortex-r-")))
    complaints.say("config", "the working folder was deleted; the run goes on in an empty one")


def _print_failure(message: str, code: ExitCode, output: OutputFormat) -> None:
    """To those who want JSON, why there is no answer, in its place; stderr is told by others."""
    if output != "text":
        with contextlib.suppress(StdoutLost), writing_stdout():
            print_error_json(message, code, "", "", sys.stdout)


def _environment(places: Places, complaints: Complaints, *, is_quiet: bool) -> Environment:
    """The environment with the user's `.env`, whose secrets are known from here on.

    Raises:
        SettingsError: the file can't be used.
    """
    environ = with_env_file(os.environ, places.home)
    complaints.redactor.learn(environ[name] for name in environ.added if names_a_secret(name))
    if environ.notice and not is_quiet:
        complaints.say("config", environ.notice)
    return environ


def _run(
    arguments: Arguments,
    places: Places,
    complaints: Complaints,
    environ: Environment,
    spawned: dict[str, SpawnedServer],
) -> ExitCode:
    request = None
    if arguments.stdin == "never" and arguments.request in (None, "-"):
        raise UsageError(
            "--no-stdin leaves nothing to answer; give the request as an argument: "
            'agent.py --no-stdin "add 5 and 7"'
        )
    if arguments.request is None and isinstance(arguments.graph, Path):
        raise UsageError(
            f"say what {arguments.graph} is to answer: "
            f'agent.py --graph {arguments.graph} "REQUEST"; agent.py plan --graph FILE shows it'
        )
    if arguments.request == "-":
        request = read_request(sys.stdin.buffer)
    elif arguments.request is not None:
        request = clean_request(arguments.request)
    if request is not None and request.startswith("/"):
        request = clean_request(request_meant(request, places.home))
    profile_file = arguments.profile or places.config_file("profiles.yaml")
    profile = arguments.adapted(load_profile(profile_file))
    if profile.terminal.plain:
        os.environ["TERM"] = environ["TERM"] = "dumb"  # what every part that draws looks at
    servers = server_list(profile, places, profile_file, arguments.mcp_config, environ)
    is_without_tools = arguments.chosen_tools == ()
    spawned |= _spawn_early(None if is_without_tools else request, servers, places)
    marks.debug("spawned")
    try:
        verbose, quiet = arguments.verbose, arguments.quiet
        waits = Waits(sys.stderr, complaints.say, verbose=verbose, quiet=quiet)
        with waits.during("loop", "its own parts to load"):
            from modules.cli.interaction import Setting, answer  # late: all that answers requests
        setting = Setting(arguments, places, complaints, profile, servers, spawned, environ)
        if request is not None:
            return answer(request, setting, waits)
        from modules.cli.interactive import converse  # late: as a command, when it is named

        return converse(setting)
    finally:
        _end_unused(spawned)


def _spawn_early(
    request: str | None, servers: ServerList, places: Places
) -> dict[str, SpawnedServer]:
    if request is None:
        return {}
    failures = StartFailures(places.failures_file)
    return prespawn(request, servers.specs, places.server_logs, failures)


def _end_unused(spawned: Mapping[str, SpawnedServer]) -> None:
    """End what nobody adopted; servers that were in use have ended before, in good order."""
    if spawned:
        terminate(*spawned.values(), grace=StopGrace(stdin_seconds=0))
