"""The folders that requests are about: some files, some pictures, a git repository.

They lie at a fixed place, because their names are part of the requests and a model at temperature
0 answers other names otherwise. Each request finds them as they were made.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

GIT_TIMEOUT_SECONDS = 30

USUAL_ROOT = Path(tempfile.gettempdir()) / "cortex-r-evals"

FILES = {
    "shopping.txt": "milk\neggs\nbread\nbutter\nhoney\n",
    "numbers.txt": "12\n7\n30\n1\n",
    "config.ini": "[server]\nhost = ada.example\nport = 8420\n",
    "log.txt": "line 1: started\n"
    + "".join(f"line {number}: all well\n" for number in range(2, 27))
    + "line 27: ERROR disk full\n"
    + "".join(f"line {number}: all well\n" for number in range(28, 39))
    + "line 39: tidied\nline 40: stopped\n",
    "notes/meeting.txt": "Meeting with Dana\nDay: 14 May\nTopic: the new bridge\n"
    "Budget: 48000 euros\n",
    "notes/todo.txt": "- water the plants\n- call the plumber\n- pay the electricity bill\n",
    "notes/recipe.md": "# Pancakes\n\n- 200 g flour\n- 3 eggs\n- 400 ml milk\n",
    "reports/2025.csv": "month,sales\njan,120\nfeb,95\nmar,143\n",
    "reports/2026.csv": "month,sales\njan,131\nfeb,88\nmar,150\n",
    "reports/drafts/ideas.md": "# Ideas\n\nA chart for each month.\n",
    "letters/anna.txt": "Dear Tom,\n\nI will come to visit you at the lake on Friday. My train "
    "leaves at 17:40,\nso please don't wait for me with the supper.\n\nYours,\nAnna\n",
}

PICTURES = {"lake.png": (640, 480), "tower.png": (300, 900), "stamp.png": (40, 30)}
"""Width and height in pixels."""

BRANCH = "harvest"
"""The current branch: a name that nobody guesses."""

BOOKS = "Moby Dik\nEmma\nDracula\n"
ADA, BEN = ("Ada Park", "ada@example.invalid"), ("Ben Ruiz", "ben@example.invalid")


@dataclass(frozen=True)
class Workplace:
    """The folders under `root`; `originals` is what `fill` copies."""

    root: Path

    @property
    def files(self) -> Path:
        """What the server of files is allowed to touch."""
        return self.root / "files"

    @property
    def repo(self) -> Path:
        """The repository of the git server."""
        return self.root / "repo"

    def filled(self, text: str) -> str:
        """The text with the folders' paths in the place of `{files}` and `{repo}`."""
        return text.replace("{files}", str(self.files)).replace("{repo}", str(self.repo))

    def moved(self, text: str) -> str:
        """A text that was written in the usual folder, with the paths of this one."""
        return text.replace(str(USUAL_ROOT), str(self.root))

    def prepare(self) -> None:
        """Make the originals, and fill the folders."""
        originals = self.root / "originals"
        shutil.rmtree(originals, ignore_errors=True)
        _write_files(originals / "files")
        _make_repository(originals / "repo")
        self.fill()

    def fill(self) -> None:
        """Put everything back as it was; the folders themselves stay, servers know them."""
        for place in (self.files, self.repo):
            place.mkdir(parents=True, exist_ok=True)
            for entry in place.iterdir():
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                else:
                    entry.unlink()
            shutil.copytree(self.root / "originals" / place.name, place, dirs_exist_ok=True)

    def git(self, *arguments: str) -> str:
        """What git says about the repository."""
        return _git(self.repo, *arguments)


@contextmanager
def workplace(root: Path | None = None) -> Generator[Workplace]:
    """The workplace, for this process alone.

    Raises:
        RuntimeError: another evaluation uses it, or the folder is somebody else's.
    """
    root = (root or USUAL_ROOT).absolute()
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if root.is_symlink() or root.stat().st_uid != os.getuid():
        raise RuntimeError(f"{root} belongs to somebody else; give another folder with --work")
    with (root / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(
                f"another evaluation is at work in {root}; wait for it, or give --work FOLDER"
            ) from None
        place = Workplace(root)
        place.prepare()
        yield place


def _write_files(folder: Path) -> None:
    from PIL import Image  # late: only this needs it

    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (folder / "empty").mkdir()
    (folder / "pictures").mkdir()
    for name, size in PICTURES.items():
        Image.new("RGB", size, "steelblue").save(folder / "pictures" / name)


def _make_repository(folder: Path) -> None:
    """Four commits on `BRANCH`, one more on `drafts`; one file staged, one changed, one unknown."""
    folder.mkdir(parents=True)
    _git(folder, "init", "--quiet", f"--initial-branch={BRANCH}", "--template=")
    for name, value in {"user.name": ADA[0], "user.email": ADA[1], "gc.auto": "0"}.items():
        _git(folder, "config", name, value)
    (folder / "books.txt").write_text(BOOKS)
    (folder / "README.md").write_text("The library of Ada and Ben.\n")
    _commit(folder, ADA, 1, "Begin the catalogue")
    (folder / "shelf2.txt").write_text("Ulysses\n")
    _commit(folder, BEN, 2, "Add the second shelf")
    (folder / "books.txt").write_text(BOOKS.replace("Dik", "Dick"))
    _commit(folder, ADA, 3, "Correct a title")
    (folder / "README.md").write_text("The library of Ada and Ben.\nMill Lane 3.\n")
    _commit(folder, ADA, 4, "Note the address")
    _git(folder, "checkout", "--quiet", "-b", "drafts")
    (folder / "layout.txt").write_text("Two columns.\n")
    _commit(folder, BEN, 5, "Try a new layout")
    _git(folder, "checkout", "--quiet", BRANCH)
    (folder / "hours.txt").write_text("Open on Saturday.\n")
    _git(folder, "add", "hours.txt")
    (folder / "README.md").write_text(
        "The library of Ada and Ben.\nMill Lane 3.\nClosed on Sundays.\n"
    )
    (folder / "scratch.txt").write_text("Nothing yet.\n")


def _commit(folder: Path, who: tuple[str, str], day: int, message: str) -> None:
    name, address = who
    date = f"2026-03-{day:02d}T10:00:00+00:00"
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    author = f"--author={name} <{address}>"
    _git(folder, "add", ".")
    _git(folder, "commit", "--quiet", author, f"--message={message}", environment=dates)


def _git(folder: Path, *arguments: str, environment: dict[str, str] | None = None) -> str:
    """Git without the settings of whoever runs it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=GIT_TIMEOUT_SECONDS,
        env={**clean, **alone, **(environment or {})},
    )
    return done.stdout
