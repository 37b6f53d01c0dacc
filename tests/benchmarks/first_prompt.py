"""From the start of `agent.py` to the first prompt, against the imports that it can't do without.

With the servers of the shipped profile, and with 20 of a configuration.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from tests.at_terminal import AtTerminal
from tests.benchmarks.table import Row, at_most, middle_half
from tests.command_line import ROOT, environment

ROUNDS = 9
RATIO_AIM = 2.0
SERVERS = 20
IMPORTS = "import prompt_toolkit, rich.console, pydantic, yaml, jsonschema_rs"
PROMPT, CTRL_D = b"cortex-r>", b"\x04"
SERVER = ROOT / "tests" / "fixtures" / "servers" / "sums_server.py"


def measure(home: Path) -> list[Row]:
    """Imports, and both prompts, in turn, after one warming round each."""
    entry = {"command": sys.executable, "args": [str(SERVER)]}
    servers = home / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {f"s{n}": entry for n in range(SERVERS)}}))
    _imports(home)
    with_servers = ["--mcp-config", str(servers)]
    for arguments in ([], with_servers):
        _prompt(home, arguments)
    bare, shipped, many = list[float](), list[float](), list[float]()
    for _ in range(ROUNDS):
        bare.append(_imports(home))
        shipped.append(_prompt(home, []))
        many.append(_prompt(home, with_servers))
    rows = [Row("the imports alone", middle_half(bare))]
    for name, seconds in (("shipped profile", shipped), (f"{SERVERS} servers more", many)):
        ratio = median(ours / base for ours, base in zip(seconds, bare, strict=True))
        rows.append(Row(f"first prompt, {name}", middle_half(seconds)))
        rows.append(Row(f"first prompt, {name}: ratio", f"{ratio:.2f}", at_most(ratio, RATIO_AIM)))
    return rows


def _imports(home: Path) -> float:
    began = time.perf_counter()
    command = [sys.executable, "-c", IMPORTS]
    subprocess.run(command, env=environment(home), cwd=home, check=True, timeout=60)
    return time.perf_counter() - began


def _prompt(home: Path, arguments: list[str]) -> float:
    program = AtTerminal([sys.executable, str(ROOT / "agent.py"), *arguments], home)
    seconds = program.until(PROMPT)
    program.type(CTRL_D)
    program.end()
    return seconds
