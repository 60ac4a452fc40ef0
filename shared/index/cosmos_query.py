"""The statements that a search in Cosmos DB is made of, and what their rows say.

The service sorts by one distance only, so there is one statement a field; each row brings its other distances along.
Vectors, ids and words go as parameters: a statement is made of names that this code knows and of numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from shared.errors import StoreError
from shared.index.cosmos_documents import numbers
from shared.index.item_vectors import Compared, Has, Term, Unsaid
from shared.index.items import FIELDS
from shared.index.scan import Float32

_COLUMN = re.compile(r"[a-z][a-z0-9_]*")
# Columns are compared here up to halves of a millionth; a store that looked closer would lose rows that belong.
_NEAR = 1e-6
_SWITCHES = {"yes": "true", "no": "false"}

Parameters = list[dict[str, Any]]


class Statement(Struct, frozen=True):
    """A statement and its parameters, as the client takes them."""

    query: str
    parameters: Parameters


class Weighed(Struct, frozen=True):
    """The vectors that count, and what for: places in FIELDS, without those of weight 0."""

    places: tuple[int, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, weights: Sequence[float]) -> Weighed:
        places = tuple(place for place, weight in enumerate(weights) if weight)
        return cls(places, tuple(float(weights[place]) for place in places))


def nearest_by(place: int, depth: int, fields: Weighed, vector: Float32, terms: Sequence[Term]) -> Statement:
    """The `depth` documents nearest by one field, with the distances of every field that counts."""
    where, parameters = _where(terms)
    order = _distance(FIELDS[place])
    query = f"SELECT TOP {depth} c.id, {_distances(fields)} FROM c{where} ORDER BY {order}"  # noqa: S608 - names of ours
    return Statement(query, [_vector(vector), *parameters])


def these(ids: Sequence[str], fields: Weighed, vector: Float32) -> Statement:
    """The documents with these ids, with the distances of every field that counts."""
    query = f"SELECT c.id, {_distances(fields)} FROM c WHERE ARRAY_CONTAINS(@ids, c.id)"  # noqa: S608 - names of ours
    return Statement(query, [_vector(vector), {"name": "@ids", "value": list(ids)}])


def cosine(row: Mapping[str, Any], place: int) -> float:
    """What a row says of one field, 0 where the document lacks it. Raises StoreError for what is no cosine."""
    told = row.get(FIELDS[place])
    if told is None:
        return 0.0
    if isinstance(told, bool) or not isinstance(told, int | float) or not math.isfinite(told):
        raise StoreError("Cosmos DB answered with a distance that is no number")
    return float(told)


def id_of(row: object) -> str:
    """The id of a row. Raises StoreError for what is no row."""
    told = row.get("id") if isinstance(row, dict) else None
    if not isinstance(told, str):
        raise StoreError("Cosmos DB answered with something that is no item")
    return told


def _distances(fields: Weighed) -> str:
    return ", ".join(f"{_distance(FIELDS[place])} AS {FIELDS[place]}" for place in fields.places)


def _distance(field: str) -> str:
    return f"VectorDistance(c.{field}_v, @vector)"


def _vector(vector: Float32) -> dict[str, Any]:
    """As the scan in memory rounds it, so that scores are the same, and in digits as short as that allows."""
    return {"name": "@vector", "value": numbers(vector.astype(np.float16))}


def _where(terms: Sequence[Term]) -> tuple[str, Parameters]:
    parameters: Parameters = []
    clauses = [f"({' OR '.join(_clause(part, parameters) for part in term)})" for term in terms]
    return (f" WHERE {' AND '.join(clauses)}" if clauses else ""), parameters


def _clause(part: Compared | Has | Unsaid, parameters: Parameters) -> str:
    """The condition, whose values join the parameters. What is compared with another type is neither true nor false."""
    if isinstance(part, Unsaid):
        return f"({' AND '.join(_says_nothing(_column(each)) for each in part.columns)})"
    column = _column(part.column)
    if isinstance(part, Has):
        word = _parameter(part.word, parameters)
        switch = f" OR {column} = {_SWITCHES[part.word]}" if part.word in _SWITCHES else ""
        return f"{column} = {word} OR ARRAY_CONTAINS({column}, {word}){switch}"
    if part.op == "=":
        low, high = _parameter(part.value - _NEAR, parameters), _parameter(part.value + _NEAR, parameters)
        return f"({column} >= {low} AND {column} <= {high})"
    bound = part.value + (_NEAR if part.op in ("<", "<=") else -_NEAR)
    return f"{column} {part.op} {_parameter(bound, parameters)}"


def _says_nothing(column: str) -> str:
    return f"(NOT IS_DEFINED({column}) OR IS_NULL({column}) OR ARRAY_LENGTH({column}) = 0)"


def _parameter(value: float | str, parameters: Parameters) -> str:
    name = f"@t{len(parameters)}"
    parameters.append({"name": name, "value": value})
    return name


def _column(name: str) -> str:
    if not _COLUMN.fullmatch(name):
        raise ValueError(f"{name!r} can be no column's name")
    return f"c.facts.{name}"
