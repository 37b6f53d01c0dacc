"""What the parts of the sandbox's second wall are called, in the profile and everywhere else."""

from typing import Literal, TypeAlias

WallName: TypeAlias = Literal["rlimits", "no_new_privs", "landlock", "seccomp"]
"""A part of the second wall, which Linux gives; see `modules.sandbox.walls`."""

WALL_NAMES: tuple[WallName, ...] = ("rlimits", "no_new_privs", "landlock", "seccomp")
"""All of them, in the order in which they are put up."""
