"""What callers ask, how often, and what a right answer to each looks like: at the least its shape and real names."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from infra.load.known import Known
from shared.contracts.leaf import Leaf

Json = dict[str, Any]

# Of a hundred first requests, so many of each kind. A page of /agents is followed by its next pages, every second
# question to a site by another one: those come on top.
WEIGHTS: Mapping[str, int] = {
    "search": 18,
    "search, several texts": 8,
    "search, filtered": 8,
    "search, repeated": 6,
    "search, not judged": 4,
    "explore": 8,
    "agents": 6,
    "entry": 6,
    "variable": 10,
    "document": 4,
    "ask": 12,
    "publishers": 2,
    "manifest": 2,
    "health": 2,
    "stats": 2,
    "status": 2,
}
NEXT_PAGE = "agents, next page"
# The stream has a sentence for people, and no code.
STREAM_FAILED = "error_in_the_stream"
_PAGES_MORE = 2
# What the repeated searches ask, over and over.
_REPEATED = 5
_ASIDES = (" in Kenya", " over time in New Zealand", " by age in Texas", " by sex in California")
_LAST = ("usage", "complete", "end-nlweb-response")


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply as it came."""

    status: int
    content: bytes

    @property
    def json(self) -> Json:
        """The body. Raises ValueError where it is no JSON object."""
        value = json.loads(self.content)
        if not isinstance(value, dict):
            raise ValueError("no JSON object")
        return value


