"""Follows a run by the browser's own EventSource, over a connection that is cut in its midst.

`python -m tests.real.event_source_visit CHROMIUM URL RUN GATES NAME...`, with the Python that has
Playwright. The run stands at the gates `first` and `second`, which are opened here; each NAME is
one of its kinds of events. Prints what the browser has heard as one JSON object.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from playwright.sync_api import sync_playwright

from tests.real.page_visit import LAUNCH_TIMEOUT_MS
from tests.real.relay import HOST, Relay

WAIT_MS: Final = 20_000
_FOLLOW: Final = """([run, names]) => {
  window.heard = [];
  window.losses = 0;
  window.source = new EventSource(`/runs/${run}/events`);
  source.onerror = () => { losses += 1; };
  for (const name of names)
    source.addEventListener(name, told => heard.push([Number(told.lastEventId), name,
      JSON.parse(told.data).type]));
  window.calls = () => heard.filter(([, name]) => name === "tool.start").length;
}"""
_IS_LOST: Final = "() => losses > 0 && source.readyState === EventSource.CONNECTING"
_IS_OVER: Final = "() => source.readyState === EventSource.CLOSED"


def main(chromium: str, url: str, run: str, gates: Path, names: Sequence[str]) -> object:
    """What was heard: id, name and type of each event, and how often the connection was lost."""
    relay = Relay(int(url.rpartition(":")[2]))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, timeout=LAUNCH_TIMEOUT_MS)
        context = browser.new_context(viewport={"width": 800, "height": 600}, color_scheme="light")
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.goto(f"http://{HOST}:{relay.port}/")
        page.evaluate(_FOLLOW, [run, names])
        page.wait_for_function("() => calls() === 1")
        before = page.evaluate("heard.length")
        relay.cut()
        page.wait_for_function(_IS_LOST)
        (gates / "first").touch()
        relay.mend()
        page.wait_for_function("() => calls() === 2")
        (gates / "second").touch()
        page.wait_for_function(_IS_OVER)  # nobody closes it but the service, by 204
        found = {"before": before, "heard": page.evaluate("heard")}
        browser.close()
        return found


if __name__ == "__main__":
    program, address, run_id, folder, *kinds = sys.argv[1:]
    sys.stdout.write(json.dumps(main(program, address, run_id, Path(folder), kinds)))
