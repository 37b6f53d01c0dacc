"""Seven tabs of the page of the service, all but one of them unseen, while a run goes on.

A browser opens six connections to a host. Playwright has every tab believe that it is seen, so
Chromium is talked to over its own pipe here (`--remote-debugging-pipe`: JSON between NUL bytes).
"""

import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

import pytest

from tests.real.browser import chromium
from tests.real.serving import GATE, calls, serving

TABS: Final = 7

TIMEOUT_SECONDS: Final = 180

Answer = dict[str, Any]


class Tabs:
    """The tabs of one Chromium, by its pipe."""

    def __init__(self, to: BinaryIO, from_: BinaryIO) -> None:
        self._to = to
        self._from = from_
        self._numbers = itertools.count(1)

    def ask(self, method: str, session: str | None = None, **params: object) -> Answer:
        """What Chromium answers; what else it tells meanwhile is dropped."""
        number = next(self._numbers)
        asked = {"id": number, "method": method, "params": params}
        asked |= {"sessionId": session} if session else {}
        self._to.write(json.dumps(asked).encode() + b"\0")
        self._to.flush()
        while (told := self._told()).get("id") != number:
            pass
        assert "result" in told, told
        result: Answer = told["result"]
        return result

    def _told(self) -> Answer:
        text = b""
        while (sign := self._from.read(1)) != b"\0":
            assert sign, "the browser has ended"
            text += sign
        told: Answer = json.loads(text)
        return told

    def open(self, url: str) -> str:
        """Open a tab in front of the others; gives its session."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = str(self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        self.ask("Page.navigate", session, url=url)
        return session

    def value(self, session: str, expression: str) -> object:
        """What an expression comes to in a tab."""
        asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        return self.ask("Runtime.evaluate", session, **asked)["result"].get("value")

    def wait(self, session: str, condition: str) -> None:
        """Wait until a condition holds in a tab; the test's time limit ends it."""
        look = f"const look = () => {condition} ? done() : setTimeout(look, 20); look()"
        self.value(session, f"new Promise(done => {{ {look} }})")


@contextmanager
def browser(folder: Path) -> Generator[Tabs]:
    """Chromium without a window."""
    reads, to = os.pipe()
    from_, writes = os.pipe()
    words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
    command = [chromium(), *words, f"--user-data-dir={folder}", "about:blank"]
    joined = ["bash", "-c", f'exec "$@" 3<&{reads} 4>&{writes}', "bash", *command]
    with (
        subprocess.Popen(joined, pass_fds=(reads, writes), stderr=subprocess.DEVNULL) as process,
        os.fdopen(to, "wb") as sending,
        os.fdopen(from_, "rb") as receiving,
    ):
        os.close(reads)
        os.close(writes)
        tabs = Tabs(sending, receiving)
        try:
            yield tabs
            tabs.ask("Browser.close")
        finally:
            process.terminate()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.timeout(TIMEOUT_SECONDS)
def test_a_seventh_tab_opens_and_all_of_them_see_the_end(tmp_path: Path) -> None:
    (tmp_path / "gates").mkdir()
    hold = [calls("hold", "name='first'")]
    approved = ("--approve", "gate.hold(name=first)")
    with (
        serving(tmp_path, hold, GATE, words=approved) as url,
        browser(tmp_path / "chromium") as tabs,
    ):
        first = tabs.open(url)
        tabs.wait(first, "document.querySelector('#message')")
        tabs.value(
            first,
            "document.querySelector('#message').value = 'hold the door';"
            "document.querySelector('#compose').requestSubmit()",
        )
        tabs.wait(first, "location.hash && document.querySelector('.call.running')")
        address = str(tabs.value(first, "location.href"))
        every = [first]
        for _ in range(TABS - 1):
            every.append(tabs.open(address))
            tabs.wait(every[-1], "document.querySelector('.call.running')")
        assert tabs.value(every[0], "document.title") == "Working: hold the door · Cortex-R"
        (tmp_path / "gates" / "first").touch()
        for each in every:
            tabs.wait(each, "document.querySelector('.answer:not(.going) .markdown')")
        titles = [tabs.value(each, "document.title") for each in every]
        unseen, seen = "Answered: hold the door · Cortex-R", "hold the door · Cortex-R"
        assert titles == [unseen] * (TABS - 1) + [seen]
