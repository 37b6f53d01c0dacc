"""Tools of widespread servers that name files and give nothing of what stands in them."""

from typing import Final

LISTING_TOOLS: Final = (
    "list_directory",
    "list_directory_with_sizes",
    "directory_tree",
    "search_files",
    "list_allowed_directories",
    "list_files",
    "git_status",
)
"""Their names, whatever the server is called."""
