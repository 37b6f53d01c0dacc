"""What becomes of a tool's result: text for people, one JSON object, files."""

import json
import math
from pathlib import Path

import pytest

from core.errors import StorageError
from core.tools.content import (
    AudioBlock,
    ContentBlock,
    ImageBlock,
    LinkBlock,
    ResourceBlock,
    TextBlock,
    ToolResult,
)
from core.values import JsonObject
from modules.cli.result_output import call_document, result_text, write_output

PNG = ImageBlock("aW1n", "image/png")
WAV = AudioBlock("YXVkaQ==", "audio/wav")


def result(*blocks: ContentBlock, structured: JsonObject | None = None) -> ToolResult:
    return ToolResult(blocks, structured)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (result(TextBlock("hello\nthere")), "hello\nthere"),
        (result(TextBlock("a"), TextBlock("b")), "a\nb"),
        (result(TextBlock('{ "a":1 }')), '{ "a":1 }'),
        (result(TextBlock('{"result": "x"}')), "x"),
        (result(), ""),
        (result(structured={"result": 7}), "7"),
        (result(structured={"result": "x"}), "x"),
        (result(structured={"a": [1, "ü"]}), '{"a": [1, "ü"]}'),
        (result(structured={"result": math.inf}), "inf"),
        (result(TextBlock('{"a":1}'), structured={"a": 1}), '{"a": 1}'),
        (result(TextBlock("a file"), structured={"a": 1}), '{"a": 1, "text": "a file"}'),
        (result(TextBlock("a file"), structured={}), "a file"),
        (
            result(TextBlock("a"), PNG, structured={}),
            "a\n[image/png, 3 bytes; --output FILE writes it]",
        ),
        (result(structured={}), "{}"),
        (result(PNG), "[image/png, 3 bytes; --output FILE writes it]"),
        (result(TextBlock("a"), WAV), "a\n[audio/wav, 4 bytes; --output FILE writes it]"),
        (
            result(PNG, structured={"w": 1}),
            '{"w": 1}\n[image/png, 3 bytes; --output FILE writes it]',
        ),
        (result(ResourceBlock("file:///a", text="inside")), "inside"),
        (
            result(ResourceBlock("file:///b", data="YmxvYg==")),
            "[data, 4 bytes; --output FILE writes it] file:///b",
        ),
        (result(LinkBlock("file:///c", "c", "see c")), "[link] file:///c: see c"),
        (result(LinkBlock("file:///c", "c")), "[link] file:///c: c"),
        (result(LinkBlock("file:///c")), "[link] file:///c"),
    ],
)
def test_a_result_as_text(answer: ToolResult, text: str) -> None:
    assert result_text(answer) == text


def test_a_call_as_one_json_object_that_strict_readers_take() -> None:
    answer = result(TextBlock("nan"), PNG, structured={"result": math.nan})
    document = call_document("s.t", answer, 0.12345678, None)
    assert set(document) == {
        *("tool", "ok", "is_error", "value", "content", "structured"),
        *("seconds", "omitted_bytes", "error"),
    }
    assert (document["tool"], document["ok"], document["is_error"]) == ("s.t", True, False)
    assert (document["value"], document["seconds"]) == ("nan", 0.123457)
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_an_error_of_the_tool_and_a_call_without_answer_are_told_apart() -> None:
    refused = ToolResult((TextBlock("no"),), is_error=True)
    document = call_document("s.t", refused, 1, "no")
    assert (document["ok"], document["is_error"], document["value"]) == (False, True, "no")
    lost = call_document("s.t", None, None, "it died")
    assert (lost["ok"], lost["is_error"], lost["error"]) == (False, False, "it died")


class TestFiles:
    def test_data_is_written_as_bytes_each_piece_to_its_own_file(self, tmp_path: Path) -> None:
        told = write_output(result(TextBlock("a"), PNG, WAV), tmp_path / "x.png")
        assert (tmp_path / "x.png").read_bytes() == b"img"
        assert (tmp_path / "x-2.png").read_bytes() == b"audi"
        assert told == [
            f"wrote 3 bytes of image/png to {tmp_path / 'x.png'}",
            f"wrote 4 bytes of audio/wav to {tmp_path / 'x-2.png'}",
        ]

    def test_without_data_it_is_the_text(self, tmp_path: Path) -> None:
        told = write_output(result(TextBlock("grün")), tmp_path / "x")
        assert (tmp_path / "x").read_text(encoding="utf-8") == "grün\n"
        assert told == [f"wrote 6 bytes of text to {tmp_path / 'x'}"]

    def test_what_is_not_base64_is_said_and_nothing_written(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError, match="not base64"):
            write_output(result(ImageBlock("%%%", "image/png")), tmp_path / "x")
        assert not (tmp_path / "x").exists()

    def test_a_file_that_cannot_be_written_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError, match="can't be written: Is a directory"):
            write_output(result(PNG), tmp_path)
