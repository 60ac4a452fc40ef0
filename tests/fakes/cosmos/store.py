"""What the fake account holds: databases, containers, documents, and their vectors as one matrix a partition."""

from __future__ import annotations

import base64
import itertools
import json
import random
import threading
import uuid
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from .sql import UNDEFINED, BadQuery, Distance, Query, Row, is_true, parse

Json = dict[str, Any]

MOST_ITEM_BYTES = 2 * 1024 * 1024
MOST_OPERATIONS = 100
MOST_ANSWERS = 16
_SYSTEM = ("_rid", "_self", "_etag", "_attachments", "_ts")
_MEASURES = ("cosine", "dotproduct", "euclidean")


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, code: str, message: str, sub_status: int = 0) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.sub_status = status, code, message, sub_status


@dataclass(slots=True)
class Stored:
    """A document without its vectors, which lie beside it as they were written."""

    place: int
    bytes: int
    partition: str
    document: Json
    vectors: dict[str, npt.NDArray[np.floating[Any]]]

    def whole(self) -> Json:
        """What reading it gives."""
        return {**self.document, **{path: vector.tolist() for path, vector in self.vectors.items()}}


@dataclass
class Container:
    """A container, to look into: everything is safe between threads."""

    database: str
    id: str
    properties: Json
    clock: Callable[[], float]
    writes: int = 0
    charge: float = 0.0
    _documents: dict[tuple[str, str], Stored] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _places: Iterator[int] = field(default_factory=itertools.count)
    _views: dict[str, _View] = field(default_factory=dict)

    @property
    def partition_path(self) -> str:
        return str(self.properties["partitionKey"]["paths"][0]).lstrip("/")

    @property
    def embeddings(self) -> dict[str, Json]:
        """Vector path, without its slash → its line of the policy."""
        policy = self.properties.get("vectorEmbeddingPolicy") or {}
        return {each["path"].lstrip("/"): each for each in policy.get("vectorEmbeddings", ())}

    # To look into it from a test

    def documents(self, partition: str | None = None) -> list[Json]:
        """Every document, as reading it gives."""
        with self._lock:
            found = [each for each in self._documents.values() if partition in (None, each.partition)]
        return [each.whole() for each in found]

    def ids(self, partition: str | None = None) -> set[str]:
        """The ids of every document."""
        with self._lock:
            return {name for (site, name) in self._documents if partition in (None, site)}

    def put(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Put documents there at once, past the wire. A vector may be an array."""
        for document in documents:
            self.upsert(dict(document), size=1_000)
        self.writes = 0

    # Items

    def partition_of(self, document: Mapping[str, Any]) -> str:
        return json.dumps(document.get(self.partition_path))

    def read(self, partition: str, id: str) -> Stored:
        with self._lock:
            stored = self._documents.get((partition, id))
        if stored is None:
            raise Refused(404, "NotFound", "Entity with the specified id does not exist in the system.")
        return stored

    def create(self, document: Json, size: int = 0) -> Stored:
        with self._lock:
            if (self.partition_of(document), document.get("id")) in self._documents:
                raise Refused(409, "Conflict", "Entity with the specified id already exists in the system.")
            return self._write(document, size)

    def upsert(self, document: Json, size: int = 0, if_match: str | None = None) -> tuple[Stored, bool]:
        """The document as stored, and whether it is new."""
        with self._lock:
            key = (self.partition_of(document), document.get("id"))
            before = self._documents.get(key)  # type: ignore[arg-type]
            if before:
                _match(before, if_match)
            return self._write(document, size), before is None

    def replace(self, partition: str, id: str, document: Json, size: int = 0, if_match: str | None = None) -> Stored:
        with self._lock:
            _match(self.read(partition, id), if_match)
            return self._write(document, size)

    def patch(self, partition: str, id: str, operations: Sequence[Json], if_match: str | None = None) -> Stored:
        with self._lock:
            stored = self.read(partition, id)
            _match(stored, if_match)
            document = stored.whole()
            for each in operations:
                _patch(document, each)
            return self._write(document, stored.bytes)

    def delete(self, partition: str, id: str, if_match: str | None = None) -> None:
        with self._lock:
            _match(self.read(partition, id), if_match)
            del self._documents[partition, id]
            self._changed(partition)

    def together(self, work: Callable[[], Any]) -> Any:
        """Run some of these as one: nothing is written where one is refused."""
        with self._lock:
            before, writes = dict(self._documents), self.writes
            try:
                return work()
            except Refused:
                self._documents, self.writes = before, writes
                self._views.clear()
                raise

    def _write(self, document: Json, size: int) -> Stored:
        partition, name = self.partition_of(document), document.get("id")
        if not isinstance(name, str) or not name or any(letter in "/\\?#" for letter in name) or len(name) > 1_023:
            raise Refused(400, "BadRequest", "The id is missing, too long or has a character that it may not have.")
        if size > MOST_ITEM_BYTES:
            raise Refused(413, "RequestEntityTooLarge", "Request size is too large")
        document = {name: value for name, value in document.items() if name not in _SYSTEM}
        vectors = {path: _vector(document.pop(path)) for path in self.embeddings if path in document}
        for path, vector in vectors.items():
            if vector.shape != (self.embeddings[path]["dimensions"],):
                raise Refused(400, "BadRequest", f"The vector in /{path} is not of the policy's dimensions.")
        before = self._documents.get((partition, name))
        place = before.place if before else next(self._places)
        document.update(
            _rid=_rid(place),
            _self=f"dbs/{self.database}/colls/{self.id}/docs/{name}/",
            _etag=f'"{uuid.uuid4()}"',
            _attachments="attachments/",
            _ts=int(self.clock()),
        )
        stored = Stored(place, size, partition, document, vectors)
        self._documents[partition, name] = stored
        self.writes += 1
        self._changed(partition)
        return stored

    def _changed(self, partition: str) -> None:
        self._views.pop(partition, None)
        self._views.pop("", None)

    # Queries

    def ask(
        self, text: str, parameters: Mapping[str, Any], partition: str | None, after: int = -1, most: int | None = None
    ) -> Answer:
        """Every row that answers a query, in the order the service would send them on a good day.

        Of one whose rows come as they were written, `most` rows at most, of those that lie behind the place `after`.
        """
        with self._lock:
            view = self._view(partition)
            asked = f"{text} {parameters}"
            if asked in view.answers:  # the next page of what nothing was written to since
                return view.answers[asked]
            query = parse(text, parameters, lambda distance: self._scores(distance, view))
            self._check(query)
            if query.is_streamed:
                return self._answered(query, view, bisect_right(view.places, after), most)
            if len(view.answers) == MOST_ANSWERS:
                view.answers.clear()
            view.answers[asked] = self._answered(query, view, 0, None, self._held(query, parameters, view))
            return view.answers[asked]

    def _held(self, query: Query, parameters: Mapping[str, Any], view: _View) -> list[Row]:
        """The rows that a condition holds of: one question asks with the same by every field."""
        names = {name: value for name, value in parameters.items() if name in query.where_text}
        key = f"{query.where_text} {names}"
        if key not in view.held:
            if len(view.held) == MOST_ANSWERS:
                view.held.clear()
            view.held[key] = list(self._filtered(query, view, 0))
        return view.held[key]

    def _filtered(self, query: Query, view: _View, start: int) -> Iterator[Row]:
        holds = query.where
        rows = islice(self._rows(query, view), start, None)
        return rows if holds is None else (row for row in rows if is_true(holds(row)))

    def _answered(
        self, query: Query, view: _View, start: int, most: int | None, held: list[Row] | None = None
    ) -> Answer:
        found: Iterable[Row] = self._filtered(query, view, start) if held is None else held
        if query.nearest is not None:
            found = self._nearest(query, list(found), self._scores(query.nearest, view))
        for expression, falls in reversed(query.order):
            found = _ordered(list(found), expression, falls)
        cut = most if most is not None else query.top
        chosen = list(islice(found, cut)) if cut is not None else list(found)
        if query.aggregate and query.value:
            name, of, result = query.aggregate
            result[0] = _aggregated(name, of, chosen)
            return Answer(query, [query.value(Row(0, {}))], [0])
        shown = [_shown(query, row, view.stored[row.place]) for row in chosen]
        pairs = zip(shown, (view.places[row.place] for row in chosen), strict=True)
        kept = [(value, place) for value, place in pairs if value is not UNDEFINED]
        return Answer(query, [value for value, _ in kept], [place for _, place in kept])

    def _rows(self, query: Query, view: _View) -> list[Row]:
        """The rows as a condition sees them: one on a vector itself is rare, and needs the documents put together."""
        if not any(path in query.where_text for path in self.embeddings):
            return view.rows
        return [Row(row.place, view.stored[row.place].whole()) for row in view.rows]

    def _view(self, partition: str | None) -> _View:
        """What lies in a partition, put in order once for all queries until something is written there."""
        key = partition or ""
        if key not in self._views:
            stored = [each for each in self._documents.values() if partition in (None, each.partition)]
            stored.sort(key=lambda each: each.place)
            rows = [Row(number, each.document) for number, each in enumerate(stored)]
            self._views[key] = _View(stored, rows, [each.place for each in stored])
        return self._views[key]

    def _check(self, query: Query) -> None:
        for distance in query.distances:
            policy = self.embeddings.get(distance.path)
            if policy is None:
                raise BadQuery(f"/{distance.path} is no path of the container's vector policy.")
            if len(distance.vector) != policy["dimensions"]:
                raise BadQuery(f"expected a vector of {policy['dimensions']} dimensions, got {len(distance.vector)}.")

    def _scores(self, distance: Distance, view: _View) -> Scores:
        policy = self.embeddings.get(distance.path)
        if policy is None or len(distance.vector) != policy["dimensions"]:
            return Scores(np.full(max(1, len(view.rows)), np.nan, np.float32))  # refused as soon as the query is read
        if distance.path not in view.matrices:
            view.matrices[distance.path] = _Matrix(distance.path, int(policy["dimensions"]), view.stored)
        return view.matrices[distance.path].scores(np.array(distance.vector, np.float32), policy["distanceFunction"])

    def _nearest(self, query: Query, found: list[Row], scores: Scores) -> list[Row]:
        assert query.nearest is not None
        farther = self.embeddings[query.nearest.path]["distanceFunction"] == "euclidean"
        told = scores.array[[row.place for row in found]]
        order = np.argsort(told if farther else -told, kind="stable")  # what has no vector comes last
        return [found[number] for number in order[: int(np.count_nonzero(~np.isnan(told)))].tolist()]


@dataclass(frozen=True, slots=True)
class Scores:
    """The measure of each row of a partition, NaN where it has no such vector."""

    array: npt.NDArray[np.float32]

    def __getitem__(self, place: int) -> Any:
        value = float(self.array[place])
        return UNDEFINED if value != value else value


@dataclass(slots=True)
class _View:
    """The documents of a partition in the order they were written, their vectors by path, and what was asked last."""

    stored: list[Stored]
    rows: list[Row]
    places: list[int]
    matrices: dict[str, _Matrix] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    held: dict[str, list[Row]] = field(default_factory=dict)


class _Matrix:
    """The vectors of one path in a partition, in float32."""

    def __init__(self, path: str, dimension: int, stored: Sequence[Stored]) -> None:
        self._there = np.array([path in each.vectors for each in stored], np.bool_)
        held = [each.vectors[path] for each in stored if path in each.vectors]
        self._rows = np.array(held, np.float32).reshape(len(held), dimension)
        self._lengths = np.linalg.norm(self._rows, axis=1)

    def scores(self, vector: npt.NDArray[np.float32], measure: str) -> Scores:
        if measure == "euclidean":
            found = np.linalg.norm(self._rows - vector, axis=1)
        else:
            found = self._rows @ vector
            if measure == "cosine":
                found = found / np.maximum(self._lengths * np.linalg.norm(vector), np.float32(1e-30))
        every = np.full(len(self._there), np.nan, np.float32)
        every[self._there] = found
        return Scores(every)


@dataclass(slots=True)
class Answer:
    """What a query finds: its rows, and where each document lies, which a continuation goes on from."""

    query: Query
    rows: list[Any]
    places: list[int]

    def shuffled(self) -> Answer:
        """The same rows, in another order, always the same one for one question."""
        pairs = list(zip(self.rows, self.places, strict=True))
        random.Random(self.query.text).shuffle(pairs)
        return Answer(self.query, [row for row, _ in pairs], [place for _, place in pairs])


def plan_of(query: Query) -> Json:
    """The plan that the service makes of a query over several partitions. Raises BadQuery for what has none here."""
    if query.aggregate:
        name = query.aggregate[0]
        rewritten = f'SELECT VALUE [{{"item": {query.select_text.partition(" ")[2]}}}] FROM {query.alias}'
        rewritten += f" WHERE {query.where_text}" if query.where_text else ""
        return _plan(query, rewritten, aggregates=[name.title()], hasSelectValue=True)
    if query.nearest is None:
        if query.order:
            raise BadQuery("ORDER BY over several partitions, of anything but VectorDistance, is not in this fake.")
        return _plan(query, query.text)
    payload = query.alias
    if query.select is not None:
        payload = "{" + ", ".join(f'"{name}": {text}' for name, _, text in query.select) + "}"
    if query.value is not None:
        payload = query.select_text.partition(" ")[2]
    top = f"TOP {query.top} " if query.top is not None else ""
    where = f" AND ({query.where_text})" if query.where_text else ""
    rewritten = (
        f'SELECT {top}{query.alias}._rid, [{{"item": {query.order_text}}}] AS orderByItems, {payload} AS payload\n'
        f"FROM {query.alias}\nWHERE ({{documentdb-formattableorderbyquery-filter}}){where}\nORDER BY {query.order_text}"
    )
    measured = {"orderBy": ["Descending"], "orderByExpressions": [query.order_text], "hasNonStreamingOrderBy": True}
    return _plan(query, rewritten, hasSelectValue=query.value is not None, **measured)


def _plan(query: Query, rewritten: str, **more: Any) -> Json:
    info = {
        "distinctType": "None",
        "top": query.top,
        "offset": None,
        "limit": None,
        "orderBy": [],
        "orderByExpressions": [],
        "groupByExpressions": [],
        "groupByAliases": [],
        "aggregates": [],
        "groupByAliasToAggregateType": {},
        "rewrittenQuery": rewritten,
        "hasSelectValue": False,
        "dCountInfo": None,
        "hasNonStreamingOrderBy": False,
    }
    whole = {"min": "", "max": "FF", "isMinInclusive": True, "isMaxInclusive": False}
    return {"partitionedQueryExecutionInfoVersion": 2, "queryInfo": {**info, **more}, "queryRanges": [whole]}


def check_properties(properties: Json) -> None:
    """Refuse what the service refuses to make a container with."""
    paths = (properties.get("partitionKey") or {}).get("paths")
    if not paths:
        raise Refused(400, "BadRequest", "The partition key has no path.")
    policy = properties.get("vectorEmbeddingPolicy") or {}
    embeddings = {each["path"]: each for each in policy.get("vectorEmbeddings", ())}
    for each in embeddings.values():
        if each.get("distanceFunction") not in _MEASURES or not 1 <= int(each.get("dimensions", 0)) <= 4_096:
            raise Refused(400, "BadRequest", f"The vector policy of {each['path']} is invalid.")
    for each in (properties.get("indexingPolicy") or {}).get("vectorIndexes", ()):
        embedding = embeddings.get(each["path"])
        if embedding is None:
            raise Refused(400, "BadRequest", f"The vector index {each['path']} has no line in the vector policy.")
        if each["type"] == "flat" and embedding["dimensions"] > 505:
            raise Refused(400, "BadRequest", "A flat index takes at most 505 dimensions.")


def _vector(value: Any) -> npt.NDArray[np.floating[Any]]:
    """As it was written, in half the memory where float32 holds the same numbers."""
    if isinstance(value, np.ndarray) and value.dtype == np.float32:
        return value
    try:
        given = np.array(value, np.float64)
    except (TypeError, ValueError) as error:
        raise Refused(400, "BadRequest", "A vector is an array of numbers.") from error
    # A float32 in its shortest writing is another number in float64: what counts is that it is written the same again.
    small = given.astype(np.float32)
    return small if bool((small.astype(np.float64) == given).all()) else given


def _shown(query: Query, row: Row, stored: Stored) -> Any:
    if query.value is None and query.select is None:
        return stored.whole()
    # A vector is part of the document again where one is asked for by name.
    whole = Row(
        row.place, stored.whole() if any(path in query.select_text for path in stored.vectors) else row.document
    )
    if query.value is not None:
        return query.value(whole)
    assert query.select is not None
    return {name: value for name, each, _ in query.select if (value := each(whole)) is not UNDEFINED}


def _ordered(rows: list[Row], expression: Any, falls: bool) -> list[Row]:
    """By type, then by value; what is not there comes first."""
    kinds = {"Undefined": 0, "NoneType": 1, "bool": 2, "int": 3, "float": 3, "str": 4}

    def key(row: Row) -> tuple[int, Any]:
        value = expression(row)
        kind = kinds.get(type(value).__name__, 5)
        return kind, value if kind in (2, 3, 4) else 0

    return sorted(rows, key=key, reverse=falls)


def _aggregated(name: str, of: Any, rows: Sequence[Row]) -> Any:
    values = [value for row in rows if (value := of(row)) is not UNDEFINED]
    if name == "COUNT":
        return len(values)
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if name == "SUM":
        return sum(numbers)
    if not values:
        return UNDEFINED
    return {"MIN": min, "MAX": max}[name](values) if name != "AVG" else sum(numbers) / len(numbers)


def _match(stored: Stored, if_match: str | None) -> None:
    if if_match not in (None, "*", stored.document["_etag"]):
        raise Refused(412, "PreconditionFailed", "One of the specified pre-conditions is not met.")


def _patch(document: Json, operation: Json) -> None:
    *parents, name = str(operation["path"]).strip("/").split("/")
    target = document
    for parent in parents:
        target = target.get(parent)  # type: ignore[assignment]
        if not isinstance(target, dict):
            raise Refused(400, "BadRequest", f"The path {operation['path']} is not there.")
    match operation["op"]:
        case "add" | "set":
            target[name] = operation["value"]
        case "replace" if name in target:
            target[name] = operation["value"]
        case "remove" if name in target:
            del target[name]
        case "incr":
            target[name] = target.get(name, 0) + operation["value"]
        case _:
            raise Refused(400, "BadRequest", f"The operation on {operation['path']} is invalid.")


def _rid(place: int) -> str:
    return base64.b64encode(b"fakecoll" + place.to_bytes(8, "little")).decode()
