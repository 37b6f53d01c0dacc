"""Redirects are followed as browsers do, but carry nothing across and lead nowhere private."""

import pytest

from servers.web.errors import AddressRefused, PageUnavailable
from servers.web.fetching.http_messages import Request, first_request, next_request
from servers.web.fetching.targets import parse_target
from tests.servers.web.loopback import Reply, loopback_web, page, redirect


async def test_the_last_address_is_told_and_each_hop_is_looked_up() -> None:
    async with loopback_web() as web:
        web.pages["/a"] = redirect("b/?x=1#there", 301)
        web.pages["/b/"] = redirect("http://other.example/c", 307)
        web.pages["/c"] = page("here")
        got = await web.public_fetcher().fetch("http://one.example/a#here")
    assert (got.url, got.body) == ("http://other.example/c", b"here")
    assert web.resolved == ["one.example", "one.example", "other.example"]
    assert [asked.headers["host"] for asked in web.asked] == web.resolved


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("http://127.0.0.1/secret", "this machine itself"),
        ("http://[::ffff:10.0.0.1]/", "in disguise"),
        ("http://169.254.169.254/latest/", "metadata service"),
        ("http://metadata.google.internal/", "metadata service"),
        ("http://localhost:8080/", "without a dot"),
        ("http://0x7f.1/", "hides what it means"),
        ("file:///etc/passwd", "not file:"),
        ("ftp://one.example/", "not ftp:"),
        ("data:text/html,x", "not data:"),
        ("//user:pw@one.example/", "user name"),
        ("http://one.example:22/", "port 22"),
        ("http://one.example\\@10.0.0.1/", "backslash"),
    ],
)
async def test_a_redirect_to_what_may_not_be_read_is_refused(location: str, told: str) -> None:
    async with loopback_web() as web:
        web.pages["/"] = redirect(location)
        with pytest.raises(AddressRefused, match=told):
            await web.public_fetcher().fetch("http://one.example/")
    assert len(web.asked) == 1


async def test_a_circle_is_told_as_such() -> None:
    async with loopback_web() as web:
        web.pages["/self"] = redirect("/self#again")
        web.pages["/there"] = redirect("/back")
        web.pages["/back"] = redirect("/there")
        for path, asked in (("/self", 1), ("/there", 2)):
            web.asked.clear()
            with pytest.raises(PageUnavailable, match="round in a circle"):
                await web.public_fetcher().fetch(f"http://one.example{path}")
            assert len(web.asked) == asked


async def test_ten_redirects_are_followed_and_eleven_are_not() -> None:
    async with loopback_web() as web:
        for number in range(11):
            web.pages[f"/{number}"] = redirect(f"/{number + 1}")
        web.pages["/11"] = page("here")
        fetcher = web.public_fetcher()
        assert (await fetcher.fetch("http://one.example/1")).body == b"here"
        with pytest.raises(PageUnavailable, match="more than 10 times"):
            await fetcher.fetch("http://one.example/0")


async def test_a_redirect_that_says_no_place_is_an_error() -> None:
    async with loopback_web() as web:
        web.pages["/"] = Reply(b"over there", 302)
        with pytest.raises(PageUnavailable, match="without saying where") as error:
            await web.public_fetcher().fetch("http://one.example/")
    assert error.value.status == 302


async def test_keys_stay_with_the_first_origin_for_good() -> None:
    async with loopback_web() as web:
        web.pages["/a"] = redirect("/b")
        web.pages["/b"] = redirect("http://thief.example/c")
        web.pages["/c"] = redirect("http://one.example/d")
        web.pages["/d"] = page("here")
        keys = {"Authorization": "Bearer s3cret", "X-Api-Key": "s3cret", "User-Agent": "own"}
        await web.public_fetcher().fetch("http://one.example/a", headers=keys)
    carried = ["s3cret" in str(asked.headers) for asked in web.asked]
    assert carried == [True, True, False, False]
    assert [asked.headers["user-agent"] == "own" for asked in web.asked] == carried


def request(url: str, *, has_body: bool = False, **headers: str) -> Request:
    return first_request(parse_target(url), headers, {"q": "x"} if has_body else None, None)


@pytest.mark.parametrize(
    "to", ["http://one.example:81/", "https://one.example/", "http://www.one.example/"]
)
def test_another_port_scheme_or_name_is_another_origin(to: str) -> None:
    assert next_request(request("http://one.example/", key="x"), 302, to.encode()).headers == {}


def test_a_secure_page_does_not_lead_to_an_insecure_one() -> None:
    with pytest.raises(AddressRefused, match="from https to http") as refused:
        next_request(request("https://one.example/"), 301, b"http://one.example/x")
    assert "ask for http://one.example/x itself" in str(refused.value)


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_post_becomes_a_get_without_its_data(status: int) -> None:
    async with loopback_web() as web:
        web.pages["/a"] = redirect("/b", status)
        web.pages["/b"] = page("here")
        await web.public_fetcher().fetch("http://one.example/a", form={"q": "a b&c"})
    first, second = web.asked
    assert (first.method, first.body) == ("POST", b"q=a+b%26c")
    assert first.headers["content-type"] == "application/x-www-form-urlencoded"
    assert (second.method, second.body) == ("GET", b"")
    assert not {"content-type", "content-length"} & set(second.headers)


@pytest.mark.parametrize("status", [307, 308])
async def test_a_post_that_is_kept_stays_with_its_origin(status: int) -> None:
    async with loopback_web() as web:
        web.pages["/a"] = redirect("/b", status)
        web.pages["/b"] = page("here")
        web.pages["/out"] = redirect("http://thief.example/b", status)
        fetcher = web.public_fetcher()
        await fetcher.fetch("http://one.example/a", json={"api_key": "s3cret"})
        assert [asked.body for asked in web.asked] == [b'{"api_key": "s3cret"}'] * 2
        assert web.asked[1].headers["content-type"] == "application/json"
        with pytest.raises(PageUnavailable, match=r"its data on to http://thief\.example"):
            await fetcher.fetch("http://one.example/out", json={"api_key": "s3cret"})
    assert web.paths == ["/a", "/b", "/out"]


@pytest.mark.parametrize(
    "headers",
    [{"Host": "x"}, {"Cookie": "x"}, {"Range": "bytes=0-1"}, {"A": "x\r\nB: y"}, {"Ü": "x"}],
)
def test_a_header_that_a_caller_may_not_set_is_its_mistake(headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="can't be set"):
        first_request(parse_target("http://one.example/"), headers, None, None)


def test_a_request_has_one_body() -> None:
    with pytest.raises(ValueError, match="one body"):
        first_request(parse_target("http://one.example/"), None, {}, {})
