"""Uses the page of a running service in Chromium, and tells what is found as one JSON object.

`python -m tests.real.service_visit CHROMIUM AXE URL TOKEN GATES [FOLDER]`, with the Python that has
Playwright. GATES is where the service's gated server looks for what may go on. Into FOLDER go
the same, and pictures in three widths, light and dark. `tests.real.test_service_page` writes the
model's replies in the order of the requests here.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from playwright.sync_api import BrowserContext, Page, Route, sync_playwright

from tests.real.page_visit import LAUNCH_TIMEOUT_MS, PAINTED
from tests.real.relay import HOST, Relay

WAIT_MS: Final = 60_000
WIDTHS: Final = (360, 800, 1280)
PARTS: Final = (
    "find out how to hold the first door and how to hold the second door, "
    "then write a comparison of both"
)
FLAGS: Final = (
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_AXE: Final = (
    "axe.run().then(found => found.violations.flatMap("
    "each => each.nodes.map(node => each.id + ': ' + node.html)))"
)
_LONG_TASKS: Final = """() => { window.longest = 0;
const longest = told => { window.longest = Math.max(window.longest, ...told.getEntries().map(
  each => each.duration)); };
new PerformanceObserver(longest).observe({type: "longtask"}); }"""
_FILE: Final = """name => { const given = new DataTransfer();
given.items.add(new File(["# Notes\\nherons"], name, {type: "text/markdown"})); return given; }"""
_ANSWERED: Final = """() => { const last = [...document.querySelectorAll("#log > article")].pop();
return last && last.matches(".answer:not(.going)"); }"""
_INLINE: Final = "[...document.querySelectorAll('.parts > .item')].map(each => each.offsetLeft)"

_FORM_BEGINS: Final = """() => {
const [form, log] = [".asked", "#log"].map(
  each => document.querySelector(each).getBoundingClientRect());
return [form.height > log.height, Math.round(form.top - log.top)]; }"""
"""Whether the form is longer than what shows it, and how far below the edge of that it begins."""

_GROWING: Final = """() => { const seen = {lengths: new Set(), block: null, moved: 0, from: null};
window.seen = seen;
const log = document.getElementById("log");
new MutationObserver(() => {
  const body = document.querySelector(".going .body");
  if (!body) { return; }
  seen.lengths.add(body.textContent.length);
  if (!seen.block && body.childNodes.length > 9) {
    seen.block = body.childNodes[4];
    log.scrollTop = 0;
  }
}).observe(log, {subtree: true, childList: true, characterData: true}); }"""

Found = dict[str, object]


class Visit:
    """One browser, what it was asked for, and what it complained of."""

    def __init__(self, context: BrowserContext, url: str, token: str, gates: Path) -> None:
        self.context = context
        self.relay = Relay(int(url.rpartition(":")[2]))
        self.url = f"http://{HOST}:{self.relay.port}/"
        self.token = token
        self.gates = gates
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.refused: list[int] = []

    def tab(self, address: str | None = None) -> Page:
        """A new tab that shows the page, behind its token."""
        page = self.context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("console", lambda message: self._complain(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on(
            "response",
            lambda answer: self.refused.append(answer.status) if answer.status >= 400 else None,
        )
        page.goto(address or self.url)
        page.locator("dialog input").fill(self.token)
        page.keyboard.press("Enter")
        page.locator("dialog").wait_for(state="detached")
        return page

    def _complain(self, text: str) -> None:
        """Keep what the console says, but for answers that `refused` has, and those cut off."""
        if not text.startswith("Failed to load resource: "):
            self.complaints.append(text)

    def open_gate(self, name: str) -> None:
        """Let the gated server go on."""
        (self.gates / name).touch()


def ask(page: Page, request: str) -> None:
    """Write a message and send it by Enter."""
    page.locator("#message").fill(request)
    page.keyboard.press("Enter")


def answered(page: Page) -> str:
    """The last answer, when it is there."""
    page.wait_for_function(_ANSWERED)
    return page.locator("article.answer").last.inner_text()


def _used(page: Page) -> str:
    return page.locator("#used").inner_text()


def _token(visit: Visit) -> Found:
    """A wrong token, and then the right one."""
    page = visit.context.new_page()
    page.goto(visit.url)
    page.locator("dialog input").fill("not the token of this")
    page.keyboard.press("Enter")
    again = page.locator("dialog", has_text="not the right one").inner_text()
    page.close()
    return {"asked_again": again}


def _answer(page: Page) -> Found:
    """Markdown of a model that means no good."""
    ask(page, "prices")
    answered(page)
    body = page.locator("article.answer .markdown")
    work, used = page.locator(".work summary").inner_text(), [_used(page)]
    page.reload()
    page.locator(".work").wait_for()
    page.locator("#used:not(:empty)").wait_for()
    used.append(_used(page))
    page.locator(".code button").click()
    page.locator(".code button", has_text="Copied").wait_for()
    return {
        "work": work,
        "used": used,
        "drawn": [
            body.locator(tag).count() for tag in ("table", "ol", "pre", "strong", "h3", "p br")
        ],
        "links": [each.get_attribute("href") for each in body.locator("a").all()],
        "rel": body.locator("a").first.get_attribute("rel"),
        "made_of_text": body.locator("img, script, iframe, form, object").count(),
        "owned": page.evaluate("typeof owned !== 'undefined'"),
        "copied": page.evaluate("navigator.clipboard.readText()"),
        "sources": body.locator(".sources li").all_inner_texts(),
        "title": page.locator("#title").inner_text(),
    }


def _goes_on(visit: Visit, page: Page) -> Found:
    """A call that needs leave and waits at a gate: reloaded, looked at and sent to by another."""
    other = visit.tab(page.url)
    other.locator("article.answer").first.wait_for()
    ask(page, "go ahead")
    page.locator(".asked").wait_for()
    other.locator("#message").fill("me too")
    other.keyboard.press("Enter")
    other.locator("#problem:not(:empty)").wait_for()
    found: Found = {
        "approval": page.locator(".asked").inner_text(),
        "told_busy": other.locator("#problem").inner_text(),
        "not_lost": other.locator("#message").input_value(),
    }
    other.locator(".asked").wait_for()  # it sees the same question
    page.locator(".asked button", has_text="yes, once").click()
    other.locator(".asked").wait_for(state="detached")
    page.locator(".call.running").wait_for()
    found["before"] = page.locator(".row .name").all_inner_texts()
    page.reload()
    page.locator(".call.running").wait_for()
    found["after"] = page.locator(".going .row .name").all_inner_texts()
    found["once"] = page.locator("article.request").all_inner_texts()
    visit.relay.cut()
    page.locator("#banner:not([hidden])").wait_for()
    found["lost"] = page.locator("#banner").inner_text()
    visit.relay.mend()
    page.locator("#banner").wait_for(state="hidden")
    visit.open_gate("first")
    found["both"] = ["first is open" in answered(each) for each in (page, other)]
    other.close()
    return found


def _questions(page: Page) -> Found:
    """A form that is longer than the window, with a wrong value, and an address."""
    page.set_viewport_size({"width": WIDTHS[-1], "height": 320})
    ask(page, "book a table")
    page.locator(".asked input").wait_for()
    page.evaluate(PAINTED)
    begun = page.evaluate(_FORM_BEGINS)
    page.set_viewport_size({"width": WIDTHS[-1], "height": 800})
    page.locator(".asked input").fill("20")
    page.locator(".asked .main").click()
    wrong = page.locator(".asked input:invalid").evaluate("each => each.validity.rangeOverflow")
    page.locator(".asked input").fill("3")
    page.locator(".asked select").select_option("t")
    page.locator(".asked .main").click()
    found: Found = {"begun": begun, "wrong": wrong, "form": answered(page)}
    ask(page, "grant it")
    page.locator(".asked .address").wait_for()
    found["address"] = page.locator(".asked .address").inner_text()
    page.locator(".asked button", has_text="I have been there").click()
    return found | {"visited": answered(page)}


def _picture(page: Page, file: Path) -> Found:
    ask(page, f"make a thumbnail of {file}")
    answered(page)
    image = page.locator(".gallery img")
    image.wait_for()
    return {"picture": image.evaluate("each => [each.naturalWidth, each.alt]")}


def _documents(page: Page) -> Found:
    """A file that is dropped, once more, and one of a name that can't be."""

    def drop(name: str) -> None:
        page.dispatch_event("body", "drop", {"dataTransfer": page.evaluate_handle(_FILE, name)})

    late: list[Route] = []

    def hold_first(route: Route) -> None:
        """Keep the first list back, which has no document yet, until another has come."""
        if late:
            route.continue_()
        else:
            late.append(route)

    page.route("**/documents?*", hold_first)
    drop("notes.md")
    page.locator("#documents li", has_text="notes.md").wait_for()
    with page.expect_response("**/documents?*"):
        late[0].fulfill(json={"documents": [], "is_cut": False})
    page.unroute("**/documents?*")
    page.evaluate("fetch('health').then(given => given.text())")  # behind what was drawn of it
    listed = page.locator("#documents li", has_text="notes.md").count()
    drop("notes.md")
    taken = page.locator("#uploads .trouble")
    taken.wait_for()
    found: Found = {"taken": taken.inner_text(), "not_undone": listed}
    page.locator("#uploads button", has_text="Replace it").click()
    page.locator("#uploads li", has_text="added").last.wait_for()
    drop(".hidden")
    taken.wait_for()
    found["hidden"] = taken.inner_text()
    page.locator("#uploads button", has_text="Dismiss").click()
    found["documents"] = page.locator("#documents li").all_inner_texts()
    page.locator("#servers summary", has_text="math").click()
    page.locator("#servers details[open] li").first.wait_for()
    found["tools"] = page.locator("#servers details[open] li b").all_inner_texts()
    found["state"] = page.locator("#servers details[open] .state").inner_text()
    page.locator("#panel .close").click()
    return found


