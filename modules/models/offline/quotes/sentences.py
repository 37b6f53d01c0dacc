"""Parts of plans that quote: they cut a text into sentences, items and rows, under its headings.

Plans do this themselves, in the sandbox: what they quote is untrusted, and nothing outside reads
it. A part is source text in which `filled` puts values in the place of names between `@`; it goes
into a plan at the beginning of `solve()`, where `re` and `math` are imported.
"""

from typing import Final

from modules.models.offline.plan_source import filled

QUOTES_MAX: Final = 3
QUOTE_CHARACTERS: Final = 500
"""A longer sentence, or row of a table, is cut."""

_SENTENCES: Final = r'''
ends = re.compile(r"([.!?][)\"”’']*)\s+(?=[^a-z])")
begins = re.compile(r"\s*([-*+•]|\d+[.)])\s+")
title = re.compile(r"[^a-z\s(].{1,60}[^.!?:;,]$")
shortened = re.compile(r"\b([A-Z]|Dr|Mr|Mrs|Ms|Prof|St|No|Fig|vs|approx|ca|cf|e\.g|i\.e)\.$")

def plain(text):
    return "".join([c if c.isalnum() else " " for c in text.lower()])

def cut(text):
    """Sentences; a full stop behind a shortened word or an initial ends none."""
    found = []
    for part in ends.sub("\\1\n", text).split("\n"):
        is_short = found and len(found[-1]) < @longest@
        if is_short and shortened.search(found[-1][-12:]) is not None:
            found[-1] = found[-1] + " " + part.strip()
        else:
            found.append(part.strip())
    return found

def units(body):
    """Sentences, items of lists and rows of tables; headings apart, marked with True."""
    found, lines, fenced, titles = [], [], False, []
    every = [*body.split("\n"), "", ""]
    for line, next_line in zip(every, every[1:]):
        text, following = line.strip(), next_line.strip()
        if text.startswith("```"):
            fenced, text = not fenced, ""
        alone = fenced or text.startswith(("#", "|")) or begins.match(line) is not None
        if lines and (alone or not text):
            found += [(part, False) for part in cut(" ".join(lines))]
            lines = []
        if text.startswith("#") and not fenced:
            found.append((text.lstrip("# "), True))
        elif not (lines or alone) and title.match(text) and following[:1].isupper():
            found.append((text, True))
        elif text.startswith("|") and not fenced:
            cells = [cell.strip() for cell in text.strip("|").split("|")]
            if titles and text.strip("|-: "):
                named = [t + ": " + c for t, c in zip(titles, cells) if t and c]
                found.append((", ".join(named), False))
            titles = titles or cells
            continue
        elif fenced:
            found.append((text, False))
        elif text:
            item = begins.match(text)
            lines.append(text if item is None else text[item.end():])
        titles = []
    return [(text, is_heading) for text, is_heading in found if text]

def quoted(text, place):
    short = text if len(text) <= @longest@ else text[:@longest@] + "…"
    return "“" + short + "” (" + place + ")"
'''


def sentence_lines() -> list[str]:
    """What defines `units(body)`, which cuts a text, `plain(text)` and `quoted(text, place)`."""
    return filled(_SENTENCES, {"longest": QUOTE_CHARACTERS})
