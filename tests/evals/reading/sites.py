"""Six sites that build the same text into pages of their own kind."""

import hashlib
from collections.abc import Callable
from html import escape

from tests.evals.reading.content import NAMES, Block, MainText, Writer
from tests.evals.reading.surroundings import Surroundings

Build = Callable[[MainText, str], str]


def semantic(main: MainText, seed: str) -> str:
    """HTML5 as it is meant: `main`, `article`, `aside`; advertisements between paragraphs."""
    around = Surroundings(Writer(seed), lambda name: name)
    inside = _body(main, around.advert())
    return _page(
        main,
        f"<header>{around.menu()}</header>{around.consent()}<main>{around.trail()}<article>"
        f"<header><h1>{escape(main.title)}</h1>{_byline(main)}</header>{around.share()}{inside}"
        f"</article>{around.newsletter()}{around.related()}</main>{around.side()}{around.foot()}"
        f"{around.hidden()}",
    )


def divisions(main: MainText, seed: str) -> str:
    """Nothing but `div`, with telling names, as before HTML5; readers' comments below."""
    around = Surroundings(Writer(seed), lambda name: f"block-{name}")
    return _page(
        main,
        f'<div id="page">{around.menu("div")}{around.consent()}<div id="content" class="content '
        f'has-sidebar"><h1 class="headline">{escape(main.title)}</h1>{_byline(main)}'
        f'{around.share()}<div class="text">{_body(main)}</div>{around.related()}'
        f"{around.comments()}</div>{around.side('div')}{around.foot('div')}</div>{around.hidden()}",
    )


def hashed(main: MainText, seed: str) -> str:
    """Names made by a program, which tell nothing; what stands around is told by its form only."""
    around = Surroundings(Writer(seed), lambda name: _hash(name))
    return _page(
        main,
        f'<div id="root"><div class="{_hash("shell")}">{around.menu("div")}'
        f'<div class="{_hash("m")}">'
        f'<div class="{_hash("t")}"><h1>{escape(main.title)}</h1>{_byline(main)}</div>'
        f'{around.share()}<div class="{_hash("b")}">{_body(main, around.advert())}</div>'
        f"{around.newsletter()}</div>{around.related()}{around.leftovers()}"
        f"{around.foot('div')}{around.consent()}</div></div>{around.hidden()}",
    )


def blogging(main: MainText, seed: str) -> str:
    """A theme of a blogging program: `entry-content`, tags, comments, widgets in a column."""
    around = Surroundings(Writer(seed), lambda name: f"{name} widget-area")
    tags = around.part(
        "post-tags", 'Filed under: <a href="/t/coast">coast</a>, <a href="/t/x">x</a>'
    )
    return _page(
        main,
        f'<div id="wrapper" class="hfeed site">{around.menu()}<div id="primary"><div class="post '
        f'type-post hentry"><h1 class="entry-title">{escape(main.title)}</h1>'
        f'<div class="entry-meta">{_byline(main)}</div><div class="entry-content">{_body(main)}'
        f"{around.share()}</div>{tags}</div>{around.comments(5)}</div>"
        f'<div id="secondary">{around.side("div")}</div>{around.foot()}</div>{around.consent()}'
        f"{around.hidden()}",
    )


def tables(main: MainText, seed: str) -> str:
    """A page of twenty years ago: one form, one table that sets columns, `font` and `center`."""
    around = Surroundings(Writer(seed), lambda name: "small")
    return _page(
        main,
        f'<form id="aspnetForm" action="./"><table width="960" role="presentation"><tr><td '
        f'colspan="3">{around.menu("div")}</td></tr><tr><td width="160">{around.links(9)}'
        f'</td><td width="600"><font size="5"><h1>{escape(main.title)}</h1></font>'
        f'{_byline(main)}{_body(main)}</td><td width="200">{around.advert()}{around.links(7, 3, 6)}'
        f'</td></tr><tr><td colspan="3"><center>{around.foot("div")}</center></td></tr></table>'
        "</form>",
    )


def handbook(main: MainText, seed: str) -> str:
    """A generator of documentation: a tree of pages on the left, headings on the right."""
    around = Surroundings(Writer(seed), lambda name: f"theme-{name}")
    tree = "".join(around.links(5) for _ in range(4))
    headings = [block.text for block in main.blocks if block.shape == "heading"]
    right = "".join(f'<li><a href="#s">{escape(text)}</a></li>' for text in headings)
    return _page(
        main,
        f'<a class="skip-link" href="#c">Skip to main content</a>{around.menu()}<div class="wrap">'
        f'<div class="docs-tree" role="navigation">{tree}</div><div class="body" role="main">'
        f"{around.trail()}<h1>{escape(main.title)}<a class='headerlink' href='#t'>¶</a></h1>"
        f'{_body(main)}<div class="page-feedback">Was this page helpful? <a href="#">Yes</a> '
        f'<a href="#">No</a></div><div class="pager"><a href="/a">Previous</a> <a href="/b">Next'
        f'</a></div></div><div class="table-of-contents"><p>On this page</p><ul>{right}</ul></div>'
        f"</div>{around.foot()}{around.consent()}",
    )


SITES: tuple[Build, ...] = (semantic, divisions, hashed, blogging, tables, handbook)


def _page(main: MainText, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>'
        f"{escape(main.title)} | Coast Herald</title><meta property='og:title' "
        f"content='{escape(main.title)}'><meta name='author' content='{main.author}'>"
        f"<meta property='article:published_time' content='{main.date}T09:00:00Z'>"
        "<style>.x{color:red}</style><script>var a = 1 < 2;</script></head>"
        f"<body>{body}</body></html>"
    )


def _byline(main: MainText) -> str:
    return f'<p class="byline">By {main.author}, <time>{main.date}</time></p>'


def _hash(name: str) -> str:
    return "css-" + hashlib.sha256(name.encode()).hexdigest()[:6]


def _body(main: MainText, between: str = "") -> str:
    """The blocks as HTML, with something foreign after the second."""
    parts = [_html(block, number) for number, block in enumerate(main.blocks)]
    if between and len(parts) > 3:
        parts.insert(2, between)
    return "\n".join(parts)


def _html(block: Block, number: int) -> str:
    texts = [[escape(cell) for cell in row] for row in block.parts]
    match block.shape:
        case "heading":
            return f"<h2>{texts[0][0]}</h2>"
        case "paragraph":
            return f"<p>{texts[0][0]}</p>"
        case "quote":
            return f"<blockquote><p>{texts[0][0]}</p></blockquote>"
        case "items":
            return "<ul>" + "".join(f"<li>{row[0]}</li>" for row in texts) + "</ul>"
        case "code":
            lines = "\n".join(row[0] for row in texts)
            return f"<pre><code class='language-python'>{lines}</code></pre>"
        case "rows":
            head = "".join(f"<th>{cell}</th>" for cell in texts[0])
            body = "".join(
                "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in texts[1:]
            )
            return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        case "post":
            said = "".join(f"<p>{row[0]}</p>" for row in texts)
            name = NAMES[number % len(NAMES)]
            return (
                f'<div class="post" id="p{number}"><div class="post-author"><a href="/u">{name}</a>'
                f'<span>Posts: {number * 31}</span></div><div class="post-body">{said}</div>'
                '<div class="post-actions"><a href="#">Like</a> <a href="#">Report</a></div></div>'
            )
