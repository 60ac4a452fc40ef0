"""What a client says it can read: of a type, and of an encoding (RFC 9110, 12.5)."""

from __future__ import annotations

from collections.abc import Iterator

_HTML = ("text/html", "text/*", "*/*")
_JSON = ("application/json", "application/*", "*/*")


def prefers_html(accept: str | None) -> bool:
    """Whether a page is wanted rather than JSON.

    JSON is for those who name it, or rate it higher, or send no Accept at all, which no browser does.
    """
    if accept is None:
        return False
    given = dict(_rated(accept))
    html, json = _rating(given, _HTML), _rating(given, _JSON)
    return html > json or (html == json and ("text/html" in given or "application/json" not in given))


def takes_gzip(accept_encoding: str | None) -> bool:
    """Whether the body may be gzip."""
    given = dict(_rated(accept_encoding or ""))
    return _rating(given, ("gzip", "*")) > 0


def _rating(given: dict[str, float], patterns: tuple[str, ...]) -> float:
    """The rating of the most exact pattern that is named."""
    return next((given[pattern] for pattern in patterns if pattern in given), 0.0)


def _rated(header: str) -> Iterator[tuple[str, float]]:
    """Each name in lower case and its q, 1 where none can be read."""
    for part in header.split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if name:
            yield name, next((_quality(each[2:]) for each in parameters if each.startswith("q=")), 1.0)


def _quality(raw: str) -> float:
    try:
        return min(1.0, max(0.0, float(raw)))
    except ValueError:
        return 1.0
