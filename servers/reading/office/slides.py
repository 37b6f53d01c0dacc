"""Presentations: slide by slide, each a page, by python-pptx."""

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from servers.reading.context import Reading
from servers.reading.markdown import (
    as_title,
    blocks,
    cleaned,
    first_heading,
    heading,
    raised,
    table,
    unwrapped,
    with_pages,
)
from servers.reading.office.packages import office_title, opened_package
from servers.reading.source import Extracted, ExtractionError, Source

if TYPE_CHECKING:
    from pptx.shapes.autoshape import Shape
    from pptx.shapes.base import BaseShape
    from pptx.shapes.graphfrm import GraphicFrame
    from pptx.shapes.group import GroupShape
    from pptx.shapes.picture import Picture
    from pptx.slide import Slide
    from pptx.text.text import TextFrame

GROUPS_DEPTH_MAX = 8


_RAISED_RUNS = ".//a:r[a:rPr/@baseline > 0]"


class _Run(Protocol):
    text: str

    def xpath(self, path: str) -> "list[_Run]": ...


class _Series(Protocol):
    name: str
    values: Sequence[float | None]


class _Plot(Protocol):
    series: Iterable[_Series]
    categories: Iterable[object]


class _Titled(Protocol):
    text_frame: "TextFrame"


class _Chart(Protocol):
    has_title: bool
    chart_title: _Titled
    plots: Iterable[_Plot]


def read_pptx(source: Source, reading: Reading) -> Extracted:
    """The text, tables, charts, pictures and notes of all slides; `page_starts` are theirs.

    Raises:
        ExtractionError: it is encrypted or damaged.
    """
    import pptx

    with opened_package(source.data, reading.limits) as package:
        title = office_title(package)
    try:
        presentation = pptx.Presentation(io.BytesIO(source.data))
        slides = list(presentation.slides)
    except Exception as error:
        raise ExtractionError("the presentation is damaged and can't be read") from error
    pages: list[str] = []
    for slide in reading.in_time(slides[: reading.limits.pages], "slides"):
        pages.append(cleaned(_slide(slide, len(pages) + 1, reading)))
    markdown, starts = with_pages(pages)
    if title.lower() in ("", "powerpoint presentation"):
        title = first_heading(markdown)
    return Extracted(markdown, as_title(title), starts)


def _slide(slide: "Slide", number: int, reading: Reading) -> str:
    try:
        return blocks(_parts(slide, number, reading))
    except Exception:  # noqa: BLE001 - whatever a damaged slide brings about
        reading.note(f"slide {number} is damaged")
        return ""


def _parts(slide: "Slide", number: int, reading: Reading) -> Iterator[str]:
    _write_out_powers(slide)
    headline = slide.shapes.title
    yield heading(2, headline.text_frame.text if headline is not None else "") or heading(
        2, f"Slide {number}"
    )
    shapes = [
        shape for shape in slide.shapes if headline is None or shape.shape_id != headline.shape_id
    ]
    yield from _shapes(shapes, reading, 0)
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
        said = _text(notes)
        yield f"Notes: {said}" if said else ""


def _write_out_powers(slide: "Slide") -> None:
    """Write superscripts as `^48` into the slide itself, from which all text is taken."""
    for run in cast("list[_Run]", slide.element.xpath(_RAISED_RUNS)):
        before = run.xpath("preceding-sibling::a:r[1]")
        run.text = raised(before[0].text if before else "", run.text)


def _shapes(shapes: "Iterable[BaseShape]", reading: Reading, depth: int) -> Iterator[str]:
    """The shapes from top to bottom, and from left to right where they stand side by side."""
    for shape in sorted(shapes, key=lambda each: (each.top or 0, each.left or 0)):
        try:
            yield from list(_shape(shape, reading, depth))
        except Exception:  # noqa: BLE001 - a linked picture, a chart without figures: left out
            reading.note("parts of slides can't be read")


def _shape(shape: "BaseShape", reading: Reading, depth: int) -> Iterator[str]:
    from pptx.enum.shapes import MSO_SHAPE_TYPE

    kind = shape.shape_type
    if kind == MSO_SHAPE_TYPE.GROUP and depth < GROUPS_DEPTH_MAX:
        yield from _shapes(cast("GroupShape", shape).shapes, reading, depth + 1)
    elif hasattr(shape, "image"):
        yield _picture(cast("Picture", shape), reading)
    elif shape.has_table:
        yield _table(cast("GraphicFrame", shape), reading)
    elif shape.has_chart:
        yield _chart(cast(_Chart, cast("GraphicFrame", shape).chart))
    elif shape.has_text_frame:
        yield _text(cast("Shape", shape).text_frame)


def _text(frame: "TextFrame") -> str:
    """The paragraphs of a frame; those that are indented are points of a list."""
    lines: list[str] = []
    for paragraph in frame.paragraphs:
        text = unwrapped(paragraph.text)
        if text:
            indent = "  " * (paragraph.level - 1)
            lines.append(f"{indent}- {text}" if paragraph.level else text)
    return "\n".join(lines)


def _table(frame: "GraphicFrame", reading: Reading) -> str:
    rows = [
        [cell.text_frame.text[: reading.limits.cell_chars] for cell in row.cells]
        for row in frame.table.rows
    ]
    return table(rows[: reading.limits.rows])


def _chart(chart: _Chart) -> str:
    """The figures behind a chart as a table: a row for each category."""
    title = chart.chart_title.text_frame.text if chart.has_title else ""
    parts = [f"Chart: {unwrapped(title)}" if title.strip() else ""]
    for plot in chart.plots:
        series = list(plot.series)
        columns = [[_figure(value) for value in each.values] for each in series]
        rows = [["", *(each.name for each in series)]]
        rows += [
            [str(name), *(column[index] if index < len(column) else "" for column in columns)]
            for index, name in enumerate(plot.categories)
        ]
        parts.append(table(rows))
    return blocks(parts)


def _figure(value: object) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _picture(shape: "Picture", reading: Reading) -> str:
    found = cast(list[object], shape.element.xpath("./p:nvPicPr/p:cNvPr/@descr"))
    alt = str(found[0]) if found else ""
    return reading.pictures.describe(shape.image.blob, alt)
