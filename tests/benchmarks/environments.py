"""Environments of their own for what is measured against us, under `.venv/bench`.

`peers.toml` lists them with exact versions. An environment is kept until its list or the
interpreter changes. One that can't be made is a value that says why, for the table to print.
"""

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tests.command_line import ROOT

FOLDER = ROOT / ".venv" / "bench"
LIST = Path(__file__).with_name("peers.toml")
INSTALL_TIMEOUT_SECONDS = 900
"""Bound on one installer run; a peer with a hundred dependencies takes a minute or two."""

REASON_CHARACTERS_SHOWN = 200


@dataclass(frozen=True)
class Environment:
    """An installed environment."""

    name: str
    folder: Path

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.folder / "bin" / "python")

    def package(self, name: str) -> Path:
        """The folder of one of its top-level packages."""
        return next(self.folder.glob(f"lib/python*/site-packages/{name}"))

    def program(self, name: str) -> str:
        """One of its console scripts."""
        return str(self.folder / "bin" / name)


@dataclass(frozen=True)
class NotInstalled:
    """An environment that could not be made, and why."""

    name: str
    reason: str


def own_environment() -> Environment:
    """The environment that this runs in, with the `mcp` that we depend on."""
    return Environment("cortex-r", Path(sys.prefix))


def prepare(name: str) -> Environment | NotInstalled:
    """The environment of that name in `peers.toml`, made now if need be."""
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))["environments"]
    requirements = cast("dict[str, list[str]]", listed)[name]
    environment = Environment(name, FOLDER / name)
    made_from = "\n".join([sys.version, *requirements])
    stamp = environment.folder / "made_from.txt"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == made_from:
        return environment
    sys.stderr.write(f"installing {' '.join(requirements)} (once)\n")
    shutil.rmtree(environment.folder, ignore_errors=True)
    try:
        for command in _commands(environment, requirements):
            subprocess.run(
                command,
                check=True,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                timeout=INSTALL_TIMEOUT_SECONDS,
            )
    except subprocess.CalledProcessError as error:
        return NotInstalled(name, _last_words(cast("str", error.stderr)))
    except subprocess.TimeoutExpired:
        return NotInstalled(name, f"the installer took over {INSTALL_TIMEOUT_SECONDS} s")
    except OSError as error:
        return NotInstalled(name, str(error))
    stamp.write_text(made_from, encoding="utf-8")
    return environment


def installed_versions(environment: Environment, *packages: str) -> dict[str, str]:
    """The versions of these packages in an environment; absent ones are left out.

    Raises:
        subprocess.CalledProcessError: its interpreter does not run.
    """
    script = (
        "import sys\n"
        "from importlib.metadata import version, PackageNotFoundError\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n"
        "        print(name, version(name))\n"
        "    except PackageNotFoundError:\n"
        "        pass\n"
    )
    done = subprocess.run(
        [environment.python, "-c", script, *packages], capture_output=True, text=True, check=True
    )
    lines = (line.partition(" ") for line in done.stdout.splitlines())
    return {name: number for name, _, number in lines}


def _commands(environment: Environment, requirements: Sequence[str]) -> list[list[str]]:
    """What makes the environment: uv where there is one, else venv and a current pip."""
    folder = str(environment.folder)
    python = ("--python", environment.python)
    if uv := shutil.which("uv"):
        return [
            [uv, "venv", "--quiet", "--python", sys.executable, folder],
            # Copied: some packages refuse to open files of theirs that have links elsewhere.
            [uv, "pip", "install", "--quiet", "--link-mode", "copy", *python, *requirements],
        ]
    pip = [environment.python, "-m", "pip", "install", "--quiet"]
    return [
        [sys.executable, "-m", "venv", folder],
        [*pip, "--upgrade", "pip>=25.1"],
        [*pip, *requirements],
    ]


def _last_words(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return lines[-1][:REASON_CHARACTERS_SHOWN] if lines else "the installer failed and said nothing"
