"""MCP servers that an editor brings for a session, beside those that are configured here."""

from pathlib import Path
from typing import Final

from config.http_address import header_problem, url_problem
from config.servers import ServerSpec, describe_problems, server_id_of
from core.mcp.peer import RpcError
from modules.service.acp.messages import INVALID_PARAMS, EditorServer

ORIGIN: Final = "of the editor"


def server_spec(server: EditorServer, folder: Path) -> ServerSpec:
    """How to start or reach it; a program works in the session's folder.

    Raises:
        RpcError: it is of a kind that we did not say we can use.
    """
    id_, url = server_id_of(server.name), server.url
    if server.type == "http":
        headers = {each.name: each.value.strip() for each in server.headers}
        problems = [each for each in (url_problem(url), header_problem(headers)) if each]
        told = describe_problems(id_, ORIGIN, problems) if problems else None
        return ServerSpec(id_, (), folder, headers=headers, url=url, origin=ORIGIN, problem=told)
    if server.type != "stdio" or not server.command:
        told = f"server '{id_}' can't be used: give a 'command', or the type 'http' and a 'url'"
        raise RpcError(INVALID_PARAMS, told)
    command, env = (server.command, *server.args), {each.name: each.value for each in server.env}
    return ServerSpec(id_, command, folder, env=env, origin=ORIGIN)
