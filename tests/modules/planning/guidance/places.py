"""A home and a project with a folder in it, and the texts that tests put there."""

from pathlib import Path


def project(folder: Path) -> tuple[Path, Path, Path]:
    """CORTEX_HOME, the root of a repository, and a folder in that; resolved."""
    root = folder.resolve() / "work" / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "inner").mkdir()
    return folder.resolve() / "home", root, root / "inner"


def put(path: Path, text: str) -> None:
    """Write a file, and make its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def put_skill(
    shelf: Path, name: str, text: str = "do it so", description: str = "tells how"
) -> Path:
    """Write a skill; gives its folder."""
    put(shelf / name / "SKILL.md", f"---\nname: {name}\ndescription: {description}\n---\n{text}\n")
    return shelf / name
