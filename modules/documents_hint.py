"""Whether a question that names no documents is one for them: their index is asked.

"What is the capital of France?" and "What is the notice period?" are alike but for what the user's
documents hold. Words that one passage has nearly all of are no chance; one word in common is.
"""

import asyncio
import re
from typing import Final

from core.errors import CallRefused, ServerError
from core.ports import PerceptionInputs, ToolCaller
from core.turn import PerceptionResult

HINT_SECONDS: Final = 3.0
"""How long a first plan waits for the index, which answers within 0.1 s once its server runs."""

ENOUGH_SCORE: Final = 0.6
"""The score by words of a passage that is no chance find: 1 is one with every word of the question,
weighed by how few passages have the word."""

_SCORE: Final = re.compile(r"^1\. .*\(score (\d\.\d\d)\)$", re.MULTILINE)


async def hint_at_documents(
    perception: PerceptionResult,
    inputs: PerceptionInputs,
    caller: ToolCaller,
    seconds: float = HINT_SECONDS,
) -> PerceptionResult:
    """`perception`, with the documents' search as its hint if the index answers the question.

    Without an answer within `seconds`, or where a server fails, nothing is hinted at.
    """
    from modules.offline.document_questions import documents_tool
    from modules.offline.perception import OPEN_QUESTION

    tool = documents_tool(inputs.tools)
    if perception.intent != OPEN_QUESTION or tool is None:
        return perception
    looked_for = {"query": inputs.user_input, "top_k": 1, "mode": "words"}
    try:
        async with asyncio.timeout(seconds):
            found = await caller.call_tool(tool.qualified_name, tool.bind((), looked_for))
    except (CallRefused, ServerError, TimeoutError):
        return perception
    score = _SCORE.search(str(found.value))
    if score is None or float(score[1]) < ENOUGH_SCORE:
        return perception
    return perception.model_copy(
        update={
            "intent": "ask_documents",
            "tool_hint": tool.name,
            "tags": ["ask_documents", tool.name],
            "selected_servers": [tool.server],
        }
    )
