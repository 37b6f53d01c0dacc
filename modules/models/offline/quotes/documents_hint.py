"""Whether a question that names no documents is one for them: their index is asked.

"What is the capital of France?" and "What is the notice period?" are alike but for what the user's
documents hold. A passage that has two thirds of a question's telling words is no chance find.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Final

from core.base.text import lazy_pattern
from core.errors import CallRefused, ServerError
from core.ports import PerceptionInputs, ToolCaller
from core.turn import PerceptionResult
from modules.models.offline.planner import OPEN_QUESTION
from modules.models.offline.quotes.asking import ENDINGS, word_roots
from modules.models.offline.quotes.documents import documents_tool, open_question

HINT_SECONDS: Final = 3.0
"""How long a first plan waits for the index, which answers within 0.1 s once its server runs."""

PASSAGES_LOOKED_AT: Final = 3

ENOUGH_WORDS: Final = 2 / 3
"""Which part of the question's telling words one passage must have."""

_PASSAGE: Final = lazy_pattern(
    r"^\d+\. (?P<place>[^\n]*) \(score [\d.]+\)\n(?P<text>.*?)\n\[Source: ",
    re.MULTILINE | re.DOTALL,
)


async def hint_at_documents(
    perception: PerceptionResult,
    inputs: PerceptionInputs,
    caller: ToolCaller,
    seconds: float = HINT_SECONDS,
) -> PerceptionResult:
    """`perception`, with the documents' search as its hint if the index answers the question.

    Without an answer within `seconds`, or where a server fails, nothing is hinted at.
    """
    tool, question = documents_tool(inputs.tools), open_question(inputs.user_input)
    if perception.intent != OPEN_QUESTION or tool is None or question is None:
        return perception
    looked_for = {"query": question.query, "top_k": PASSAGES_LOOKED_AT, "mode": "words"}
    try:
        async with asyncio.timeout(seconds):
            found = await caller.call_tool(tool.qualified_name, tool.bind((), looked_for))
    except (CallRefused, ServerError, TimeoutError):
        return perception
    if not await asyncio.to_thread(_answers, str(found.value), question.terms):
        return perception
    return perception.model_copy(
        update={
            "intent": "ask_documents",
            "tool_hint": tool.name,
            "tags": ["ask_documents", tool.name],
            "selected_servers": [tool.server],
        }
    )


def _answers(found: str, terms: Sequence[str]) -> bool:
    """Whether one of the passages has most of the words.

    A single word counts only in what the passage is about: its file's name, or its headings.
    """
    patterns = [re.compile(rf"\b(?:{word_roots(term)}){ENDINGS}", re.IGNORECASE) for term in terms]
    for passage in _PASSAGE.finditer(found):
        place = passage["place"]
        text = place if len(patterns) == 1 else f"{place}\n{passage['text']}"
        if sum(bool(p.search(text)) for p in patterns) >= ENOUGH_WORDS * len(patterns):
            return True
    return False
