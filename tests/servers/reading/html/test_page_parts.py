"""Links, the parts of a page, and a tree as markdown; nothing but lxml is needed."""

import pytest

from servers.reading.html.content import (
    Outline,
    drop_surroundings,
    likely_part,
    loses_structure,
)
from servers.reading.html.markdown import markdown_of
from servers.reading.html.tree import (
    Element,
    absolute,
    base_of,
    document_of,
    make_absolute,
    strip_surroundings,
    with_bars,
)

URL = "https://farm.example/news/a.html?x=1"
WORDS = "The shepherds of the north count their sheep before the snow comes down. " * 5


def tree_of(html: str) -> Element:
    tree = document_of(html)
    assert tree is not None
    return tree


def markdown(html: str) -> str:
    tree = tree_of(f"<html><body>{html}</body></html>")
    make_absolute(tree, URL)
    strip_surroundings(tree)
    return with_bars(markdown_of(tree))


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("b.html", "https://farm.example/news/b.html"),
        ("/b", "https://farm.example/b"),
        ("?y=2", "https://farm.example/news/a.html?y=2"),
        ("//other.example/c", "https://other.example/c"),
        (" https://x.example/a b(c) ", "https://x.example/a%20b%28c%29"),
        ("java\nscript:alert(1)", ""),
        ("JavaScript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("vbscript:x", ""),
        ("file:///etc/passwd", ""),
        ("mailto:a@b.example", ""),
        ("https://user:pass@x.example/", ""),
        ("http://[::1", ""),
        ("https://x.example/" + "a" * 3000, ""),
    ],
)
def test_links_are_whole_addresses_of_the_web_or_none(link: str, target: str) -> None:
    assert absolute(link, URL) == target


def test_a_base_counts_for_links_unless_it_is_none_of_the_web() -> None:
    tree = tree_of('<head><base target=x><base href="/docs/"></head><a href="b">b</a>')
    assert base_of(tree, URL) == "https://farm.example/docs/"
    assert base_of(tree_of('<base href="javascript:x"><p>a'), URL) == URL


def test_links_stay_with_their_words_and_dead_ones_leave_their_words_only() -> None:
    html = '<p>See <a href="b.html"><b>all</b> of it</a>, <a href="javascript:x">this</a>, '
    html += '<a href="#top">up</a>, <a href="c"></a><a name=q>here</a>.</p>'
    assert (
        markdown(html) == "See [**all** of it](https://farm.example/news/b.html), this, up, here."
    )


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<h2>A <code>b</code></h2>text", "## A `b`\n\ntext"),
        ("a<br>b <em>c </em>d", "a\nb *c* d"),
        ("<ul><li>a<ul><li>b</ul><li><p>c</p><p>d</p></ul>", "- a\n  - b\n- c\n\n  d"),
        ("<ol start=3><li>a<li>b</ol>", "3. a\n4. b"),
        ("<ul><div>stray</div></ul>", "- stray"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"),
        ("<pre class='lang-sql'>select\n  1</pre>", "```sql\nselect\n  1\n```"),
        ("<div class='highlight-python'><pre>a<br>b</pre></div>", "```python\na\nb\n```"),
        (
            "<table><caption>T</caption><tr><th>a<th>b<tr><td>1|2<td><p>3</p><p>4</p></table>",
            "T\n\n| a | b |\n| --- | --- |\n| 1\\|2 | 3 4 |",
        ),
        ("<table><tr><td colspan=2>a<tr><td>b<td>c</table>", "| a |  |\n| --- | --- |\n| b | c |"),
        ("<table><tr><td><h2>Set</h2>a<td>b</table>", "## Set\n\na\n\nb"),
        (
            "<a href='/x'><h3>Card</h3><p>words</p></a>",
            "### [Card](https://farm.example/x)\n\nwords",
        ),
        ("<p>a<img src=x alt='A cow'>b<img src=y></p>", "a[Picture: A cow] b"),
        ("<dl><dt>a<dd>b</dl>", "a\n\nb"),
    ],
)
def test_structure_is_written_as_markdown(html: str, shown: str) -> None:
    assert markdown(html) == shown


def test_deep_nesting_ends_somewhere() -> None:
    for tag in ("div", "span", "ul", "table"):
        markdown_of(tree_of(f"<html><body>{f'<{tag}>' * 1_000}word"))


def test_what_stands_around_is_known_by_its_names_and_the_text_by_its_size() -> None:
    around = "".join(f'<div class="{name}">around</div>' for name in (
        "cookie-banner", "shareBar", "post__share", "ad-slot", "related posts", "breadcrumb",
    ))  # fmt: skip
    inner = (
        '<div class="has-sidebar layout"><p>kept</p></div><div class="address ladder">this</div>'
    )
    tree = tree_of(f'<body class="page-nav">{around}<div id="comments">{WORDS}</div>{inner}</body>')
    drop_surroundings(tree)
    assert "around" not in tree.text_content()
    assert tree.text_content().endswith("keptthis")
    assert WORDS.strip() in tree.text_content()


def test_the_likely_part_is_the_one_around_the_heading_with_the_text() -> None:
    links = "".join(f"<a href=x>{WORDS}</a>" for _ in range(5))
    tree = tree_of(
        f"<body><div>{links}</div><div><div id=text><div><h1>Sheep</h1></div>"
        f"<div>{WORDS * 3}</div></div></div><div>{WORDS[:80]}</div></body>"
    )
    part = likely_part(tree)
    assert part is not None
    assert part.get("id") == "text"


def test_without_one_heading_it_is_the_innermost_with_most_of_the_text() -> None:
    tree = tree_of(f"<body><div><div id=text><p>{WORDS}</p><p>{WORDS}</p></div>a</div></body>")
    part = likely_part(tree)
    assert part is not None
    assert part.get("id") == "text"
    assert likely_part(tree_of("<body><div>few words</div></body>")) is None


def test_markdown_that_lost_its_headings_code_cells_or_words_is_told() -> None:
    whole = "# Guide\n\n## Use\n\n```\nx = 1\n```\n\n| a | b |\n| --- | --- |\n| c | d |\n"
    outline = Outline(("Guide", "Use"), ("x = 1\n",), 4, 8)
    assert not loses_structure(whole, outline, is_main=True)
    for gone in ("## ", "```\n", "| c | d |", whole[20:]):
        assert loses_structure(whole.replace(gone, ""), outline, is_main=True)
