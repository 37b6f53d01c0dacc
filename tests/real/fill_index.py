"""An index on a small disk of its own: filled until it is full, searched, and given more room.

Run by `test_disk_full`, in namespaces where a disk may be mounted. The argument is an empty folder;
prints one JSON object.
"""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from servers.rag.errors import IndexUnusable
from servers.rag.library.library import DocumentLibrary
from servers.rag.library.options import DocumentOptions

FILES, WORDS = 60, 4_000


def main(home: Path) -> None:
    """Fill, search, make room, go on."""
    disk, documents = home / "disk", home / "documents"
    for folder in (disk, documents):
        folder.mkdir()
    for number in range(FILES):
        words = " ".join(f"heron{number}x{place}" for place in range(WORDS))
        (documents / f"{number:02}.txt").write_text(f"Pond {number}. {words}", encoding="utf-8")
    _mount("size=4m", disk)
    options = DocumentOptions(
        folders=(documents,), index_folder=disk / "index", embedder="none", watch=False
    )
    told = ""
    with closing(DocumentLibrary.open(options, {})) as library:
        try:
            library.sync()
        except IndexUnusable as error:
            told = str(error)
        kept = sum(entry.status == "indexed" for entry in library.documents())
        found = len(library.search("Pond 1", mode="words").passages)
    _mount("remount,size=200m", disk)
    with closing(DocumentLibrary.open(options, {})) as library:
        library.sync()
        whole = sum(entry.status == "indexed" for entry in library.documents())
        last = [each.file for each in library.search(f"heron{FILES - 1}x7", mode="words").passages]
    sys.stdout.write(
        json.dumps({"told": told, "kept": kept, "found": found, "whole": whole, "last": last})
    )


def _mount(how: str, disk: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", how, "tmpfs", str(disk)], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
