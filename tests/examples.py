"""The examples of docs/api.md and /openapi.json, made by asking the demo: `make examples` writes them.

What differs from run to run (times, ids, addresses) is written as a constant; long lists and texts are cut. A block of
the page stands between `<!-- example: get_variable -->` and `<!-- end -->`: the operation asked as the table of
operations says, and once more wrongly. With a query string or a body behind the operation's name, it is asked that.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from wire import ROOT, Answer, Service, serving  # noqa: E402 - run as a program, too

from shared.edge.openapi.document import EXAMPLES  # noqa: E402
from shared.edge.openapi.operation import JSON, Operation  # noqa: E402
from shared.edge.openapi.operations import OPERATIONS  # noqa: E402

PAGE = ROOT / "docs" / "api.md"
SHOWN_URL = "http://127.0.0.1:8080"
BLOCK = re.compile(r"<!-- example: (\w+)(?: ([?{].*?))? -->\n(.*?)<!-- end -->\n", re.DOTALL)

# A path with its query, and a body.
Request = tuple[str, bytes | None]

_LONGEST_LIST, _LONGEST_TEXT = 2, 160
_CONSTANT = {
    "requestId": "5f1e0c7a9b3d4e6f", "elapsed_ms": 12, "median": 0.06, "p95": 0.09,
    "generated_at": "2026-01-31T12:00:00Z", "last_at": "2026-01-31T12:00:00Z",
    "release": "20260131T120000Z-0123456789ab", "snapshot_id": "20260131T120000Z-0123456789ab",
    **dict.fromkeys(("built_at", "evaluated_at", "last_change"), "2026-01-31T12:00:00Z"), "latency_ms": 12,
}  # fmt: skip
_A_DAY, _A_TOKEN = "2026-01-31", "NWYxZTBjN2E5YjNkNGU2Zi4z"
# May differ by a point from one processor to another.
SCORES = frozenset({"score", "embedScore", "rerankScore", "topScore", "vector_score", "bm25_score"})

# On the page: the one example that shows an entry and usage whole; what is known by a key, and what is kept of it.
WHOLE = "post_search"
_ABRIDGED = {
    "representativeQueries": ("identifier", "displayName", "type", "score", "url"),
    "call_events": ("llm_calls", "total_tokens", "cost_usd"),
}
_SHORT: Mapping[str, Any] = {"@context": ["…"], "okf:access": {"…": "…"}}

# What they say depends on what was asked before, or was measured when the demo was built.
COUNTING = frozenset(
    {
        "get_status_json",
        "get_stats_json",
        "get_health",
        "get_healthz",
        "get_sites_kind_health",
        "get_sites_kind_healthz",
    }
)

# Operation → what is wrong with its second request: parameters, or a body.
WRONG: Mapping[str, Any] = {
    "post_search": {"query": {"text": "rain"}, "sources": ["nowhere"]},
    "get_ask": {"query": "x" * 401},
    "post_ask": {"query": " "},
    "get_variable": {},
    "get_variables": {"populationType": "Person"},
    "get_agents": {"pageToken": "page-2"},
    "get_agents_entry": {"id": "sources/nowhere.md"},
    "get_agents_identifier": {"identifier": "not-a-urn"},
    "post_explore": {"resultType": {"facets": [{"field": "colour"}]}},
    "get_okf_index": {"dir": "sources/nowhere"},
    "get_okf_file": {"path": "../secrets"},
    "get_stats_json": {"days": "many"},
    "post_mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/guess"},
}


def request_of(operation: Operation, wrong: bool = False) -> Request:
    """What an operation's example asks."""
    given = {each.name: each.example for each in operation.parameters if each.required or each.name in operation.asked}
    given = dict(WRONG[operation.id]) if wrong and not operation.body else given
    path = operation.path
    for each in operation.parameters:
        if each.place == "path":
            path = path.replace(f"{{{each.name}}}", quote(given.pop(each.name), safe=""))
    if operation.body:
        body = WRONG[operation.id] if wrong else operation.body_example
        return path, json.dumps(body, ensure_ascii=False).encode()
    return path + (f"?{urlencode(given, safe='/:', quote_via=quote)}" if given else ""), None


def requests_of(operation: Operation, given: str | None) -> list[Request]:
    """What a block asks: what stands in its marker, or the operation's example and a wrong one."""
    if given is not None:
        return [(operation.path, given.encode()) if given.startswith("{") else (operation.path + given, None)]
    return [request_of(operation), *([request_of(operation, wrong=True)] if operation.id in WRONG else [])]


