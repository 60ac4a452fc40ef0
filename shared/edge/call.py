"""A request as a handler sees it. No Flask object leaves the edge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from urllib.parse import parse_qsl

from msgspec import Struct, field

from shared.contracts.text import whole_number
from shared.errors import RequestError


class Query(Struct, frozen=True):
    """The parameters of a query string: blank ones kept, percent-encoding undone once, case untouched."""

    pairs: Sequence[tuple[str, str]]

    @classmethod
    def parse(cls, raw: str) -> Query:
        """From a WSGI QUERY_STRING. Raises RequestError where it is not UTF-8."""
        try:
            text = raw.encode("latin-1").decode("utf-8")
            return cls(parse_qsl(text, keep_blank_values=True, errors="strict"))
        except UnicodeError as error:
            raise RequestError("The query string is not UTF-8") from error

    def text(self, name: str) -> str | None:
        """One parameter, or None where it is absent. Given twice it is a RequestError: no guess which was meant."""
        values = [value for key, value in self.pairs if key == name]
        if len(values) > 1:
            raise RequestError(f"{name} is given more than once")
        return values[0] if values else None

    def once(self) -> dict[str, str]:
        """All parameters. Given twice, one is a RequestError."""
        return {name: self.text(name) or "" for name, _ in self.pairs}

    def required(self, *names: str) -> list[str]:
        """Several parameters, none of them blank. Raises one RequestError that names every missing one."""
        values = {name: (self.text(name) or "").strip() for name in names}
        missing = [name for name, value in values.items() if not value]
        if missing:
            raise RequestError(f"Missing: {', '.join(missing)}")
        return list(values.values())

    def items(self, name: str) -> list[str] | None:
        """A comma-separated list: None where absent, `[]` where present but empty."""
        value = self.text(name)
        return None if value is None else [item.strip() for item in value.split(",") if item.strip()]

    def size(self, default: int, most: int) -> int:
        """How many results: `pageSize`, or its alias `limit`, clamped to 1-most. Raises RequestError for no integer."""
        given = {name: self.text(name) for name in ("pageSize", "limit")}
        sizes = [max(1, min(most, whole_number(raw, name))) for name, raw in given.items() if raw is not None]
        return sizes[0] if sizes else default


class Call(Struct, frozen=True):
    """One request: `body` is the JSON object of a POST and empty otherwise; `base_url` ends in a slash.

    `headers` has lower-case names; `client` is the address by TRUST_PROXY; `path` holds the path's parameter,
    decoded once, and `sent_path` is the whole path, with the slash at its end where it was sent with one;
    `raw` is the body of a `raw_body` route, within the limit. `with call.paying():` is the quota
    and the lease of a paid route, for a handler that pays for some of its requests only.
    """

    query: Query
    body: Mapping[str, Any]
    base_url: str
    request_id: str
    headers: Mapping[str, str] = field(default_factory=dict)
    client: str = "-"
    path: Mapping[str, str] = field(default_factory=dict)
    method: str = "GET"
    sent_path: str = "/"
    raw: bytes = b""
    paying: Callable[[], AbstractContextManager[None]] = nullcontext
