"""Which pages of other origins may read what a function answers."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

REQUEST_ID = "X-Request-Id"
TRACEPARENT = "traceparent"


class Cors(Struct, frozen=True):
    """A function's policy. Without `origins` any page may ask, with them only those; never with credentials.

    Origins are spelled as browsers send them: `https://example.org`, without a slash at the end.
    """

    origins: tuple[str, ...] = ()
    request_headers: tuple[str, ...] = ("Content-Type", REQUEST_ID, TRACEPARENT)
    exposed: tuple[str, ...] = (
        "Retry-After", REQUEST_ID, TRACEPARENT, "ETag", "Allow", "RateLimit", "RateLimit-Policy", "Server-Timing",
    )  # fmt: skip
    max_age_s: int = 86_400

    def on_every_reply(self, origin: str | None) -> dict[str, str]:
        """The headers of a reply to a page of this origin; None is no page of another origin."""
        exposed = {"Access-Control-Expose-Headers": ", ".join(self.exposed)}
        if not self.origins:
            return {"Access-Control-Allow-Origin": "*", **exposed}
        if origin not in self.origins:
            return {"Vary": "Origin"}
        return {"Access-Control-Allow-Origin": origin, "Vary": "Origin", **exposed}

    def on_preflight(self, methods: Iterable[str]) -> dict[str, str]:
        """What a page may send to a route, beside `on_every_reply`."""
        return {
            "Access-Control-Allow-Methods": ", ".join(methods),
            "Access-Control-Allow-Headers": ", ".join(self.request_headers),
            "Access-Control-Max-Age": str(self.max_age_s),
        }


ANY_ORIGIN = Cors()
# No origin is spelled like this, so no page of another one may read anything.
_NOBODY = "nobody"
# What MCP clients in a page send and read, beside what every page does.
MCP_HEADERS = ("Accept", "Last-Event-ID", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id")


def site_cors(origins: str) -> Cors:
    """A site's policy, from ASKHUB_CORS_ORIGINS: comma-separated origins, `*` for any, empty for no other one."""
    named = tuple(origin.strip().rstrip("/") for origin in origins.split(",") if origin.strip())
    return Cors(
        origins=() if "*" in named else named or (_NOBODY,),
        request_headers=(*ANY_ORIGIN.request_headers, *MCP_HEADERS),
        exposed=(*ANY_ORIGIN.exposed, "Mcp-Session-Id"),
    )
