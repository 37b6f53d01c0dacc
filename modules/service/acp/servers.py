"""MCP servers that an editor brings for a session, beside those that are configured here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from config.http_address import header_problem, url_problem
from config.servers import ServerSpec, describe_problems, server_id_of
from core.mcp.peer import RpcError
from modules.service.acp.messages import INVALID_PARAMS, ClientServer

ORIGIN: Final = "of the editor"


def server_specs(servers: Sequence[ClientServer], folder: Path) -> tuple[ServerSpec, ...]:
    """How to start or reach them; programs work in the session's folder.

    Raises:
        RpcError: one is of a kind that we did not say we can use.
    """
    return tuple(_spec(server, folder) for server in servers)


def _spec(server: ClientServer, folder: Path) -> ServerSpec:
    id_ = server_id_of(server.name)
    if server.type == "http":
        headers = {header.name: header.value.strip() for header in server.headers}
        wrong = (url_problem(server.url), header_problem(headers))
        problems = [problem for problem in wrong if problem is not None]
        problem = describe_problems(id_, ORIGIN, problems) if problems else None
        return ServerSpec(
            id_, (), folder, headers=headers, url=server.url, origin=ORIGIN, problem=problem
        )
    if server.type != "stdio" or not server.command:
        raise RpcError(
            INVALID_PARAMS,
            f"server '{id_}' can't be used: give a 'command', or the type 'http' and a 'url'",
        )
    env = {variable.name: variable.value for variable in server.env}
    return ServerSpec(id_, (server.command, *server.args), folder, env=env, origin=ORIGIN)
