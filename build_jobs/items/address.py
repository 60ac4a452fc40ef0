"""Addresses as pages write them: relative, with a campaign's counters on them, or broken."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

_NOT_THE_ADDRESS = ("utm_", "fbclid", "gclid", "mc_cid", "mc_eid", "ref_")


def joined(base: str, url: str) -> str:
    """The address that `url` means on the page `base`; as it is where one of them is none."""
    try:
        return urljoin(base, url)
    except ValueError:
        return url


def address_key(url: str) -> str:
    """What two addresses of one page have in common: no scheme, no `www.`, no fragment, no counting parameters."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return url
    query = urlencode(sorted((k, v) for k, v in parse_qsl(parts.query) if not k.lower().startswith(_NOT_THE_ADDRESS)))
    host = parts.netloc.lower().removeprefix("www.")
    return urlunsplit(("", host, parts.path.rstrip("/"), query, ""))
