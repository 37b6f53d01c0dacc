"""Pictures of tools and answers: kept, drawn in the terminal's form, bounded, never trusted."""

import base64
import io
import os
import re
from pathlib import Path

import pytest
from PIL import Image

from core.events import ToolCallFinished
from core.tools.content import ImageBlock
from core.turn import ToolCall
from modules.terminal.display.page import page_text
from modules.terminal.display.pictures import (
    ANSWER_PICTURES_MAX,
    FILES_KEPT,
    SIDE_PIXELS,
    Pictures,
    drawn,
    pictures_in,
)
from modules.terminal.progress import Progress
from tests.doubles import Terminal

KITTY = {"TERM": "xterm-kitty"}
ITERM = {"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}
PLAIN = {"TERM": "xterm-256color"}
COMMAND = re.compile(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\")


def picture(width: int = 40, height: int = 20, kind: str = "PNG", colour: int = 90) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), (colour, 9, 9)).save(buffer, kind)
    return buffer.getvalue()


def block(data: bytes) -> ImageBlock:
    return ImageBlock(base64.b64encode(data).decode(), "image/png")


def size_of(base64_text: str) -> tuple[int, int]:
    with Image.open(io.BytesIO(base64.b64decode(base64_text, validate=True))) as shown:
        assert shown.format == "PNG"
        return shown.size


def test_kitty_gets_a_png_in_pieces_and_is_asked_for_no_answer() -> None:
    noise = Image.frombytes("RGB", (90, 90), os.urandom(90 * 90 * 3))
    buffer = io.BytesIO()
    noise.save(buffer, "PNG")
    sent = COMMAND.findall(drawn(buffer.getvalue(), "kitty", 80))
    assert len(sent) > 2
    assert sent[0][0] == "a=T,f=100,q=2,c=9,m=1"
    assert {keys for keys, _ in sent[1:-1]} == {"m=1"}
    assert sent[-1][0] == "m=0"
    assert max(len(piece) for _, piece in sent) <= 4096
    assert size_of("".join(piece for _, piece in sent)) == (90, 90)


def test_iterm_gets_a_small_png_whatever_it_was_and_as_wide_as_there_is_room() -> None:
    sent = drawn(picture(3000, 1500, "JPEG"), "iterm", 30)
    head, _, text = sent.removesuffix("\a").partition(":")
    size = len(base64.b64decode(text))
    assert head == f"\x1b]1337;File=inline=1;size={size};width=30"
    assert size_of(text) == (SIDE_PIXELS, SIDE_PIXELS // 2)


def test_a_high_picture_leaves_the_screen_its_rows() -> None:
    assert "c=2," in drawn(picture(100, 2000), "kitty", 80)


@pytest.mark.parametrize("data", [b"", b"<svg/>", picture()[:30]])
def test_what_is_no_picture_is_neither_drawn_nor_kept(tmp_path: Path, data: bytes) -> None:
    assert drawn(data, "kitty", 80) == ""
    assert Pictures(tmp_path / "pictures", KITTY).keep(block(data), 80) is None
    assert Pictures(tmp_path / "pictures", KITTY).keep(ImageBlock("%", "image/png"), 80) is None
    assert not [*tmp_path.rglob("*.png")]


def test_pictures_of_tools_are_private_and_the_oldest_go(tmp_path: Path) -> None:
    pictures = Pictures(tmp_path / "pictures", PLAIN)
    first = pictures.keep(block(picture(colour=0)), 80)
    assert first is not None
    path, drawing = first
    assert drawing == ""
    assert path.read_bytes() == picture(colour=0)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    os.utime(path, (0, 0))
    for colour in range(1, FILES_KEPT + 1):
        pictures.keep(block(picture(colour=colour)), 80)
    assert len([*path.parent.iterdir()]) == FILES_KEPT
    assert not path.exists()


def test_an_answer_shows_the_pictures_that_it_names(tmp_path: Path) -> None:
    file = tmp_path / "my photo.png"
    file.write_bytes(picture())
    for named in (f"See `{file}`.", f"![it]({file})", f'"{file}"', f"<file://{file}>"):
        assert "width=4" in pictures_in(named, ITERM, 80), named
        assert pictures_in(named, PLAIN, 80) == ""
    bare = file.rename(tmp_path / "photo.png")
    assert "width=4" in pictures_in(f"It is in {bare}.", ITERM, 80)
    shown = page_text(f"It is in {bare}.", Terminal(), "Answer:", ITERM)
    assert shown is not None
    assert "1337;File" in shown
    assert "1337;File" not in (
        page_text(f"{bare}", Terminal(), "", ITERM | {"NO_COLOR": "1"}) or ""
    )


def test_an_answer_shows_few_pictures_and_waits_for_no_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    for number in range(ANSWER_PICTURES_MAX + 1):
        (tmp_path / f"{number}.png").write_bytes(picture())
    names = " ".join(str(path) for path in sorted(tmp_path.iterdir()))
    assert pictures_in(f"{tmp_path}/pipe.png {names}", ITERM, 80).count("1337") == 3
    assert pictures_in("a.png \0.png https://e.org/b.png " + "(" * 20_000, ITERM, 80) == ""


async def test_a_tools_picture_is_told_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-kitty")
    pictures = tmp_path / "pictures"
    call = ToolCall("math.create_thumbnail", {}, ok=True, result=1, seconds=0)
    event = ToolCallFinished(1, call, (block(picture()), block(b"x")))
    for environ in (KITTY, PLAIN):
        terminal = Terminal()
        await Progress(terminal, "normal", pictures=Pictures(pictures, environ))(event)
        shown = terminal.getvalue()
        assert f"picture of math.create_thumbnail: {pictures}/" in shown
        assert ".png\n" in shown
        assert "gave a picture that can't be read" in shown
        assert ("\x1b_G" in shown) == (environ == KITTY)
    quiet = Terminal()
    await Progress(quiet, "quiet", pictures=Pictures(pictures, KITTY))(event)
    assert quiet.getvalue() == ""
