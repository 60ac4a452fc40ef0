"""The vectors of a site's items in Cosmos DB: one partition of a container, asked for what is nearest.

An item's score is a sum of up to three cosines, and the service sorts by one. So it is asked by each field side by
side for the first `depth`, every row with all its cosines; whatever is not among them scores at most the sum of the
three last ones. Once as many rows as are wanted score that much, no other row can be better and the answer is the one
that the matrices in memory would give; until then it is asked for more.
"""

from __future__ import annotations

import asyncio
import math
import weakref
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

import anyio

from shared.errors import StoreError, StoreMissing
from shared.index.cosmos_client import AsyncAccount, failures, import_client, of_a_question
from shared.index.cosmos_ids import ReleaseIds
from shared.index.cosmos_query import Statement, Weighed, cosine, id_of, nearest_by, these
from shared.index.item_vectors import Charge, Nearest, Ranked, Sought, Store
from shared.settings import Settings
from shared.work import work

if TYPE_CHECKING:
    from shared.index.cosmos_client import AsyncContainer

UNITS_HEADER = "x-ms-request-charge"
# A pool of so few rows is asked for by its ids: one request, and exact. So is a larger one that no term singles out and
# that is a small part of all: of 28,923 films 699 do not say who acts, and they lie beyond the first 5,000.
MOST_BY_IDS, MOST_BY_IDS_ALONE, SMALL_PART = 200, 1_000, 0.25
# So that one round is enough: of 100 questions each, for 40 rows, the deepest one took 160 of 791 walks and of 2,321
# homes and 480 of 28,923 films, where this gives 134, 201 and 607.
ROOT_DEPTH = 12
DEEPER = 4
MOST_DEPTH = 5_000
PAGE = 1_000
CLOSE_S = 5.0


class CosmosConnection:
    """The container that the settings name, as one process asks it: opened when first asked, on the loop that asks.

    A loop that took another's place gets a client of its own, so nothing of a process that was forked is used. Making
    one imports the client, which takes 0.7 s: not for the event loop.
    """

    def __init__(self, settings: Settings) -> None:
        import_client(settings)
        self._settings = settings
        self._loop: asyncio.AbstractEventLoop | None = None
        self._account: AsyncAccount | None = None
        self._container: AsyncContainer | None = None
        self._at_exit: weakref.finalize[..., CosmosConnection] | None = None

    def container(self) -> AsyncContainer:
        """To be called on the loop."""
        loop = asyncio.get_running_loop()
        if self._container is None or self._loop is not loop:
            self._account = AsyncAccount(self._settings, of_a_question(self._settings))
            self._loop, self._container = loop, self._account.container
            # Else a process that ends logs an error of every connection that it still has.
            self._at_exit = weakref.finalize(self, _end, self._account, loop)
        return self._container

    async def aclose(self) -> None:
        """End its connections, on their own loop. It connects anew when asked again."""
        account = self._let_go()
        if account is not None:
            await account.close()

    def close(self) -> None:
        """The same from any other thread. Where that loop has ended, there is nothing left to close."""
        account = self._let_go()
        if account is not None and self._loop is not None:
            _end(account, self._loop)

    def _let_go(self) -> AsyncAccount | None:
        account, self._account, self._container = self._account, None, None
        if self._at_exit is not None:
            self._at_exit.detach()
        return account


def _end(account: AsyncAccount, loop: asyncio.AbstractEventLoop) -> None:
    """Close what nobody uses any more; from the loop itself as soon as it comes to that."""
    if not loop.is_running():
        return
    closing = asyncio.run_coroutine_threadsafe(account.close(), loop)
    if not _runs_here(loop):
        closing.result(CLOSE_S)


def _runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


