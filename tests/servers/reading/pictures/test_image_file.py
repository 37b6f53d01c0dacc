"""Pictures that are files of their own."""

import io

import pytest
from PIL import Image

from servers.reading.limits import Limits
from servers.reading.source import ExtractionError
from tests.servers.reading.reading_checks import ScriptedCaptioner, extracted, png


def test_pictures_that_are_documents_give_what_they_say() -> None:
    found = extracted("red_barn.png", png(), ScriptedCaptioner(["A barn"]))
    assert (found.markdown, found.title) == ("A barn", "red_barn.png")
    unread = extracted("red_barn.png", png())
    assert unread.markdown == "[Picture: red barn]"
    assert "nothing here reads pictures" in unread.notes[0]
    with pytest.raises(ExtractionError, match="more than the"):
        extracted("a.png", png(), limits=Limits(picture_pixels_max=10_000))
    with pytest.raises(ExtractionError, match="damaged"):
        extracted("a.png", png()[:60])
    captioner = ScriptedCaptioner(["x"])
    extracted("a.png", png(400, 200), captioner, Limits(picture_pixels=20_000))
    assert Image.open(io.BytesIO(captioner.images[0])).size == (200, 100)
