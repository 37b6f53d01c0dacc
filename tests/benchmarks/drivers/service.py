"""The service, or a bare handler that does the same two calls, on loopback until stdin closes.

`service.py ours HOME MODEL MEMORY` serves `/chat` with the whole agent; `service.py bare HOME`
answers any POST with what the math server says, over the same client of MCP. Both say their port.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from config.schema import load_profile
from config.servers import ServerSpec
from config.settings import ROOT, Places
from core.base.redaction import Redactor
from core.session import MultiMCP
from modules.service.agents import AgentSetting
from modules.service.http.app import http_app
from modules.service.http.endpoints.table import Service
from modules.service.http.guard import GuardSetting
from modules.service.http.metrics import Metrics
from modules.service.http.serving import http_server, listen
from modules.service.http.tokens import Tokens
from modules.service.pool import AgentPool
from modules.service.served.runs import Runs
from tests.benchmarks.drivers.turns import say
from tests.command_line import write_profile

MATH = f"id: math\nscript: {ROOT}/servers/math_server.py\ndescription: add and multiply"


async def main(kind: str, home: Path, model: str = "", memory: str = "true") -> None:
    """Serve until nobody is there any more."""
    if kind == "bare":
        command = (sys.executable, str(ROOT / "servers" / "math_server.py"))
        async with MultiMCP([ServerSpec("math", command, ROOT)]) as multi:
            await multi.initialize()
            await _serve(_bare(multi))
        return
    profile_file = write_profile(home, MATH)
    with profile_file.open("a") as file:
        file.write(f"memory: {{memory_service: {memory}}}\n")
    places = Places(ROOT, home)
    made = AgentSetting(
        places=places,
        shared=places,
        profile=load_profile(profile_file),
        profile_file=profile_file,
        environ=os.environ,
        redactor=Redactor({}),
        model=model,
    )
    async with AgentPool(made, asyncio.get_running_loop().time) as pool:
        metrics = Metrics()
        runs = Runs(pool, on_event=metrics.hear)
        await _serve(http_app(Service(runs, metrics), GuardSetting(Tokens(), made.redactor)))
        await runs.drain(0)


def _bare(multi: MultiMCP) -> Starlette:
    async def chat(request: Request) -> StreamingResponse:
        await request.json()

        async def told() -> AsyncGenerator[bytes]:
            added = await multi.call_tool("add", {"input": {"a": 2, "b": 3}})
            made = await multi.call_tool("multiply", {"input": {"a": added.value, "b": 7}})
            data = json.dumps({"answer": str(made.value)})
            yield f"event: response.done\ndata: {data}\n\n".encode()

        return StreamingResponse(told(), media_type="text/event-stream")

    return Starlette(routes=[Route("/chat", chat, methods=["POST"])])


async def _serve(app: ASGIApp) -> None:
    with listen("127.0.0.1", 0, has_tokens=False) as socket:
        serving = http_server(app)
        task = asyncio.create_task(serving.serve([socket]))
        say({"port": socket.getsockname()[1], "pid": os.getpid()})
        await asyncio.to_thread(sys.stdin.read)
        serving.should_exit = True
        await task


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]))
