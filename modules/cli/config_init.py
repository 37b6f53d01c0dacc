"""`config init`: a profile of one's own, with the servers that other programs have already."""

import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, TextIO, cast

from config.mcp_file import SECTIONS, add_server
from config.schema import profile_of
from config.server_list import server_list
from config.servers import server_id_of
from config.settings import Places, SettingsError, read_text
from config.texts import TextProblem, load_commented_json
from config.yaml_edit import with_value
from core.base.files import FileTooLarge, make_private_folder, read_regular, write_atomically
from core.base.frozen import frozen
from core.base.text import counted
from core.errors import ConfigurationError, ExitCode, UsageError, UserError, storing
from core.values import Json, JsonObject
from modules.cli.auth import set_key
from modules.cli.doctor import diagnose
from modules.cli.parser import CommandParser
from modules.cli.surroundings import Surroundings
from modules.model_manager import choose_model
from modules.models.credentials import (
    USUAL_VARIABLES,
    KeyringStore,
    OpenBackend,
    system_backend,
)
from modules.terminal.streams import typed_answer

OTHERS: Final = (
    ("Claude Desktop", ".config/Claude/claude_desktop_config.json"),
    ("Claude Desktop", "Library/Application Support/Claude/claude_desktop_config.json"),
    ("Claude Code", ".claude.json"),
    ("Cursor", ".cursor/mcp.json"),
    ("VS Code", ".config/Code/User/mcp.json"),
    ("VS Code", "Library/Application Support/Code/User/mcp.json"),
    ("Codex", ".codex/config.toml"),
)
"""Programs whose servers are offered, and their files below the user's home directory."""

OTHERS_BYTES_MAX: Final = 16 * 1024 * 1024
"""Claude Code keeps more than its configuration in its file."""

_BACKUP_SUFFIX: Final = ".before"
"""Of a profile as it was before its first change."""

_FOLDERS: Final = ("Documents", "documents", "Dokumente")


@frozen
class Found:
    """A server in the configuration of another program; `entry` is as it stands there."""

    program: str
    name: str
    entry: Mapping[str, object]


@frozen
class Proposal:
    """What a profile of one's own would hold; `model` says which would answer, and why."""

    file: Path
    model: str
    folder: str
    servers: tuple[Found, ...]
    notes: tuple[str, ...]

    @property
    def told(self) -> str:
        """Line by line, for a person."""
        named = ", ".join(f"{each.name} ({each.program})" for each in self.servers)
        return "\n".join(
            (
                f"profile    {self.file}",
                f"model      {self.model}",
                f"documents  {self.folder}",
                f"servers    {named or 'no others were found'}",
                *self.notes,
            )
        )


def add_init_options(parser: CommandParser) -> None:
    """The options of `config init`."""
    parser.add_argument("--yes", action="store_true", help="do what is proposed, unasked")
    parser.add_argument("--documents", metavar="FOLDER", help="the folder of your documents")
    parser.add_argument("--no-servers", action="store_true", help="import no server")


def initialise(around: Surroundings) -> ExitCode:
    """Propose a profile, and write it where that is wanted; at a terminal it is tried, too.

    Raises:
        UsageError: there is a profile already.
        SettingsError: what is configured already can't be used.
        StorageError: a file can't be written.
    """
    options, places = around.options, around.places
    file: Path = options.profile or own_profile(places)
    if file.exists():
        raise UsageError(f"{file} is there already; change it with: agent.py config set KEY VALUE")
    around.options.profile = None  # what it begins with is the profile that ships
    home = Path(around.environ.get("HOME") or Path.home())
    proposal = _proposal(around, file, home)
    stderr = around.stderr if sys.stdin.isatty() and not options.yes else None
    if is_asked := stderr is not None:
        around.complaints.tell(proposal.told)
        proposal = _asked(proposal, stderr)
        if proposal.model.startswith("offline"):
            ask_for_key(around, stderr)
    elif not options.yes:
        return around.report(_document(proposal, is_written=False), _would(proposal))
    _write(around, proposal)
    hint = "" if is_asked else "; try it: agent.py doctor"
    around.report(_document(proposal, is_written=True), f"{proposal.told}\nwritten{hint}")
    if not is_asked:
        return ExitCode.ANSWERED
    options.profile = proposal.file
    return diagnose(replace(around))  # which has read nothing yet


def servers_elsewhere(home: Path) -> tuple[list[Found], list[str]]:
    """The servers in other programs' files below `home`, each name once, and what can't be read."""
    found: dict[str, Found] = {}
    notes: list[str] = []
    for program, below in OTHERS:
        file = home / below
        try:
            for name, entry in _entries(file):
                found.setdefault(server_id_of(name), Found(program, name, entry))
        except FileNotFoundError:
            continue
        except (OSError, FileTooLarge, TextProblem, ValueError) as error:
            notes.append(f"passed over: {file}: {error}")
    return [*found.values()], notes


