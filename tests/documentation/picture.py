"""The README's picture of a terminal, drawn from a run of the first request."""

import io
import re
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from modules.terminal.answer import LABEL
from tests.command_line import INDIA, fresh_agent
from tests.documentation.pages import DOCS

PICTURE = DOCS / "terminal.svg"
COLUMNS = 112
_SVG = "{http://www.w3.org/2000/svg}"
_HOSTED_FONT = re.compile(r"@font-face \{[^}]*\}\s*")


def first_run() -> str:
    """What a terminal shows of `make run`: its command, the progress and the answer."""
    with tempfile.TemporaryDirectory() as home:
        done = fresh_agent(Path(home), INDIA)
    assert done.code == 0, done.err
    return f"$ make run\n{done.err}{LABEL} {done.out}"


def draw(shown: str) -> str:
    """An SVG of a terminal that shows these lines; it loads no font from the network."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for line in shown.splitlines():
        text = Text(line)
        text.highlight_regex(r"^\[[a-z]+\]", "dim")
        text.highlight_regex(rf"^\$ .*|^{LABEL}.*", "bold")
        console.print(text)
    picture = console.export_svg(title="Cortex-R", theme=MONOKAI, unique_id="run")
    return _HOSTED_FONT.sub("", picture)


def shown_by(picture: str) -> str:
    """The text that a drawn terminal shows, without what its lines are wrapped by."""
    drawn = ElementTree.fromstring(picture).iter(f"{_SVG}text")  # noqa: S314 - our own file
    texts = [node.text or "" for node in drawn if "title" not in node.get("class", "")]
    return "".join(texts)
