"""The one place that reads configuration: where files lie, and what `config/` says.

Reading a profile comes in two steps: `read_document` needs YAML only, so that servers can be
spawned at once; `check_profile` then checks everything (Pydantic, imported late).
"""

import contextlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

    from config.models_file import ModelsFile
    from config.schema import AgentProfile

ROOT = Path(__file__).resolve().parent.parent
"""The checkout, or the folder that an installed package lies in."""

HOME_VARIABLE = "CORTEX_HOME"
MAX_CONFIG_BYTES = 1024 * 1024

MAX_PROBLEMS_SHOWN = 20
"""How many mistakes of one file a message lists."""


class SettingsError(Exception):
    """A configuration file can't be used; the message names file, line, key and what is allowed."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are: `root` is the checkout or installation, `home` holds all state."""

    root: Path
    home: Path

    @property
    def cache(self) -> Path:
        """Cached tool lists."""
        return self.home / "cache"

    @property
    def server_logs(self) -> Path:
        """What servers write to stderr."""
        return self.home / "logs" / "servers"

    @property
    def failures_file(self) -> Path:
        """Which servers did not start, and when."""
        return self.home / "server_failures.json"

    @property
    def log_file(self) -> Path:
        """Tracebacks of our own bugs."""
        return self.home / "logs" / "cortex-r.log"

    @property
    def mcp_file(self) -> Path:
        """The user's own servers, beside those of the profile; `agent.py mcp add` writes it."""
        return self.home / "config" / "mcp.json"

    @property
    def history_file(self) -> Path:
        """Lines typed at the interactive prompt."""
        return self.home / "history"

    def config_file(self, name: str) -> Path:
        """`config/<name>` under the user's home where there is one, else the one that ships."""
        own = self.home / "config" / name
        try:
            return own if own.is_file() else self.root / "config" / name
        except OSError:  # a home that may not be entered; writing there has its own message
            return self.root / "config" / name


def find_places(environ: Mapping[str, str], root: Path = ROOT) -> Places:
    """Where state lives: CORTEX_HOME, else the checkout, else the user-data folder.

    Without any home directory, state goes to a folder of this user under the temporary one.

    Raises:
        SettingsError: CORTEX_HOME begins with `~` and that home is not known, or the
            temporary folder of this user belongs to another.
    """
    if chosen := environ.get(HOME_VARIABLE):
        try:
            return Places(root, Path(chosen).expanduser().absolute())
        except RuntimeError as error:
            raise SettingsError(
                f"{HOME_VARIABLE}={chosen}: there is no such home directory; give a full path"
            ) from error
    if (root / "pyproject.toml").is_file():
        return Places(root, root)
    from platformdirs import user_data_path  # late: only installed copies need it

    try:
        home = user_data_path("cortex-r", appauthor=False)
    except RuntimeError:  # no HOME, and no entry for this user either
        home = Path()
    if not home.is_absolute():  # what platformdirs before 4.14 gives then
        home = _temporary_home()
    return Places(root, home)


def _temporary_home() -> Path:
    """A folder of this user alone; its name is known to all, so its owner is looked at."""
    home = Path(tempfile.gettempdir()) / f"cortex-r-{os.getuid()}"
    with contextlib.suppress(OSError):
        home.mkdir(mode=0o700)
    if home.is_symlink() or (home.exists() and home.stat().st_uid != os.getuid()):
        raise SettingsError(
            f"{home} belongs to somebody else, and you have no home directory; "
            f"set {HOME_VARIABLE} to a folder of your own"
        )
    return home


def read_document(path: Path) -> dict[str, object]:
    """The raw mapping in a YAML file.

    Raises:
        SettingsError: the file is missing, too large, not UTF-8, not YAML, or not a mapping.
    """
    from config.yaml_text import YamlProblem, load_yaml  # late: `agent.py --help` reads no file

    try:
        document = load_yaml(read_text(path))
    except YamlProblem as problem:
        where = f"{path}:{problem.line}" if problem.line is not None else str(path)
        raise SettingsError(f"{where}: not valid YAML: {problem}") from problem
    if not isinstance(document, dict):
        raise SettingsError(f"{path}: expected a mapping with keys such as 'agent' and 'strategy'")
    return {str(key): value for key, value in cast("dict[object, object]", document).items()}


def check_profile(document: Mapping[str, object], path: Path) -> "AgentProfile":
    """The profile in a raw mapping that was read from `path`.

    Raises:
        SettingsError: unknown keys, wrong values; every problem is listed, a line each.
    """
    from pydantic import ValidationError

    from config.schema import AgentProfile

    try:
        return AgentProfile.model_validate(document)
    except ValidationError as error:
        raise SettingsError(_explain(error, AgentProfile, path)) from error


def load_profile(path: Path) -> "AgentProfile":
    """Read and check a profile.

    Raises:
        SettingsError: see `read_document` and `check_profile`.
    """
    return check_profile(read_document(path), path)


def load_models(path: Path) -> "ModelsFile":
    """Read and check `models.json`.

    Raises:
        SettingsError: the file is missing or wrong.
    """
    from pydantic import ValidationError

    from config.models_file import ModelsFile

    document = _read_json(path)
    try:
        return ModelsFile.model_validate(document)
    except ValidationError as error:
        raise SettingsError(_explain(error, ModelsFile, path)) from error


def _read_json(path: Path) -> object:
    from config.json_text import JsonProblem, load_json  # late: servers are spawned before

    text = read_text(path)
    try:
        return load_json(text)
    except JsonProblem as problem:
        where = f"{path}:{problem.line}" if problem.line is not None else str(path)
        raise SettingsError(f"{where}: not valid JSON: {problem}") from problem


def read_text(path: Path) -> str:
    """The text of a configuration file.

    Raises:
        SettingsError: the file is missing, larger than MAX_CONFIG_BYTES, or not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"{path}: can't be read: {error.strerror or error}") from error
    if len(data) > MAX_CONFIG_BYTES:
        raise SettingsError(f"{path}: larger than {MAX_CONFIG_BYTES} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8 text (byte {error.start})") from error


def _explain(error: "ValidationError", schema: "type[BaseModel]", path: Path) -> str:
    from config.explain import explain_problem, line_of
    from config.yaml_text import compose_yaml

    try:
        # JSON is YAML but for the tab, which JSON allows between tokens.
        document = compose_yaml(read_text(path).replace("\t", " "))
    except SettingsError:  # gone since it was read
        document = None
    problems = error.errors(include_url=False, include_context=True)
    lines: list[str] = []
    for problem in problems[:MAX_PROBLEMS_SHOWN]:
        line = line_of(document, problem["loc"])
        where = f"{path}:{line}" if line is not None else str(path)
        lines.append(f"{where}: {explain_problem(problem, schema)}")
    if hidden := len(problems) - len(lines):
        lines.append(f"{path}: … and {hidden} more problems")
    return "\n".join(lines)
