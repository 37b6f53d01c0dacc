"""A disk of one's own for a test, where the system lets anybody mount one."""

import shutil
import subprocess
from typing import Final

NAMESPACES: Final = ("unshare", "--user", "--map-root-user", "--mount")
"""What stands before a command that may mount a disk, which nobody else sees."""


def may_mount() -> bool:
    """Whether this system lets us have a disk of our own."""
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(
        [*NAMESPACES, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False
    )
    return tried.returncode == 0
