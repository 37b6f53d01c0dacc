"""robots.txt is read as RFC 9309 has it, asked for once, and heeded where the setting says."""

import asyncio

import pytest

from servers.web.errors import AddressRefused, PageUnavailable
from servers.web.fetching.robots import (
    FAILURE_SECONDS,
    FRESH_SECONDS,
    TEXT_BYTES_MAX,
    parse_robots,
)
from servers.web.options import WebOptions
from tests.servers.web.loopback import Exchange, Reply, loopback_web, page, redirect

ONE_RULE = [
    ("Disallow: /", "/a", False),
    ("Disallow:", "/a", True),
    ("Disallow: /a", "/b", True),
    ("Disallow: /a", "/abc", False),
    ("Disallow: /a", "/A", True),
    ("disallow : /a # why", "/a", False),
    ("Disallow: /a$", "/a", False),
    ("Disallow: /a$", "/ab", True),
    ("Disallow: /*.pdf$", "/x/y.pdf", False),
    ("Disallow: /*.pdf$", "/x/y.pdf?z", True),
    ("Disallow: /*.pdf", "/x/y.pdf?z", False),
    ("Disallow: *", "/a", False),
    ("Disallow: /*?*q=", "/search?x=1&q=2", False),
    ("Disallow: /a*b*c$", "/abc/abc", False),
    ("Disallow: /a*bb$", "/ab", True),
    ("Disallow: /ab*b$", "/ab", True),
    ("Disallow: /\nAllow: /a", "/ab", True),
    ("Allow: /a\nDisallow: /ab", "/ab", False),
    ("Disallow: /a\nAllow: /a", "/a", True),
    ("Disallow: /a\nAllow: /*", "/a", True),
    ("Disallow: /", "/robots.txt", True),
    ("Disallow: /%62%61%7a", "/baz", False),
    ("Disallow: /baz", "/b%61z", False),
    ("Disallow: /ツ", "/%E3%83%84", False),
    ("Disallow: /%e3%83%84", "/%E3%83%84", False),
    ("Disallow: /a%2fb", "/a%2Fb", False),
    ("Disallow: /a%2fb", "/a/b", True),
    ("Disallow: /a%24", "/a", True),
]


@pytest.mark.parametrize(("lines", "path", "is_allowed"), ONE_RULE)
def test_the_longest_rule_that_matches_decides(lines: str, path: str, is_allowed: bool) -> None:
    rules = parse_robots(f"User-agent: *\n{lines}\n".encode(), "Cortex-R")
    assert rules.allow(path) is is_allowed


GROUPS = [
    ("User-agent: Cortex-R\nDisallow: /", False),
    ("USER-AGENT: cortex-r/2.0 (x)\nDisallow: /", False),
    ("User-agent: Cortex\nDisallow: /", True),
    ("User-agent: *\nDisallow: /\n\nUser-agent: Cortex-R\nAllow: /", True),
    ("User-agent: *\nDisallow: /\n\nUser-agent: Cortex-R\n", True),
    ("User-agent: Cortex-R\nAllow: /x\n\nUser-agent: cortex-r\nDisallow: /a", False),
    ("User-agent: Other\nUser-agent: Cortex-R\nDisallow: /", False),
    ("User-agent: Other\nSitemap: /x\nUser-agent: Cortex-R\nDisallow: /", False),
    ("User-agent: Other\nDisallow: /\nUser-agent: Cortex-R\nDisallow: /x", True),
    ("User-agent: Other\r\rUser-agent: *\rDisallow: /", False),
    ("Disallow: /", True),
    ("<html>User-agent: *", True),
    ("", True),
]


@pytest.mark.parametrize(("text", "is_allowed"), GROUPS)
def test_the_groups_that_name_us_hold_and_else_those_for_all(text: str, is_allowed: bool) -> None:
    for start in (b"", b"\xef\xbb\xbf"):
        assert parse_robots(start + text.encode(), "Cortex-R").allow("/a") is is_allowed


