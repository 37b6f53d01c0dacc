"""Pictures in documents: made small enough, described, and put into the text."""

import hashlib
import io
import warnings
from collections.abc import Callable

from PIL import Image, ImageOps

from servers.reading.limits import Clock, Limits
from servers.reading.markdown import as_title, cleaned
from servers.reading.pictures.captioner import Captioner, CaptionerUnavailable

SIDE_MIN_PIXELS = 48
AREA_MIN_PIXELS = 10_000
"""Smaller ones are rules, bullets and icons."""

SECONDS_NEEDED = 1.0
"""With less time left than this no picture is begun."""


class Pictures:
    """Describes the pictures of one file, within its bounds.

    The captioner is asked for at the first picture. The same picture is described once. What
    could not be described is said in `notes`.
    """

    def __init__(
        self, open_captioner: Callable[[], Captioner | None], limits: Limits, clock: Clock
    ) -> None:
        """Nothing is opened yet."""
        self._open_captioner = open_captioner
        self._captioner: Captioner | None = None
        self._is_opened = False
        self._limits = limits
        self._clock = clock
        self._known: dict[bytes, str] = {}
        self._seconds = 0.0
        self._left_out = 0
        self._failure = ""

    def notes(self) -> tuple[str, ...]:
        """Lines for the status."""
        left_out = (
            f"pictures left out: {self._left_out} (the first {self._limits.pictures} of a file are "
            "described, while there is time)"
        )
        return tuple(line for line in (self._failure, left_out if self._left_out else "") if line)

    def describe(self, image: bytes, alt: str = "") -> str:
        """A paragraph about a picture in a document; empty if there is nothing to say."""
        digest = hashlib.sha256(image).digest()
        if digest in self._known:
            return ""  # it stands in the text already
        said = self._described_in_bounds(digest, image)
        return picture_paragraph(alt, said)

    def can_read(self) -> bool:
        """Whether there is anything that describes pictures."""
        return self._opened() is not None

    def _described_in_bounds(self, digest: bytes, image: bytes) -> str:
        if self._opened() is None or not is_worth_looking(image, self._limits):
            return ""
        spent = self._seconds >= self._limits.picture_seconds
        if spent or len(self._known) >= self._limits.pictures:
            self._left_out += 1
            return ""
        before = self._clock.left()
        self._known[digest] = self.read(image)
        self._seconds += before - self._clock.left()
        return self._known[digest]

    def read(self, image: bytes) -> str:
        """What a picture says that is a document, or a page of one, itself."""
        captioner = self._opened()
        if captioner is None:
            return ""
        if self._clock.left() < SECONDS_NEEDED:
            self._left_out += 1
            return ""
        png = as_png(image, self._limits)
        if png is None:
            return ""
        try:
            return cleaned(captioner.caption(png) or "").strip()
        except CaptionerUnavailable as error:
            self._failure = f"pictures are not described: {error}"
            self._captioner = None
            return ""

    def _opened(self) -> Captioner | None:
        if not self._is_opened:
            self._is_opened = True
            try:
                self._captioner = self._open_captioner()
            except CaptionerUnavailable as error:
                self._failure = f"pictures are not described: {error}"
        return self._captioner


def picture_paragraph(alt: str, said: str = "") -> str:
    """How a picture stands in the markdown: `[Picture: its alternative text. What it says]`."""
    # File names and "image" are what programs write when nobody describes a picture.
    name = as_title(alt)
    if name.lower().endswith((".png", ".jpg", ".jpeg", ".gif", ".emf", ".wmf", ".webp")):
        name = ""
    words = ". ".join(part.rstrip(".") for part in (name, said) if part)
    return f"[Picture: {words}]" if words else ""


def is_worth_looking(image: bytes, limits: Limits) -> bool:
    """Whether a picture is large enough to say something, and not too large; by its head alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about very large pictures, which are refused
        try:
            with Image.open(io.BytesIO(image)) as picture:
                width, height = picture.size
        except Exception:  # noqa: BLE001 - each decoder raises its own kind on damaged data
            return False
    pixels = width * height
    is_large_enough = min(width, height) >= SIDE_MIN_PIXELS and pixels >= AREA_MIN_PIXELS
    return is_large_enough and pixels <= limits.picture_pixels_max


def as_png(image: bytes, limits: Limits) -> bytes | None:
    """A picture as an upright RGB PNG within the bounds; None for one that is too small or broken.

    A GIF's first frame and a TIFF's first page are taken.
    """
    if not is_worth_looking(image, limits):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about large and damaged pictures; both are dealt with
        try:
            with Image.open(io.BytesIO(image)) as picture:
                upright = ImageOps.exif_transpose(picture).convert("RGBA")
        except Exception:  # noqa: BLE001 - each decoder raises its own kind on damaged data
            return None
    # On white, as paper is: letters on a transparent ground would turn black on black.
    page = Image.new("RGBA", upright.size, "white")
    page.alpha_composite(upright)
    flat = page.convert("RGB")
    share = (limits.picture_pixels / (flat.width * flat.height)) ** 0.5
    if share < 1:
        flat = flat.resize((max(1, int(flat.width * share)), max(1, int(flat.height * share))))
    buffer = io.BytesIO()
    flat.save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()
