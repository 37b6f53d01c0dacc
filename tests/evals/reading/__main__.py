"""How well pages are read: `python -m tests.evals.reading [--held-out] [--each]`.

F1 of words against the known main text, beside trafilatura alone and a plain strip of what is
surely no text, as the seed did it. Each of six kinds of text stands on each of six sites; one page
of each kind and site is held out: nothing is tuned on it (`--held-out` measures those).
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean

from servers.reading.html.content import without_targets
from servers.reading.html.page import read_page
from tests.benchmarks.table import Row, print_table
from tests.evals.extraction.scoring import f1, words_in
from tests.evals.reading.content import KINDS, Kind, MainText, main_text
from tests.evals.reading.sites import SITES

URL = "https://coast.example/news/2026/story.html"
SEEDS, HELD_OUT_SEEDS = ("1",), ("held-out",)

Read = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Page:
    """A saved page and what is to be found in it."""

    site: str
    main: MainText
    html: str


def pages(seeds: Sequence[str]) -> list[Page]:
    """A page of each kind on each site, for each seed."""
    found: list[Page] = []
    for seed in seeds:
        for kind in KINDS:
            for site in SITES:
                name = site.__name__
                main = main_text(kind, f"{name}-{seed}")
                found.append(Page(name, main, site(main, f"{kind}-{name}-{seed}")))
    return found


def ours(html: str) -> str:
    """As the web tools read it, links as their words."""
    return without_targets(read_page(html, URL).markdown)


def with_trafilatura(html: str) -> str:
    """By trafilatura as it comes."""
    import trafilatura

    return trafilatura.extract(html, output_format="markdown") or ""


def stripped(html: str) -> str:
    """All text but that of scripts, styles and what HTML5 calls surroundings."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(html, "html.parser")
    for each in soup(["script", "style", "nav", "header", "footer"]):
        each.decompose()
    return soup.get_text(" ")


READERS: dict[str, Read] = {
    "ours": ours,
    "trafilatura alone": with_trafilatura,
    "BeautifulSoup, stripped": stripped,
}


def score(read: Read, page: Page) -> float:
    """F1 of the words of a page."""
    return f1(words_in(page.main.text), words_in(read(page.html)))


def main(argv: Sequence[str]) -> int:
    """Measure, by kind."""
    parser = argparse.ArgumentParser(prog="python -m tests.evals.reading", description=__doc__)
    parser.add_argument("--held-out", action="store_true", help="the pages nothing is tuned on")
    parser.add_argument("--each", action="store_true", help="every page in a line of its own")
    options = parser.parse_args(argv)
    measured = pages(HELD_OUT_SEEDS if options.held_out else SEEDS)
    table = {name: [score(read, page) for page in measured] for name, read in READERS.items()}
    if options.each:
        print_table("reading, F1 of each page", _each(measured, table))
    which = "held out" if options.held_out else "tuned on"
    rows = [_row(kind, measured, table) for kind in KINDS]
    means = {name: mean(scores) for name, scores in table.items()}
    print_table(
        f"reading, F1 of words over {len(measured)} pages ({which})", [*rows, _told("all", means)]
    )
    return 0


def _each(measured: Sequence[Page], table: dict[str, list[float]]) -> list[Row]:
    return [
        _told(
            f"{page.main.kind} on {page.site}",
            {name: scores[place] for name, scores in table.items()},
        )
        for place, page in enumerate(measured)
    ]


def _row(kind: Kind, measured: Sequence[Page], table: dict[str, list[float]]) -> Row:
    places = [place for place, page in enumerate(measured) if page.main.kind == kind]
    return _told(kind, {name: mean(scores[p] for p in places) for name, scores in table.items()})


def _told(what: str, scores: dict[str, float]) -> Row:
    return Row(what, ", ".join(f"{name} {value:.3f}" for name, value in scores.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
