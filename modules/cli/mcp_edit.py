"""`mcp add`, `remove`, `enable`, `disable`: servers kept in `config/mcp.json` under CORTEX_HOME."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from config.http_address import may_hold_credentials
from config.mcp_file import add_server, remove_server, switch_server
from config.servers import ServerSpec, plan_name
from core.base.redaction import names_a_secret
from core.dispatch.start_failures import StartFailures
from core.errors import ExitCode, UsageError
from core.values import Json, JsonObject
from modules.cli.surroundings import Surroundings


def add(found: argparse.Namespace, around: Surroundings) -> ExitCode:
    """Write a server's entry, and say where it stands and how to try it.

    Raises:
        UsageError: another configured server has the name.
        SettingsError: the name is no name, or the file can't be changed.
    """
    around.tell_notes()
    file, name = around.places.mcp_file, str(found.name)
    if (taken := _configured(name, around)) is not None:
        raise UsageError(
            f"there is a server '{taken.id}' already, {taken.origin}; "
            "choose another name, or remove that one first"
        )
    add_server(file, name, _entry(found))
    if not around.options.quiet and (names := _secrets_written_out(found)):
        around.complaints.say(
            "mcp", f"{' and '.join(names)}: the value stands in {file}; ${{VARIABLE}} keeps it out"
        )
    if around.options.json:
        around.print_json({"id": name, "file": str(file)})
    else:
        tip = "" if around.options.quiet else f"; try it: agent.py mcp test {name}"
        around.print(f"added '{name}' to {file}{tip}")
    return ExitCode.ANSWERED


def remove(found: argparse.Namespace, around: Surroundings) -> ExitCode:
    """Take a server's entry out of the file that `add` writes.

    Raises:
        UsageError: no server has the name, or its entry stands in a file that is not ours.
        SettingsError: the file can't be changed.
    """
    around.tell_notes(to_users=True)
    file, name = around.places.mcp_file, str(found.name)
    spec = around.find(name)
    if spec.origin != f"in {file}":
        raise UsageError(
            f"'{spec.id}' stands {spec.origin}, which is yours to edit: take it out there; "
            f"mcp remove changes {file} alone"
        )
    remove_server(file, name)
    StartFailures(around.places.failures_file).forget(spec.id)  # one of that name begins anew
    if around.options.json:
        around.print_json({"id": name, "file": str(file)})
    else:
        around.print(f"removed '{name}' from {file}")
    return ExitCode.ANSWERED


def enable(found: argparse.Namespace, around: Surroundings) -> ExitCode:
    """Switch a server on; one that was set aside is brought back as well. Raises as `disable`."""
    return _switch(found.name, around, on=True)


def disable(found: argparse.Namespace, around: Surroundings) -> ExitCode:
    """Switch a server off.

    Raises:
        UsageError: no server has the name, or its entry stands in a file that is not ours.
        SettingsError: the file can't be changed.
    """
    return _switch(found.name, around, on=False)


def _switch(name: str, around: Surroundings, *, on: bool) -> ExitCode:
    around.tell_notes(to_users=True)
    file, spec = around.places.mcp_file, around.find(name)
    is_on = spec not in around.servers.disabled
    is_changed = is_on is not on
    if is_changed:
        if spec.origin != f"in {file}":
            key = "take out 'disabled: true'" if on else "set 'disabled: true'"
            word = "enable" if on else "disable"
            raise UsageError(
                f"'{spec.id}' stands {spec.origin}, which is yours to edit: {key} there; "
                f"mcp {word} changes {file} alone"
            )
        switch_server(file, name, on=on)
    if on:
        is_changed |= StartFailures(around.places.failures_file).forget(spec.id)
    state = "enabled" if on else "disabled"
    if around.options.json:
        around.print_json({"id": spec.id, "state": state, "changed": is_changed})
    else:
        done = f"{state} '{spec.id}'"
        around.print(done if is_changed else f"'{spec.id}' is {state} already")
    return ExitCode.ANSWERED


def _configured(name: str, around: Surroundings) -> ServerSpec | None:
    """The server of that name, or of one that a plan would write the same way."""
    everyone = (*around.servers.specs, *around.servers.disabled)
    in_plans = plan_name(name)
    return next((spec for spec in everyone if plan_name(spec.id) == in_plans), None)


def _entry(found: argparse.Namespace) -> JsonObject:
    """The entry in the form that other programs read too."""
    entry: JsonObject = {}
    program: Sequence[str] = found.program
    if found.url is not None:
        entry |= {"type": "http", "url": found.url}
    else:
        words: list[Json] = [*program[1:]]
        entry |= {"command": program[0], "args": words}
        if any(map(_is_here, program)):
            entry["cwd"] = str(Path.cwd())  # it starts elsewhere otherwise, and finds no such file
    for key, pairs in (("headers", found.header), ("env", found.env)):
        if pairs:
            entry[key] = dict(pairs)
    if found.description:
        entry["description"] = found.description
    if found.timeout is not None:
        entry["start_timeout_seconds"] = found.timeout
    return entry


def _secrets_written_out(found: argparse.Namespace) -> list[str]:
    """The headers and variables that most likely hold a secret, and not the name of one."""
    secret = [(name, value) for name, value in found.header if may_hold_credentials(name)]
    secret += [(name, value) for name, value in found.env if names_a_secret(name)]
    return [name for name, value in secret if "${" not in value]


def _is_here(word: str) -> bool:
    """Whether a word of a command is a path that begins in the working directory."""
    try:
        return not Path(word).is_absolute() and Path(word).exists()
    except (OSError, ValueError):  # too long for a path
        return False
