"""Striking out of log lines what must not be in a log: keys, tokens, e-mail addresses, addresses of clients."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from shared.edge.client import masked

STRUCK = "[struck]"

# What we made ourselves, or the caller's own token for its request: digits that mean nothing to anybody else.
_AS_THEY_ARE = {"request_id", "trace_id", "span_id", "release", "client", "at", "type"}
_SECRETS = re.compile(
    r"""
      (?P<name>(?:\b|(?<=_))(?:api[_-]?key|access[_-]?key|secret|token|password|passwd|pwd|authorization|signature|sig|key)\b
        ["']?\s*[:=]\s*["']?(?:bearer\s+|basic\s+)?)[^\s"'&,;}]+      # named: token=…, "api_key": "…"
    | (?P<scheme>\b(?:bearer|basic|token)\s+)(?=\S*\d)[\w.~+/=-]{6,}    # Bearer …
    | (?P<address>://)[^\s/@]+(?=@)                                    # user and password in a URL
    | [\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+                     # e-mail
    | \b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs])[-_][\w-]{6,}         # keys that say what they are
    | \b(?:AKIA|ASIA)[A-Z0-9]{12,} | \bAIza[\w-]{20,} | \bya29\.[\w.-]+
    | \beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?                              # a signed token
    | (?<![\w-])(?!\d{8}T\d{6}Z)(?=[\w-]*\d)(?=[\w-]*[g-zG-Z])[A-Za-z0-9_-]{28,}   # a long word with digits, no digest
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_MAYBE_ADDRESS = re.compile(
    r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d) | (?<![\w:.])[0-9A-F]{0,4}(?::[0-9A-F]{0,4}){2,7}(?!\w)",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)


class Redactor:
    """Cleans the fields of a log line. `secrets` are struck out wherever they stand, even in parts of words."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        words = sorted((re.escape(secret) for secret in secrets if len(secret) > 3), key=len, reverse=True)
        self._known = re.compile("|".join(words)) if words else None

    def fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The same fields with every text in them cleaned."""
        return {name: value if name in _AS_THEY_ARE else self._value(value) for name, value in fields.items()}

    def text(self, text: str) -> str:
        """The text with `[struck]` for what must not be read, and networks for addresses."""
        if self._known is not None:
            text = self._known.sub(STRUCK, text)
        return _MAYBE_ADDRESS.sub(_network, _SECRETS.sub(_struck, text))

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self._value(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._value(each) for each in value]
        return value


def _struck(found: re.Match[str]) -> str:
    return f"{found['name'] or found['scheme'] or found['address'] or ''}{STRUCK}"


def _network(found: re.Match[str]) -> str:
    """An address as its network, a loopback one as it is; what only looks like one stays."""
    network = masked(found[0])
    return found[0] if network == "-" or found[0].startswith("127.") or found[0] == "::1" else network
