"""Serving until a signal: uvicorn on a socket of ours, and an end that lets runs finish.

SIGTERM and SIGINT are ours. uvicorn would cut every stream at once; here new runs are refused while
those under way go on, for a bounded time. A second signal cancels them.
"""

import asyncio
import ipaddress
import logging
import signal
import socket
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from starlette.types import ASGIApp
from uvicorn import Config, Server

from core.base.frozen import frozen
from core.base.text import counted
from core.errors import ExitCode, UsageError
from modules.service.agents import AgentSetting
from modules.service.http.app import Extras, http_app
from modules.service.http.connections import HEAD_BYTES_MAX, BoundedProtocol
from modules.service.http.endpoints.table import Service
from modules.service.http.guard import GuardSetting
from modules.service.http.metrics import Metrics
from modules.service.http.tokens import Tokens
from modules.service.pool import AgentPool, User
from modules.service.served.runs import CANCEL_SECONDS, QUEUE_MAX, RUNS_MAX, USER_RUNS_MAX, Runs
from modules.terminal.waits import interrupting

DRAIN_SECONDS: Final = 30.0
"""So long runs may go on after the first signal."""

LAST_WORDS_SECONDS: Final = 2
"""So long connections have to read the end of their streams."""

BACKLOG: Final = 128

Say = Callable[[str, str], None]


@frozen
class ServiceSetting:
    """How the service listens, and what it takes.

    Attributes:
        tokens: who may use it.
        hosts: names of it beside those of loopback.
        origins: other sites that may use it.
        runs_max: so many runs go on at once.
        queue_max: so many more wait.
        drain_seconds: so long runs may go on after a signal.
    """

    tokens: Tokens
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    runs_max: int = RUNS_MAX
    queue_max: int = QUEUE_MAX
    drain_seconds: float = DRAIN_SECONDS


def listen(host: str, port: int, *, has_tokens: bool) -> socket.socket:
    """A socket that listens; port 0 takes one that is free.

    Raises:
        UsageError: the address can't be had, or is not on loopback and nobody needs a token.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--host {host}: no such address ({error})") from None
    family, kind, protocol, _, place = found[0]
    address = str(place[0])
    if not has_tokens and not ipaddress.ip_address(address.partition("%")[0]).is_loopback:
        raise UsageError(
            f"--host {host} is reached from other machines: give each user a token, with "
            "--token-env VARIABLE=USER, or listen on 127.0.0.1"
        )
    # asyncio sends at once (TCP_NODELAY) only where the socket names its protocol, which those of
    # `socket.create_server` don't: a second request of a connection took 44 ms, and takes 2.
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise UsageError(
            f"can't listen on {host}, port {port}: {error.strerror or error}; choose another "
            "with --port, or --port 0 for a free one"
        ) from None
    return listening


def url_of(listening: socket.socket) -> str:
    """Where it listens, as a URL."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def serve(
    setting: ServiceSetting,
    agents: AgentSetting,
    listening: socket.socket,
    say: Say,
    on_listening: Callable[[], None],
    extras_of: Callable[[Runs], Extras] = lambda runs: Extras(),
) -> ExitCode:
    """Answer requests until a signal comes, and end in good order.

    `on_listening` is called when requests are answered. `extras_of` gives what else is served.

    Raises:
        UserError: the usual profile can't be used, by its model or its sandbox, say.
        UsageError, SettingsError: see `AgentPool.check_user`.
    """
    stop = _Stop()
    with listening, interrupting(stop.once_more, signal.SIGINT, signal.SIGTERM):
        async with AgentPool(agents, time.monotonic) as pool:
            for user in setting.tokens.users:
                await asyncio.to_thread(pool.check_user, user)
            # What is wrong with the usual profile is told now, not to the first user.
            async with pool.agent(User()) as agent:
                say("serve", f"answers by {agents.profile_file}")
                for note in (agent.model.reason, *agent.model.notes):
                    say("model", note)
            metrics = Metrics()
            runs = Runs(
                pool,
                runs_max=setting.runs_max,
                queue_max=setting.queue_max,
                user_runs_max=USER_RUNS_MAX if setting.tokens else None,
                on_event=metrics.hear,
            )
            guard = GuardSetting(setting.tokens, agents.redactor, setting.hosts, setting.origins)
            extras = extras_of(runs)
            service = Service(runs, metrics, lambda: len(server.server_state.connections))
            app = http_app(service, guard, extras)
            server = http_server(app)
            async with extras.running:
                serving = asyncio.create_task(server.serve([listening]))
                on_listening()
                await _until(stop.is_asked, serving)
                await _drain(runs, stop, setting.drain_seconds, say)
            # Streams of MCP that wait for what may never come have ended: uvicorn would cut them.
            server.should_exit = True
            await serving
    return ExitCode.ANSWERED


class _Stop:
    """Counts the signals."""

    def __init__(self) -> None:
        self.is_asked = asyncio.Event()
        self.is_asked_again = asyncio.Event()

    def once_more(self) -> None:
        """A signal has come."""
        if self.is_asked.is_set():
            self.is_asked_again.set()
        self.is_asked.set()


class _QuietServer(Server):
    """uvicorn's server without its signal handlers."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave the signals alone."""
        yield


def http_server(app: ASGIApp, protocol: type[BoundedProtocol] = BoundedProtocol) -> Server:
    """Uvicorn for an application, within our bounds; `serve` takes a socket, and no signal."""
    # It would tell of each request that is no HTTP; bugs of ours are told by the guard.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    return _QuietServer(
        Config(
            app,
            http=protocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            h11_max_incomplete_event_size=HEAD_BYTES_MAX,
            timeout_graceful_shutdown=LAST_WORDS_SECONDS,
        )
    )


async def _until(event: asyncio.Event, work: asyncio.Task[None]) -> None:
    """Wait for the event, or for the end of the work; what that raises comes out."""
    waiting = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({waiting, work}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
    if work.done():
        work.result()


async def _drain(runs: Runs, stop: _Stop, seconds: float, say: Say) -> None:
    """Let runs finish, or cancel them after a while or on another signal."""
    if runs.active:
        going = counted(len(runs.active), "run")
        say("serve", f"ending: {going} may take {seconds:g} s more; again, and they are cancelled")
    draining = asyncio.create_task(runs.drain(seconds))
    await _until(stop.is_asked_again, draining)
    if not draining.done():
        for run in runs.active:
            run.cancel()
        await asyncio.wait({draining}, timeout=CANCEL_SECONDS)
        draining.cancel()
