"""`!command` at the prompt: run by the user's shell, with the terminal to itself.

It has a process group of its own, which the terminal's keys go to: Ctrl-C reaches it alone, and
Ctrl-Z suspends it together with this program. What it writes goes to the terminal, hence to stderr,
and nowhere else.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Final

from config.dotenv import inherited
from config.models_file import models_of
from config.server_list import secret_values
from core.base.redaction import names_a_secret
from core.base.text import one_line
from core.errors import ExitCode, UsageError
from modules.cli.prompt_commands.command import AtPrompt
from modules.models.credentials import key_variable
from modules.terminal.input.typeahead import lending_terminal

SHELL_MARK: Final = "!"
DEFAULT_SHELL: Final = "/bin/sh"
COMMAND_CHARACTERS: Final = 60
"""How much of a command is told again."""

_WANTS_TERMINAL: Final = (signal.SIGTTIN, signal.SIGTTOU)


async def run_shell(at: AtPrompt, command: str) -> ExitCode:
    """Run a command as the profile allows it; an exit code other than 0 is told.

    Raises:
        UsageError: the profile does not allow it, nobody is at a terminal, or there is no command.
    """
    if not at.setting.profile.terminal.shell:
        raise UsageError(
            "a line that begins with ! is a command for the shell, which is switched off; "
            "to switch it on: agent.py config set terminal.shell true"
        )
    if not at.is_typed:
        raise UsageError("a ! command wants a terminal, and is not run from a pipe")
    if not command:
        raise UsageError("say what to run: !ls -l")
    shell = at.environ.get("SHELL") or DEFAULT_SHELL
    try:
        code = await run_at_terminal([shell, "-c", command], _environment(at))
    except (OSError, ValueError) as error:
        raise UsageError(f"{shell} can't be started: {error}") from error
    if code == 0:
        return ExitCode.ANSWERED
    if code < 0:
        sys.stderr.write("\n")  # behind the ^C that the terminal shows
    how = f"ended with {code}" if code > 0 else f"was ended by {signal.Signals(-code).name}"
    at.say("shell", f"{one_line(command, COMMAND_CHARACTERS)}: {how}")
    return ExitCode.TOOL_FAILED


def _environment(at: AtPrompt) -> dict[str, str]:
    models = models_of(at.setting.places).models.values()
    variables = {key_variable(entry) for entry in models}
    secrets = secret_values(at.setting.servers.everyone)
    return without_keys(inherited(at.environ), {name for name in variables if name}, secrets)


def without_keys(
    environ: Mapping[str, str], variables: Collection[str], secrets: Collection[str]
) -> dict[str, str]:
    """The environment without these variables, those whose name tells of a secret, and `secrets`.

    `secrets` are values that a variable may hold among other text.
    """
    return {
        name: value
        for name, value in environ.items()
        if not (name in variables or names_a_secret(name) or any(s in value for s in secrets))
    }


async def run_at_terminal(words: list[str], environ: Mapping[str, str]) -> int:
    """The exit code, below 0 that of the signal that ended it; cancelling ends it.

    Raises:
        OSError, ValueError: it can't be started.
    """
    terminal = sys.stdin.fileno()
    with lending_terminal():
        child = _started(words, environ)
        try:
            _give_terminal(terminal, child.pid)
            child.returncode = await _end_of(child.pid, terminal)
        except asyncio.CancelledError:
            for number in (signal.SIGHUP, signal.SIGCONT, signal.SIGKILL):
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, number)
            raise
        finally:
            _give_terminal(terminal, os.getpgrp())
    return child.returncode


def _started(words: list[str], environ: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 - what the user typed
        words,
        stdout=sys.stderr,  # stdout carries answers only
        env=environ,
        process_group=0,
    )


async def _end_of(pid: int, terminal: int) -> int:
    """Wait until the child has ended; one that was stopped goes on as soon as it may."""
    while True:
        # In a thread, which ends when the child does: servers go on meanwhile.
        _, status = await asyncio.to_thread(os.waitpid, pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        if os.WSTOPSIG(status) not in _WANTS_TERMINAL:  # else it was quicker than we
            _give_terminal(terminal, os.getpgrp())
            os.kill(0, signal.SIGTSTP)  # here we stand still until `fg`
        _give_terminal(terminal, pid)
        os.killpg(pid, signal.SIGCONT)


def _give_terminal(terminal: int, group: int) -> None:
    """Let the terminal's keys go to a process group; who is in the background may do it, too."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        with suppress(OSError):  # the terminal is gone, or the group has ended
            os.tcsetpgrp(terminal, group)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
