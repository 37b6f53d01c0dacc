"""What a command works in: its options, what is configured, the places on disk, the streams."""

import argparse
import asyncio
import gc
import shutil
import signal
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TextIO, TypeAlias

from config.models_file import ModelsFile, models_of
from config.schema import AgentProfile, load_profile
from config.server_list import ServerList, secret_values, server_list
from config.servers import ServerSpec
from config.settings import Places
from core.base.redaction import Redactor
from core.base.text import did_you_mean, near_names
from core.errors import ExitCode, UsageError
from core.values import Json
from modules.terminal.streams import Complaints, print_document, print_text, writing_stdout
from modules.terminal.tables import print_table
from modules.terminal.waits import Waits, interrupting
from modules.trace.telemetry import Telemetry, open_telemetry


class Options(argparse.Namespace):
    """A command line that was read: what all take, and beside it what each has for itself.

    `mcp_config` are files with more servers; `allow_tool_changes` takes tool definitions that
    changed since their first use as they are now.
    """

    profile: Path | None
    mcp_config: list[Path]
    allow_tool_changes: bool
    json: bool
    verbose: bool
    quiet: bool


@dataclass(frozen=True)
class Surroundings:
    """Handed to every command; `stderr` is None where the process began without one.

    The configuration is read when it is first asked for. What prints raises `StdoutLost` where
    nobody reads stdout any more.
    """

    options: Options
    places: Places
    complaints: Complaints
    environ: Mapping[str, str]
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    stderr: TextIO | None = field(default_factory=lambda: sys.stderr)

    @property
    def redactor(self) -> Redactor:
        """Knows the secrets of the environment and of the servers' configuration."""
        return self.complaints.redactor

    @property
    def profile_file(self) -> Path:
        """The profile that was named, else the usual one."""
        return self.options.profile or self.places.config_file("profiles.yaml")

    @cached_property
    def profile(self) -> AgentProfile:
        """The checked profile.

        Raises:
            SettingsError: it can't be used.
        """
        return load_profile(self.profile_file)

    @cached_property
    def models(self) -> ModelsFile:
        """The checked models.json.

        Raises:
            SettingsError: it can't be used.
        """
        return models_of(self.places)

    @cached_property
    def servers(self) -> ServerList:
        """The configured servers, whose secrets the redactor learns.

        Raises:
            SettingsError: the profile or a file of servers can't be used.
        """
        places, files = self.places, self.options.mcp_config
        found = server_list(self.profile, places, self.profile_file, files, self.environ)
        self.redactor.learn(secret_values(found.everyone))
        return found

    def tell_notes(self, *, to_users: bool = False) -> None:
        """Say what there is to note about the servers' configuration.

        Notes are for those who look after servers. A script that calls a tool would see them
        daily: its users get them with --verbose only.
        """
        options, notes = self.options, self.servers.notes
        if options.verbose or not (to_users or options.quiet):
            for note in notes:
                self.complaints.say("mcp", note)

    def remark(self, stage: str, text: str) -> None:
        """Say something that whoever wants quiet can do without."""
        if not self.options.quiet:
            self.complaints.say(stage, text)

    @property
    def columns(self) -> int | None:
        """How wide the terminal is that stdout is; None where it is none."""
        return shutil.get_terminal_size().columns if self.stdout.isatty() else None

    def report(self, document: Json, text: str) -> ExitCode:
        """What was done, to stdout: as JSON where that is wanted, else in words."""
        if self.options.json:
            self.print_json(document)
        else:
            self.print(text)
        return ExitCode.ANSWERED

    def report_rows(
        self,
        document: Json,
        rows: Sequence[Sequence[str]],
        below: Sequence[str] = (),
        none: str | None = None,
    ) -> ExitCode:
        """What there is, to stdout: as JSON where that is wanted, else as `print_table` has it.

        Where there are only heads, `none` stands for them.
        """
        if self.options.json:
            self.print_json(document)
        elif none is not None and len(rows) == 1:
            self.print(none)
        else:
            self.print_table(rows, below)
        return ExitCode.ANSWERED

    def print(self, text: str) -> None:
        """Text and a line end to stdout."""
        with writing_stdout():
            print_text(text, self.stdout)

    def print_table(self, rows: Iterable[Sequence[str]], below: Sequence[str] = ()) -> None:
        """Rows of cells to stdout, the heads of the columns first, and lines below them.

        Secrets are taken out of each cell: a terminal's width may break one in two.
        """
        redact = self.redactor.text
        with writing_stdout():
            print_table([[redact(cell) for cell in row] for row in rows], self.stdout)
            if below:
                print_text(redact("\n".join(below)), self.stdout)

    def print_json(self, document: Json) -> None:
        """A value to stdout, as one line."""
        with writing_stdout():
            print_document(document, self.stdout)

    def find(self, name: str) -> ServerSpec:
        """The configured server of that name, a disabled one too.

        Raises:
            UsageError: there is none; the message gives the nearest names.
        """
        everyone = self.servers.everyone
        found = next((spec for spec in everyone if spec.id == name), None)
        if found is not None:
            return found
        which = "`mcp list` shows those that there are" if everyone else "none is configured"
        meant = did_you_mean(near_names(name, (spec.id for spec in everyone)), which)
        raise UsageError(f"there is no server '{name}'; {meant}")

    def enabled(self, spec: ServerSpec) -> ServerSpec:
        """The server.

        Raises:
            UsageError: it is disabled.
        """
        if spec in self.servers.disabled:
            raise UsageError(f"server '{spec.id}' is disabled {spec.origin}; enable it there")
        return spec

    def telemetry(self) -> Telemetry | None:
        """What sends runs to a collector, where somebody asks for it; who gets it closes it.

        Raises:
            SettingsError: the profile can't be used.
        """
        return open_telemetry(self.profile, self.environ, self.redactor, self.complaints.say)

    def waits(self) -> Waits:
        """Names on stderr what is waited for outside of an event loop."""
        verbose, quiet = self.options.verbose, self.options.quiet
        say = self.complaints.say
        return Waits(self.stderr, say, self.environ, verbose=verbose, quiet=quiet)

    def run(self, work: Coroutine[object, object, ExitCode]) -> ExitCode:
        """The work's exit code; Ctrl-C and SIGTERM end it in good order, its servers too."""
        gc.freeze()
        gc.enable()
        return asyncio.run(self._until_interrupted(work))

    async def _until_interrupted(self, work: Coroutine[object, object, ExitCode]) -> ExitCode:
        task = asyncio.create_task(work)

        def end() -> None:
            if not task.cancelling():  # its ending is not broken off by another Ctrl-C
                task.cancel()

        with interrupting(end, signal.SIGINT, signal.SIGTERM):
            await asyncio.wait({task})
        if task.cancelled():
            return self.complaints.fail("interrupted", ExitCode.INTERRUPTED)
        return task.result()


Run: TypeAlias = Callable[[Surroundings], ExitCode | Coroutine[object, object, ExitCode]]
"""Does what a command line says; what it gives to await is awaited until somebody interrupts it."""
