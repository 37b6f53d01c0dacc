"""Known documents as files of text: markdown, reStructuredText, HTML, CSV, JSON, mail, source."""

import csv
import html
import io
import json
from email.message import EmailMessage

from tests.evals.extraction.known import Block, Code, KnownDocument, Paragraph, Points, Table

AROUND = (
    '<nav><ul><li><a href="/">Start</a></li><li><a href="/more">More</a></li></ul></nav>',
    "<footer><p>All rights reserved by nobody.</p></footer>",
)


def as_markdown(document: KnownDocument) -> bytes:
    """Markdown, as in its own tests."""
    parts = [f"# {document.title}"]
    for section in document.sections:
        parts += [f"## {section.heading}", *map(_markdown, section.blocks)]
    return "\n\n".join(parts).encode()


def as_text(document: KnownDocument) -> bytes:
    """Plain text in UTF-16, as Windows writes it."""
    return document.text.encode("utf-16")


def as_rst(document: KnownDocument) -> bytes:
    """The same in reStructuredText, with lines under headings."""
    parts = [f"{document.title}\n{'=' * len(document.title)}"]
    for section in document.sections:
        parts.append(f"{section.heading}\n{'-' * len(section.heading)}")
        parts += [_rst(block) for block in section.blocks]
    return "\n\n".join(parts).encode()


def as_html(document: KnownDocument) -> bytes:
    """A page of documentation with navigation around it; every second one as Docusaurus writes."""
    body = html_body(document)
    main = f"<div class='body' role='main'>{body}</div>"
    if len(document.sections) % 2:
        body = body.replace("<h1>", "<header><h1>").replace("</h1>", "</h1></header>")
        body = body.replace("headerlink", "hash-link").replace("¶", "#")
        main = f"<main><article><div class='theme-doc-markdown'>{body}</div></article></main>"
    page = (
        f"<!doctype html><html><head><meta charset='utf-8'><title>{html.escape(document.title)}"
        f"</title></head><body>{AROUND[0]}{main}{AROUND[1]}</body></html>"
    )
    return page.encode()


def html_body(document: KnownDocument) -> str:
    """The content as HTML."""
    parts = [f"<h1>{html.escape(document.title)}</h1>"]
    for section in document.sections:
        parts.append(
            f"<h2>{html.escape(section.heading)}<a href='#x' class='headerlink'>¶</a></h2>"
        )
        parts += [_html(block) for block in section.blocks]
    return "\n".join(parts)


def as_csv(document: KnownDocument) -> bytes:
    """The cells of the tables with semicolons, as a spreadsheet in Europe writes them."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=";")
    for block in document.blocks:
        if isinstance(block, Table):
            writer.writerows(block.rows)
            writer.writerow([])
    return buffer.getvalue().encode("utf-8-sig")


def as_json(document: KnownDocument) -> bytes:
    """The words as JSON in one line."""
    return json.dumps({"texts": document.text.split("\n")}, ensure_ascii=False).encode()


def as_source(document: KnownDocument) -> bytes:
    """The words as comments of a program."""
    return "\n".join(f"# {line}" for line in document.text.split("\n")).encode()


def as_mail(document: KnownDocument) -> bytes:
    """A mail with the title as its subject, and the sections as HTML only."""
    message = EmailMessage()
    message["Subject"] = document.title
    body = html_body(document).partition("</h1>")[2]
    message.set_content(body, subtype="html", cte="quoted-printable")
    return message.as_bytes()


def _markdown(block: Block) -> str:
    match block:
        case Paragraph():
            return block.text
        case Points():
            return "\n".join(f"- {item}" for item in block.items)
        case Table():
            lines = [f"| {' | '.join(row)} |" for row in block.rows]
            return "\n".join([lines[0], "|---" * len(block.rows[0]) + "|", *lines[1:]])
        case Code():
            return "\n".join(["```python", *block.lines, "```"])


def _rst(block: Block) -> str:
    match block:
        case Code():
            return "\n".join(
                [".. code-block:: python", "", *(f"   {line}" for line in block.lines)]
            )
        case Table():
            return "\n".join(f"{' '.join(row)}" for row in block.rows)
        case _:
            return _markdown(block)


def _html(block: Block) -> str:
    match block:
        case Paragraph():
            return f"<p>{html.escape(block.text)}</p>"
        case Points():
            items = "".join(f"<li>{html.escape(item)}</li>" for item in block.items)
            return f"<ul>{items}</ul>"
        case Table():
            head, *rows = ("".join(f"<td>{cell}</td>" for cell in row) for row in block.rows)
            body = "".join(f"<tr>{row}</tr>" for row in rows)
            return f"<table><thead><tr>{head.replace('td>', 'th>')}</tr></thead>{body}</table>"
        case Code():
            lines = html.escape("\n".join(block.lines))
            return f"<div class='highlight-python'><pre><span></span>{lines}\n</pre></div>"
