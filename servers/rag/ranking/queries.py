"""What people and models type into a search, made harmless."""

import unicodedata

QUERY_CHARACTERS_MAX = 2_000
"""Three hundred words: more than a question, and what the embedder looks at (256 tokens)."""


def cleaned(query: str) -> str:
    """The query as one line without characters that no text should hold, cut where it is huge."""
    some = query[: 4 * QUERY_CHARACTERS_MAX]
    plain = "".join(" " if unicodedata.category(char) in ("Cc", "Cs") else char for char in some)
    return " ".join(plain.split())[:QUERY_CHARACTERS_MAX].rstrip()
