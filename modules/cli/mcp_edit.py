"""`mcp add`, `remove`, `enable`, `disable`: servers kept in `config/mcp.json` under CORTEX_HOME."""

from pathlib import Path

from config.http_address import may_hold_credentials
from config.mcp_file import add_server, remove_server, switch_server
from config.servers import ServerSpec
from core.base.redaction import names_a_secret
from core.dispatch.start_failures import StartFailures
from core.errors import ExitCode, UsageError
from core.tools.spec import as_identifier
from core.values import Json, JsonObject
from modules.cli.command import AddServer, RemoveServer, SwitchServer
from modules.cli.surroundings import Surroundings


def add(command: AddServer, around: Surroundings) -> ExitCode:
    """Write a server's entry, and say where it stands and how to try it.

    Raises:
        UsageError: another configured server has the name.
        SettingsError: the name is no name, or the file can't be changed.
    """
    file = around.places.mcp_file
    if (taken := _configured(command.name, around)) is not None:
        raise UsageError(
            f"there is a server '{taken.id}' already, {taken.origin}; "
            "choose another name, or remove that one first"
        )
    add_server(file, command.name, _entry(command))
    if not command.options.quiet and (names := _secrets_written_out(command)):
        around.complaints.say(
            "mcp", f"{' and '.join(names)}: the value stands in {file}; ${{VARIABLE}} keeps it out"
        )
    if command.options.json:
        around.print_json({"id": command.name, "file": str(file)})
    else:
        tip = "" if command.options.quiet else f"; try it: agent.py mcp test {command.name}"
        around.print(f"added '{command.name}' to {file}{tip}")
    return ExitCode.ANSWERED


def remove(command: RemoveServer, around: Surroundings) -> ExitCode:
    """Take a server's entry out of the file that `add` writes.

    Raises:
        UsageError: no server has the name, or its entry stands in a file that is not ours.
        SettingsError: the file can't be changed.
    """
    file, spec = around.places.mcp_file, around.find(command.name)
    if spec.origin != f"in {file}":
        raise UsageError(
            f"'{spec.id}' stands {spec.origin}, which is yours to edit: take it out there; "
            f"mcp remove changes {file} alone"
        )
    remove_server(file, command.name)
    StartFailures(around.places.failures_file).forget(spec.id)  # one of that name begins anew
    if command.options.json:
        around.print_json({"id": command.name, "file": str(file)})
    else:
        around.print(f"removed '{command.name}' from {file}")
    return ExitCode.ANSWERED


def switch(command: SwitchServer, around: Surroundings) -> ExitCode:
    """Switch a server on or off; one that was set aside is brought back as well.

    Raises:
        UsageError: no server has the name, or its entry stands in a file that is not ours.
        SettingsError: the file can't be changed.
    """
    file, spec = around.places.mcp_file, around.find(command.name)
    is_on = spec not in around.servers.disabled
    is_changed = is_on is not command.on
    if is_changed:
        if spec.origin != f"in {file}":
            key = "take out 'disabled: true'" if command.on else "set 'disabled: true'"
            word = "enable" if command.on else "disable"
            raise UsageError(
                f"'{spec.id}' stands {spec.origin}, which is yours to edit: {key} there; "
                f"mcp {word} changes {file} alone"
            )
        switch_server(file, command.name, on=command.on)
    if command.on:
        is_changed |= StartFailures(around.places.failures_file).forget(spec.id)
    state = "enabled" if command.on else "disabled"
    if command.options.json:
        around.print_json({"id": spec.id, "state": state, "changed": is_changed})
    else:
        done = f"{state} '{spec.id}'"
        around.print(done if is_changed else f"'{spec.id}' is {state} already")
    return ExitCode.ANSWERED


def _configured(name: str, around: Surroundings) -> ServerSpec | None:
    """The server of that name, or of one that a plan would write the same way."""
    everyone = (*around.servers.specs, *around.servers.disabled)
    plan_name = as_identifier(name)
    return next((spec for spec in everyone if as_identifier(spec.id) == plan_name), None)


def _entry(command: AddServer) -> JsonObject:
    """The entry in the form that other programs read too."""
    entry: JsonObject = {}
    if command.url is not None:
        entry |= {"type": "http", "url": command.url}
    else:
        words: list[Json] = [*command.command[1:]]
        entry |= {"command": command.command[0], "args": words}
        if any(_is_here(word) for word in command.command):
            entry["cwd"] = str(Path.cwd())  # it starts elsewhere otherwise, and finds no such file
    for key, pairs in (("headers", command.headers), ("env", command.env)):
        if pairs:
            entry[key] = dict(pairs)
    if command.description:
        entry["description"] = command.description
    if command.start_seconds is not None:
        entry["start_timeout_seconds"] = command.start_seconds
    return entry


def _secrets_written_out(command: AddServer) -> list[str]:
    """The headers and variables that most likely hold a secret, and not the name of one."""
    secret = [(name, value) for name, value in command.headers if may_hold_credentials(name)]
    secret += [(name, value) for name, value in command.env if names_a_secret(name)]
    return [name for name, value in secret if "${" not in value]


def _is_here(word: str) -> bool:
    """Whether a word of a command is a path that begins in the working directory."""
    try:
        return not Path(word).is_absolute() and Path(word).exists()
    except (OSError, ValueError):  # too long for a path
        return False