@dataclass(frozen=True, slots=True)
class Told:
    """What an answer says: what is wrong with it (empty for nothing), its error code, and its notices' codes."""

    wrong: str = ""
    code: str = ""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to one function: what it counts as, how an answer is read, and what its caller asks then."""

    kind: str
    function: str
    method: str
    path: str
    read: Callable[[Answer], Told]
    body: Json | None = None
    then: Callable[[Answer], Ask | None] = field(default=lambda _: None)


class Traffic:
    """A mix of requests over what a bucket holds: the same for one seed, another for each caller.

    Without sites, what would be asked of them is not asked. `kinds` narrows it to some of WEIGHTS.
    """

    def __init__(self, known: Known, kinds: Sequence[str] = tuple(WEIGHTS)) -> None:
        self._known = known
        self._asked = [leaf for leaf in known.leaves if leaf.queries]
        self._sites = [kind for kind, items in known.items.items() if items]
        self._kinds = [kind for kind in kinds if self._sites or kind != "ask"]
        self._makers: Mapping[str, Callable[[random.Random], Ask]] = {
            "search": lambda draw: self._search("search", {"text": _question(draw.choice(self._asked), draw)}),
            "search, several texts": self._several,
            "search, filtered": self._filtered,
            "search, repeated": lambda draw: self._search(
                "search, repeated", {"text": self._asked[draw.randrange(_REPEATED) % len(self._asked)].queries[0]}
            ),
            "search, not judged": lambda draw: self._search(
                "search, not judged", {"text": draw.choice(self._asked).queries[0]}, rerank=False
            ),
            "explore": self._explore,
            "agents": self._agents,
            "entry": self._entry,
            "variable": self._variable,
            "document": self._document,
            "ask": self._ask,
            "publishers": lambda _: Ask("publishers", "registry", "GET", "/publishers", _has("publishers")),
            "manifest": lambda _: Ask("manifest", "registry", "GET", "/.well-known/ard.json", _has("entries")),
            "health": lambda draw: Ask("health", draw.choice(self.functions), "GET", "/health", _has("release")),
            "stats": lambda _: Ask("stats", "stats", "GET", "/stats.json", _has("days")),
            "status": lambda _: Ask("status", "stats", "GET", "/status.json", _has("catalogs")),
        }

    @property
    def functions(self) -> list[str]:
        """The functions that may be asked and have a release."""
        return ["search", "variable", "registry", *self._sites]

    def of_caller(self, seed: int) -> Iterator[Callable[[Answer | None], Ask]]:
        """Without end, what this caller does next, given the answer to what it asked before."""
        draw = random.Random(f"caller:{seed}")  # noqa: S311 - a draw, not a secret
        weights = [WEIGHTS[kind] for kind in self._kinds]
        then: Callable[[Answer], Ask | None] = lambda _: None  # noqa: E731 - a value until the first request

        def following(answer: Answer | None) -> Ask:
            nonlocal then
            follow_up = then(answer) if answer is not None and answer.status == 200 else None
            ask = follow_up or self._makers[draw.choices(self._kinds, weights)[0]](draw)
            then = ask.then
            return ask

        while True:
            yield following

    def _search(self, kind: str, query: Json, **more: Any) -> Ask:
        return Ask(kind, "search", "POST", "/search", self._read_search, {"query": query, **more})

    def _several(self, draw: random.Random) -> Ask:
        text = draw.choice(self._asked).queries[0].rstrip("?")
        texts = [text + aside for aside in draw.sample(_ASIDES, 3)]
        return self._search("search, several texts", {"text": texts[0], "texts": texts}, pageSize=draw.choice([5, 20]))

    def _filtered(self, draw: random.Random) -> Ask:
        leaf = draw.choice(self._asked)
        chosen: Json = draw.choice(
            [
                {"sources": [leaf.family]},
                {"filter": {"publisher": [leaf.publisher]}},
                *({"filter": {"tags": [tag]}} for tag in leaf.tags[:1]),
            ]
        )
        query = {"text": leaf.queries[0], **({"filter": chosen["filter"]} if "filter" in chosen else {})}
        more = {"sources": chosen["sources"]} if "sources" in chosen else {}
        return self._search("search, filtered", query, **more)

    def _explore(self, draw: random.Random) -> Ask:
        fields = draw.sample(["publisher", "source", "type", "tags"], 2)
        body: Json = {"resultType": {"facets": [{"field": name, "limit": 10} for name in fields]}}
        if draw.random() < 0.5:
            body["query"] = {"text": draw.choice(draw.choice(self._asked).title.split())}
        return Ask("explore", "registry", "POST", "/explore", _read_facets, body)

    def _agents(self, draw: random.Random) -> Ask:
        given = {"pageSize": "10", **draw.choice([{}, {"orderBy": "displayName"}, {"q": "a"}])}

        def page(kind: str, more: Mapping[str, str], left: int) -> Ask:
            def following(answer: Answer) -> Ask | None:
                token = answer.json.get("pageToken")
                return page(NEXT_PAGE, {"pageToken": token}, left - 1) if token and left else None

            path = f"/agents?{urlencode({**given, **more})}"
            return Ask(kind, "registry", "GET", path, self._read_listed, then=following)

        return page("agents", {}, _PAGES_MORE)

    def _entry(self, draw: random.Random) -> Ask:
        urn = draw.choice(self._known.leaves).urn

        def read(answer: Answer) -> Told:
            return Told("" if answer.json.get("identifier") == urn else "the entry of another identifier")

        return Ask("entry", "registry", "GET", f"/agents/{quote(urn, safe='')}", _checked(read))

    def _variable(self, draw: random.Random) -> Ask:
        published = draw.choice(self._known.leaves).front_matter.get("variable") or "Count_Person"
        return Ask("variable", "variable", "GET", f"/variable?id={quote(str(published), safe='')}", self._read_results)

    def _document(self, draw: random.Random) -> Ask:
        path = draw.choice(self._known.leaves).path

        def read(answer: Answer) -> Told:
            return Told("" if answer.content.startswith(b"---") else "a document without front matter")

        return Ask("document", "registry", "GET", f"/okf/file?path={quote(path, safe='')}", _checked(read))

    def _ask(self, draw: random.Random) -> Ask:
        kind = draw.choice(self._sites)
        first, second = (item.name for item in draw.choices(self._known.items[kind], k=2))
        mode, follows = draw.choice(["list", "summarize", "generate"]), draw.random() < 0.5

        def asked(name: str, query: str, more: Mapping[str, str], then: Callable[[Answer], Ask | None]) -> Ask:
            path = f"/ask?{urlencode({'query': query, 'mode': mode, **more})}"
            return Ask(name, kind, "GET", path, _checked(lambda answer: self._read_stream(answer, kind)), then=then)

        def following(_: Answer) -> Ask | None:
            more = {"prev": json.dumps([first])}
            return asked("ask, follow-up", f"and {second}", more, lambda _: None) if follows else None

        return asked("ask", first, {}, following)

    def _read_search(self, answer: Answer) -> Told:
        return _checked(self._search_told)(answer)

    def _search_told(self, answer: Answer) -> Told:
        reply = answer.json
        told = tuple(str(each["code"]) for each in reply["notices"])
        if not reply["results"] and "eligibility" not in reply:
            return Told("no result, and no word why", notices=told)
        scores = [result["score"] for result in reply["results"]]
        if not all(type(score) is int and 0 <= score <= 100 for score in scores):
            return Told("a score that is none", notices=told)
        return Told(self._unreal(reply["results"]), notices=told)

    def _read_results(self, answer: Answer) -> Told:
        return _checked(lambda answer: Told(self._unreal(answer.json["results"])))(answer)

    def _read_listed(self, answer: Answer) -> Told:
        def read(answer: Answer) -> Told:
            reply = answer.json
            if reply["total"] < reply["offset"] + len(reply["items"]):
                return Told("a page beyond its total")
            return Told(self._unreal(reply["items"]))

        return _checked(read)(answer)

    def _unreal(self, entries: Sequence[Mapping[str, Any]]) -> str:
        """What is wrong with a list of entries: one that the catalog does not have, or has once and shows twice."""
        names = [entry["identifier"] for entry in entries]
        if not set(names) <= self._known.urns:
            return f"no table of this catalog: {min(set(names) - self._known.urns)}"
        return "" if len(set(names)) == len(names) else "a table twice"

    def _read_stream(self, answer: Answer, kind: str) -> Told:
        events = [json.loads(line[6:]) for line in answer.content.decode().split("\n") if line.startswith("data: ")]
        types = [event["message_type"] for event in events]
        if types[:1] != ["begin-nlweb-response"] or tuple(types[-3:]) != _LAST:
            return Told(f"a stream of {', '.join(dict.fromkeys(types)) or 'nothing'}")
        usage = events[-3]["content"]
        told = tuple(str(each["code"]) for each in usage["notices"])
        code = STREAM_FAILED if "error" in types else ""
        results = [item for event in events if event["message_type"] == "result" for item in event["content"]]
        unreal = {item["url"] for item in results} - self._known.urls[kind]
        if unreal:
            return Told(f"no item of this site: {min(unreal)}", code, told)
        if len({item["url"] for item in results}) < len(results):
            return Told("an item twice", code, told)
        return Told("", code, told)


def _question(leaf: Leaf, draw: random.Random) -> str:
    return draw.choice(leaf.queries) + draw.choice(["", "", draw.choice(_ASIDES)])


def _checked(read: Callable[[Answer], Told]) -> Callable[[Answer], Told]:
    """What an answer says, or what it says of its own failure; an answer that cannot be read is a wrong one."""

    def told(answer: Answer) -> Told:
        try:
            if answer.status != 200:
                return Told("" if answer.json["message"] else "an error without a message", str(answer.json["code"]))
            return read(answer)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            return Told(f"cannot be read: {type(error).__name__} {error}")

    return told


def _has(name: str) -> Callable[[Answer], Told]:
    """An object with this key."""
    return _checked(lambda answer: Told("" if name in answer.json else f"no {name}"))


def _read_facets(answer: Answer) -> Told:
    return _checked(_facets_told)(answer)


def _facets_told(answer: Answer) -> Told:
    reply = answer.json
    counts = [bucket["count"] for facet in reply["facets"].values() for bucket in facet["buckets"]]
    right = len(reply["facets"]) == 2 and all(0 < count <= reply["total"] for count in counts)
    return Told("" if right else "facets that do not add up")
