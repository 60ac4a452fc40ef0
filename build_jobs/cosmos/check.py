"""`askbucket load-cosmos --check`: what the account says about itself, and how it answers a question.

Nothing is written. Some of it no server on this machine can tell: in which order pages come, whether the service asks
for a plan, what a question takes, and how much its index misses.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from build_jobs.cosmos.container import misfits, remarks
from build_jobs.cosmos.opened import Opened, opened
from build_jobs.cosmos.partition import Partition
from shared.bucket.base import open_bucket
from shared.index.cosmos_client import Account, failures
from shared.index.cosmos_query import Statement, Weighed, cosine, id_of, nearest_by
from shared.index.items import FIELDS

if TYPE_CHECKING:
    from shared.index.cosmos_client import Container
    from shared.index.scan import Float16, Float32, Rows
    from shared.settings import Settings

# Pages of ten, so that rows of one answer come on several.
_DEPTH, _PAGE = 40, 10
# Two float32 sums of the same products differ by less.
_ROUNDING = 1e-5
_NEEDS_A_PLAN = ("400", "1004")

QueryPath = Literal["passthrough", "plan", "unknown"]


@dataclass(slots=True)
class Asked:
    """One field's part of a question: what came back, and what that took.

    `rows` are those of this release; `exact` of them are what looking at all of its vectors finds as well.
    """

    field: str
    path: QueryPath
    pages: int
    rows: int
    is_in_order: bool
    exact: int
    units: float
    seconds: float


@dataclass(slots=True)
class CosmosCheck:
    """What was found. `wrong` is what keeps this release from being served, `remarks` what makes it slow or dear, or
    keeps some of its items from being found by their vectors."""

    container: str
    catalog: str
    release: str
    rows: int
    dimension: int
    there: int = 0
    others: int = 0
    too_large: int = 0
    asked: list[Asked] = field(default_factory=list)
    listing_units: float = 0.0
    wrong: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def units(self) -> float:
        """Request units of one question: of all fields together."""
        return sum(each.units for each in self.asked)

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": not self.wrong,
            "container": self.container,
            "catalog": self.catalog,
            "release": self.release,
            "rows": self.rows,
            "there": self.there,
            "others": self.others,
            "tooLarge": self.too_large,
            "dimension": self.dimension,
            "requestUnitsOfAQuestion": round(self.units, 2),
            "requestUnitsOfListing": round(self.listing_units, 2),
            "asked": [asdict(each) for each in self.asked],
            "wrong": self.wrong,
            "remarks": self.remarks,
        }


def check_cosmos(bucket_url: str, *, settings: Settings, catalog: str, release_id: str | None = None) -> CosmosCheck:
    """Look at the account with one release in hand, the current one by default. Raises ReleaseError, StoreError."""
    bucket = open_bucket(bucket_url, settings)
    with (
        opened(bucket, catalog, Path(settings.cache_dir), release_id) as release,
        closing(Account(settings)) as account,
    ):
        found = CosmosCheck(
            container=f"{settings.cosmos_database}/{settings.cosmos_container}",
            catalog=catalog,
            release=release.id,
            rows=len(release.ids),
            dimension=release.dimension,
        )
        found.wrong += misfits_of(account, release.dimension)
        if (properties := account.properties()) is None:
            return found
        found.remarks += remarks(properties)
        _look(account.container, release, found)
        if not found.wrong:
            found.asked = [_ask(account.container, release, place) for place in range(len(FIELDS))]
            found.wrong += [f"{each.field}: no row came back" for each in found.asked if each.pages and not each.rows]
            found.remarks += _of_answers(found.asked)
    return found


def misfits_of(account: Account, dimension: int) -> list[str]:
    """Why the container cannot hold vectors of so many numbers; that it is not there is a reason. Raises StoreError."""
    properties = account.properties()
    if properties is None:
        return ["there is no such database or container: run `askbucket load-cosmos` to make it"]
    return misfits(properties, dimension)


def counted_in(container: Container, partition: str) -> int:
    """How many documents there are of a site, whichever release lists them. Raises StoreError."""
    with failures():
        rows: Any = container.query_items("SELECT VALUE COUNT(1) FROM c", partition_key=partition)
        return int(next(iter(rows)))


def _look(container: Container, release: Opened, found: CosmosCheck) -> None:
    partition = Partition(container, release.catalog)
    there = partition.listing()
    found.there = sum(each in there for each in release.ids)
    found.others = len(there) - found.there
    found.listing_units = partition.units
    found.too_large = found.rows - len(release.listed)
    if missing := len(release.listed) - found.there:
        found.wrong.append(f"{missing:,} of {found.rows:,} items are not there: run it without --check")
    if found.too_large:
        are, their = ("item is", "its") if found.too_large == 1 else ("items are", "their")
        found.remarks.append(f"{found.too_large:,} {are} too large for Cosmos DB and found by {their} words alone")


def _ask(container: Container, release: Opened, place: int) -> Asked:
    """What lies nearest to one item of the release, by one field."""
    matrix = release.matrices[place]
    filled = _filled(matrix, release.listed)
    if not len(filled):
        return Asked(FIELDS[place], "unknown", 0, 0, is_in_order=True, exact=0, units=0.0, seconds=0.0)
    vector = np.asarray(matrix[filled[len(filled) // 2]], np.float32)
    statement = nearest_by(place, _DEPTH, Weighed.of((1.0, 1.0, 1.0)), vector, ())
    rows, told, seconds = _answer(container, release.catalog, statement)
    scores = [cosine(row, place) for row in rows]
    ours = {id_of(row) for row in rows} & set(release.ids)
    return Asked(
        field=FIELDS[place],
        path="plan" if any(each[0] == _NEEDS_A_PLAN for each in told) else "passthrough",
        pages=sum(status == "200" for (status, _), _ in told),
        rows=len(ours),
        is_in_order=all(scores[at] >= scores[at + 1] for at in range(len(scores) - 1)),
        exact=len(ours & _nearest(matrix[filled], vector, [release.ids[row] for row in filled], len(ours))),
        units=round(sum(units for _, units in told), 2),
        seconds=round(seconds, 3),
    )


Told = tuple[tuple[str, str], float]
"""Of an answer: its status and sub-status, and its request units."""


def _answer(
    container: Container, partition: str, statement: Statement
) -> tuple[list[Mapping[str, Any]], list[Told], float]:
    told: list[Told] = []

    def seen(response: Any) -> None:
        answer = response.http_response
        headers = answer.headers
        status = (str(answer.status_code), str(headers.get("x-ms-substatus", "")))
        told.append((status, float(headers.get("x-ms-request-charge") or 0.0)))

    started = time.monotonic()
    with failures():
        rows = container.query_items(
            statement.query,
            parameters=statement.parameters,
            partition_key=partition,
            max_item_count=_PAGE,
            raw_response_hook=seen,
        )
        return list(rows), told, time.monotonic() - started


def _filled(matrix: Float16, listed: Sequence[int]) -> Rows:
    """The rows that say something in this field, of those that can be there."""
    return np.intersect1d(np.flatnonzero(np.asarray(matrix).any(axis=1)), np.array(listed, np.int64))


def _nearest(matrix: Float16, vector: Float32, ids: Sequence[str], count: int) -> set[str]:
    """The ids of so many nearest rows, by looking at all of them; what is as near as the last one is one, too."""
    scores = np.asarray(matrix, np.float32) @ vector
    last = np.sort(scores)[-max(1, min(count, len(scores)))]
    return {each for each, score in zip(ids, scores, strict=True) if score >= last - _ROUNDING}


def _of_answers(asked: Sequence[Asked]) -> list[str]:
    found = [
        f"{each.field}: pages come in another order than the rows are near, on the {each.path} path; a site sorts them"
        for each in asked
        if not each.is_in_order
    ]
    return found + [
        f"{each.field}: {each.exact} of the {each.rows} rows are the nearest ones, so the index misses some"
        for each in asked
        if each.exact < each.rows
    ]