def _many(page: Page) -> Found:
    """Two thousand events, as they come and once more."""
    page.evaluate(_LONG_TASKS)
    ask(page, "many sums")
    found: Found = {"many": answered(page), "longest_task_ms": page.evaluate("window.longest")}
    found["elements"] = page.locator("*").count()
    page.reload()
    page.locator(".work summary", has_text="5 plans").click()
    page.locator(".steps > .item.plan").last.wait_for()  # steps are drawn when they are unfolded
    found["kept_plans"] = page.locator(".steps > .item.plan").count()
    found["folded"] = page.locator(".steps .earlier").first.inner_text()
    shown = page.locator(".row").count()
    page.locator(".steps .earlier").first.click()
    found["unfolded"] = page.locator(".row").count() - shown
    return found


def _written(page: Page) -> Found:
    """An answer that comes word by word; when there is some of it, somebody scrolls to the top."""
    page.evaluate(_GROWING)
    ask(page, "write it out")
    answered(page)
    return {
        "grown": page.evaluate("seen.lengths.size"),
        "stays": page.evaluate("seen.block.isConnected"),
        "moved": page.evaluate("document.getElementById('log').scrollTop"),
        "written": page.locator("article.answer .body").last.locator("> *").count(),
    }


def _stopped(page: Page) -> Found:
    ask(page, "hold again")
    page.locator(".call.running").wait_for()
    page.keyboard.press("Escape")
    return {"stopped": answered(page)}


