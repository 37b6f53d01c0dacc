"""Markdown as the text that is written to one terminal: its width, its colours, its links."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from modules.terminal.display.markdown import Layout, NotLaidOut, laid_out
from modules.terminal.display.pictures import pictures_in
from modules.terminal.display.region import has_colours
from modules.terminal.display.terminals import knows_links
from modules.terminal.screen import screen_on


def page_text(
    markdown: str,
    stream: TextIO,
    label: str,
    environ: Mapping[str, str],
    folders: Sequence[Path] = (),
) -> str | None:
    """The markdown laid out for the terminal behind a stream; None if it is to stay as it is.

    Sources are looked for in `folders`. Pictures that the text names stand below it, where the
    terminal can draw them.

    Without colours (NO_COLOR, TERM=dumb) no escape sequence is in it.
    """
    screen = screen_on(stream)
    is_plain = not has_colours(environ)
    try:
        has_links = not is_plain and knows_links(environ)
        page = laid_out(markdown, Layout(screen.width, has_links, folders), label)
    except NotLaidOut:
        return None
    if is_plain:
        return page.plain
    with screen.capture() as shown:
        screen.print(page, soft_wrap=True, end="")
    pictures = pictures_in(markdown, environ, screen.width)
    return f"{shown.get()}\n{pictures}" if pictures else shown.get()
