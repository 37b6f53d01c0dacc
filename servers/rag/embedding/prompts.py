"""What retrieval models want before a text: they are trained with it, and rank worse without.

As the authors say on the models' cards (nomic-embed-text, mxbai-embed-large, bge, e5, qwen3,
embeddinggemma, snowflake-arctic-embed), and Google of gemini-embedding-2, which no longer knows
task types ("Embeddings", ai.google.dev). Ollama adds nothing by itself.
"""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class TaskPrompts:
    """What goes before passages and queries."""

    passage: str = ""
    query: str = ""


_SEARCHING = TaskPrompts(query="Represent this sentence for searching relevant passages: ")
_GOOGLE = TaskPrompts("title: none | text: ", "task: search result | query: ")
_QWEN = TaskPrompts(
    query="Instruct: Given a web search query, retrieve relevant passages that answer the query\n"
    "Query:"
)

_FAMILIES: Final = (
    (re.compile(r"nomic-embed"), TaskPrompts("search_document: ", "search_query: ")),
    (re.compile(r"snowflake-arctic-embed-?2"), TaskPrompts(query="query: ")),
    (re.compile(r"mxbai-embed|snowflake-arctic-embed|bge-(?:small|base|large)-en"), _SEARCHING),
    (
        re.compile(r"(?<![a-z])(?:multilingual-)?e5-(?!.*instruct)"),
        TaskPrompts("passage: ", "query: "),
    ),
    (re.compile(r"embeddinggemma|gemini-embedding-[2-9]"), _GOOGLE),
    (re.compile(r"qwen3-embedding"), _QWEN),
)
"""By the model's name; the first that fits counts."""


def prompts_for(model: str) -> TaskPrompts:
    """What a model wants; nothing where we don't know it."""
    name = model.lower()
    return next((prompts for family, prompts in _FAMILIES if family.search(name)), TaskPrompts())
