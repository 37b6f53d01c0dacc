"""`mcp add`, `remove`, `enable`, `disable`: servers kept in `config/mcp.json` under CORTEX_HOME."""

from collections.abc import Sequence
from pathlib import Path

from config.http_address import may_hold_credentials
from config.mcp_file import add_server, remove_server, switch_server
from config.servers import ServerSpec, plan_name
from core.base.redaction import names_a_secret
from core.dispatch.start_failures import StartFailures
from core.errors import ExitCode, UsageError
from core.values import Json, JsonObject
from modules.cli.surroundings import Options, Surroundings


def add(around: Surroundings) -> ExitCode:
    """Write a server's entry, and say where it stands and how to try it.

    Raises:
        UsageError: another configured server has the name.
        SettingsError: the name is no name, or the file can't be changed.
    """
    around.tell_notes()
    options, file = around.options, around.places.mcp_file
    name: str = options.name
    in_plans = plan_name(name)
    for taken in around.servers.everyone:
        if plan_name(taken.id) == in_plans:
            raise UsageError(
                f"there is a server '{taken.id}' already, {taken.origin}; "
                "choose another name, or remove that one first"
            )
    add_server(file, name, _entry(options))
    if names := _secrets_written_out(options):
        around.remark(
            "mcp", f"{' and '.join(names)}: the value stands in {file}; ${{VARIABLE}} keeps it out"
        )
    tip = "" if options.quiet else f"; try it: agent.py mcp test {name}"
    return around.report({"id": name, "file": str(file)}, f"added '{name}' to {file}{tip}")


def remove(around: Surroundings) -> ExitCode:
    """Take a server's entry out of the file that `add` writes.

    Raises:
        UsageError: no server has the name, or its entry stands in a file that is not ours.
        SettingsError: the file can't be changed.
    """
    around.tell_notes(to_users=True)
    file = around.places.mcp_file
    spec = around.find(around.options.name)
    _check_is_in(file, spec, "take it out", "remove")
    remove_server(file, spec.id)
    StartFailures(around.places.failures_file).forget(spec.id)  # one of that name begins anew
    return around.report({"id": spec.id, "file": str(file)}, f"removed '{spec.id}' from {file}")


def enable(around: Surroundings) -> ExitCode:
    """Switch a server on; one that was set aside is brought back as well. Raises as `disable`."""
    return _switch(around, on=True)


def disable(around: Surroundings) -> ExitCode:
    """Switch a server off.

    Raises:
        UsageError: no server has the name, or its entry stands in a file that is not ours.
        SettingsError: the file can't be changed.
    """
    return _switch(around, on=False)


def _switch(around: Surroundings, *, on: bool) -> ExitCode:
    around.tell_notes(to_users=True)
    file, spec = around.places.mcp_file, around.find(around.options.name)
    is_changed = (spec in around.servers.disabled) is on
    if is_changed:
        if on:
            _check_is_in(file, spec, "take out 'disabled: true'", "enable")
        else:
            _check_is_in(file, spec, "set 'disabled: true'", "disable")
        switch_server(file, spec.id, on=on)
    if on:
        is_changed |= StartFailures(around.places.failures_file).forget(spec.id)
    state = "enabled" if on else "disabled"
    done = f"{state} '{spec.id}'" if is_changed else f"'{spec.id}' is {state} already"
    return around.report({"id": spec.id, "state": state, "changed": is_changed}, done)


def _check_is_in(file: Path, spec: ServerSpec, change: str, action: str) -> None:
    """Refuse to touch an entry that the user wrote elsewhere."""
    if spec.origin != f"in {file}":
        raise UsageError(
            f"'{spec.id}' stands {spec.origin}, which is yours to edit: {change} there; "
            f"mcp {action} changes {file} alone"
        )


def _entry(options: Options) -> JsonObject:
    """The entry in the form that other programs read too."""
    entry: JsonObject = {}
    program: Sequence[str] = options.program
    if options.url is not None:
        entry |= {"type": "http", "url": options.url}
    else:
        words: list[Json] = [*program[1:]]
        entry |= {"command": program[0], "args": words}
        if any(map(_is_here, program)):
            entry["cwd"] = str(Path.cwd())  # it starts elsewhere otherwise, and finds no such file
    for key, pairs in (("headers", options.header), ("env", options.env)):
        if pairs:
            entry[key] = dict(pairs)
    if options.description:
        entry["description"] = options.description
    if options.timeout is not None:
        entry["start_timeout_seconds"] = options.timeout
    return entry


def _secrets_written_out(options: Options) -> list[str]:
    """The headers and variables that most likely hold a secret, and not the name of one."""
    secret = [(name, value) for name, value in options.header if may_hold_credentials(name)]
    secret += [(name, value) for name, value in options.env if names_a_secret(name)]
    return [name for name, value in secret if "${" not in value]


def _is_here(word: str) -> bool:
    """Whether a word of a command is a path that begins in the working directory."""
    try:
        return not Path(word).is_absolute() and Path(word).exists()
    except (OSError, ValueError):  # too long for a path
        return False
