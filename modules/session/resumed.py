"""What `--session` names: a session that is there, or one to begin; never one made up by a slip."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from core.base.text import near_names
from core.errors import UsageError
from modules.memory import Structure, session_path

SESSIONS_LOOKED_AT: Final = 10_000
"""So many of the newest kept sessions are looked through for those that may be meant."""

SESSIONS_COMPARED: Final = 200
"""So many of them are compared by their letters, which takes long."""

LIKENESS: Final = 0.8
"""All dated ids are alike; from here on (difflib's ratio) one is meant rather than another."""


def resumed_session(session_id: str, folder: Path, structure: Structure, *, enabled: bool) -> str:
    """What to tell of the session that the user named; empty for a dated one that is there.

    A plain name is one that the user chose, so a new session may begin under it.

    Raises:
        UsageError: the id is of no known form, or a dated one of a session that is not there.
    """
    path = session_path(session_id, folder, structure)
    if not enabled:
        return f"memory_service is off: the session {session_id} is neither read nor kept"
    if _is_there(path):
        return "" if "/" in session_id else f"continues the session '{session_id}'"
    if "/" not in session_id:
        return f"begins the session '{session_id}': none of that name is kept in {folder}"
    kept = list(itertools.islice(_kept_ids(folder, structure), SESSIONS_LOOKED_AT))
    near = _nearest(session_id, kept)
    if near:
        advice = f"the nearest: {', '.join(near)}"
    elif kept:
        advice = f"the newest: {kept[0]}"
    else:
        advice = "no session is kept there yet"
    raise UsageError(
        f"there is no session {session_id} in {folder}; {advice}. Without --session a new one "
        "begins, and a plain name (--session notes) begins one that you can name again"
    )


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # reading it has the message
        return True
    return True


def _kept_ids(folder: Path, structure: Structure) -> Iterator[str]:
    """Ids of the sessions that are kept, the newest first."""
    folders = [folder]
    for pattern in ("[0-9]" * 4, "[0-9]" * 2, "[0-9]" * 2) if structure == "date" else ():
        folders = sorted(
            (inner for outer in folders for inner in outer.glob(pattern)),
            key=lambda inner: inner.parts,
            reverse=True,
        )
    for day in folders:
        files = sorted(day.glob("session-*.json"), reverse=True)
        yield from (str(file.relative_to(folder).with_suffix("")) for file in files)


def _nearest(session_id: str, kept: list[str]) -> list[str]:
    """Those that may be meant: of the same time or random part, else spelt almost alike."""
    day, _, name = session_id.rpartition("/")
    _, moment, random = name.split("-")
    same = [one for one in kept if f"-{moment}-" in one or one.endswith(f"-{random}")]
    of_day = [one for one in kept if one.startswith(f"{day}/")]
    compared = list(dict.fromkeys([*same, *of_day, *kept]))[:SESSIONS_COMPARED]
    return list(dict.fromkeys([*same, *near_names(session_id, compared, LIKENESS)]))[:3]
