"""Images in requests: which words attach a file, what a model is given, and what is refused."""

import io
import os
import struct
import zlib
from pathlib import Path
from typing import Literal

import pytest
from PIL import Image

from core.errors import UsageError
from core.ports import ImageInput
from modules.session.attached.attachments import IMAGES_MAX, Attached, images_note, read_attachments
from modules.session.attached.image_file import (
    FILE_SIZE_MAX_BYTES,
    LONG_SIDE_PIXELS,
    SENT_MAX_BYTES,
    size_of,
)

Mode = Literal["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16"]


def saved(
    path: Path, mode: Mode = "RGB", size: tuple[int, int] = (6, 4), **options: object
) -> Path:
    """Write a plain picture in the format of the path's suffix."""
    with path.open("wb") as file:
        Image.new(mode, size).save(
            file, format=Image.registered_extensions()[path.suffix], **options
        )
    return path


def png(folder: Path, name: str = "photo.png") -> bytes:
    return saved(folder / name).read_bytes()


async def only_image(request: str, folder: Path) -> ImageInput:
    (image,) = (await read_attachments(request, folder)).images
    return image


class TestWords:
    """What stands in the request."""

    @pytest.mark.parametrize(
        ("request_text", "left"),
        [
            ("what is in @photo.png?", "what is in photo.png?"),
            ("@photo.png", "photo.png"),
            ("(see @photo.png), please", "(see photo.png), please"),
            ("is '@photo.png' nice", "is 'photo.png' nice"),
            ('what is in @"photo.png"?', 'what is in "photo.png"?'),
            ("line\n@photo.png\nline", "line\nphoto.png\nline"),
            ("@./photo.png", "./photo.png"),
            ("wer ist das auf @photo.png…", "wer ist das auf photo.png…"),
            ("看 @photo.png。", "看 photo.png。"),
        ],
    )
    async def test_an_image_is_attached_and_its_name_stays(
        self, request_text: str, left: str, tmp_path: Path
    ) -> None:
        data = png(tmp_path)
        attached = await read_attachments(request_text, tmp_path)
        assert attached.text == left
        assert [image.data for image in attached.images] == [data]

    async def test_quotes_take_a_path_with_spaces(self, tmp_path: Path) -> None:
        png(tmp_path, "my photo.png")
        attached = await read_attachments("what is @'my photo.png' of?", tmp_path)
        assert attached.text == "what is 'my photo.png' of?"
        assert attached.images[0].name == "my photo.png"

    async def test_absolute_paths_and_the_home_folder_are_understood(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        png(tmp_path)
        for name in (f"{tmp_path}/photo.png", "~/photo.png"):
            assert (await only_image(f"@{name}", Path("/"))).name == name

    @pytest.mark.parametrize(
        "text",
        [
            "mail me@photo.png or ann@example.org",
            "ask @ann about it",
            "a decorator is @property",
            "npm install @types/node",
            "see @https://example.org/photo.png",
            'an open quote @"photo.png',
            "@ photo.png",
            "nothing at all",
        ],
    )
    async def test_everything_else_stays_text(self, text: str, tmp_path: Path) -> None:
        png(tmp_path)
        assert await read_attachments(text, tmp_path) == Attached(text)

    async def test_images_keep_the_order_of_the_text_and_come_once(self, tmp_path: Path) -> None:
        for name in ("b.png", "a.png"):
            png(tmp_path, name)
        attached = await read_attachments("@b.png or @a.png, or @b.png again", tmp_path)
        assert [image.name for image in attached.images] == ["b.png", "a.png"]
        assert attached.text == "b.png or a.png, or b.png again"

    async def test_a_missing_image_is_an_error_that_says_where_it_was_looked_for(
        self, tmp_path: Path
    ) -> None:
        with pytest.raises(
            UsageError, match=r"@cat\.PNG can't be attached: No such file"
        ) as caught:
            await read_attachments("what is @cat.PNG?", tmp_path)
        assert str(tmp_path / "cat.PNG") in str(caught.value)

    async def test_there_is_a_limit_to_how_many(self, tmp_path: Path) -> None:
        names = [f"{number}.png" for number in range(IMAGES_MAX + 1)]
        for name in names:
            png(tmp_path, name)
        with pytest.raises(UsageError, match="more than 5 images"):
            await read_attachments(" ".join(f"@{name}" for name in names), tmp_path)

    @pytest.mark.parametrize(
        ("words", "left", "name"),
        [
            ("sum up @notes.txt.", "sum up notes.txt.", "notes_txt"),
            ('@"my notes.txt" please', '"my notes.txt" please', "my_notes_txt"),
            ("(see @./README)", "(see ./README)", "readme"),
            ("@json", "json", "file_json"),
            ("@2024.csv", "2024.csv", "file_2024_csv"),
        ],
    )
    async def test_a_text_file_goes_along_under_a_name_that_plans_can_have(
        self, words: str, left: str, name: str, tmp_path: Path
    ) -> None:
        for file in ("notes.txt", "my notes.txt", "README", "json", "2024.csv"):
            (tmp_path / file).write_bytes(b"\xef\xbb\xbfa\r\nb\xe9\n")
        attached = await read_attachments(words, tmp_path)
        assert attached.text == left
        (text,) = attached.texts
        assert (text.name, text.text) == (name, "a\nb\ufffd\n")
        assert text.described == f"{text.source} (2 lines, 5 characters)"
        assert text.source in left

    async def test_files_of_one_name_are_told_apart_and_come_once(self, tmp_path: Path) -> None:
        for folder in ("a", "b"):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "x.txt").write_text(folder)
        attached = await read_attachments("@a/x.txt @b/x.txt @a/x.txt", tmp_path)
        assert [(text.name, text.text) for text in attached.texts] == [
            ("x_txt", "a"),
            ("x_txt_2", "b"),
        ]

    async def test_a_folder_goes_along_as_the_list_of_what_is_in_it(self, tmp_path: Path) -> None:
        (tmp_path / "notes" / "inner").mkdir(parents=True)
        (tmp_path / "notes" / "b.txt").write_text("12345")
        (tmp_path / "notes" / ".hidden").touch()
        (text,) = (await read_attachments("what is in @notes/?", tmp_path)).texts
        assert text.text == "b.txt  5 bytes\ninner/"
        assert text.name == "notes_listing"
        assert text.described.startswith("notes/ (a folder's list)")

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("read @nots.txt", "did you mean notes.txt"),
            ("read @./gone", "correct the path, or leave out the @"),
            ('read @"no such.md"', "No such file"),
            ("read @pipe", "can't be attached"),
            ("read @binary", "holds no text"),
            ("read @large.txt", "more than 1,000,000 bytes"),
            ("read @most.txt and @notes.txt", "1,000,000 characters in all"),
            (" ".join(f"@f{number}.txt" for number in range(11)), "more than 10 files"),
        ],
    )
    async def test_what_can_t_go_along_is_told_and_nothing_sent(
        self, words: str, told: str, tmp_path: Path
    ) -> None:
        (tmp_path / "notes.txt").write_text("notes")
        (tmp_path / "binary").write_bytes(b"a\0b")
        (tmp_path / "large.txt").write_bytes(b"x" * 1_000_001)
        (tmp_path / "most.txt").write_bytes(b"x" * 999_999)
        os.mkfifo(tmp_path / "pipe")
        for number in range(11):
            (tmp_path / f"f{number}.txt").touch()
        with pytest.raises(UsageError) as caught:
            await read_attachments(words, tmp_path)
        assert told in str(caught.value)

    async def test_thousands_of_signs_are_no_trouble(self, tmp_path: Path) -> None:
        text = '@" ' * 15_000 + "@a.,' " * 10_000
        assert (await read_attachments(text, tmp_path)).images == ()


