"""Thumbnails: every kind of picture, turned upright, and everything that is no picture."""

import io
import os
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image
from PIL.Image import Transpose

from servers.math import thumbnail
from servers.math.thumbnail import EXIF_ORIENTATION, make_thumbnail
from servers.shared.errors import ToolInputError

RED, BLUE = (255, 0, 0), (0, 0, 255)


def opened(png: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(png))
    picture.load()
    assert picture.format == "PNG"
    return picture


def saved(picture: Image.Image, path: Path) -> str:
    picture.save(path)
    return str(path)


@pytest.mark.parametrize(
    ("size", "small"),
    [((400, 200), (100, 50)), ((30, 300), (10, 100)), ((20, 10), (20, 10)), ((3000, 1), (100, 1))],
)
def test_proportions_are_kept_and_nothing_is_enlarged(
    tmp_path: Path, size: tuple[int, int], small: tuple[int, int]
) -> None:
    made = make_thumbnail(saved(Image.new("RGB", size, RED), tmp_path / "a.png"))
    assert (made.width, made.height) == opened(made.png).size == small
    assert (made.original_width, made.original_height) == size


@pytest.mark.parametrize(
    ("mode", "colour", "name", "expected"),
    [
        ("1", 1, "a.png", 255),
        ("L", 200, "a.png", 200),
        ("LA", (200, 255), "a.png", (200, 200, 200, 255)),
        ("RGB", RED, "a.bmp", RED),
        ("RGBA", (*RED, 255), "a.tga", (*RED, 255)),
        ("P", 0, "a.gif", (0, 0, 0, 255)),
        ("CMYK", (0, 255, 255, 0), "a.tif", RED),
        ("I;16", 0x8080, "a.png", 128),
        ("I;16", 0xFFFF, "a.tif", 255),
        ("F", 0.5, "a.tif", 0),
    ],
)
def test_every_mode_becomes_a_png_of_the_same_colour(
    tmp_path: Path,
    mode: str,
    colour: int | float | tuple[int, ...],
    name: str,
    expected: int | tuple[int, ...],
) -> None:
    made = make_thumbnail(saved(Image.new(mode, (200, 200), colour), tmp_path / name))
    assert opened(made.png).getpixel((50, 50)) == expected


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_cameras_orientation_is_applied_and_its_data_dropped(
    tmp_path: Path, orientation: int
) -> None:
    upright = Image.new("RGB", (200, 100), BLUE)
    upright.paste(RED, (0, 0, 100, 50))
    stored_turned = {
        1: None,
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_90,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_270,
    }[orientation]
    stored = upright if stored_turned is None else upright.transpose(stored_turned)
    exif = Image.Exif()
    exif[EXIF_ORIENTATION] = orientation
    stored.save(tmp_path / "photo.png", exif=exif)

    picture = opened(make_thumbnail(str(tmp_path / "photo.png")).png)

    assert picture.size == (100, 50)
    assert picture.getpixel((10, 10)) == RED
    assert [picture.getpixel(at) for at in ((90, 10), (10, 40), (90, 40))] == [BLUE] * 3
    assert not picture.getexif()


def test_an_animation_gives_its_first_frame(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (120, 120), colour) for colour in (RED, BLUE)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert opened(make_thumbnail(str(tmp_path / "a.gif")).png).getpixel((5, 5)) == (*RED, 255)


def test_a_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    saved(Image.new("L", (10, 10)), tmp_path / "a.png")
    assert make_thumbnail("~/a.png").width == 10


def test_what_is_no_picture_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "empty.png").touch()
    (tmp_path / "vector.eps").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    os.mkfifo(tmp_path / "pipe.png")
    for name, says in {
        "missing.png": "there is no file .*missing.png",
        ".": "is a folder; give the path of an image file",
        "text.png": "not an image in a known format",
        "empty.png": "not an image in a known format",
        "vector.eps": "not an image in a known format",
        "pipe.png": "is not a regular file",
        "nul\0.png": "null byte",
        "x" * 4000: "File name too long",
    }.items():
        with pytest.raises(ToolInputError, match=says):
            make_thumbnail(str(tmp_path / name))


def test_a_damaged_picture_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.jpg"
    Image.effect_noise((300, 300), 80).save(path)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(ToolInputError, match=r"can't read the image .*cut.jpg: .*truncated"):
        make_thumbnail(str(path))


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = Path(saved(Image.new("L", (10, 10)), tmp_path / "a.png"))
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root reads everything")
    with pytest.raises(ToolInputError, match="Permission denied"):
        make_thumbnail(str(path))


def test_a_decompression_bomb_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    for side in (9_000, 60_000):  # above our bound, and above the one at which Pillow refuses
        header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
        chunk = struct.pack(">I", 13) + b"IHDR" + header
        chunk += struct.pack(">I", zlib.crc32(b"IHDR" + header))
        idat = struct.pack(">I", 0) + b"IDAT" + struct.pack(">I", zlib.crc32(b"IDAT"))
        (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk + idat)
        with pytest.raises(ToolInputError, match=r"pixels"):
            make_thumbnail(str(tmp_path / "bomb.png"))


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "huge.png").open("wb") as file:
        file.truncate(thumbnail.FILE_SIZE_MAX_BYTES + 1)  # sparse: takes no room
    with pytest.raises(ToolInputError, match="50 MB"):
        make_thumbnail(str(tmp_path / "huge.png"))


def test_a_colour_that_stands_for_transparency_stays_transparent(tmp_path: Path) -> None:
    Image.new("RGB", (200, 200), RED).save(tmp_path / "a.png", transparency=RED)
    pixel = opened(make_thumbnail(str(tmp_path / "a.png")).png).getpixel((50, 50))
    assert isinstance(pixel, tuple)
    assert pixel[3] == 0
