"""The page that helps: what works here and now, with no model asked and no tool called."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from core.base.frozen import frozen
from core.base.text import lazy_pattern, one_line
from core.dispatch.hooks import ServerStatus
from core.tools.spec import ToolSpec
from core.version import __version__

FILES_COUNTED: Final = 1_000
"""How many files of the document folders are counted; nobody waits for more."""

PROBLEM_CHARACTERS: Final = 120
"""How much of a server's failure the page and a reason tell."""

_COMMANDS: Final = (
    "At the prompt: /help lists the commands, exit leaves. All the rest: agent.py --help"
)

_CONNECT: Final = (
    "To connect a model: set GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama; "
    "agent.py models lists what is there."
)

_ASK_TO_CONNECT: Final = "Who runs the agent can connect a model to it."

_GREETS: Final = lazy_pattern(
    r"(?:hello|hi|hey|hallo|howdy|greetings|good (?:morning|afternoon|evening|day))"
    r"(?: there| cortex(?:-r)?| again)?",
    re.IGNORECASE,
)

_ASKS: Final = lazy_pattern(
    r"(?:(?:please )?help(?: me)?(?: please)?|usage|commands|examples|manual"
    r"|(?:who|what) are you|what is (?:this|cortex(?:-r)?)|tell me about (?:you|yourself)"
    r"|what (?:can|could|do|will) (?:you|i|we|it|this|cortex(?:-r)?) do"
    r"(?: here| for me| with (?:you|this|it))?"
    r"|what (?:can|may|should|could) i (?:ask|type|say|try)(?: you| here)?"
    r"|what (?:are|can) you (?:able to do|capable of|help (?:me )?with)"
    r"|what (?:tools|commands|abilities|functions|features) (?:do you have|are there|are available)"
    r"|how (?:do|does|can|should) (?:i|you|this|it|we) (?:work|start|begin|use (?:you|this|it))"
    r"|how do i get started|(?:show me|give me) (?:an? )?(?:examples?|help)|get(?:ting)? started"
    r"|\?+)",
    re.IGNORECASE,
)


@frozen
class Situation:
    """What there is at the moment.

    Attributes:
        documents: how many files lie in the folders (`count_files`).
        has_commands: whether who asks can type the commands of `agent.py`.
    """

    model: str
    tools: Sequence[ToolSpec]
    servers: Sequence[ServerStatus]
    documents: int
    has_commands: bool = True

    def told(self, text: str, command: str) -> str:
        """The text, and behind it what a command tells or does, where it can be typed."""
        return f"{text}; {command}" if self.has_commands else text


def asks_for_help(request: str, *, reads_text: bool = False) -> bool:
    """Whether the request only asks what can be asked.

    A greeting does, but for a model that `reads_text`: it can greet.
    """
    text = " ".join(request.replace("’", "'").replace("hat's", "hat is").split())
    text = text.strip(" !.,?") or text
    is_greeting = _GREETS.fullmatch(text) is not None
    return (is_greeting and not reads_text) or _ASKS.fullmatch(text) is not None


def help_page(here: Situation) -> str:
    """What can be done here, what can't at the moment, and how to get further; in a few lines."""
    lines = [
        f"Cortex-R {__version__} answers a request by a short plan that calls tools.",
        _model(here),
        f"Tools: {_tools(here)}.",
        *(f"Down: {problem}." for problem in _problems(here)),
        f"Documents: {_documents(here)}.",
        "",
        "Try:",
        "",
        *(
            f'    agent.py "{example}"' if here.has_commands else f"    {example}"
            for example in _examples(here)
        ),
    ]
    if here.has_commands:
        lines += ["", _COMMANDS]
    return "\n".join(lines)


def _problems(here: Situation) -> list[str]:
    """The servers that were tried in vain, each with the reason and what to do."""
    return [
        here.told(
            one_line((server.problem or server.id).partition(";")[0], PROBLEM_CHARACTERS),
            f"agent.py mcp test {server.id} says more",
        )
        for server in here.servers
        if server.state == "failed"
    ]


def count_files(folders: Sequence[Path], limit: int = FILES_COUNTED) -> int:
    """How many files lie in the folders, hidden ones aside; no more than `limit` are counted."""
    count = 0
    for folder in folders:
        for _, inner, files in os.walk(folder):
            inner[:] = [name for name in inner if not name.startswith(".")]
            count += sum(not name.startswith(".") for name in files)
            if count >= limit:
                return limit
    return count


def _model(here: Situation) -> str:
    if here.model != "offline":
        return f"Its plans come from {here.model}."
    return (
        "No model is connected: a grammar plans, offline. It does sums, units, dates and texts, "
        "quotes your documents and web pages, searches the web, and calls a tool that you name "
        f"with its arguments.\n{_CONNECT if here.has_commands else _ASK_TO_CONNECT}"
    )


def _tools(here: Situation) -> str:
    counts = Counter(tool.server for tool in here.tools)
    told = [f"{server} ({count})" for server, count in counts.items()]
    unknown = [s.id for s in here.servers if s.id not in counts and s.state != "failed"]
    if unknown:
        told.append(f"not started yet: {', '.join(unknown)}")
    return here.told(", ".join(told) or "none", "agent.py mcp tools lists them")


def _documents(here: Situation) -> str:
    if not here.documents:
        return here.told("none yet", "agent.py docs add FILE adds one")
    more = f"{FILES_COUNTED} or more" if here.documents >= FILES_COUNTED else str(here.documents)
    noun = "file" if here.documents == 1 else "files"
    return here.told(f"{more} {noun}", "agent.py docs list names them")


def _examples(here: Situation) -> Iterable[str]:
    known = {tool.name for tool in here.tools}
    yield "add 5 and 7, then multiply the result by 3"
    yield "how many days between 2026-01-01 and 2026-12-25?"
    if "search_stored_documents" in known and here.documents:
        yield "what do my documents say about …?"
    if "duckduckgo_search_results" in known:
        yield "search the web for tide tables of Borkum"
    if "download_raw_html_from_url" in known:
        yield "summarise https://example.com/"
