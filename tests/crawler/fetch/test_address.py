"""Where a crawl may connect to: addresses in all their disguises, ports, and the rule about private seeds."""

import pytest

from crawler.fetch.address_policy import AddressKind, AddressPolicy, OriginTarget, address_kind
from crawler.fetch.errors import FailureCode, FetchError

PRIVATE = [
    "0.0.0.0",
    "0.255.255.255",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.0.1",
    "169.254.169.253",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.0.170",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::1",
    "64:ff9b:1::808:808",
    "100::1",
    "2001::1",
    "2001:2::1",
    "2001:10::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2002:c0a8:101::",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd12:3456:789a::1",
    "fe80::1",
    "fe80::1%eth0",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "2001:0:808:808:0:0:80ff:fffe",
    "2001:0:7f00:1:0:0:f7f7:f7f7",
    "4000::1",
    "::ffff:0:127.0.0.1",
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.1",
    "192.167.255.255",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::",
    "2001:0:808:808:0:0:f7f7:f7f7",
    "2001:200::1",
    "3ffe::1",
]
METADATA = [
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_iana_special_purpose_addresses_are_private(address: str) -> None:
    assert address_kind(address) is AddressKind.PRIVATE


@pytest.mark.parametrize("address", PUBLIC)
def test_iana_other_unicast_addresses_are_public(address: str) -> None:
    assert address_kind(address) is AddressKind.PUBLIC


@pytest.mark.parametrize("address", METADATA)
def test_ours_metadata_addresses(address: str) -> None:
    assert address_kind(address) is AddressKind.METADATA


SEEDED = AddressPolicy.for_seeds(["http://localhost:8000", "http://[::1]:8000", "http://169.254.169.254"])


@pytest.mark.parametrize(
    ("host_port", "addresses", "allowed"),
    [
        ("example.com:80", ["93.184.216.34"], ["93.184.216.34"]),
        ("example.com:80", ["10.0.0.1", "93.184.216.34", "::1"], ["93.184.216.34"]),
        ("localhost:8000", ["::1", "127.0.0.1"], ["::1", "127.0.0.1"]),
        ("localhost:8000", ["127.0.0.1", "93.184.216.34"], ["93.184.216.34"]),
        ("[::1]:8000", ["::1"], ["::1"]),
    ],
)
def test_ours_permitted_addresses(host_port: str, addresses: list[str], allowed: list[str]) -> None:
    assert SEEDED.permit(host_port, addresses) == allowed


@pytest.mark.parametrize(
    ("host_port", "addresses", "code"),
    [
        ("example.com:80", ["127.0.0.1"], FailureCode.PRIVATE_ADDRESS),
        ("localhost:6379", ["127.0.0.1"], FailureCode.PRIVATE_ADDRESS),
        ("[::1]:80", ["::1"], FailureCode.PRIVATE_ADDRESS),
        ("localhost:8000", ["169.254.169.254"], FailureCode.METADATA_ADDRESS),
        ("169.254.169.254:80", ["169.254.169.254"], FailureCode.METADATA_ADDRESS),
        ("example.com:80", ["169.254.169.254"], FailureCode.METADATA_ADDRESS),
    ],
)
def test_ours_refused_addresses(host_port: str, addresses: list[str], code: FailureCode) -> None:
    with pytest.raises(FetchError) as caught:
        SEEDED.permit(host_port, addresses)
    assert caught.value.code is code


def test_ours_seed_that_was_public_cannot_turn_private() -> None:
    with pytest.raises(FetchError) as caught:
        SEEDED.permit("localhost:8000", ["127.0.0.1"], was_public=True)
    assert caught.value.code is FailureCode.BECAME_PRIVATE


def test_ours_what_the_operator_names_may_be_private_but_does_not_become_so() -> None:
    policy = AddressPolicy(is_named=True)
    policy.check_port(6667)
    assert policy.permit("hook.test:6667", ["10.0.0.1"]) == ["10.0.0.1"]
    for addresses, was_public in ((["10.0.0.1"], True), (["169.254.169.254"], False)):
        with pytest.raises(FetchError):
            policy.permit("hook.test:6667", addresses, was_public)


def test_whatwg_fetch_bad_ports_are_blocked_for_seeds_as_well() -> None:
    policy = AddressPolicy.for_seeds(["http://localhost:22"])
    for port in (0, 1, 22, 25, 6000, 6667, 10080):
        with pytest.raises(FetchError) as caught:
            policy.check_port(port)
        assert caught.value.code is FailureCode.BLOCKED_PORT
    for port in (80, 443, 8000, 8080, 9200):
        policy.check_port(port)


@pytest.mark.parametrize(
    ("origin", "host", "port", "host_port"),
    [
        ("https://example.com", "example.com", 443, "example.com:443"),
        ("http://example.com:8080", "example.com", 8080, "example.com:8080"),
        ("http://[::1]", "::1", 80, "[::1]:80"),
        ("https://[2001:db8::1]:8443", "2001:db8::1", 8443, "[2001:db8::1]:8443"),
    ],
)
def test_ours_target_of_an_origin(origin: str, host: str, port: int, host_port: str) -> None:
    target = OriginTarget.of(origin)
    assert (target.host, target.port, target.host_port) == (host, port, host_port)
    assert target.pinned_to("::1").pinned == f"{target.scheme}://[::1]:{port}"
