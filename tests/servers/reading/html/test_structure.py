"""What a page's markdown must not lose."""

from servers.reading.html.structure import Outline, loses_structure


def test_markdown_that_lost_its_headings_code_cells_or_words_is_told() -> None:
    whole = "# Guide\n\n## Use\n\n```\nx = 1\n```\n\n| a | b |\n| --- | --- |\n| c | d |\n"
    outline = Outline(("Guide", "Use"), ("x = 1\n",), 4, 8)
    assert not loses_structure(whole, outline, is_main=True)
    for gone in ("## ", "```\n", "| c | d |", whole[20:]):
        assert loses_structure(whole.replace(gone, ""), outline, is_main=True)
