"""Roles that work out of the box, by name; `config.schema.PRESET_ROLES` lists the names.

Tools are those of the bundled servers. A name whose server is not there means nothing, and the
role has the others. A role without tools works in the sandbox, on the texts that it is given.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from config.schema import PersonaSection, RoleEntry

_DOCUMENTS: Final = (
    "documents.search_stored_documents",
    "documents.list_documents",
    "documents.get_document",
    "documents.extract_pdf",
)
_WEB: Final = ("documents.convert_webpage_url_into_markdown",)
_PAST: Final = ("memory.search_memory", "memory.recall")


def _role(
    purpose: str, *tools: str, servers: tuple[str, ...] = (), says: PersonaSection | None = None
) -> RoleEntry:
    return RoleEntry(purpose=purpose, servers=servers, tools=tools, persona=says)


PRESETS: Final[Mapping[str, RoleEntry]] = MappingProxyType(
    {
        "generalist": _role("The whole agent: does whatever no other role is for.", "*"),
        "researcher": _role(
            "Research: finds and collects facts and information about a subject, on the web and "
            "in stored documents, with sources.",
            *_DOCUMENTS, *_WEB, *_PAST,
            servers=("websearch",),
            says=PersonaSection(
                tone="factual", verbosity="medium", behavior_tags=("thorough", "names its sources")
            ),
        ),
        "analyst": _role(
            "Analysis of numbers: calculates sums, differences, averages, percentages, growth and "
            "other figures, and compares values.",
            servers=("math",),
            says=PersonaSection(tone="precise", behavior_tags=("calculates with tools or code",)),
        ),
        "writer": _role(
            "Writing: writes, drafts and rewrites texts such as a report, summary, letter, email "
            "or article, with tables and headings.",
            says=PersonaSection(
                tone="clear", verbosity="high", behavior_tags=("writes for its readers",)
            ),
        ),
        "coder": _role(
            "Code: programs in Python that parse, sort, filter, count, convert and transform data, "
            "lists, JSON or CSV, in the sandbox.",
            says=PersonaSection(tone="technical", behavior_tags=("computes instead of guessing",)),
        ),
        "reviewer": _role(
            "Review: reviews, checks, verifies and criticises a draft or result for mistakes and "
            "gaps, against what was asked for and its sources.",
            "documents.search_stored_documents", "documents.get_document",
            says=PersonaSection(tone="critical", behavior_tags=("names every mistake it finds",)),
        ),
        "query_rewriter": _role(
            "Rewrites and expands a question into queries that search engines answer better.",
        ),
        "synthesizer": _role(
            "Synthesis: merges, combines and joins results of several sources into one answer, and "
            "says where they contradict each other.",
        ),
        "analyzer": _role(
            "Analyzes the content of a text: themes, arguments, sentiment, entities, strengths and "
            "weaknesses, what it has in common with another.",
        ),
        "retriever": _role(
            "Retrieves passages from stored documents: looks up in files, contracts, notes, PDF.",
            *_DOCUMENTS,
        ),
        "searcher": _role(
            "Searches the web, the internet and news online for pages, sites and articles.",
            *_WEB,
            servers=("websearch",),
        ),
    }
)  # fmt: skip
