"""A connection goes to an address that was checked, and to no other."""

import asyncio
import socket
from collections.abc import Sequence

import httpcore2
import pytest

from servers.web.errors import AddressRefused, PageUnavailable
from servers.web.fetching.fetcher import GuardedFetcher
from servers.web.fetching.guard import system_resolver
from servers.web.options import OptionsError, WebOptions
from tests.servers.web.loopback import PUBLIC, LoopbackWeb, loopback_web, page, redirect


class Names:
    """A resolver that gives the next of some answers at each question."""

    def __init__(self, *answers: Sequence[str] | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Sockets:
    """A connector that leads to a loopback web, and keeps what it was asked for."""

    def __init__(self, web: LoopbackWeb | None = None, *, dead: Sequence[str] = ()) -> None:
        self._web = web
        self._dead = dead
        self.asked: list[str] = []

    async def connect(
        self, address: str, port: int, seconds: float
    ) -> httpcore2.AsyncNetworkStream:
        self.asked.append(address)
        if self._web is None or address in self._dead:
            raise httpcore2.ConnectError
        return await self._web.connect(address, port, seconds)


def fetcher(names: Names, sockets: Sockets, *opened: str) -> GuardedFetcher:
    options = WebOptions(allow_private=opened)
    return GuardedFetcher(options, resolver=names.resolve, connector=sockets.connect)


async def test_a_name_is_looked_up_once_and_what_was_checked_is_connected_to() -> None:
    async with loopback_web() as web:
        web.pages["/"] = page("here")
        names, sockets = Names([PUBLIC], ["127.0.0.1"]), Sockets(web)
        got = await fetcher(names, sockets).fetch("http://rebind.example:8080/")
    assert got.body == b"here"
    assert names.asked == [("rebind.example", 8080)]
    assert sockets.asked == [PUBLIC]
    assert web.asked[0].headers["host"] == "rebind.example:8080"


async def test_a_name_that_turns_private_between_two_hops_is_refused_at_the_second() -> None:
    async with loopback_web() as web:
        web.pages["/"] = redirect("/again")
        web.pages["/again"] = page("secret")
        names, sockets = Names([PUBLIC], ["127.0.0.1"]), Sockets(web)
        with pytest.raises(AddressRefused, match=r"has the address 127\.0\.0\.1"):
            await fetcher(names, sockets).fetch("http://rebind.example/")
    assert (len(names.asked), sockets.asked, web.paths) == (2, [PUBLIC], ["/"])


@pytest.mark.parametrize(
    "addresses",
    [["10.0.0.7"], [PUBLIC, "::1"], ["2606:4700::1", "fe80::1%eth0"], [PUBLIC] * 9 + ["10.1.1.1"],
     ["::ffff:10.0.0.1"], ["169.254.169.254"], ["not an address"]],
)  # fmt: skip
async def test_one_private_address_among_others_closes_the_name(addresses: list[str]) -> None:
    names, sockets = Names(addresses), Sockets()
    with pytest.raises(AddressRefused):
        await fetcher(names, sockets).fetch("http://some.example/")
    assert sockets.asked == []


async def test_the_next_address_is_tried_where_one_is_dead() -> None:
    async with loopback_web() as web:
        web.pages["/"] = page("here")
        sockets = Sockets(web, dead=["2606:4700::1"])
        names = Names(["2606:4700::1", PUBLIC])
        assert (await fetcher(names, sockets).fetch("http://some.example/")).body == b"here"
    assert sockets.asked == ["2606:4700::1", PUBLIC]


async def test_no_more_than_four_addresses_are_tried() -> None:
    sockets = Sockets()
    with pytest.raises(PageUnavailable, match=r"some\.example can't be reached"):
        await fetcher(Names([f"8.8.8.{n}" for n in range(9)]), sockets).fetch("http://some.example")
    assert len(sockets.asked) == 4


@pytest.mark.parametrize(
    "url",
    ["http://localhost/", "http://intranet/", "http://nas.local/", "http://127.0.0.1/",
     "http://[::1]/", "http://10.1.2.3:8080/", "http://metadata.google.internal/",
     "http://169.254.169.254/latest/meta-data"],
)  # fmt: skip
async def test_what_is_plainly_private_is_refused_without_a_question(url: str) -> None:
    names, sockets = Names(), Sockets()
    with pytest.raises(AddressRefused):
        await fetcher(names, sockets).fetch(url)
    assert (names.asked, sockets.asked) == ([], [])


async def test_a_host_that_the_profile_opens_is_read_and_no_other() -> None:
    async with loopback_web() as web:
        web.pages["/"] = page("wiki")
        opened = GuardedFetcher(WebOptions(allow_private=("127.0.0.1",)))
        assert (await opened.fetch(web.url())).body == b"wiki"
        for other in ("127.0.0.2", "localhost", "[::1]", "[::ffff:127.0.0.1]"):
            with pytest.raises(AddressRefused, match="allow_private"):
                await opened.fetch(web.url(host=other))
    assert len(web.asked) == 1


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("Wiki.", "http://wiki/"),
        ("wiki.corp.example", "http://wiki.corp.example:8080/"),
        ("wiki:8080", "http://wiki:8080/"),
        ("::1", "http://[::1]/"),
        ("[::1]:8080", "http://[::1]:8080/"),
        ("bücher.example", "http://xn--bcher-kva.example/"),
    ],
)
async def test_hosts_are_opened_as_they_stand_in_a_url(entry: str, url: str) -> None:
    sockets = Sockets()
    with pytest.raises(PageUnavailable, match="can't be reached"):
        await fetcher(Names(["10.0.0.1"]), sockets, entry).fetch(url)
    assert len(sockets.asked) == 1