def ask(service: Service, operation: Operation, request: Request) -> Answer:
    """The demo's answer."""
    path, body = request
    headers = {"Content-Type": JSON, "Accept": JSON} if body else {}
    return service.send(operation.method, path, body, headers)


def shown(answer: Answer, service: Service) -> Any:
    """An answer as it is written down."""
    content = answer.content.decode().replace(service.url, SHOWN_URL)
    content = content.replace(f"%3A{service.address[1]}", "%3A8080")
    return cut(json.loads(content)) if JSON in answer.headers["Content-Type"] else content


def cut(value: Any) -> Any:
    """A JSON value with constants for what is volatile, and long lists and texts cut."""
    if isinstance(value, dict):
        return {key: _constant(key, each) for key, each in value.items()}
    if isinstance(value, list):
        return [cut(each) for each in value[:_LONGEST_LIST]]
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return value[:_LONGEST_TEXT].rsplit(" ", 1)[0] + " …"
    return value


def _constant(key: str, value: Any) -> Any:
    if key == "releases":
        return dict.fromkeys(value, _CONSTANT["release"])
    if key == "days":
        return {_A_DAY: cut(next(iter(value.values())))} if value else {}
    if key == "pageToken" and value:
        return _A_TOKEN
    return _CONSTANT[key] if key in _CONSTANT else cut(value)


def without_scores(value: Any) -> Any:
    """What can be compared between machines."""
    if isinstance(value, dict):
        return {key: without_scores(each) for key, each in value.items() if key not in SCORES}
    return [without_scores(each) for each in value] if isinstance(value, list) else value


def block(operation: Operation, given: str | None, service: Service) -> str:
    """What stands between the markers: requests and their replies."""
    exchanges = [_exchange(operation, request, service) for request in requests_of(operation, given)]
    return "\n\nAnd wrongly:\n\n".join(exchanges)


def _exchange(operation: Operation, request: Request, service: Service) -> str:
    path, body = request
    asked = f"\n\n{body.decode()}" if body else ""
    whole = operation.id == WHOLE and request == request_of(operation)
    told = abridged(shown(ask(service, operation, request), service), whole)
    answered = f"json\n{pretty(told)}" if isinstance(told, dict | list) else f"text\n{_beginning(told)}"
    return f"```http\n{operation.method} {path}{asked}\n```\n\n```{answered}\n```"


def abridged(value: Any, whole: bool) -> Any:
    """A reply as a page has room for it: entries and usage whole in one example only, `…` for what is left out."""
    if isinstance(value, list):
        return [abridged(each, whole) for each in value]
    if not isinstance(value, dict):
        return value
    kept = next((keys for mark, keys in _ABRIDGED.items() if mark in value), None)
    if kept is None or whole:
        return {key: _SHORT[key] if key in _SHORT else abridged(each, whole) for key, each in value.items()}
    return {**{key: value[key] for key in kept if key in value}, "…": "…"}


def pretty(value: Any, indent: str = "") -> str:
    """JSON with a line for each member that is long, and short ones on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + len(indent) <= 110 or not isinstance(value, dict | list) or not value:
        return flat
    inner = indent + "  "
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {pretty(each, inner)}" for key, each in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + pretty(each, inner) for each in value) + f"\n{indent}]"


def _beginning(text: str) -> str:
    lines = text.rstrip("\n").splitlines()
    return "\n".join([*lines[:12], *(["…"] if len(lines) > 12 else [])])


def replies(service: Service) -> dict[str, Any]:
    """Operation → its example reply, for /openapi.json."""
    asked = [each for each in OPERATIONS if JSON in each.media and each.path != "/openapi.json"]
    return {each.id: shown(ask(service, each, request_of(each)), service) for each in asked}


def page(service: Service, text: str) -> str:
    """The page with every block written anew."""
    by_id = {each.id: each for each in OPERATIONS}

    def written(found: re.Match[str]) -> str:
        name, given, _ = found.groups()
        marker = found[0].partition("\n")[0]
        return f"{marker}\n\n{block(by_id[name], given, service)}\n\n<!-- end -->\n"

    return BLOCK.sub(written, text)


def write(service: Service) -> None:
    """Ask the demo and write both files."""
    EXAMPLES.write_text(json.dumps(replies(service), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(service, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def main() -> None:
    """Build and serve the demo and write what it answers; or ask one that runs, at the URL given."""
    from building import build_demo

    if len(sys.argv) > 1:
        write(Service(sys.argv[1].rstrip("/"), Path()))
        return
    with tempfile.TemporaryDirectory() as folder:
        url = build_demo(Path(folder))
        with serving(url, {"LLM_PROVIDER": "embedded"}) as service:
            write(service)


if __name__ == "__main__":
    main()
