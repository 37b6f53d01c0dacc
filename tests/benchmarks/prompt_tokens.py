"""Prompt tokens of tools: our signatures against the same tools as a provider's JSON schemas.

The schemas are in the form of OpenAI's `tools`, as compact JSON, whole as the server sent them.
A provider puts them into a form of its own before the model reads them, so the tokens that it
bills may differ. Ours are the lines of a decision prompt, with those of the parameters below.
"""

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from config.schema import AgentProfile, AgentSection
from config.servers import ServerSpec
from core.ports import DecisionInputs
from core.session import MultiMCP
from core.strategy import CHARACTERS_PER_TOKEN
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.turn import PerceptionResult
from modules.models.choosing.discovery import LOCAL_MODEL_VARIABLE, can_run_local
from modules.planning.prompt.decision import decision_prompt
from modules.planning.prompt.stubs import summarize_tools
from tests.benchmarks.processes import DRIVERS, run_driver
from tests.benchmarks.table import Row, at_most
from tests.real.parts import STAMP, npm_server, python_server

WEIGHTS = Path("~/.cache/cortex-r/models")
"""Where `tools/fetch_local_model.py` puts weights, whose tokenizer is taken."""

RATIO_AIM = 0.5
START_SECONDS = 60.0
TEMPLATE = "prompts/decision_prompt_conservative.txt"
PROFILE = AgentProfile(agent=AgentSection(name="Bench", id="bench_1"))


@dataclass(frozen=True)
class Tokenizer:
    """Counts the tokens of texts; `name` says whose."""

    name: str
    counts: Callable[[Sequence[str]], list[int]]


def measure(math: ServerSpec, home: Path) -> list[Row]:
    """The math server's tools alone, then with those of two servers of others."""
    tokenizer = find_tokenizer(home)
    alone = asyncio.run(_tools_of([math]))
    rows = [Row("tokens are counted by", tokenizer.name), *_rows("math", alone, tokenizer)]
    title = "math, time, filesystem"
    if not STAMP.exists():
        return [*rows, Row(title, "not measured", "make test-real installs them")]
    time = python_server("time", "--local-timezone", "UTC")
    together = asyncio.run(_tools_of([math, time, npm_server("filesystem", str(home))]))
    return [*rows, *_rows(title, together, tokenizer)]


def find_tokenizer(home: Path) -> Tokenizer:
    """That of weights on this machine where they can be opened, else a guess by length."""
    named = os.environ.get(LOCAL_MODEL_VARIABLE)
    files = [Path(named)] if named else sorted(WEIGHTS.expanduser().glob("*.gguf"))
    if not files or not can_run_local():
        return Tokenizer(f"characters / {CHARACTERS_PER_TOKEN}", _by_length)
    weights = str(files[0].absolute())

    def counts(texts: Sequence[str]) -> list[int]:
        lines = "".join(f"{json.dumps(text)}\n" for text in texts)
        answers = run_driver(home, f"{DRIVERS}.token_counts", weights, stdin=lines)
        return [cast("int", answer["tokens"]) for answer in answers]

    return Tokenizer(files[0].stem, counts)


def _by_length(texts: Sequence[str]) -> list[int]:
    return [len(text) // CHARACTERS_PER_TOKEN for text in texts]


def provider_schemas(tools: Sequence[ToolSpec]) -> str:
    """The tools as a request of OpenAI's protocol has them."""
    functions = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            },
        }
        for tool in tools
    ]
    return json.dumps(functions, separators=(",", ":"), ensure_ascii=False)


def _rows(title: str, tools: Sequence[ToolSpec], tokenizer: Tokenizer) -> Iterator[Row]:
    catalog = ToolCatalog(tools)
    room = PROFILE.strategy.tool_prompt_tokens * CHARACTERS_PER_TOKEN
    inputs = DecisionInputs("say done", catalog, PerceptionResult())
    ours, theirs, whole = tokenizer.counts(
        [
            summarize_tools(catalog, room),
            provider_schemas(tools),
            decision_prompt(inputs, TEMPLATE, PROFILE).text,
        ]
    )
    yield Row(f"{title}: {len(tools)} tools as JSON schemas", f"{theirs:,} tokens")
    yield Row(f"{title}: as our signatures", f"{ours:,} tokens")
    yield Row(f"{title}: ratio", f"{ours / theirs:.2f}", at_most(ours / theirs, RATIO_AIM))
    yield Row(f"{title}: our whole prompt, rules and examples too", f"{whole:,} tokens")


async def _tools_of(specs: Sequence[ServerSpec]) -> list[ToolSpec]:
    """What the servers list."""
    async with MultiMCP(specs) as servers, asyncio.timeout(START_SECONDS):
        await servers.initialize()
        return servers.get_all_tools()