class TestPictures:
    """What a model is given of a file."""

    async def test_a_small_png_or_jpeg_goes_as_it_is_whatever_its_suffix(
        self, tmp_path: Path
    ) -> None:
        jpeg = saved(tmp_path / "a.jpg").read_bytes()
        (tmp_path / "b.png").write_bytes(jpeg)
        assert await only_image("@b.png", tmp_path) == ImageInput("b.png", "image/jpeg", jpeg)

    @pytest.mark.parametrize(
        ("name", "mode", "media_type"),
        [
            ("a.gif", "P", "image/png"),
            ("a.bmp", "RGB", "image/png"),
            ("a.tif", "1", "image/png"),
            ("a.tif", "CMYK", "image/png"),
            ("a.webp", "RGB", "image/jpeg"),
            ("a.webp", "RGBA", "image/png"),
            ("a.avif", "RGB", "image/jpeg"),
            ("a.jpg", "CMYK", "image/jpeg"),
            ("a.png", "I;16", "image/png"),
        ],
    )
    async def test_other_formats_become_what_every_model_reads(
        self, name: str, mode: Mode, media_type: str, tmp_path: Path
    ) -> None:
        saved(tmp_path / name, mode)
        image = await only_image(f"@{name}", tmp_path)
        with Image.open(io.BytesIO(image.data)) as written:
            assert written.size == (6, 4) == size_of(image)
            assert written.mode in ("L", "RGB", "RGBA")
        assert image.media_type == media_type

    async def test_sixteen_bits_of_grey_keep_their_brightness(self, tmp_path: Path) -> None:
        Image.new("I;16", (3, 3), 128 * 257).save(tmp_path / "a.png")
        image = await only_image("@a.png", tmp_path)
        with Image.open(io.BytesIO(image.data)) as written:
            assert written.getpixel((1, 1)) == 128

    async def test_a_large_picture_is_scaled_down(self, tmp_path: Path) -> None:
        saved(tmp_path / "a.jpg", size=(3_000, 300))
        saved(tmp_path / "a.png", "RGBA", size=(100, 2_000))
        attached = await read_attachments("@a.jpg @a.png", tmp_path)
        assert [size_of(image) for image in attached.images] == [
            (LONG_SIDE_PIXELS, 157),
            (78, LONG_SIDE_PIXELS),
        ]

    async def test_a_picture_of_many_bytes_becomes_one_of_few(self, tmp_path: Path) -> None:
        noise = Image.frombytes("RGBA", (890, 890), os.urandom(4 * 890 * 890))
        noise.save(tmp_path / "a.png", compress_level=0)
        image = await only_image("@a.png", tmp_path)
        assert image.media_type == "image/jpeg"
        assert len(image.data) <= SENT_MAX_BYTES
        assert size_of(image) == (890, 890)

    async def test_a_photo_is_turned_upright_and_keeps_its_place_to_itself(
        self, tmp_path: Path
    ) -> None:
        exif = Image.Exif()
        exif[0x0112] = 6  # orientation: turn by 90 degrees
        exif[0x010E] = "at home"  # description
        saved(tmp_path / "a.jpg", exif=exif)
        image = await only_image("@a.jpg", tmp_path)
        assert size_of(image) == (4, 6)
        assert b"at home" not in image.data
        saved(tmp_path / "b.jpg", comment=b"at home")
        assert b"at home" not in (await only_image("@b.jpg", tmp_path)).data

    async def test_the_size_of_a_jpeg_is_found_behind_other_segments(self, tmp_path: Path) -> None:
        posing = b"\xff\xc0\x00\x11\x08\x00\x01\x00\x01"
        saved(tmp_path / "a.jpg", icc_profile=posing * 3, progressive=True)
        image = await only_image("@a.jpg", tmp_path)
        assert posing in image.data
        assert size_of(image) == (6, 4)


