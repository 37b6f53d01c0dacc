"""A tool call through every client, on the same stdio server: ours, the SDK's, peers', floor.

`ClientSession` of the SDK that we depend on is 1.0 by definition.
"""

import sys
from pathlib import Path

from tests.benchmarks.contest import Contender, Contest, Outcome
from tests.benchmarks.drivers.turns import Order, Target
from tests.benchmarks.environments import Environment, installed_versions
from tests.benchmarks.table import Row, at_most, listed, middle_half, quartiles
from tests.command_line import ROOT

ROUNDS, CALLS, WARM_UP_CALLS = 40, 20, 4
"""800 calls a client, in batches short enough that a round of all takes a second or so."""

SLOW_EVERY = 8
"""A client that starts the server at each call makes one call in so many rounds."""

RATIO_AIM = 0.9

ADDITION = Order("add", {"input": {"a": 1234567, "b": 7654321}}, "8888888", CALLS, WARM_UP_CALLS)
"""One turn."""

_DRIVERS = "tests.benchmarks.drivers"
_CLIENTS, _PEERS = f"{_DRIVERS}.clients", f"{_DRIVERS}.peers.clients"

OURS = Contender("MultiMCP (ours)", _CLIENTS, "multi_mcp")
YARDSTICK = Contender("mcp ClientSession", _CLIENTS, "client_session")
FLOORS = (
    Contender("floor: blocking pipes", f"{_DRIVERS}.floor"),
    Contender("floor: asyncio pipes", _CLIENTS, "pipes"),
)
SDK_CLIENT = Contender("mcp Client", _CLIENTS, "sdk_client")
PEERS = (
    Contender("google-adk McpToolset", _PEERS, "google_adk", "google-adk"),
    Contender("openai-agents MCPServerStdio", _PEERS, "openai_agents", "openai-agents"),
    Contender("fastmcp Client", _PEERS, "fastmcp", "fastmcp"),
    Contender("pydantic-ai MCPToolset", _PEERS, "pydantic_ai", "pydantic-ai"),
    Contender("mcp-use MCPClient", _PEERS, "mcp_use", "mcp-use"),
    Contender("langchain adapters, session", _PEERS, "langchain", "langchain"),
)
LANGCHAIN_DEFAULT = Contender(
    "langchain adapters, default",
    _PEERS,
    "langchain_default",
    "langchain",
    every=SLOW_EVERY,
    turn=(0, 1),
)

PACKAGES = (
    "mcp",
    "fastmcp-slim",
    "pydantic-ai-slim",
    "openai-agents",
    "google-adk",
    "mcp-use",
    "langchain-mcp-adapters",
)
"""Whose versions are told, of each environment those that it has."""


def math_server() -> Target:
    """Our math server, run by this interpreter: the same process for all."""
    return Target([sys.executable, str(ROOT / "servers" / "math_server.py")], str(ROOT))


def measure(_: Path, rounds: int = ROUNDS) -> list[Row]:
    """All contenders in turn; medians of all calls, and of the rounds' ratios."""
    contenders = (OURS, YARDSTICK, SDK_CLIENT, *PEERS, LANGCHAIN_DEFAULT, *FLOORS)
    outcomes = Contest(contenders, math_server(), ADDITION).run(rounds)
    yardstick = outcomes[YARDSTICK.name]
    rows = [call_row(outcome, yardstick) for outcome in outcomes.values()]
    return [*rows, *_aims(outcomes), *_versions()]


def call_row(outcome: Outcome, yardstick: Outcome) -> Row:
    """A contender's calls and their ratio to the yardstick's, or why there are none."""
    name = outcome.contender.name
    if outcome.failure is not None:
        return Row(name, "not measured", outcome.failure)
    calls = len(outcome.seconds)
    ratio = "1.00 by definition" if outcome is yardstick else outcome.ratio_text(yardstick)
    cpu = f"client's CPU {outcome.cpu_seconds * 1000:.2f} ms"
    return Row(name, middle_half(outcome.seconds), f"ratio {ratio}; {cpu}; {calls} calls")


def _aims(outcomes: dict[str, Outcome]) -> list[Row]:
    ours, yardstick = outcomes[OURS.name], outcomes[YARDSTICK.name]
    if not (ours.batches and yardstick.batches):
        return []
    ratio = quartiles(ours.ratios(yardstick))[1]
    rows = [Row("ours / ClientSession", f"{ratio:.2f}", at_most(ratio, RATIO_AIM))]
    against = {c.name: ours.ratios(outcomes[c.name]) for c in (YARDSTICK, SDK_CLIENT, *PEERS)}
    medians = {name: quartiles(ratios)[1] for name, ratios in against.items() if ratios}
    name, worst = max(medians.items(), key=lambda item: item[1])
    verdict = "met" if worst < 1 else "MISSED"
    rows.append(Row(f"ours / quickest peer ({name})", f"{worst:.2f}", f"aim: under 1: {verdict}"))
    return rows


def _versions() -> list[Row]:
    places = {c.environment: c.prepare() for c in PEERS}
    return [
        Row(f"  {name} ran with", listed(installed_versions(place, *PACKAGES)))
        for name, place in places.items()
        if isinstance(place, Environment)
    ]