async def test_a_public_page_does_not_lead_to_a_host_that_is_opened() -> None:
    async with loopback_web() as web:
        web.pages["/"] = redirect("http://wiki.corp/secret")
        web.pages["/secret"] = page("secret")
        names, sockets = Names([PUBLIC], ["10.0.0.1"]), Sockets(web)
        with pytest.raises(AddressRefused, match=r"10\.0\.0\.1"):
            await fetcher(names, sockets, "wiki.corp").fetch("http://one.example/")
        assert web.paths == ["/"]
        web.pages["/"] = redirect("/secret")
        got = await fetcher(Names(["10.0.0.1"], ["10.0.0.1"]), sockets, "wiki.corp").fetch(
            "http://wiki.corp/"
        )
    assert got.body == b"secret"


async def test_an_opened_port_opens_no_other() -> None:
    sockets = Sockets()
    with pytest.raises(AddressRefused):
        await fetcher(Names(), sockets, "wiki:8080").fetch("http://wiki:8081/")


@pytest.mark.parametrize("entry", ["", "*", "http://wiki", "a b", "10.0.0.0/8", "wiki/", "a@b"])
def test_an_entry_that_is_no_host_is_told_at_once(entry: str) -> None:
    with pytest.raises(OptionsError, match="allow_private"):
        GuardedFetcher(WebOptions(allow_private=(entry,)))


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "fd00:ec2::254", "::ffff:169.254.169.254", "100.100.100.200",
     "168.63.129.16", "64:ff9b::a9fe:a9fe", "fe80::a9fe:a9fe%eth0"],
)  # fmt: skip
async def test_metadata_stays_closed_whatever_is_opened(address: str) -> None:
    sockets = Sockets()
    opened = ("wiki.corp", "169.254.169.254", "metadata.google.internal")
    guarded = fetcher(Names([address]), sockets, *opened)
    for url in ("http://wiki.corp/", "http://169.254.169.254/", "http://metadata.google.internal/"):
        with pytest.raises(AddressRefused, match="metadata service") as refused:
            await guarded.fetch(url)
        assert "allow_private" not in str(refused.value)
    assert sockets.asked == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (socket.gaierror(socket.EAI_NONAME, "unknown"), "there is no host some.example"),
        (socket.gaierror(socket.EAI_AGAIN, "later"), "no name server answers"),
        (UnicodeError("label too long"), "there is no host some.example"),
    ],
)
async def test_a_name_that_is_not_found_is_told(error: Exception, told: str) -> None:
    with pytest.raises(PageUnavailable, match=told):
        await fetcher(Names(error), Sockets()).fetch("http://some.example/")
    with pytest.raises(PageUnavailable, match="there is no host"):
        await fetcher(Names([]), Sockets()).fetch("http://some.example/")


async def test_the_system_knows_addresses_and_what_is_none() -> None:
    async with asyncio.timeout(5):
        assert await system_resolver("127.0.0.1", 80) == ["127.0.0.1"]
        with pytest.raises(UnicodeError):
            await system_resolver("a" * 64, 80)
        waiting = asyncio.create_task(system_resolver("127.0.0.1", 80))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
