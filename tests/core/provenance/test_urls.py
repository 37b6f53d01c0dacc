"""URLs as they are found in text, and which of them are the same."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.provenance.urls import (
    LINKS_MAX,
    addresses_in,
    hosts_named,
    known_keys,
    links_in_list,
    links_on_page,
    parse_url,
    url_runs,
    urls_in,
)


def key(url: str) -> str:
    parsed = parse_url(url)
    assert parsed is not None
    return parsed.key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example/x", "HTTPS://A.Example./x"),
        ("https://a.example/x", "https://www.a.example/x/"),
        ("https://a.example:443/x", "https://a.example/x"),
        ("https://a.example/a/../x", "https://a.example/./x"),
        ("https://a.example/%7Eann", "https://a.example/~ann"),
        ("https://a.example/%c3%a4", "https://a.example/ä"),
        ("https://bücher.example/", "https://xn--bcher-kva.example"),
        ("https://ａ.example/", "https://a.example/"),
        ("https://a.example/x#y", "https://a.example/x"),
        ("https://[2001:DB8::1]/", "https://[2001:db8::1]"),
        ("a.example/x", "https://a.example/x"),
        ("//a.example/x", "https://a.example/x"),
        ("https:\\\\a.example\\x", "https://a.example/x"),
    ],
)
def test_what_leads_to_the_same_place_is_the_same(one: str, other: str) -> None:
    assert key(one) == key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example/x", "http://a.example/x"),
        ("https://a.example/x", "https://a.example/X"),
        ("https://a.example/x", "https://a.example/x?y"),
        ("https://a.example/x", "https://u@a.example/x"),
        ("https://a.example/x", "https://a.example:8443/x"),
        ("https://a.example/x", "https://b.a.example/x"),
        ("https://a.example/a%2Fb", "https://a.example/a/b"),
        ("https://paypal.example/", "https://p\u0430ypal.example/"),
        ("https://faß.example/", "https://fass.example/"),
    ],
)
def test_what_may_carry_something_is_another(one: str, other: str) -> None:
    assert key(one) != key(other)


def test_an_address_of_http_is_known_by_https_too_but_not_the_other_way() -> None:
    assert key("https://a.example/x") in set(known_keys("http://a.example/x"))
    assert key("http://a.example/x") not in set(known_keys("https://a.example/x"))
    assert {key("http://a.example/x"), key("https://a.example/x")} == set(known_keys("a.example/x"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see https://a.example/x.", ["https://a.example/x"]),
        (
            "[a](https://a.example/x)[b](https://b.example)",
            ["https://a.example/x", "https://b.example"],
        ),
        ("(https://w.example/A_(b))", ["https://w.example/A_(b)"]),
        ("<a href='https://a.example/x'>", ["https://a.example/x"]),
        ("在 https://a.example/x，然后", ["https://a.example/x"]),
        ("www.a.example/x and //b.example/y", ["www.a.example/x", "//b.example/y"]),
        ("a // comment, and/or, 1//2", []),
    ],
)
def test_addresses_end_where_the_text_around_them_says(text: str, found: list[str]) -> None:
    assert [*urls_in(text)] == found


def test_a_run_goes_on_to_the_next_white_space() -> None:
    text = "x=https://a.example/x)y z"
    assert [text[start:end] for start, end in url_runs(text)] == ["https://a.example/x)y"]


def test_a_host_is_named_without_a_scheme() -> None:
    assert [*hosts_named("Is a.example/x, or b.example. down? I ate 1.5 e.g.")] == [
        "a.example/x",
        "b.example",
    ]


def test_links_of_a_page_are_those_to_its_own_host() -> None:
    text = "[a](/x) [b](y.html) <a href=z> https://www.a.example/w https://b.example/ //c.example/v"
    found = {*links_on_page(text, "https://a.example/d/page")}
    paths = ("/x", "/d/y.html", "/d/z", "/w")
    assert {f"https://a.example{path}" for path in paths} <= found
    assert not [url for url in found if "b.example" in url or "c.example" in url]


def test_an_address_without_an_end_is_none() -> None:
    assert parse_url(f"https://a.example/{'x' * 10_000}") is None


@pytest.mark.parametrize(
    "text",
    [
        "a-" * 200_000,
        "https://" * 50_000,
        "](" * 200_000,
        "@a." * 130_000,
        "href=" * 80_000,
        "www." * 100_000,
        "a." * 200_000,
        "//a" * 130_000,
        '((\\"@' * 100_000,
        '"a b"@c.de, ' * 40_000,
        "a @ b(c),<" * 40_000,
    ],
    ids=[
        *("dashes", "schemes", "brackets", "at", "href", "www", "labels", "slashes"),
        *("comments", "quotes", "fields"),
    ],
)
def test_hostile_text_takes_bounded_time(text: str) -> None:
    part, began = text[:40_000], time.process_time()
    for _ in links_on_page(part, "https://a.example"):
        pass
    for _ in (*url_runs(part), *addresses_in(part), *hosts_named(part)):
        pass
    assert time.process_time() - began < 1.0


def test_of_a_list_without_end_the_first_links_are_known() -> None:
    text = "\n".join(f"https://a{n}.example" for n in range(20))
    assert len({*links_in_list(text)}) == 20
    assert LINKS_MAX == 100_000


def keys(text: str) -> set[str]:
    return {key for _, key in addresses_in(text)}


def test_addresses_of_people() -> None:
    text = "To: Bob <Bob.B+x@Mail.Example>, eve@evil.example; npm i a@b, pkg@1.2.3"
    assert [key for _, key in addresses_in(text)] == ["bob.b+x@mail.example", "eve@evil.example"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('"eve smith"@evil.example', "eve smith@evil.example"),
        (r'"e\ve"@evil.example', "eve@evil.example"),
        ('"eve"@evil.example, x@y.example', "eve@evil.example"),
        ("eve(work)@evil.example", "eve@evil.example"),
        ("eve(a (b) c)@(d)evil.example", "eve@evil.example"),
        ("eve@evil(c).example", "eve@evil.example"),
        ("eve @ evil.example", "eve@evil.example"),
        ("eve @\r\n evil.example", "eve@evil.example"),
        ("eve . smith@evil.example", "eve.smith@evil.example"),
        ("o'brien@evil.example", "o'brien@evil.example"),
        ("x=y@evil.example", "x=y@evil.example"),
        (r"eve\@evil.example", "eve\\@evil.example"),
        ("eve@[203.0.113.9]", "eve@[203.0.113.9]"),
        ("eve@[IPv6:2001:DB8::1]", "eve@[ipv6:2001:db8::1]"),
        ("eve@203.0.113.9", "eve@203.0.113.9"),
        ("root@localhost", "root@localhost"),
        ("Root <root@localhost>; bob@good.example", "root@localhost"),
        ("eve＠evil．example", "eve@evil.example"),
        ("ｅｖｅ@evil。example", "eve@evil.example"),
        ("eve@ev\u00adil.example", "eve@evil.example"),
        ("e\u200bve@evil.example", "eve@evil.example"),
        ("eve@bücher.example", "eve@xn--bcher-kva.example"),
        ("eve@हिन्दी.भारत", "eve@xn--j2bd4cyah0f.xn--h2brj9c"),
        ("eve@nl·levil.example", "eve@xn--nllevil-wma.example"),
        ("Bob <eve@evil.example>", "eve@evil.example"),
        ('"bob@good.example" <eve@evil.example>', "eve@evil.example"),
        ("bob@good.example <eve @ evil.example>", "eve@evil.example"),
        ('Team: bob@good.example, "eve" @ evil.example;', "eve@evil.example"),
        ("<@a.example,@b.example:eve(c)@evil.example>", "eve@evil.example"),
        ("<@a.example,@b.example:eve @ evil.example>", "eve@evil.example"),
        ("mailto:eve@evil.example", "eve@evil.example"),
        ("mailto:bob@good.example?cc=eve@evil.example", "eve@evil.example"),
        ("bob@good.example\r\nBcc: eve@evil.example", "eve@evil.example"),
        ("eve@www.evil.example", "eve@www.evil.example"),
    ],
)
def test_what_a_mail_server_would_deliver_to_is_an_address(text: str, key: str) -> None:
    assert key in keys(text)
    assert key in keys(f"bob@good.example, {text}")


@pytest.mark.parametrize(
    "text",
    [
        "Write to bob@good.example.",
        'bob@good.example is his (see "x")',
        "“bob@good.example”。谢谢",
        "'bob@good.example'",
        "<bob@good.example>",
        "Ask her. Thanks, (bob@good.example)",
        "mail --to=bob@good.example now",
    ],
)
def test_an_address_in_prose_is_that_address_alone(text: str) -> None:
    assert keys(text) == {"bob@good.example"}


@pytest.mark.parametrize(
    "text",
    [
        "Bananas are 3 @ 2.50 each",
        "foo()\n@pytest.mark.skip\ndef f(): pass",
        "npm install express@latest pkg@1.2.3 @types/node@20",
        '{"@context":"https://schema.org","@type":"Person"}',
        "see you @ the cafe",
        "3@5",
    ],
)
def test_other_signs_make_no_address(text: str) -> None:
    assert not keys(text)


@given(st.text('ab"\\(),;:<>[]@. \n\u200b＠。é', max_size=60), st.integers(0, 60))
def test_no_text_around_hides_an_address(text: str, at: int) -> None:
    assert "eve@evil.example" in keys(f"{text[:at]} eve@evil.example {text[at:]}")


@given(st.sampled_from(("eve @ evil.example", '"eve" @ evil.example', "eve(x) @ evil.example")))
@example("eve @(y) evil.example")
def test_no_length_hides_an_address(text: str) -> None:
    padding = "x" * 1_000
    assert keys(f"{padding} {text}")
    assert keys(f"{text}{' ' * 5_000}")
    assert keys(f"{text}, " * 1_000)
