"""The reference server `everything` as a web server of this machine's own."""

import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager

from config.servers import ServerSpec
from core.process.server import server_environment

END_SECONDS = 10.0


@contextmanager
def over_http(spec: ServerSpec, port: int | None = None) -> Generator[ServerSpec]:
    """The spec by which a server is reached that runs for as long as this is open."""
    port = port or free_port()
    process = subprocess.Popen(
        [*spec.command, "streamableHttp"],
        env={**server_environment(spec.env), "PORT": str(port)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if "listening" in line:
                    break
            yield ServerSpec(spec.id, (), spec.cwd, url=f"http://127.0.0.1:{port}/mcp")
        finally:
            process.kill()
            process.wait(END_SECONDS)


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
