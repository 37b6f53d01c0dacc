"""The pages of docs/ say what the code says, and README is short enough to be read."""

import re
from pathlib import Path

import pytest

from tests.documentation.pages import DOCS, PAGES

ROOT = DOCS.parent
MAX_README_WORDS = 1300


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_what_the_code_says(name: str) -> None:
    told = (DOCS / name).read_text(encoding="utf-8")
    assert told == PAGES[name](), "`python -m tests.documentation` writes the page anew"


def test_the_readme_is_read_in_five_minutes() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= MAX_README_WORDS


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md")], ids=lambda p: p.name
)
def test_every_link_to_a_file_of_ours_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS.glob("*.md")], ids=lambda p: p.name)
def test_every_link_to_a_heading_finds_it(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    for target, anchor in links:
        text = (page.parent / target if target else page).read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        anchors = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in headings]
        assert anchor in anchors, f"{target}#{anchor}"


def test_every_test_that_the_comparison_names_is_there() -> None:
    page = (DOCS / "terminal.md").read_text(encoding="utf-8")
    table = page.partition("<!-- comparison:")[2].partition("<!-- end of comparison -->")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    assert rows
    for line in rows:
        feature, *_, shown = (cell.strip() for cell in line.strip("|").split(" | "))
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", shown)
        assert named, f"no test shows: {feature}"
        for file, test in named:
            text = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).exists() else ""
            assert re.search(rf"^ *(?:async )?def {test}\(", text, re.MULTILINE), f"{file}::{test}"