class CosmosVectors:
    """One release's items among a partition's documents; as `ItemVectors` promises.

    The container may hold documents of other releases as well: what `ids` does not list is not there. The connection
    is shared, and stays open.
    """

    store: Store = "cosmos"

    def __init__(self, connection: CosmosConnection, partition: str, ids: ReleaseIds, weights: Sequence[float]) -> None:
        self._connection = connection
        self._partition = partition
        self._ids = ids
        self._fields = Weighed.of(weights)

    @property
    def unusable(self) -> int:
        """Items that are too large to be there: never found here."""
        return self._ids.unlisted

    async def nearest(self, sought: Sought, charge: Charge) -> Nearest:
        """The best rows. Raises StoreError; StoreMissing where the container holds nothing of this release."""
        pool = _Pool(sought, self._ids)
        if pool.count == 0 or sought.limit <= 0 or not self._fields.places:
            return Nearest([(row, 0.0) for row in pool.rows()[: max(0, sought.limit)]])
        if pool.is_small:
            rows = pool.rows()
            [answer] = await self._answers([these(self._ids.of(rows), self._fields, sought.vector)], charge)
            return Nearest(_best(self._found([answer], pool), sought.limit))
        return await self._in_rounds(sought, pool, charge)

    def describe(self) -> dict[str, Any]:
        """Where they are."""
        return {"store": self.store}

    def close(self) -> None:
        """Nothing here is its own."""

    async def _in_rounds(self, sought: Sought, pool: _Pool, charge: Charge) -> Nearest:
        depth = pool.depth
        while True:
            statements = [
                nearest_by(place, depth, self._fields, sought.vector, sought.terms) for place in self._fields.places
            ]
            answers = await self._answers(statements, charge)
            found = await work(partial(self._found, answers, pool))
            bounds = map(_bound, answers, self._fields.places, self._fields.weights, repeat(depth))
            best = _best(found, sought.limit)
            if all(len(answer) < depth for answer in answers):
                return Nearest(_best({**dict.fromkeys(pool.rows(), 0.0), **found}, sought.limit))
            if len(best) == sought.limit and best[-1][1] >= math.fsum(bounds):
                return Nearest(best)
            if depth == MOST_DEPTH:
                return Nearest(best, is_whole=False)
            depth = min(depth * DEEPER, MOST_DEPTH)

    def _found(self, answers: Sequence[Sequence[Any]], pool: _Pool) -> dict[int, float]:
        """Row → score, of the rows that may be found."""
        rows = {id_of(row): row for answer in answers for row in answer}
        places = self._ids.rows_of(list(rows))
        if not (places >= 0).any():
            raise StoreMissing("Cosmos DB holds no item of this release; load it with `askbucket load-cosmos`")
        return {
            place: self._score(row)
            for place, row in zip(places.tolist(), rows.values(), strict=True)
            if place >= 0 and pool.has(place)
        }

    def _score(self, row: Any) -> float:
        pairs = zip(self._fields.places, self._fields.weights, strict=True)
        return math.fsum(weight * cosine(row, place) for place, weight in pairs)

    async def _answers(self, statements: Sequence[Statement], charge: Charge) -> list[list[Any]]:
        container = self._connection.container()
        return await _together([partial(self._drained, container, each, charge) for each in statements])

    async def _drained(self, container: AsyncContainer, statement: Statement, charge: Charge) -> list[Any]:
        """Every row of every page: they come in no order that could be relied on."""

        def charged(headers: Any, _: Any) -> None:
            charge.add(_units(headers))

        try:
            with failures():
                rows = container.query_items(
                    query=statement.query,
                    parameters=statement.parameters,
                    partition_key=self._partition,
                    max_item_count=PAGE,
                    response_hook=charged,
                )
                return [row async for row in rows]
        except (LookupError, TypeError, ValueError) as error:  # the client's, of what it cannot make sense of
            raise StoreError(f"Cosmos DB answered with something else ({type(error).__name__})") from error


class _Pool:
    """The rows that may be found: what `among` says, without what is known already or cannot be there."""

    def __init__(self, sought: Sought, ids: ReleaseIds) -> None:
        self._may = ids.listed.copy() if sought.among is None else sought.among & ids.listed
        self._may[list(sought.without)] = False
        self._wanted = sought.limit + len(sought.without)
        self.count = int(self._may.sum())
        # With terms the service looks at these rows only, or nearly.
        self._share = 1.0 if sought.terms else self.count / ids.rows
        self.is_small = self.count <= (MOST_BY_IDS_ALONE if self._share < SMALL_PART else MOST_BY_IDS)

    @property
    def depth(self) -> int:
        """How many to ask for at first: the more, the more rows there are and the fewer of those that come may be
        found. How deep the sum of three fields reaches into the order of one grows with the root of their number."""
        deep = 1 + math.sqrt(self.count) / ROOT_DEPTH
        return min(math.ceil(self._wanted * deep / max(self._share, 1e-9)), MOST_DEPTH)

    def has(self, row: int) -> bool:
        return bool(self._may[row])

    def rows(self) -> list[int]:
        found: list[int] = self._may.nonzero()[0].tolist()
        return found


def _bound(answer: Sequence[Any], place: int, weight: float, depth: int) -> float:
    """The most that a document which a field's answer lacks has of that field: as much as its last, else nothing."""
    return 0.0 if len(answer) < depth else weight * max(0.0, min(cosine(row, place) for row in answer))


def _best(found: dict[int, float], limit: int) -> Ranked:
    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]


async def _together(jobs: Sequence[Callable[[], Awaitable[list[Any]]]]) -> list[list[Any]]:
    """What the jobs return, in their order. The first that fails ends the others, and its StoreError is raised."""
    done: dict[int, list[Any]] = {}
    failed: list[StoreError] = []
    async with anyio.create_task_group() as group:

        async def run(number: int, job: Callable[[], Awaitable[list[Any]]]) -> None:
            try:
                done[number] = await job()
            except StoreError as error:
                failed.append(error)
                group.cancel_scope.cancel()

        for number, job in enumerate(jobs):
            group.start_soon(run, number, job)
    if failed:
        raise failed[0]
    return [done[number] for number in range(len(jobs))]


def _units(headers: Any) -> float:
    """The request units that an answer says it took; none where it says nothing that could be read."""
    try:
        units = float(headers.get(UNITS_HEADER, 0.0))
    except (TypeError, ValueError):
        return 0.0
    return units if math.isfinite(units) and units >= 0 else 0.0
