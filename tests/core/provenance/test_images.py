"""Images in answers: what a viewer would load from an address that comes from nowhere."""

import time

import pytest

from core.provenance.images import REMOVED, without_unknown_images

KNOWN = "https://a.example/i.png"
EVIL = "https://evil.example/?d=1"


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
        (f"<img alt='>' src={EVIL}> b", f"> {REMOVED} b"),
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
        f"<img title='{'x' * 9_000}' src='{EVIL}'>",
    ],
)
def test_where_it_is_hard_to_tell_nothing_is_loaded(answer: str) -> None:
    result = shown(answer)
    assert "![" not in result or "evil" not in result
    assert "<img" not in result


@pytest.mark.parametrize("part", ["![", "![x](", "<img ", '<img "', "[x]: ", "![x](a("])
def test_hostile_answers_take_bounded_time(part: str) -> None:
    answer = part * (60_000 // len(part))
    began = time.process_time()
    shown(answer)
    assert time.process_time() - began < 2.0