def _parts(visit: Visit, page: Page, axe: str, folder: Path | None) -> Found:
    """Parts of a request while they run, in each width and colour; what keeps people from it."""
    ask(page, PARTS)
    for _ in range(2):
        page.locator(".asked button:not(:disabled)", has_text="yes, once").click()
    page.locator(".parts .call.running").nth(1).wait_for()
    found: Found = {"beside": page.evaluate(_INLINE), "sideways": _sideways(page, folder)}
    page.set_viewport_size({"width": WIDTHS[0], "height": 800})
    found["below"] = page.evaluate(_INLINE)
    page.locator("#openpanel").click()
    page.locator("#servers details").first.wait_for()
    found["barriers"] = _barriers(page, axe)
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": WIDTHS[-1], "height": 800})
    found["barriers"] = [*_barriers(page, axe), found["barriers"]]
    visit.open_gate("second")
    return found | {"compared": answered(page)}


def _barriers(page: Page, axe: str) -> list[object]:
    page.evaluate(axe)  # as a debugger: the policy lets none in
    found: list[object] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        found.append(page.evaluate(_AXE))
    return found


def _sideways(page: Page, folder: Path | None) -> list[object]:
    """By how much the page is wider than the window, in each width and colour."""
    beyond: list[object] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            beyond.append(page.evaluate("document.documentElement.scrollWidth - innerWidth"))
            if folder is not None:
                page.screenshot(path=str(folder / f"{scheme}-{width}.png"))
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": WIDTHS[-1], "height": 800})
    return beyond


