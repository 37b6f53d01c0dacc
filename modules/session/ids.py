"""Ids of sessions: their form, their file, and which one `--session` means.

A session that is named is there, or one to begin; it is never one made up by a mistake in typing.
"""

import contextlib
import heapq
import itertools
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, TypeAlias

from core.base.text import near_names
from core.errors import UsageError
from modules.session.records import shorten

Structure: TypeAlias = Literal["date", "flat"]
"""Whether a session's file stands in folders of its date."""

SESSIONS_LOOKED_AT: Final = 10_000
"""So many of the newest kept sessions are looked through for those that may be meant."""

SESSIONS_COMPARED: Final = 200
"""So many of them are compared by their letters, which takes long."""

NAMED_MAX: Final = 5
"""So many sessions are named of those that a part of an id may mean."""

LIKENESS: Final = 0.8
"""All dated ids are alike; from here on (difflib's ratio) one is meant rather than another."""


_SESSION_ID: Final = re.compile(
    r"[0-9]{4}/(0[1-9]|1[0-2])/(0[1-9]|[12][0-9]|3[01])/session-[0-9]{1,12}-[A-Za-z0-9]{6}"
    r"|[A-Za-z0-9_-]{1,100}"
)


def new_session_id(now: datetime, uid: str) -> str:
    """`YYYY/MM/DD/session-{unix seconds}-{first six characters of uid}`.

    Raises:
        UsageError: `uid` has fewer than six letters or digits.
    """
    day = f"{now.year:04}/{now.month:02}/{now.day:02}"
    return check_session_id(f"{day}/session-{int(now.timestamp())}-{uid[:6]}")


def check_session_id(session_id: str) -> str:
    """The same id, if it is of a form that can't leave the memory folder.

    Raises:
        UsageError: it is neither the documented form nor a plain name.
    """
    if _SESSION_ID.fullmatch(session_id) is None:
        raise UsageError(
            f"{shorten(repr(session_id), 120)} is not a session id: give "
            "YYYY/MM/DD/session-<unix time>-<6 letters or digits>, as a run reports it, or a "
            "plain name of up to 100 letters, digits, '_' and '-'"
        )
    return session_id


def session_path(session_id: str, memory_dir: str | Path, structure: Structure = "date") -> Path:
    """The file of a session: `<memory_dir>/<id>.json`; `flat` leaves the date folders out.

    Raises:
        UsageError: see `check_session_id`.
    """
    checked = check_session_id(session_id)
    name = checked if structure == "date" else checked.rpartition("/")[2]
    return Path(memory_dir) / f"{name}.json"


def resumed_session(session_id: str, folder: Path, structure: Structure, *, enabled: bool) -> str:
    """What to tell of the session that the user named; empty for a dated one that is there.

    A plain name is one that the user chose, so a new session may begin under it.

    Raises:
        UsageError: the id is of no known form, or a dated one of a session that is not there.
    """
    path = session_path(session_id, folder, structure)
    if not enabled:
        off = "memory is off (memory_service, or --no-memory)"
        return f"{off}: the session {session_id} is neither read nor kept"
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


def kept_sessions(folder: Path, structure: Structure) -> list[str]:
    """Ids of all sessions that are kept, those that were used last first."""
    names = (path.stem for path in folder.glob("*.json"))
    plain = (name for name in names if _SESSION_ID.fullmatch(name) is not None)
    dated = _kept_ids(folder, structure) if structure == "date" else ()
    used: dict[str, float] = {}
    for session_id in (*dated, *plain):
        with contextlib.suppress(OSError):  # it was deleted just now
            used[session_id] = session_path(session_id, folder, structure).stat().st_mtime
    return sorted(used, key=lambda one: (used[one], one), reverse=True)


def newest_sessions(folder: Path, structure: Structure) -> Iterator[str]:
    """Ids of all sessions that are kept, those that began last first.

    A session that the user named counts by its last use. Folders of days are listed when their
    turn comes: the first id is there at once, however many sessions there are.
    """
    named: list[tuple[float, str]] = []
    for path in folder.glob("*.json"):
        is_ours = structure == "flat" and path.stem.startswith("session-")
        if not is_ours and _SESSION_ID.fullmatch(path.stem) is not None:
            with contextlib.suppress(OSError):  # it was deleted just now
                named.append((path.stat().st_mtime, path.stem))
    dated = ((_began(one), one) for one in _kept_ids(folder, structure))
    for _, session_id in heapq.merge(sorted(named, reverse=True), dated, reverse=True):
        yield session_id


def find_session(
    text: str, folder: Path, structure: Structure, listing: str = "agent.py sessions"
) -> str:
    """The kept session that `text` means: its id, or a part that only one id has.

    A part is the beginning of the id, of its last name, or of what a dash stands before. Where
    files lie flat, an id as a run reports it means the file of its last name. `listing` is the
    command that lists them all.

    Raises:
        UsageError: there is none, or there are several.
    """
    kept = kept_sessions(folder, structure)
    for whole in (text, text.rpartition("/")[2] if structure == "flat" else text):
        if whole in kept:
            return whole
    found = [one for one in kept if text and _is_part(text, one)]
    if len(found) == 1:
        return found[0]
    shown = shorten(text, 120)
    if found:
        few = ", ".join(found[:NAMED_MAX])
        more = f" and {len(found) - NAMED_MAX:,} more" if len(found) > NAMED_MAX else ""
        raise UsageError(f"{shown!r} may be {few}{more}; give more of the id")
    if not kept:
        where = f"none is kept in {folder} yet; ask something first"
        raise UsageError(f"there is no session {shown!r}: {where}")
    near = near_names(text, kept[:SESSIONS_COMPARED], LIKENESS)
    told = f"the nearest: {', '.join(near)}" if near else f"the newest: {kept[0]}"
    raise UsageError(f"there is no session {shown!r} in {folder}; {told}; see: {listing}")


def _is_part(text: str, session_id: str) -> bool:
    name = session_id.rpartition("/")[2]
    begins = session_id.startswith(text) or name.startswith(text)
    return begins or f"-{text}" in name


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
        for file in sorted(day.glob("session-*.json"), reverse=True):
            name = str(file.relative_to(folder).with_suffix(""))
            if _SESSION_ID.fullmatch(name) is not None:
                yield name


def _began(session_id: str) -> float:
    """Unix time in seconds, by a dated id."""
    moment = session_id.rpartition("/")[2].split("-")[1]
    return float(moment) if moment.isascii() and moment.isdigit() else 0.0


def _nearest(session_id: str, kept: list[str]) -> list[str]:
    """Those that may be meant: of the same time or random part, else spelt almost alike."""
    day, _, name = session_id.rpartition("/")
    _, moment, random = name.split("-")
    same = [one for one in kept if f"-{moment}-" in one or one.endswith(f"-{random}")]
    of_day = [one for one in kept if one.startswith(f"{day}/")]
    compared = list(dict.fromkeys([*same, *of_day, *kept]))[:SESSIONS_COMPARED]
    return list(dict.fromkeys([*same, *near_names(session_id, compared, LIKENESS)]))[:3]
