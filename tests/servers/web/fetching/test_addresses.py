"""Every range of IANA's special-purpose registries is closed, in each disguise an address has."""

from ipaddress import IPv6Address

import pytest

from servers.web.fetching.guard import inner_addresses, is_metadata, private_name, refusal

PUBLIC = [
    "1.1.1.1", "8.8.8.8", "93.184.215.14", "9.255.255.255", "11.0.0.0", "100.63.255.255",
    "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0",
    "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0",
    "198.17.255.255", "198.20.0.0", "223.255.255.255",
    "2606:4700:4700::1111", "2a00:1450:4001:830::200e", "2001:200::1", "2001:4860:4860::8888",
    "2620:4f:7fff::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2a00:1:2:3:0:5efe:808:808",
]  # fmt: skip

CLOSED = [
    ("0.0.0.0", "this network"), ("0.1.2.3", "this network"),  # noqa: S104 - nothing is bound
    ("10.0.0.0", "private"), ("10.255.255.255", "private"),
    ("100.64.0.0", "shared by a provider"), ("100.127.255.255", "shared by a provider"),
    ("127.0.0.1", "this machine"), ("127.255.255.254", "this machine"),
    ("169.254.0.1", "link-local"), ("169.254.169.254", "metadata"), ("169.254.170.2", "metadata"),
    ("172.16.0.1", "private"), ("172.31.255.255", "private"),
    ("192.0.0.1", "for protocols"), ("192.0.0.9", "for protocols"), ("192.0.0.192", "metadata"),
    ("192.0.2.1", "documentation"), ("192.31.196.1", "AS112"), ("192.52.193.1", "multicast tunnel"),
    ("192.88.99.1", "6to4"), ("192.168.255.255", "private"), ("192.175.48.1", "AS112"),
    ("198.18.0.0", "benchmarks"), ("198.19.255.255", "benchmarks"),
    ("198.51.100.7", "documentation"), ("203.0.113.7", "documentation"),
    ("224.0.0.1", "multicast"), ("239.255.255.255", "multicast"),
    ("240.0.0.1", "reserved"), ("255.255.255.255", "broadcast"),
    ("100.100.100.200", "metadata"), ("168.63.129.16", "metadata"),
    ("::", "no address"), ("::1", "this machine"), ("::7f00:1", "given up"),
    ("::ffff:127.0.0.1", "127.0.0.1 in disguise: this machine"),
    ("::ffff:169.254.169.254", "metadata"), ("::ffff:a00:1", "10.0.0.1 in disguise"),
    ("::ffff:0:10.0.0.1", "10.0.0.1 in disguise"), ("::ffff:0:8.8.8.8", "given out"),
    ("64:ff9b::127.0.0.1", "this machine"), ("64:ff9b::a9fe:a9fe", "metadata"),
    ("64:ff9b:1::808:808", "local IPv4 translation"), ("64:ff9b:1:a00:0:100::", "translation"),
    ("64:ff9c::1", "given out"), ("100::1", "discarded"), ("100:0:0:1::1", "dummy"),
    ("2001::1", "Teredo"), ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"),
    ("2001:1::1", "for protocols"), ("2001:2::1", "benchmarks"), ("2001:3::1", "for protocols"),
    ("2001:10::1", "ORCHID"), ("2001:20::1", "ORCHIDv2"), ("2001:30::1", "for protocols"),
    ("2001:1ff::1", "for protocols"), ("2001:db8::1", "documentation"),
    ("2002:7f00:1::1", "6to4"), ("2002:808:808::1", "6to4"), ("2620:4f:8000::1", "AS112"),
    ("3fff::1", "documentation"), ("3fff:fff:ffff::1", "documentation"),
    ("4000::1", "given out"), ("5f00::1", "segment"), ("fc00::1", "private"),
    ("fd12:3456:789a::1", "private"), ("fe80::1", "link-local"), ("febf::1", "link-local"),
    ("fe80::1%eth0", "zone"), ("8.8.8.8%1", "zone"), ("fec0::1", "site-local"),
    ("ff02::1", "multicast"), ("2a00:1:2:3:0:5efe:a00:1", "10.0.0.1 in disguise"),
    ("2a00:1:2:3:200:5efe:7f00:1", "127.0.0.1 in disguise"),
    ("", "no IP address"), ("localhost", "no IP address"), ("127.1", "no IP address"),
    ("0177.0.0.1", "no IP address"), ("2130706433", "no IP address"), ("1.1.1.1 ", "no IP address"),
]  # fmt: skip


def test_an_address_of_the_public_internet_is_open() -> None:
    told = {address: refusal(address) for address in PUBLIC}
    assert told == dict.fromkeys(PUBLIC)


def test_a_special_address_is_closed_and_says_why() -> None:
    told = [(address, refusal(address) or "", reason) for address, reason in CLOSED]
    assert [each for each in told if each[2] not in each[1]] == []


@pytest.mark.parametrize(
    ("address", "inner"),
    [
        ("::ffff:1.2.3.4", ["1.2.3.4"]),
        ("::1.2.3.4", ["1.2.3.4"]),
        ("64:ff9b::1.2.3.4", ["1.2.3.4"]),
        ("2002:102:304::", ["1.2.3.4"]),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", ["65.54.227.120", "192.0.2.45"]),
        ("2a00::5efe:102:304", ["1.2.3.4"]),
        ("2606:4700::1", []),
    ],
)
def test_an_ipv6_address_is_looked_through(address: str, inner: list[str]) -> None:
    assert [str(each) for each in inner_addresses(IPv6Address(address))] == inner


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192",
        "fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fe80::a9fe:a9fe",
        "fe80::a9fe:a9fe%eth0", "::ffff:169.254.169.254", "::169.254.169.254",
        "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "64:ff9b:1:a9fe:a9:fe00::",
        "64:ff9b:1:a9:fe:a9fe::", "64:ff9b:1:0:a9:fea9:fe00:0", "64:ff9b:1::a9fe:a9fe",
        "2a00:1:2:3:0:5efe:a9fe:a9fe",
    ],
)  # fmt: skip
def test_a_metadata_service_is_known_in_every_disguise(address: str) -> None:
    assert is_metadata(address)
    assert refusal(address) is not None


def test_a_metadata_service_is_known_by_its_name() -> None:
    assert is_metadata("", "metadata.google.internal")
    assert is_metadata("8.8.8.8", "instance-data")
    assert not is_metadata("8.8.8.8", "example.org")
    assert not is_metadata("10.0.0.1")
    assert not is_metadata("no address")


@pytest.mark.parametrize(
    "host", ["localhost", "intranet", "a.localhost", "printer.local", "x.internal",
             "nas.home.arpa", "abc.onion"]
)  # fmt: skip
def test_a_private_name_is_known_before_it_is_looked_up(host: str) -> None:
    assert private_name(host)


@pytest.mark.parametrize("host", ["example.org", "local.example", "internal.org", "xlocal.com"])
def test_a_public_name_is_not_taken_for_a_private_one(host: str) -> None:
    assert private_name(host) is None
