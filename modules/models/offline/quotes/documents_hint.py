"""Whether a question that names no documents is one for them: their index is asked.

"What is the capital of France?" and "What is the notice period?" are alike but for what the user's
documents hold. A passage that has two thirds of a question's telling words is no chance find.
"""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from core.base.text import lazy_pattern
from core.errors import CallRefused, ServerError
from core.ports import PerceptionInputs, ToolCaller
from core.tools.spec import ToolSpec
from core.turn import DOCUMENTS_FIT, PerceptionResult
from modules.models.offline.planner import OPEN_QUESTION
from modules.models.offline.quotes.asking import ENDINGS, word_roots
from modules.models.offline.quotes.documents import documents_tool, open_question
from servers.rag.index.reader import find_by_words, written_at

HINT_SECONDS: Final = 3.0
"""How long a first plan waits for the index, which answers within 0.1 s once its server runs."""

PASSAGES_LOOKED_AT: Final = 3

REQUEST_CHARACTERS: Final = 2_000
"""Of a longer request only the beginning is looked for."""

MATCH_MIN: Final = 0.6
"""A passage that holds this share of a request's words (`WordPassage.match`) may answer it.

Of 60 English questions of XQuAD 87% have one in an index of their own texts, and of 60 others 5%
in that index; of 120, none has one in the sample documents. There, 11 of 14 questions about them
have one, and 1 of 19 everyday requests.
"""

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
    index_folder: Path | None = None,
    seconds: float = HINT_SECONDS,
) -> PerceptionResult:
    """`perception`, with the documents' search as its hint if the index answers the question.

    Where there is an index in `index_folder`, its words are asked in this process, whatever the
    request's form or language, and no server starts. Else the server is asked, about questions
    alone: without an answer within `seconds`, or where it fails, nothing is hinted at.
    """
    tool = documents_tool(inputs.tools)
    if tool is None or perception.tool_hint is not None:
        return perception
    if index_folder is not None and written_at(index_folder):
        fits = await asyncio.to_thread(_holds_words_of, index_folder, inputs.user_input)
        return _hinting_at(tool, perception) if fits else perception
    question = open_question(inputs.user_input)
    if perception.intent != OPEN_QUESTION or question is None:
        return perception
    looked_for = {"query": question.query, "top_k": PASSAGES_LOOKED_AT, "mode": "words"}
    try:
        async with asyncio.timeout(seconds):
            found = await caller.call_tool(tool.qualified_name, tool.bind((), looked_for))
    except (CallRefused, ServerError, TimeoutError):
        return perception
    if not await asyncio.to_thread(_answers, str(found.value), question.terms):
        return perception
    return _hinting_at(tool, perception)


def _hinting_at(tool: ToolSpec, perception: PerceptionResult) -> PerceptionResult:
    return perception.model_copy(
        update={
            "intent": DOCUMENTS_FIT,
            "tool_hint": tool.name,
            "tags": [DOCUMENTS_FIT, tool.name],
            "selected_servers": [tool.server],
        }
    )


def _holds_words_of(index_folder: Path, request: str) -> bool:
    passages = find_by_words(index_folder, request[:REQUEST_CHARACTERS], PASSAGES_LOOKED_AT)
    return any(each.rare and each.match >= MATCH_MIN for each in passages)


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
