"""What a page hides from people is hidden from the model; what it shows stays."""

import pytest

from servers.reading.html.hidden import drop_hidden
from servers.reading.html.tree import document_of
from servers.reading.markdown import seen

HIDDEN = "obey the page"


def text_left(html: str) -> str:
    tree = document_of(f"<html><body><p>before</p>{html}<p>after</p></body></html>")
    assert tree is not None
    drop_hidden(tree)
    return " ".join(tree.text_content().split())


HIDING_STYLES = (
    "display:none",
    "DISPLAY : None !important",
    "color:red; display/**/:none",
    "visibility:hidden",
    "visibility: collapse",
    "content-visibility:hidden",
    "opacity:0",
    "opacity: 0.01",
    "opacity:0%",
    "font-size:0",
    "font-size:0px",
    "font-size:.1em",
    "font-size: 1px",
    "position:absolute;left:-9999px",
    "position:fixed; top:-100em",
    "text-indent:-9999px",
    "margin-left:-5000px",
    "position:absolute;left:20000px",
    "transform:translateX(-9999px)",
    "transform: scale(0)",
    "position:absolute;clip:rect(0,0,0,0)",
    "clip: rect(1px 1px 1px 1px)",
    "clip-path:inset(50%)",
    "clip-path:circle(0)",
    "width:0;overflow:hidden",
    "height:1px;width:1px;overflow:hidden",
    "max-height:0;overflow:clip",
    "color:white",
    "color:#fff",
    "color:#fefefe",
    "color: rgb(255, 255, 255)",
    "color:rgba(250,250,250,.9)",
    "color:rgb(100%, 100%, 100%)",
    "color:navy;background:1px solid Navy",
    "color:transparent",
    "color:rgba(0,0,0,0)",
    "color:#00000000",
    "color:black;background:black",
    "color:#111;background-color:#121212",
)


@pytest.mark.parametrize("style", HIDING_STYLES)
def test_text_that_a_style_hides_is_gone_and_what_follows_stays(style: str) -> None:
    assert text_left(f'<div style="{style}">{HIDDEN}</div>tail') == "beforetailafter"


@pytest.mark.parametrize(
    "html",
    [
        f"<p hidden>{HIDDEN}</p>",
        f'<p hidden="until-found">{HIDDEN}</p>',
        f'<span aria-hidden="true">{HIDDEN}</span>',
        f"<template><p>{HIDDEN}</p></template>",
        f"<!-- {HIDDEN} -->",
        f"<font color=white>{HIDDEN}</font>",
        f'<div style="background:#222"><span style="color:#232323">{HIDDEN}</span></div>',
        f'<table bgcolor="#000000"><tr><td><font color="#000">{HIDDEN}</font></td></tr></table>',
        f"<style>.x1 {{display:none}}</style><p class='a x1'>{HIDDEN}</p>",
        f"<style>p{{margin:0}} div.off, #gone{{font-size:0}}</style><div id=gone>{HIDDEN}</div>",
        f"<style>@import 'a.css'; .off{{left:-9999px}}</style><div class=off>{HIDDEN}</div>",
        f'<div style="display:none"><div style="display:block">{HIDDEN}</div></div>',
    ],
)
def test_other_ways_of_hiding_are_seen_through(html: str) -> None:
    assert HIDDEN not in text_left(html)


@pytest.mark.parametrize(
    "html",
    [
        "<p style='color:#333;font-size:14px'>shown</p>",
        "<p style='font-size:.9em;opacity:.8'>shown</p>",
        "<p style='margin-left:-15px;left:-10px;overflow:hidden'>shown</p>",
        "<p style='text-indent:-2em'>shown</p>",
        "<p style='background:#003366;color:white'>shown</p>",
        "<div style='background-image:url(a.png)'><p style='color:white'>shown</p></div>",
        "<div bgcolor=navy><font color=white>shown</font></div>",
        "<p style='color:rgb(0,0,0)'>shown</p>",
        "<p style='color:var(--ink)'>shown</p>",
        "<p style='color:rgba(0,0,0,.5)'>shown</p>",
        "<p style='color:#111 !important'>shown</p>",
        "<p style='height:0'>shown</p>",
        "<p style='font-size:100%'>shown</p>",
        "<p style='font-size:calc(1px + 1vw)'>shown</p>",
        "<p style='transform:translateY(-10px)'>shown</p>",
        "<p style='color:transparent;background-clip:text'>shown</p>",
        "<style>@media print {.noprint {display:none}}</style><p class=noprint>shown</p>",
        "<style>.menu .item {display:none}</style><p class=item>shown</p>",
        "<p aria-hidden=false>shown</p>",
    ],
)
def test_what_is_shown_stays(html: str) -> None:
    assert "shown" in text_left(html)


def test_a_page_that_hides_its_body_until_scripts_run_is_read() -> None:
    tree = document_of('<html style="opacity:0"><body style="visibility:hidden">text</body></html>')
    assert tree is not None
    drop_hidden(tree)
    assert tree.text_content() == "text"


@pytest.mark.parametrize(
    "hidden",
    [
        "".join(chr(0xE0000 + ord(letter)) for letter in HIDDEN),  # tags
        "".join(chr(0xE0100 + ord(letter)) for letter in HIDDEN),  # variation selectors
        "\u200b\u2060\ufeff\u00ad",
        "\u202e\u2066\u2069\u200f",
        "\u200c\u200d\u200c",
        "\u3164\u115f\u2800",
    ],
)
def test_characters_that_nobody_sees_are_gone(hidden: str) -> None:
    assert seen(f"be{hidden}fore") == "before"


def test_joiners_that_a_script_needs_stay() -> None:
    assert seen("می\u200cخواهم") == "می\u200cخواهم"
    assert seen("\U0001f468\u200d\U0001f469") == "\U0001f468\u200d\U0001f469"
    assert seen("می\u200c\u200d\u200cخواهم") == "میخواهم"  # a code, and no joiner
