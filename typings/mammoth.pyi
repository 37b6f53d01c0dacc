"""As much of mammoth 1 as is used; it ships no types."""

from collections.abc import Callable
from typing import BinaryIO

class Image:
    alt_text: str | None
    def open(self) -> BinaryIO: ...

class Result:
    value: str

class images:
    @staticmethod
    def img_element(func: Callable[[Image], dict[str, str]]) -> object: ...

def convert_to_html(fileobj: BinaryIO, *, style_map: str, convert_image: object) -> Result: ...