def _by_keyboard(page: Page) -> Found:
    """What keys alone do: past the list, to the search, down to a conversation, into it."""
    page.locator("#new").click()
    page.locator(".example").first.click()
    example = page.locator("#message").input_value()
    ask(page, "prices")
    answered(page)
    page.reload()
    page.locator("#list .choice").nth(1).wait_for()
    first = page.evaluate("document.activeElement.id")
    page.evaluate("document.getElementById('skip').focus()")
    page.keyboard.press("Enter")
    second = page.evaluate("document.activeElement.id")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    page.keyboard.type("prices")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("#list .choice >> nth=1").and_(page.locator("[aria-current]")).wait_for()
    third = page.evaluate("document.activeElement.id")
    page.locator("#message").fill("one")
    page.keyboard.press("Shift+Enter")
    line = page.locator("#message").input_value()
    return {"example": example, "focused": [first, second, third], "line": line}


def _renamed(page: Page) -> Found:
    """Under a search that the new name does not fit; then back to the conversation before."""
    page.locator("#search").fill("prices")
    current = page.locator("#list li:has([aria-current])")
    current.hover()
    current.locator(".tool").first.click()
    page.locator("dialog input").fill("What shops ask for")
    page.keyboard.press("Enter")
    renamed = page.locator("#list .choice", has_text="What shops ask for")
    renamed.and_(page.locator(":focus")).wait_for()
    title = page.locator("#title")
    names = [title.inner_text(), page.title()]
    page.locator("#search").fill("")
    page.locator("#list .choice:not([aria-current])").first.click()
    page.locator("#title", has_not_text="What shops ask for").wait_for()
    other = title.inner_text()
    page.go_back()
    page.locator("#title", has_text="What shops ask for").wait_for()
    return {"renamed": names, "back_from": other}


def _deleted(page: Page) -> Found:
    before = page.locator("#list .choice").count()
    page.locator("#list li").first.hover()
    page.locator("#list .remove").first.click()
    page.locator("dialog button", has_text="Cancel").click()
    page.locator("#list .remove").first.click()
    page.locator("dialog button", has_text="Delete").click()
    page.locator(f"#list:not(:has(li:nth-child({before})))").wait_for()
    return {"deleted": page.locator("#list .choice").count() == before - 1}


def main(chromium: str, axe: Path, url: str, token: str, gates: Path, folder: Path | None) -> Found:
    """Visit the page; what is found, by name."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, timeout=LAUNCH_TIMEOUT_MS, args=FLAGS
        )
        context = browser.new_context(
            viewport={"width": WIDTHS[-1], "height": 800}, color_scheme="light"
        )
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        visit = Visit(context, url, token, gates)
        found = _token(visit)
        page = visit.tab()
        found |= _answer(page)
        found |= _goes_on(visit, page)
        found |= _questions(page)
        found |= _picture(page, gates.parent / "picture.png")
        found |= _documents(page)
        found |= _many(page)
        found |= _written(page)
        found |= _stopped(page)
        found |= _parts(visit, page, axe.read_text(encoding="utf-8"), folder)
        found |= _by_keyboard(page)
        found |= _renamed(page)
        found |= _deleted(page)
        found |= {"complaints": visit.complaints, "refused": visit.refused}
        found |= {"requests": visit.requests, "url": visit.url}
        browser.close()
        return found


def _run(words: Sequence[str]) -> None:
    chromium, axe, url, token, gates, *folder = words
    shots = Path(folder[0]) if folder else None
    found = json.dumps(main(chromium, Path(axe), url, token, Path(gates), shots))
    if shots is not None:
        (shots / "found.json").write_text(found, encoding="utf-8")
    sys.stdout.write(found + "\n")


if __name__ == "__main__":
    _run(sys.argv[1:])
