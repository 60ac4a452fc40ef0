"""Who a request is counted as: C02."""

from __future__ import annotations

import pytest

from shared.edge.client import client_of, masked

PEER = "192.0.2.9"


def client(chain: str | None, trust: int = 1, peer: str = PEER) -> str:
    environ = {"REMOTE_ADDR": peer, **({} if chain is None else {"HTTP_X_FORWARDED_FOR": chain})}
    return client_of(environ, trust)


def test_without_a_proxy_the_header_is_not_even_read():
    assert client("203.0.113.5", trust=0) == PEER


@pytest.mark.parametrize(
    ("trust", "expected"), [(1, "203.0.113.3"), (2, "203.0.113.2"), (3, "203.0.113.1"), (4, PEER), (99, PEER)]
)
def test_hops_are_counted_from_the_right(trust, expected):
    assert client("203.0.113.1, 203.0.113.2,203.0.113.3", trust) == expected


@pytest.mark.parametrize("forged", ["8.8.8.8", "8.8.8.8, 9.9.9.9", ", ,", "unknown", "127.0.0.1", "x" * 5_000, "\x00"])
def test_C02_what_a_client_writes_in_front_of_its_own_address_changes_nothing(forged):
    assert client(f"{forged}, 203.0.113.7") == "203.0.113.7"
    assert client(f"{forged}, 203.0.113.7, 198.51.100.1", trust=2) == "203.0.113.7"


@pytest.mark.parametrize("chain", [None, "", " ", "unknown", "203.0.113.7 8", "203.0.113.256", "[2001:db8::1", "a:80"])
def test_C02_a_missing_or_broken_header_is_the_peer(chain):
    assert client(chain) == PEER


SAME = [
    "2001:db8:1:2::1",
    "2001:DB8:1:2::1",
    "2001:0db8:0001:0002:0000:0000:0000:0001",
    "[2001:db8:1:2::1]",
    "[2001:db8:1:2::1]:443",
    "2001:db8:1:2:ffff:ffff:ffff:ffff",
    "2001:db8:1:2::1%eth0",
]


@pytest.mark.parametrize("address", SAME)
def test_C02_every_address_and_spelling_of_one_ipv6_network_is_one_client(address):
    assert client(address) == "2001:db8:1:2::/64"


def test_C02_a_port_is_cut_and_ipv4_inside_ipv6_is_ipv4():
    assert client("203.0.113.7:51234") == client("::ffff:203.0.113.7") == client("203.0.113.7") == "203.0.113.7"
    assert client("2001:db8:1:3::1") != client("2001:db8:1:2::1")


def test_a_server_on_a_socket_of_the_file_system_has_one_client():
    assert client(None, trust=0, peer="") == "-"


@pytest.mark.parametrize(
    ("address", "shown"),
    [("203.0.113.7", "203.0.113.0/24"), ("2001:db8:1:2::/64", "2001:db8:1::/48"), ("-", "-"), ("x", "-")],
)
def test_a_log_shows_a_network_and_never_the_address(address, shown):
    assert masked(address) == shown
