"""Who asks: one word for each client, which it cannot choose and cannot have many of."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

_WITH_PORT = re.compile(r"\[(?P<six>[^\[\]]+)\](?::\d{1,5})?|(?P<four>[^:\[\]]+):\d{1,5}", re.ASCII)
# What a provider gives one customer; whoever has one address has 2^64 of them.
_PREFIX_V6 = 64


def client_of(environ: WSGIEnvironment, trust_proxy: int) -> str:
    """The client's address by TRUST_PROXY; of an IPv6 address its /64 network, as `2001:db8:0:1::/64`.

    0 takes the socket's peer. n takes the nth element of X-Forwarded-For counted from the right: what stands
    left of it the client may have written itself. Where the chain is shorter than that, or the element is no
    address, the peer counts, so that a forged or missing header makes nobody new.
    """
    peer = environ.get("REMOTE_ADDR") or ""
    if not trust_proxy:
        return _normal(peer) or "-"
    chain = environ.get("HTTP_X_FORWARDED_FOR", "").split(",")
    hop = chain[-trust_proxy] if len(chain) >= trust_proxy else ""
    return _normal(hop) or _normal(peer) or "-"


def masked(client: str) -> str:
    """A client as it may stand in a log: an IPv4 address as its /24, an IPv6 one as its /48."""
    try:
        network = ipaddress.ip_network(client, strict=False)
    except ValueError:
        return "-"
    return str(network.supernet(new_prefix=min(network.prefixlen, 24 if network.version == 4 else 48)))


def _normal(given: str) -> str | None:
    """One spelling for each address: no port, no zone, IPv4 inside IPv6 as IPv4, IPv6 as its network."""
    text = given.strip()
    if found := _WITH_PORT.fullmatch(text):
        text = found["six"] or found["four"]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _PREFIX_V6), strict=False))
