"""Searching the web: four engines behind one protocol, with a cache and a pace in front of them."""

from servers.web.search.links import FoundLinks
from servers.web.search.provider import missing_setting, open_provider
from servers.web.search.results import format_results_for_llm

__all__ = ["FoundLinks", "format_results_for_llm", "missing_setting", "open_provider"]
