"""Opens our pages in Chromium and tells what is found there, as one JSON object.

`python -m tests.real.page_visit CHROMIUM AXE PAGE WORD [FOLDER]`, with the Python that has
Playwright. AXE is the file of axe-core, which looks for what keeps people from using a page. WORD
is searched for in a trace. Into FOLDER go pictures in three widths, light and dark.
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

LAUNCH_TIMEOUT_MS = 60_000
WIDTHS = (390, 800, 1400)
_AXE = "axe.run().then(found => found.violations.map(each => each.id + ': ' + each.nodes[0].html))"
PAINTED = "new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
"""Settles when what was changed before is on the screen."""


def main(chromium: str, axe: Path, file: Path, word: str, folder: Path | None) -> dict[str, object]:
    """Visit the page; what is found, by name."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, timeout=LAUNCH_TIMEOUT_MS)
        context = browser.new_context(viewport={"width": 1400, "height": 800}, color_scheme="light")
        page = context.new_page()
        complaints: list[str] = []
        requests: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        began = time.perf_counter()
        page.goto(file.as_uri())
        page.evaluate(PAINTED)
        found: dict[str, object] = {"load_seconds": time.perf_counter() - began}
        is_trace = page.locator("input[type=search]").count() == 1
        if is_trace:
            found |= _used(page, word) | _by_keyboard(page, word)
            found["names"] = [_text(page, "h1"), _text(page, ".item.run:nth-of-type(154) b")]
            found["labels"] = page.locator(".together .name").first.inner_text()
        found["sideways"] = _sideways(page, folder)
        found["colours"] = [_colour(page, scheme) for scheme in ("light", "dark")]
        found["owned"] = page.evaluate("typeof owned !== 'undefined'")
        found["foreign_elements"] = page.locator("img, iframe, object, a, form").count()
        found |= {"complaints": [*complaints], "requests": requests}
        if is_trace:  # looking at all rows takes axe 20 s: those of one run stand for them
            page.locator("input[type=search]").fill(word)
            page.locator(".item:not([hidden]) > .row").first.click()
        page.evaluate(axe.read_text(encoding="utf-8"))  # as a debugger: the policy lets none in
        found["barriers"] = [
            [page.emulate_media(color_scheme=scheme), page.evaluate(_AXE)][1]
            for scheme in ("light", "dark")
        ]
        browser.close()
        return found


def _used(page: Page, word: str) -> dict[str, object]:
    """What search and filters show, and what a click does."""
    rows = page.locator(".item:not([hidden])")
    found: dict[str, object] = {"rows": rows.count(), "sum": _text(page, "[role=status]")}
    began = time.perf_counter()
    page.locator("input[type=search]").fill(word)
    page.evaluate(PAINTED)
    found["search_seconds"] = time.perf_counter() - began
    found["found"] = rows.count()
    page.locator(".item:not([hidden]) > .row").first.click()
    found["details"] = page.locator(".details").first.inner_text()
    page.locator(".item:not([hidden]) > .row").first.click()
    found["closed"] = page.locator(".details").count()
    page.keyboard.press("Escape")
    page.locator("input[value=call]").uncheck()
    found["without_tools"] = rows.count()
    page.locator("input[value=call]").check()
    page.locator("label:last-child input").check()
    found["failures"] = page.locator(".item:not([hidden]):not(.failed):not(.refused)").count()
    page.locator("label:last-child input").uncheck()
    return found


def _by_keyboard(page: Page, word: str) -> dict[str, object]:
    """What keys alone do: to the search, down to a row, open it, up again."""
    page.keyboard.press("/")
    page.keyboard.type(word)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    opened = page.locator(".details").count()
    page.keyboard.press("ArrowLeft")
    closed = page.locator(".details").count()
    page.keyboard.press("Escape")
    page.keyboard.press("End")
    last = page.evaluate("document.activeElement.parentElement === rows.lastElementChild")
    page.keyboard.press("Home")
    first = page.evaluate("document.activeElement.parentElement === rows.firstElementChild")
    return {"keys": [opened, closed, last, first]}


def _sideways(page: Page, folder: Path | None) -> list[object]:
    """By how much the page is wider than the window, in each width and colour."""
    beyond: list[object] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            page.evaluate(PAINTED)
            beyond.append(page.evaluate("document.documentElement.scrollWidth - innerWidth"))
            if folder is not None:
                page.screenshot(path=str(folder / f"{scheme}-{width}.png"))
    return beyond


def _colour(page: Page, scheme: str) -> object:
    page.emulate_media(color_scheme=scheme)
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def _text(page: Page, selector: str) -> str:
    return page.locator(selector).first.text_content() or ""


def _run(words: Sequence[str]) -> None:
    chromium, axe, file, word, *folder = words
    found = main(chromium, Path(axe), Path(file), word, Path(folder[0]) if folder else None)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    _run(sys.argv[1:])
