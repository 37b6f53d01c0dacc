"""`serve`: the agent as an HTTP service, until a signal ends it."""

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Scope

from core.errors import ExitCode, UsageError
from modules.cli.composition import guide_for
from modules.cli.parser import add_approve_option, command_parser, read_words, seconds
from modules.cli.surroundings import Options, Surroundings
from modules.service.agents import AgentSetting
from modules.service.http.app import Extras
from modules.service.http.guard import profile_of, user_of
from modules.service.http.serving import DRAIN_SECONDS, ServiceSetting, listen, serve, url_of
from modules.service.http.tokens import FORM, Tokens, read_tokens
from modules.service.mcp_door.door import McpDoor
from modules.service.mcp_door.http import McpHttp
from modules.service.mcp_door.work import Caller
from modules.service.openai_form.routes import openai_form
from modules.service.page import page
from modules.service.served.runs import QUEUE_MAX, RUNS_MAX, Runs
from modules.trace.telemetry import closing

MCP_PATH: Final = "/mcp"

PORT: Final = 8321

_RUNS_MOST: Final = 256
_QUEUE_MOST: Final = 10_000

_HELP: Final = """\
Serve the agent over HTTP: a page for the browser at /, chats as streams of events, conversations,
documents, tools, figures. See docs/http.md, and /openapi.json of the running service.

Without a token it listens on loopback only, and whoever reaches it is you: the same sessions,
memory and documents as at the terminal. --token-env names environment variables that hold tokens of
16 characters or more. VARIABLE alone is a token of yours; VARIABLE=USER gives USER a home of its
own, users/USER under CORTEX_HOME; VARIABLE=USER:PROFILE,... lets it use these profiles only, which
are the files beside config/profiles.yaml by name, and `default`.

SIGTERM or Ctrl-C refuses new runs and lets those under way finish; a second one cancels them.

examples:
  agent.py serve
  agent.py serve --port 0 --model ollama:qwen3
  agent.py serve --host 0.0.0.0 --allow-host agent.example --token-env ALICE=alice
  curl -N 127.0.0.1:8321/chat -H 'Content-Type: application/json' -d '{"message": "add 5 and 7"}'"""


def parse(words: Sequence[str], program: str) -> Options:
    """Read the words behind `serve`; raises as `read_words`."""
    parser = command_parser(program, "serve", _HELP)
    parser.add_argument(
        "--host", metavar="ADDRESS", default="127.0.0.1", help="where to listen (127.0.0.1)"
    )
    parser.add_argument(
        "--port",
        metavar="N",
        type=_whole(0, 65_535),
        default=PORT,
        help=f"the port; 0 takes one that is free ({PORT})",
    )
    parser.add_argument(
        "--token-env",
        metavar=FORM,
        action="append",
        default=[],
        help="a token, and whose it is; may be given again",
    )
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a name that the service is reached by, behind a proxy say; may be given again",
    )
    parser.add_argument(
        "--allow-origin",
        metavar="ORIGIN",
        action="append",
        default=[],
        help="a site whose pages may use it, such as https://chat.example; may be given again",
    )
    parser.add_argument(
        "--runs",
        metavar="N",
        type=_whole(1, _RUNS_MOST),
        default=RUNS_MAX,
        help=f"runs that go on at once ({RUNS_MAX})",
    )
    parser.add_argument(
        "--queue",
        metavar="N",
        type=_whole(0, _QUEUE_MOST),
        default=QUEUE_MAX,
        help=f"runs that wait for their turn ({QUEUE_MAX})",
    )
    parser.add_argument(
        "--drain-seconds",
        metavar="SECONDS",
        type=seconds,
        default=DRAIN_SECONDS,
        help=f"how long runs may go on after a signal ({DRAIN_SECONDS:g})",
    )
    parser.add_argument("--model", metavar="NAME", help=f"as of a request; see: {program} --help")
    add_approve_option(parser)
    parser.set_defaults(run=serve_agent)
    return read_words(parser, words)


def serve_agent(around: Surroundings) -> ExitCode:
    """Serve until a signal comes; with --json, stdout gets the URL once requests are answered.

    Raises:
        UsageError: an option can't be used, or the address is taken.
        SettingsError, UserError: the profile can't be used.
    """
    options = around.options
    if options.allow_tool_changes:
        raise UsageError(
            "whoever asks is asked about changed tools (clarify.request): leave out "
            "--allow-tool-changes"
        )
    tokens, secrets = read_tokens(options.token_env, around.environ)
    around.redactor.learn(secrets)
    host: str = options.host
    setting = ServiceSetting(
        tokens,
        frozenset(map(_host, (*options.allow_host, host))),
        frozenset(map(_origin, options.allow_origin)),
        options.runs,
        options.queue,
        options.drain_seconds,
    )
    agents = replace(_agents(around, tokens), secrets=frozenset(secrets))
    around.tell_notes()
    listening = listen(host, options.port, has_tokens=bool(tokens))
    url = url_of(listening)

    def tell() -> None:
        if options.json:
            around.print_json({"url": url, "pid": os.getpid()})
        around.complaints.say("serve", f"listening on {url}; Ctrl-C ends it")

    work = serve(setting, agents, listening, around.remark, tell, _extras)
    return around.run(closing(agents.telemetry, work))


def _extras(runs: Runs) -> Extras:
    """What is served beside our own endpoints: the page, MCP, and OpenAI's form."""
    openai, mcp = openai_form(runs), McpHttp(McpDoor(runs), _caller)
    routes = [*openai.routes, Route(MCP_PATH, mcp)]
    return replace(openai, page=page(), routes=routes, running=mcp.running())


def _caller(scope: Scope) -> Caller:
    """Whose MCP client it is."""
    request = Request(scope)
    return Caller(user_of(request), profile_of(request))


def _agents(around: Surroundings, tokens: Tokens) -> AgentSetting:
    """What agents are made of; what you have written for models is not for other users."""
    options, places = around.options, around.places
    return AgentSetting(
        places=places,
        shared=places,
        profile=around.profile,
        profile_file=around.profile_file,
        environ=around.environ,
        redactor=around.redactor,
        model=options.model,
        mcp_files=options.mcp_config,
        approve=options.approve,
        telemetry=around.telemetry(),
        guide=None if tokens.has_others else guide_for(places, None),
    )


def _host(name: str) -> str:
    """A name of the service, without a port."""
    found = urlsplit(f"//{name}").hostname
    if found is None:
        raise UsageError(f"--allow-host {name!r} is no name of a host, such as agent.example")
    return found


def _origin(text: str) -> str:
    """An origin as browsers send it."""
    parts = urlsplit(text.rstrip("/"))
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query:
        raise UsageError(
            f"--allow-origin {text!r} is no origin: give scheme and host, such as "
            "https://chat.example"
        )
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else -1
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} to {most}")
        return number

    return read
