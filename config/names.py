"""Names that the profile shares with what it sets: walls of the sandbox, tools that list files."""

from typing import Final, Literal, TypeAlias

WallName: TypeAlias = Literal["rlimits", "no_new_privs", "landlock", "seccomp"]
"""A part of the second wall, which Linux gives; see `modules.sandbox.walls.launcher`."""

WALL_NAMES: tuple[WallName, ...] = ("rlimits", "no_new_privs", "landlock", "seccomp")
"""All of them, in the order in which they are put up."""

LISTING_TOOLS: Final = (
    "list_directory",
    "list_directory_with_sizes",
    "directory_tree",
    "search_files",
    "list_allowed_directories",
    "list_files",
    "git_status",
)
"""Tools of widespread servers, whatever these are called, that name files and show none of them."""
