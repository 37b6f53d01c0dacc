"""`mcp`: servers by hand. Its actions, and how their words are read."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from config.http_address import may_hold_credentials
from config.mcp_file import add_server, remove_server, switch_server
from config.servers import FIRST_FETCH_SECONDS, START_TIMEOUT_SECONDS, ServerSpec, plan_name
from core.base.redaction import names_a_secret
from core.dispatch.start_failures import StartFailures
from core.errors import ExitCode, UsageError
from core.values import Json, JsonObject
from modules.cli.mcp_list import list_servers, show_log
from modules.cli.parser import (
    END_OF_OPTIONS,
    Action,
    CommandParser,
    read_action,
    seconds,
    whole_number,
)
from modules.cli.surroundings import Options, Surroundings

LOG_LINES_SHOWN: Final = 20
"""How much of a log `mcp logs` shows unless told otherwise."""

LOG_LINES_MAX: Final = 100_000

_HELP: Final = """\
MCP servers, by hand. They come from the profile's mcp_servers, from config/mcp.json under
CORTEX_HOME, and from files given with --mcp-config; of two with one name the first counts.

examples:
  agent.py mcp list
  agent.py mcp add time -- uvx mcp-server-time
  agent.py mcp test time
  agent.py mcp tools time"""


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `mcp`; raises as `read_action`.

    The command of a server to `add` is found as `program`.
    """
    # Behind -- stands a program of somebody else, with options of its own.
    end = words.index(END_OF_OPTIONS) if END_OF_OPTIONS in words else len(words)
    behind = [*words[end + 1 :]]
    found = read_action(words[:end], program, "mcp", _HELP, _ACTIONS)
    found.program = behind
    parser: CommandParser = found.parser
    if found.action == "add":
        _check_entry(parser, found)
    elif behind:
        parser.error(f"'{behind[0]}' behind -- is not understood; only `mcp add` takes a command")
    return found


def _check_entry(parser: CommandParser, found: Options) -> None:
    if found.words:
        words = " ".join(found.words)
        parser.error(f"the command goes behind --: {parser.prog} {found.name} -- {words}")
    if found.url is None and not found.program:
        parser.error("say what to start behind --, or where the server is with --url")
    if found.url is not None and found.program:
        parser.error("a server has a --url or a command behind --, not both")
    if found.url is None and found.header:
        parser.error("--header goes with --url; a command gets --env")
    if found.url is not None and found.env:
        parser.error("--env goes with a command; a URL gets --header")


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


async def _of_started_servers(around: Surroundings) -> ExitCode:
    """`tools`, `status` and `test`; late, for they need the engine, which takes 0.2 s."""
    from modules.cli.mcp_servers import check_server, list_tools, show_status

    actions = {"tools": list_tools, "status": show_status, "test": check_server}
    return await actions[around.options.action](around)


def _add_name(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the server, as `mcp list` names it")


def _add_server(parser: CommandParser) -> None:
    parser.add_argument("server", metavar="SERVER", nargs="?", help="only the tools of this one")


def _add_log(parser: CommandParser) -> None:
    _add_name(parser)
    parser.add_argument(
        "-n",
        "--lines",
        metavar="LINES",
        type=whole_number(0, LOG_LINES_MAX, f"number of lines from 0 to {LOG_LINES_MAX:,}"),
        default=LOG_LINES_SHOWN,
        help=f"how many lines ({LOG_LINES_SHOWN})",
    )
    parser.add_argument("--follow", action="store_true", help="show what comes, until Ctrl-C")


def _add_entry(parser: CommandParser) -> None:
    parser.usage = "%(prog)s NAME [options] -- COMMAND...\n       %(prog)s NAME --url URL [options]"
    parser.add_argument("name", metavar="NAME", help="a letter, then letters, digits, - and _")
    parser.add_argument("--url", help="where a server answers over Streamable HTTP")
    parser.add_argument(
        "--header",
        metavar="'K: V'",
        action="append",
        type=_header,
        default=[],
        help="sent with every request to the URL; may be given again",
    )
    parser.add_argument(
        "--env",
        metavar="K=V",
        action="append",
        type=_variable,
        default=[],
        help="a variable for the command; may be given again",
    )
    parser.add_argument("--description", metavar="TEXT", default="", help="what it is for")
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        help=f"how long its start may take ({START_TIMEOUT_SECONDS:g}; "
        f"{FIRST_FETCH_SECONDS:g} at first where npx, uvx or the like download it)",
    )
    # A command without its --. With no default, argparse would name it as missing.
    parser.add_argument("words", nargs="*", default=[], help=argparse.SUPPRESS)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise argparse.ArgumentTypeError("a header is 'Name: value'")
    return name.strip(), value.strip()


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError("a variable is NAME=value")
    return name, value


_ACTIONS: Final = {
    "list": Action(
        "every configured server; starts none",
        """\
examples:
  agent.py mcp list
  agent.py mcp list --json | jq '.[].id'""",
        list_servers,
    ),
    "tools": Action(
        "the tools, as the planner sees them",
        """\
Servers whose tools are not cached are started. With --verbose each tool is shown with all
that is known of its arguments.

examples:
  agent.py mcp tools
  agent.py mcp tools math --verbose""",
        _of_started_servers,
        _add_server,
    ),
    "status": Action(
        "start every server and say how each fares",
        """\
Exits with 1 if one failed.

examples:
  agent.py mcp status
  agent.py mcp status --json | jq '.[] | select(.state == "failed")'""",
        _of_started_servers,
    ),
    "add": Action(
        "keep a server in config/mcp.json",
        """\
Values may hold ${VAR}, which is read from the environment at each start: in single quotes
the shell leaves it alone, and no secret ends in the file.

examples:
  agent.py mcp add time --env TZ=Europe/Vienna -- uvx mcp-server-time
  agent.py mcp add docs --url https://example.com/mcp --header 'Authorization: Bearer ${KEY}'
  agent.py mcp add big --timeout 300 -- docker run -i --rm example/mcp-server""",
        add,
        _add_entry,
    ),
    "remove": Action(
        "take a server out of config/mcp.json",
        """\
examples:
  agent.py mcp remove time""",
        remove,
        _add_name,
    ),
    "enable": Action(
        "switch a server on again; one that was set aside is brought back",
        """\
A server that fails to start is left alone for a minute, after a second failure for ten; after
three in a row it is set aside, until it is enabled, its entry changes, or `mcp test` works.

examples:
  agent.py mcp enable time""",
        enable,
        _add_name,
    ),
    "disable": Action(
        "switch a server off, and keep it in config/mcp.json",
        """\
examples:
  agent.py mcp disable time
  agent.py mcp list""",
        disable,
        _add_name,
    ),
    "test": Action(
        "start one server, list its tools, ping it",
        """\
Tells each step on stderr and a verdict on stdout; exits with 1, and the end of the server's
log, where it fails. A disabled server can be tried too.

examples:
  agent.py mcp test time""",
        _of_started_servers,
        _add_name,
    ),
    "logs": Action(
        "the end of what a server wrote to stderr",
        """\
examples:
  agent.py mcp logs time -n 100
  agent.py mcp logs time --follow""",
        show_log,
        _add_log,
    ),
}