def chunk(kind: bytes, data: bytes) -> bytes:
    """One chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width: int, height: int) -> bytes:
    """A PNG that says it is so large, and whose pixels take no room in the file."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0" * 1_000_000)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


class TestRefused:
    """Files that are not sent, each with a message that says why."""

    @pytest.mark.parametrize("side", [8_100, 10_000, 60_000])
    async def test_pictures_that_would_fill_the_memory(self, side: int, tmp_path: Path) -> None:
        (tmp_path / "a.png").write_bytes(bomb(side, side))
        with pytest.raises(UsageError, match=r"@a\.png has more than 64 million pixels"):
            await read_attachments("@a.png", tmp_path)

    @pytest.mark.parametrize("kept", [0.5, 0.9])
    async def test_damaged_files(self, kept: float, tmp_path: Path) -> None:
        noise = Image.frombytes("RGB", (60, 60), os.urandom(60 * 60 * 3))
        for name in ("a.png", "a.jpg"):
            noise.save(tmp_path / name)
            data = (tmp_path / name).read_bytes()
            (tmp_path / name).write_bytes(data[: int(len(data) * kept)])
            with pytest.raises(UsageError, match=rf"@{name} is damaged: .*; attach a whole file"):
                await read_attachments(f"@{name}", tmp_path)

    @pytest.mark.parametrize("data", [b"", b"no image", b"%!PS-Adobe-3.0 EPSF-3.0\n"])
    async def test_files_that_are_no_images(self, data: bytes, tmp_path: Path) -> None:
        (tmp_path / "a.png").write_bytes(data)
        with pytest.raises(UsageError, match=r"@a\.png is not an image that can be read"):
            await read_attachments("@a.png", tmp_path)

    async def test_files_that_are_too_large(self, tmp_path: Path) -> None:
        with (tmp_path / "a.png").open("wb") as file:
            file.truncate(FILE_SIZE_MAX_BYTES + 1)
        with pytest.raises(UsageError, match=r"@a\.png is larger than 20 MB"):
            await read_attachments("@a.png", tmp_path)

    async def test_what_is_no_file(self, tmp_path: Path) -> None:
        (tmp_path / "folder.png").mkdir()
        os.mkfifo(tmp_path / "pipe.png")
        for name in ("folder.png", "pipe.png"):
            with pytest.raises(UsageError, match=f"{name} is not a file"):
                await read_attachments(f"@{name}", tmp_path)

    async def test_paths_that_no_file_can_have(self, tmp_path: Path) -> None:
        for name in ("a\0.png", "a" * 300 + ".png", "~nobody_of_that_name/a.png"):
            with pytest.raises(UsageError, match="can't be attached"):
                await read_attachments(f"@{name}", tmp_path)


class TestNote:
    """What a prompt says of the images."""

    async def test_a_model_that_sees_is_told_names_and_order(self, tmp_path: Path) -> None:
        png(tmp_path)
        saved(tmp_path / "b.jpg", size=(9, 8))
        images = (await read_attachments("@photo.png @b.jpg", tmp_path)).images
        assert images_note(images, seen=True) == (
            "The user attached, in this order: photo.png (PNG, 6 × 4); b.jpg (JPEG, 9 × 8)."
        )

    async def test_a_model_that_does_not_see_is_told_to_say_so(self, tmp_path: Path) -> None:
        png(tmp_path)
        images = (await read_attachments("@photo.png", tmp_path)).images
        assert images_note(images, seen=False) == (
            "The user attached photo.png (PNG, 6 × 4); you can't see it, so say so if the answer "
            "depends on it."
        )

    def test_without_images_there_is_nothing_to_say(self) -> None:
        assert images_note((), seen=True) == images_note((), seen=False) == ""
