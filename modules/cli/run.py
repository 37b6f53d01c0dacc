"""Runs one command: reads what is configured, does it, gives the exit code."""

import sys
from collections.abc import Coroutine, Mapping
from typing import TypeAlias, assert_never

from config.schema import AgentProfile, load_profile
from config.server_list import ServerList, secret_values, server_list
from config.settings import Places
from core.errors import ExitCode
from modules.cli.auth_command import ListKeys, RemoveKey, SetKey
from modules.cli.command import (
    AddServer,
    CallTool,
    CheckServer,
    Command,
    Diagnose,
    ListServers,
    ListTools,
    RemoveServer,
    RunPlanFile,
    ShowLog,
    ShowPrompt,
    ShowStatus,
    SwitchServer,
)
from modules.cli.docs_command import ManageDocuments
from modules.cli.models_command import ListModels, ModelsCommand, PullModel
from modules.cli.surroundings import Surroundings
from modules.terminal.streams import Complaints, StdoutClosed

_Quick: TypeAlias = ListServers | AddServer | RemoveServer | SwitchServer | ShowLog
_WithServers: TypeAlias = ListTools | ShowStatus | CheckServer | CallTool | RunPlanFile | ShowPrompt


def run_command(
    command: Command, places: Places, complaints: Complaints, environ: Mapping[str, str]
) -> ExitCode:
    """Do what the command says.

    `environ` is what variables in the servers' configuration mean. `complaints` learns the
    secrets of that configuration.

    Raises:
        SettingsError, UserError: the user must change the command line or a file.
        WorldError: a server or the disk failed.
        StdoutLost: nobody reads the output.
    """
    try:
        if isinstance(command, Diagnose):  # what is wrong with the configuration is its answer
            from modules.cli.doctor import diagnose

            return diagnose(command, places, complaints, environ)
        if isinstance(command, ManageDocuments):  # another program does it, in this one's place
            from modules.cli.docs import manage_documents

            manage_documents(command, places, environ)
        if isinstance(command, SetKey | ListKeys | RemoveKey):  # needs no profile and no server
            from modules.cli.auth import run_auth

            return run_auth(command, places, complaints, environ)
        if isinstance(command, ListModels | PullModel):  # needs no servers
            return _about_models(command, places, complaints, environ)
        return _configured(command, places, complaints, environ)
    except StdoutClosed:
        if isinstance(command, CallTool | RunPlanFile):
            raise  # what a call did is lost
        return ExitCode.WORLD_FAILED  # `| head` has seen enough, and needs no message


def _about_models(
    command: ModelsCommand, places: Places, complaints: Complaints, environ: Mapping[str, str]
) -> ExitCode:
    if isinstance(command, ListModels):
        from modules.cli.models import list_models

        return list_models(command, places, complaints, environ)
    import asyncio

    from modules.cli.models_pull import pull_model

    work = pull_model(command, places, complaints, environ)
    return asyncio.run(_until_interrupted(work, complaints))


def _configured(
    command: _Quick | _WithServers,
    places: Places,
    complaints: Complaints,
    environ: Mapping[str, str],
) -> ExitCode:
    """Read what is configured, as far as the command needs it, and do the command."""
    profile_file = command.options.profile or places.config_file("profiles.yaml")
    profile = load_profile(profile_file)
    files = command.options.mcp_config
    servers = server_list(profile, places, profile_file, files, environ)
    around = _around(command, servers, places, complaints, environ)
    if isinstance(command, _Quick):
        return _quickly(command, around)
    return _run_with_servers(command, around, profile)


def _around(
    command: _Quick | _WithServers,
    servers: ServerList,
    places: Places,
    complaints: Complaints,
    environ: Mapping[str, str],
) -> Surroundings:
    everyone = (*servers.specs, *servers.disabled)
    complaints.redactor.learn(secret_values(everyone))
    # Notes are for those who look after servers; a script that calls a tool would see them daily.
    users = CallTool | RunPlanFile | ShowPrompt | ShowLog | RemoveServer | SwitchServer
    uses_only = isinstance(command, users)
    if command.options.verbose or not (uses_only or command.options.quiet):
        for note in servers.notes:
            complaints.say("mcp", note)
    return Surroundings(places, servers, sys.stdout, sys.stderr, complaints)


def _quickly(command: _Quick, around: Surroundings) -> ExitCode:
    match command:
        case ListServers():
            from modules.cli.mcp_list import list_servers

            return list_servers(command, around)
        case AddServer():
            from modules.cli.mcp_edit import add

            return add(command, around)
        case RemoveServer():
            from modules.cli.mcp_edit import remove

            return remove(command, around)
        case SwitchServer():
            from modules.cli.mcp_edit import switch

            return switch(command, around)
        case ShowLog():
            from modules.cli.mcp_logs import show_log

            return show_log(command, around)
        case _:
            assert_never(command)


def _run_with_servers(
    command: _WithServers, around: Surroundings, profile: AgentProfile
) -> ExitCode:
    import asyncio
    import gc

    work = _work(command, around, profile)
    gc.freeze()
    gc.enable()
    return asyncio.run(_until_interrupted(work, around.complaints))


def _work(
    command: _WithServers, around: Surroundings, profile: AgentProfile
) -> Coroutine[object, object, ExitCode]:
    match command:
        case ListTools():
            from modules.cli.mcp_tools import list_tools

            return list_tools(command, around)
        case ShowStatus():
            from modules.cli.mcp_status import show_status

            return show_status(command, around)
        case CheckServer():
            from modules.cli.mcp_check import check_server

            return check_server(command, around)
        case CallTool():
            from modules.cli.call import call_tool

            return call_tool(command, around)
        case RunPlanFile():
            from modules.cli.run_plan import run_plan_by_hand
            from modules.cli.run_plan_file import read_plan

            # Read before the event loop starts: Ctrl-C ends a read of stdin at once here.
            plan = read_plan(command.file, sys.stdin.buffer, profile.sandbox.source_bytes)
            return run_plan_by_hand(command, plan, around, profile)
        case ShowPrompt():
            from modules.cli.prompt import chosen_model, show_prompt

            # Chosen before the event loop starts: Ctrl-C ends a wait for the keyring at once here.
            chosen = chosen_model(command, around, profile)
            return show_prompt(command, chosen, around, profile)
        case _:
            assert_never(command)


async def _until_interrupted(
    work: Coroutine[object, object, ExitCode], complaints: Complaints
) -> ExitCode:
    """The work's exit code; Ctrl-C and SIGTERM end it in good order, its servers too."""
    import asyncio
    import signal

    from modules.terminal.repl import interrupting

    task = asyncio.create_task(work)

    def end() -> None:
        task.cancel()

    with interrupting(end, signal.SIGINT, signal.SIGTERM):
        await asyncio.wait({task})
    if task.cancelled():
        return complaints.fail("interrupted", ExitCode.INTERRUPTED)
    return task.result()
