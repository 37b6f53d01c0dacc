"""What counts as a change of a definition, how it is shown, and characters that nobody sees."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.dispatch.definitions import TEXT_CHARACTERS_MAX, definition_text, digest
from core.dispatch.tool_pins import Admitted
from core.values import Json, JsonObject
from tests.core.dispatch.pinned_tools import READ, WRITE, admit

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


def reversed_keys(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: reversed_keys(inner) for key, inner in reversed(value.items())}
    return [reversed_keys(one) for one in value] if isinstance(value, list) else value


class TestDigest:
    @settings(max_examples=40)
    @given(schema=st.dictionaries(st.text(), json_values, max_size=5))
    def test_the_order_of_keys_never_counts(self, schema: JsonObject) -> None:
        other = reversed_keys(schema)
        assert isinstance(other, dict)
        one, two = (replace(READ, input_schema=s) for s in (schema, other))
        assert digest(one) == digest(two)
        assert definition_text(one) == definition_text(two)

    @pytest.mark.parametrize("keyword", ["required", "enum", "type"])
    def test_nor_does_the_order_of_arrays_that_stand_for_sets(self, keyword: str) -> None:
        one, two = (replace(READ, input_schema={keyword: list(v)}) for v in ("ab", "ba"))
        assert digest(one) == digest(two)

    def test_the_order_of_other_arrays_counts(self) -> None:
        one, two = (replace(READ, input_schema={"anyOf": list(v)}) for v in ("ab", "ba"))
        assert digest(one) != digest(two)

    def test_a_long_definition_is_kept_in_part_and_still_differs_in_its_text(self) -> None:
        tail = "y" * TEXT_CHARACTERS_MAX
        one, two = (replace(READ, description=f"x{tail}{end}") for end in "ab")
        assert len(definition_text(one)) < 2 * TEXT_CHARACTERS_MAX
        assert definition_text(one) != definition_text(two)

    def test_hidden_characters_show_in_the_text(self) -> None:
        text = definition_text(replace(READ, description="a\u200bb\U000e0041"))
        assert "  a\\u200bb\\U000e0041\n" in text

    def test_no_word_of_a_folded_line_is_lost(self) -> None:
        words = " ".join(f"word{number}" for number in range(200))
        text = definition_text(replace(READ, description=words))
        assert max(map(len, text.split("\n"))) <= 74
        assert text.replace("\n", " ").split()[1:201] == words.split()


class TestHiddenCharacters:
    async def test_descriptions_lose_what_nobody_sees_with_a_note(self, file: Path) -> None:
        schema: JsonObject = {
            "properties": {"a": {"description": "x\u200by", "enum": ["\u2066"]}},
            "anyOf": [{"title": "\ufefft", "minimum": 1}],
        }
        tool = replace(READ, description="Reads.\U000e0049\U000e0047", input_schema=schema)
        tool = replace(tool, output_schema={"description": "\u00ad"})
        admitted = await admit(file, tool, WRITE)
        (read, _) = admitted.tools
        assert read.description == "Reads."
        assert read.input_schema == {
            "properties": {"a": {"description": "xy", "enum": ["\u2066"]}},
            "anyOf": [{"title": "t", "minimum": 1}],
        }
        assert read.output_schema == {"description": ""}
        (note,) = admitted.notes
        assert "'notes'" in note
        assert "'read'" in note
        assert "'write'" not in note

    async def test_a_change_that_nobody_could_see_is_a_change(self, file: Path) -> None:
        await admit(file, READ)
        assert (await admit(file, replace(READ, description="Reads a note.\u200b"))).refused

    async def test_a_name_that_poses_as_another_is_left_out(self, file: Path) -> None:
        admitted = await admit(file, replace(READ, name="re\u200bad"), WRITE)
        assert (admitted.tools, admitted.refused) == ([WRITE], ("re\u200bad",))
        assert "'re\\u200bad'" in admitted.notes[0]

    @pytest.mark.parametrize("text", ["❤️‍🔥 👩‍👩‍👧‍👦", "می‌خواهم", "Grüße, 日本語, עברית"])
    async def test_emoji_and_scripts_that_need_joiners_are_left_alone(
        self, file: Path, text: str
    ) -> None:
        tool = replace(READ, description=text)
        assert await admit(file, tool) == Admitted([tool])


async def test_a_definition_that_is_absurdly_large_is_left_out_and_said_so(file: Path) -> None:
    bomb = replace(READ, input_schema={"enum": [*range(60_000)]})
    admitted = await admit(file, bomb, WRITE)
    assert (admitted.tools, admitted.refused) == ([WRITE], ("read",))
    assert "can't be checked (it holds over 50,000 values)" in admitted.notes[0]
