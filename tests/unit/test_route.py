"""From a request's path to its route and parameter."""

from __future__ import annotations

import pytest
from werkzeug.test import EnvironBuilder

from shared.edge.reply import Reply
from shared.edge.route import Route, RouteTable
from shared.errors import RequestError


def handler(call, loaded):
    return Reply(200, {})


TABLE = RouteTable({
    "/": {"GET": handler},
    "/agents": {"GET": handler},
    "/agents/entry": {"GET": handler, "POST": handler},
    "/agents/{identifier}": {"GET": Route(handler, paid=True)},
})  # fmt: skip


def environ(raw: str, *, shown: bool = True) -> dict[str, object]:
    """What a server passes for a request line with this target."""
    path, _, query = raw.partition("?")
    made = EnvironBuilder(path="/", query_string=query).get_environ()
    decoded = path.partition("://")[2].partition("/")[2] if "://" in path else path[1:]
    from urllib.parse import unquote_to_bytes

    made["PATH_INFO"] = "/" + unquote_to_bytes(decoded).decode("latin-1")
    made["RAW_URI"] = raw
    if not shown:
        del made["RAW_URI"]
    return made


def find(raw: str, *, shown: bool = True) -> tuple[str, dict[str, str]] | None:
    found = TABLE.find(environ(raw, shown=shown))
    return None if found is None else (found.pattern, found.parameters())


@pytest.mark.parametrize("raw", ["/", "/agents", "/agents/", "/agents/entry", "/agents/entry/", "/agents/entry?id=a/b"])
def test_an_exact_path_answers_with_and_without_a_slash_and_wins_over_a_parameter(raw):
    assert find(raw) == (raw.partition("?")[0].rstrip("/") or "/", {})


PARAMETERS = {
    "/agents/urn:air:a.org:okf:x.y": "urn:air:a.org:okf:x.y",
    "/agents/urn%3Aair%3Aa.org": "urn:air:a.org",
    "/agents/a%2Fb": "a/b",
    "/agents/a%252Fb": "a%2Fb",
    "/agents/caf%C3%A9/": "café",
    "/agents/a+b": "a+b",
    "/agents/..": "..",
    "/agents/x?id=/y": "x",
    "http://a.org/agents/x": "x",
}


@pytest.mark.parametrize("raw", PARAMETERS)
def test_a_parameter_is_one_segment_decoded_exactly_once(raw):
    assert find(raw) == ("/agents/{identifier}", {"identifier": PARAMETERS[raw]})


@pytest.mark.parametrize("raw", ["/agents//", "/agents/a/b", "//agents/a", "/AGENTS/a", "/agents/a//", "/x/agents/a"])
def test_more_or_less_than_one_segment_is_no_match(raw):
    assert find(raw) is None


def test_where_the_server_hides_what_was_sent_the_decoded_path_is_not_decoded_again():
    assert find("/agents/a%2541", shown=False) == ("/agents/{identifier}", {"identifier": "a%41"})


@pytest.mark.parametrize("raw", ["/agents/%zz", "/agents/100%", "/agents/%4", "/agents/%ff", "/agents/%C3%28"])
def test_a_broken_escape_is_the_callers_mistake(raw):
    found = TABLE.find(environ(raw))
    with pytest.raises(RequestError, match=r"^identifier "):
        found.parameters()


def test_a_long_path_costs_no_more_than_its_length():
    """A search for a scheme anywhere in 200 kB of letters once took longer than the server's patience."""
    assert TABLE.find(environ("/" + "x" * 2_000_000)) is None


def test_allow_names_head_where_there_is_get_and_always_options():
    assert TABLE.find(environ("/agents/entry")).methods == ["GET", "POST", "HEAD", "OPTIONS"]
    assert TABLE.find(environ("/agents/x")).routes["GET"].paid
    assert not TABLE.find(environ("/agents")).routes["GET"].paid