def _entries(file: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    text = read_regular(file, OTHERS_BYTES_MAX).decode("utf-8-sig")
    is_toml = file.suffix == ".toml"
    document: object = tomllib.loads(text) if is_toml else load_commented_json(text)
    if not isinstance(document, dict):
        return
    whole = cast("dict[str, object]", document)
    for section in ("mcp_servers",) if is_toml else SECTIONS:
        servers = whole.get(section)
        if isinstance(servers, dict):
            for name, entry in cast("dict[str, object]", servers).items():
                if isinstance(entry, dict):
                    yield name, cast("dict[str, object]", entry)


def _proposal(around: Surroundings, file: Path, home: Path) -> Proposal:
    configured = {spec.id for spec in around.servers.everyone}
    found, notes = ([], []) if around.options.no_servers else servers_elsewhere(home)
    new = tuple(each for each in found if server_id_of(each.name) not in configured)
    return Proposal(
        file,
        _model(around),
        _folder(around, home),
        new,
        tuple(around.redactor.text(n) for n in notes),
    )


def _model(around: Surroundings) -> str:
    """The model that would answer."""
    llm, places = around.profile.llm, around.places
    with around.waits().during("model", "keys and models that may be there"):
        try:
            chosen = choose_model(None, llm, places, around.environ, around.redactor)
        except UserError as error:
            return f"none can be used: {error}"
    hint = "" if chosen.name != "offline" else "; agent.py auth set gemini keeps a key"
    return f"{chosen.reason}{hint}"


def _folder(around: Surroundings, home: Path) -> str:
    """The folder that was named, a usual one that is there, or our own."""
    if around.options.documents is not None:
        return str(Path(around.options.documents).expanduser().absolute())
    usual = (home / name for name in _FOLDERS)
    return str(next((path for path in usual if path.is_dir()), around.profile.documents.folders[0]))


def _asked(proposal: Proposal, stderr: TextIO) -> Proposal:
    """The proposal as the person at the terminal wants it.

    Raises:
        UsageError: they want none.
    """
    try:
        question = f"documents folder [{proposal.folder}]: "
        folder = typed_answer(question, stderr) or proposal.folder
        wanted = tuple(
            each
            for each in proposal.servers
            if _is_yes(f"import the server {each.name} of {each.program}?", stderr)
        )
        if not _is_yes(f"write {proposal.file}?", stderr):
            raise UsageError("nothing was written")
    except EOFError as error:
        raise UsageError("nothing was written") from error
    return replace(proposal, folder=str(Path(folder).expanduser()), servers=wanted)


def _is_yes(question: str, stderr: TextIO) -> bool:
    return typed_answer(f"{question} [Y/n] ", stderr).lower() not in ("n", "no")


def ask_for_key(
    around: Surroundings, stderr: TextIO, open_backend: OpenBackend = system_backend
) -> None:
    """Keep the key of a service, where there is one; what goes wrong is told, and no more.

    Where no key can be kept, none is asked for.
    """
    try:
        kind = KeyringStore(around.places.home, open_backend).backend_name()
    except ConfigurationError:
        kind = None
    if kind is None:
        variables = " or ".join(USUAL_VARIABLES.values())
        around.complaints.say(
            "auth",
            f"no key can be kept, for this system has no keyring. Two ways to give one: set "
            f"{variables} where you start agent.py, or install a keyring (Secret Service, "
            "KWallet), then: agent.py auth set gemini",
        )
        return
    question = f"a key of {', '.join(USUAL_VARIABLES)}? name it, or Enter for none: "
    with suppress(EOFError):
        if service := typed_answer(question, stderr):
            around.options.name = service
            try:
                set_key(around, open_backend=open_backend)
            except UserError as error:
                around.complaints.say("auth", f"no key was kept: {error}")


def _write(around: Surroundings, proposal: Proposal) -> None:
    """Write the profile and the servers, once both are known to work together.

    Raises:
        SettingsError, StorageError: see `initialise`.
    """
    places = around.places
    shipped = read_text(places.root / "config" / "profiles.yaml")
    text = with_value(shipped, ("documents", "folders"), [proposal.folder])
    profile = profile_of(text, proposal.file)
    for each in proposal.servers:
        try:
            add_server(places.mcp_file, server_id_of(each.name), each.entry)
        except SettingsError as error:
            around.complaints.say("config", f"not imported: {error}")
    server_list(profile, places, proposal.file, (), around.environ)
    write_profile(proposal.file, text)


def own_profile(places: Places) -> Path:
    """Where the user's own profile lies, or will."""
    return places.home / "config" / "profiles.yaml"


def write_profile(file: Path, text: str) -> None:
    """Replace the file as a whole; what it was before the first change is kept beside it.

    Raises:
        StorageError: it can't be written.
    """
    backup = file.with_name(f"{file.name}{_BACKUP_SUFFIX}")
    with storing(file):
        make_private_folder(file.parent)
        if file.exists() and not backup.exists():
            write_atomically(backup, file.read_bytes())
        write_atomically(file, text.encode(), keeps_mode=True)


def _would(proposal: Proposal) -> str:
    servers = counted(len(proposal.servers), "server")
    return f"{proposal.told}\nnothing is written; --yes writes the profile and imports {servers}"


def _document(proposal: Proposal, *, is_written: bool) -> JsonObject:
    servers: list[Json] = [{"name": s.name, "program": s.program} for s in proposal.servers]
    return {
        "profile": str(proposal.file),
        "model": proposal.model,
        "documents": proposal.folder,
        "servers": servers,
        "notes": [*proposal.notes],
        "written": is_written,
    }