def test_what_lies_behind_the_bound_is_left_out() -> None:
    rule = b"User-agent: *\nDisallow: /"
    filled = (b"#" + b"x" * 998 + b"\n") * (TEXT_BYTES_MAX // 1_000)
    assert not parse_robots(filled[:-1_000] + rule, "Cortex-R").allow("/a")
    assert parse_robots(filled + rule, "Cortex-R").allow("/a")


def test_a_hostile_pattern_takes_no_longer_than_its_length() -> None:
    rule = "Disallow: /" + "*a" * 900 + "$\n"
    rules = parse_robots(("User-agent: *\n" + rule * 50).encode(), "Cortex-R")
    assert rules.allow("/" + "a" * 899 + "b")


REFUSING = page("User-agent: Cortex-R\nDisallow: /private", "text/plain")


@pytest.mark.parametrize(
    ("setting", "because", "is_read"),
    [
        ("found", "found", False),
        ("found", "typed", True),
        ("always", "found", False),
        ("always", "typed", False),
        ("never", "found", True),
        ("never", "typed", True),
    ],
)
async def test_the_setting_says_whose_pages_are_left_out(
    setting: str, because: str, is_read: bool
) -> None:
    async with loopback_web() as web:
        web.pages["/robots.txt"] = REFUSING
        web.pages["/private"] = page("text")
        web.pages["/public"] = page("text")
        fetcher = web.public_fetcher(WebOptions.model_validate({"robots": setting}))
        why = "found" if because == "found" else "typed"
        await fetcher.fetch("http://one.example/public", because=why)
        if is_read:
            await fetcher.fetch("http://one.example/private", because=why)
        else:
            with pytest.raises(PageUnavailable, match="asks programs not to read it"):
                await fetcher.fetch("http://one.example/private", because=why)
    assert web.paths.count("/private") == int(is_read)
    assert web.paths.count("/robots.txt") <= 1


async def test_each_site_that_a_redirect_leads_to_is_asked() -> None:
    async with loopback_web() as web:
        web.pages["/robots.txt"] = REFUSING
        web.pages["/a"] = redirect("http://two.example/private")
        with pytest.raises(PageUnavailable, match=r"two\.example/private is left out"):
            await web.public_fetcher().fetch("http://one.example/a", because="found")
    assert web.paths == ["/robots.txt", "/a", "/robots.txt"]


async def test_a_call_of_a_service_asks_for_no_leave() -> None:
    async with loopback_web() as web:
        web.pages["/private"] = page("text")
        fetcher = web.public_fetcher(WebOptions(robots="always"))
        await fetcher.fetch("http://one.example/private", form={"q": "x"})
        await fetcher.fetch("http://one.example/private", headers={"X-Key": "x"})
    assert web.paths == ["/private", "/private"]


async def cut(exchange: Exchange) -> None:
    exchange.cut()


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply(status=404), ""),
        (Reply(status=403), ""),
        (Reply(status=429), ""),
        (Reply(status=304), ""),
        (Reply(b"x" * 600_000), ""),
        (redirect("/again"), ""),
        (Reply(status=500), "status 500"),
        (Reply(status=503, headers={"retry-after": "1"}), "status 503"),
        (cut, "breaks off"),
        (redirect("http://127.0.0.1/"), "this machine itself"),
        (Reply(b"plain", headers={"content-encoding": "gzip"}), "not compressed as it says"),
    ],
)
async def test_no_rules_allow_all_and_a_site_in_trouble_nothing(reply: Reply, told: str) -> None:
    async with loopback_web() as web:
        web.pages["/robots.txt"] = reply
        web.pages["/again"] = redirect("/again")
        web.pages["/a"] = page("text")
        fetching = web.public_fetcher().fetch("http://one.example/a", because="found")
        if told:
            with pytest.raises(PageUnavailable, match=rf"can't say .*{told}"):
                await fetching
        else:
            await fetching
    assert web.paths.count("/a") == int(not told)


async def test_robots_txt_is_asked_for_under_guard_too() -> None:
    async with loopback_web() as web:
        with pytest.raises(AddressRefused):
            await web.public_fetcher().fetch("http://10.0.0.1/", because="found")
    assert web.asked == []


async def test_a_site_is_asked_once_however_many_wait_and_again_when_that_is_stale() -> None:
    now = [5.0]
    async with loopback_web() as web:
        web.pages |= {"/robots.txt": page("User-agent: *", "text/plain"), "/a": page("a")}
        fetcher = web.public_fetcher(clock=lambda: now[0])

        async def read(host: str) -> None:
            await fetcher.fetch(f"http://{host}/a", because="found")

        await asyncio.gather(*(read("a.example") for _ in range(9)))
        await read("b.example")
        assert web.paths.count("/robots.txt") == 2
        now[0] += FRESH_SECONDS
        web.pages["/robots.txt"] = Reply(status=500)
        for seconds in (0.0, FAILURE_SECONDS - 1, 1.0):
            now[0] += seconds
            with pytest.raises(PageUnavailable, match="can't say"):
                await read("a.example")
    assert web.paths.count("/robots.txt") == 4
