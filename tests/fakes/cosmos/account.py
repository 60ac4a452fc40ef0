"""A Cosmos DB account that speaks the wire of azure-cosmos over a real socket, and fails as it is told to.

    with cosmos_account() as account:
        ...                                        # COSMOS_ENDPOINT=account.endpoint COSMOS_KEY=account.key
        account.fail(throttled(), on=3)            # the third request from now
        account.behaviour.shuffled = True          # pages of a vector query come in another order
        items = account.container("samples", "items")
        assert items.ids("\\"movies\\"") == {...} and items.writes == 3_000

What it cannot show stands in docs/cosmos.md: the charges are made up, and its vector index misses nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from .sql import BadQuery, parse
from .store import MOST_OPERATIONS, Answer, Container, Refused, Stored, check_properties, plan_of

Json = dict[str, Any]
KEY = base64.b64encode(b"the key of an account that is a fake, sixty-four bytes of it....").decode()
_PAGE_ITEMS = {"": 100, "-1": 1_000}
_VERSIONED = ("dbs", "colls")


@dataclass(frozen=True)
class Fault:
    """What happens to a request in the place of an answer, or before one.

    `delay_s` before anything is sent; then `status` with its headers, or up to `cut_at` bytes of the answer, and the
    connection is closed where `closes`. `lost` does what was asked and closes without an answer.
    """

    status: int = 0
    sub_status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut_at: int | None = None
    closes: bool = False
    lost: bool = False


def throttled(retry_after_ms: int = 1) -> Fault:
    """Too much was asked: try again after so many milliseconds."""
    return Fault(429, 3200, {"x-ms-retry-after-ms": str(retry_after_ms)})


def status(code: int, sub_status: int = 0) -> Fault:
    """An error."""
    return Fault(code, sub_status)


def slow(delay_s: float) -> Fault:
    """The answer comes later."""
    return Fault(delay_s=delay_s)


def closed() -> Fault:
    """The connection ends without an answer, and nothing was done."""
    return Fault(closes=True)


def lost() -> Fault:
    """What was asked is done, and the connection ends without an answer."""
    return Fault(lost=True)


def cut(at: int = 20) -> Fault:
    """So many bytes of the answer come, and the connection ends."""
    return Fault(cut_at=at)


@dataclass
class Behaviour:
    """How the account answers queries. `needs_plan` sends a vector query of one partition back for its plan (1004)."""

    shuffled: bool = False
    needs_plan: bool = False
    empty_pages: bool = False
    most_page_items: int = 0


@dataclass
class Seen:
    """One request. `number` counts from 1; `kind` says what it is, as `kind_of` does; `charge` is what it cost."""

    number: int
    kind: str
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    status: int = 0
    charge: float = 0.0

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None


def kind_of(method: str, path: str, headers: Mapping[str, str]) -> str:
    """account, database, container, ranges, query, plan, batch, create, upsert, read, replace, patch or delete."""
    parts = path.strip("/").split("/") if path.strip("/") else []

    def is_set(name: str) -> bool:
        return headers.get(name, "").lower() == "true"

    if not parts:
        return "account"
    if parts[-1] == "pkranges":
        return "ranges"
    if len(parts) <= 4 and "docs" not in parts:
        return "container" if "colls" in parts else "database"
    if method == "POST":
        for header, kind in (
            ("x-ms-cosmos-is-query-plan-request", "plan"),
            ("x-ms-documentdb-isquery", "query"),
            ("x-ms-cosmos-is-batch-request", "batch"),
            ("x-ms-documentdb-is-upsert", "upsert"),
        ):
            if is_set(header):
                return kind
        return "create"
    return {"GET": "read", "PUT": "replace", "PATCH": "patch", "DELETE": "delete"}.get(method, "?")


@dataclass
class _Planned:
    fault: Fault
    left: int
    when: Callable[[Seen], bool]


@dataclass
class Reply:
    """What goes over the wire."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    charge: float = 1.0

    def bytes(self) -> bytes:
        return b"" if self.body is None else json.dumps(self.body, ensure_ascii=False).encode()


class Account:
    """The account, and what was asked of it. Safe between threads."""

    def __init__(self, certificate: ssl.SSLContext | None = None) -> None:
        self.key = KEY
        self.tokens: set[str] = set()
        self.clock: Callable[[], float] = time.time
        self.behaviour = Behaviour()
        self.seen: list[Seen] = []
        self.databases: dict[str, Json] = {}
        self._containers: dict[tuple[str, str], Container] = {}
        self._planned: list[_Planned] = []
        self._lock = threading.RLock()
        self._open: dict[int, socket.socket] = {}
        self._tls = certificate is not None
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        if certificate is not None:
            self._server.socket = certificate.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, name="cosmos", daemon=True
        )
        self._alive = True

    # For tests

    @property
    def endpoint(self) -> str:
        """Where it is."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._server.server_address[1]}/"

    def container(self, database: str = "samples", container: str = "items") -> Container:
        """A container that is there, to look into. Raises KeyError."""
        return self._containers[database, container]

    def create(self, dimension: int, database: str = "samples", container: str = "items", **policies: Any) -> Container:
        """Make a container past the wire: the project's, of vectors of so many numbers."""
        from shared.index.cosmos_client import policies as of_project

        made = of_project(dimension)
        properties = {
            "id": container,
            "partitionKey": {"paths": ["/site"], "kind": "Hash"},
            "vectorEmbeddingPolicy": made["vector_embedding_policy"],
            "indexingPolicy": made["indexing_policy"],
            **policies,
        }
        self.databases.setdefault(database, self._described(database, "dbs"))
        return self._make(database, properties)

    def fail(
        self, fault: Fault, *, on: int | None = None, times: int = 1, of: str | Callable[[Seen], bool] = ""
    ) -> None:
        """Let a fault happen to requests from now on.

        To the `on`-th that comes, else to the next `times` ones; `of` says which ones count: a kind, or a condition.
        The account document is asked for beside, by no rule of ours, and counts only where it is named.
        """

        def counts(seen: Seen) -> bool:
            if callable(of):
                return of(seen)
            return seen.kind == of if of else seen.kind != "account"

        if on is None:
            self._plan(_Planned(fault, times, counts))
            return
        come = 0

        def is_it(seen: Seen) -> bool:
            nonlocal come
            come += counts(seen)
            return counts(seen) and come == on

        self._plan(_Planned(fault, 1, is_it))

    def mend(self) -> None:
        """Forget every fault that has not happened."""
        with self._lock:
            self._planned.clear()

    @property
    def open_connections(self) -> int:
        """Connections that neither side has closed."""
        with self._lock:
            return len(self._open)

    def of(self, *kinds: str) -> list[Seen]:
        """The requests of some kinds, in the order they came."""
        with self._lock:
            return [seen for seen in self.seen if seen.kind in kinds]

    @property
    def charge(self) -> float:
        """Request units, all together."""
        with self._lock:
            return sum(seen.charge for seen in self.seen)

    def die(self) -> None:
        """Close the port and every connection."""
        if self._alive:
            self._alive = False
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            with self._lock:
                held = list(self._open.values())
            for each in held:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Account:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.die()

    # Requests

    def connected(self, connection: socket.socket) -> None:
        with self._lock:
            self._open[id(connection)] = connection

    def disconnected(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.pop(id(connection), None)

    def note(self, method: str, path: str, headers: Mapping[str, str], body: bytes, connection: int) -> Seen:
        with self._lock:
            kind = kind_of(method, path, headers)
            seen = Seen(len(self.seen) + 1, kind, method, path, headers, body, connection)
            self.seen.append(seen)
            return seen

    def fault_of(self, seen: Seen) -> Fault | None:
        with self._lock:
            for planned in self._planned:
                if planned.left and planned.when(seen):
                    planned.left -= 1
                    return planned.fault
        return None

    def answer(self, seen: Seen) -> Reply:
        """What a request is answered."""
        try:
            self._authorize(seen)
            reply = self._route(seen)
        except BadQuery as error:
            reply = _error(Refused(400, "BadRequest", str(error)))
        except Refused as error:
            reply = _error(error)
        if reply.status >= 400 and reply.status != 404:
            reply.charge = 0.0
        seen.charge = reply.charge
        return reply

    def _plan(self, planned: _Planned) -> None:
        with self._lock:
            self._planned.append(planned)

    def _authorize(self, seen: Seen) -> None:
        given = unquote(seen.headers.get("authorization", ""))
        parts = dict(part.partition("=")[::2] for part in given.split("&"))
        if parts.get("type") == "aad" and parts.get("sig") in self.tokens:
            return
        if parts.get("type") == "master" and hmac.compare_digest(parts.get("sig", ""), self._signature(seen)):
            return
        raise Refused(401, "Unauthorized", "The input authorization token can't serve the request.")

    def _signature(self, seen: Seen) -> str:
        segments = [each for each in unquote(seen.path).strip("/").split("/") if each]
        if len(segments) % 2:
            kind, link = segments[-1], "/".join(segments[:-1])
        else:
            kind, link = (segments[-2], "/".join(segments)) if segments else ("", "")
        text = f"{seen.method.lower()}\n{kind.lower()}\n{link}\n{seen.headers.get('x-ms-date', '').lower()}\n\n"
        digest = hmac.new(base64.b64decode(self.key), text.encode(), hashlib.sha256).digest()
        return base64.b64encode(digest).decode()

    def _route(self, seen: Seen) -> Reply:
        parts = [unquote(part) for part in seen.path.strip("/").split("/") if part]
        match parts:
            case []:
                return Reply(200, self._account(), charge=0.0)
            case ["dbs", *rest] if len(rest) <= 1:
                return self._database(seen, rest)
            case ["dbs", database, "colls", *rest] if len(rest) <= 1:
                return self._collection(seen, database, rest)
            case ["dbs", database, "colls", name, "pkranges"]:
                return self._ranges(seen, self._container_of(database, name))
            case ["dbs", database, "colls", name, "docs", *rest] if len(rest) <= 1:
                container = self._container_of(database, name)
                self._check_rid(seen, container)
                reply = self._item(seen, container, rest[0]) if rest else self._items(seen, container)
                container.charge += reply.charge
                return reply
        raise Refused(404, "NotFound", "There is no such route.")

    def _account(self) -> Json:
        here = [{"name": "Local", "databaseAccountEndpoint": self.endpoint}]
        policy = {"asyncReplication": False, "minReplicaSetSize": 3, "maxReplicasetSize": 4}
        return {
            "_self": "", "id": "fake", "_rid": "fake", "media": "//media/", "addresses": "//addresses/",
            "_dbs": "//dbs/", "writableLocations": here, "readableLocations": here,
            "enableMultipleWriteLocations": False, "userReplicationPolicy": policy,
            "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"}, "systemReplicationPolicy": policy,
            "readPolicy": {"primaryReadCoefficient": 1, "secondaryReadCoefficient": 1},
            "queryEngineConfiguration": "{}",
        }  # fmt: skip

    def _described(self, id: str, kind: str) -> Json:
        extra = {"dbs": ("_colls", "_users"), "colls": ("_docs", "_sprocs", "_triggers", "_udfs", "_conflicts")}[kind]
        rid = base64.b64encode(hashlib.sha256(f"{kind} {id} {uuid.uuid4()}".encode()).digest()[:8]).decode()
        return {
            "id": id, "_rid": rid, "_self": f"{kind}/{rid}/", "_etag": f'"{uuid.uuid4()}"', "_ts": int(self.clock()),
            **{name: f"{name.strip('_')}/" for name in extra},
        }  # fmt: skip

    def _database(self, seen: Seen, rest: list[str]) -> Reply:
        with self._lock:
            if seen.method == "POST":
                name = seen.json["id"]
                if name in self.databases:
                    raise Refused(409, "Conflict", "Resource with specified id or name already exists.")
                self.databases[name] = self._described(name, "dbs")
                return Reply(201, self.databases[name])
            if not rest or rest[0] not in self.databases:
                raise Refused(404, "NotFound", "Resource Not Found.")
            if seen.method == "DELETE":
                del self.databases[rest[0]]
                self._containers = {key: each for key, each in self._containers.items() if key[0] != rest[0]}
                return Reply(204)
            return Reply(200, self.databases[rest[0]])

    def _collection(self, seen: Seen, database: str, rest: list[str]) -> Reply:
        with self._lock:
            if database not in self.databases:
                raise Refused(404, "NotFound", "Resource Not Found.", 1003)
            if seen.method == "POST":
                if (database, seen.json["id"]) in self._containers:
                    raise Refused(409, "Conflict", "Resource with specified id or name already exists.")
                return Reply(201, self._make(database, seen.json).properties)
            container = self._container_of(database, rest[0], 0)
            if seen.method == "DELETE":
                del self._containers[database, rest[0]]
                return Reply(204)
            return Reply(200, container.properties)

    def _make(self, database: str, properties: Json) -> Container:
        check_properties(properties)
        container = Container(
            database,
            properties["id"],
            {**properties, **self._described(properties["id"], "colls")},
            self._now,
        )
        with self._lock:
            self._containers[database, container.id] = container
        return container

    def _now(self) -> float:
        return self.clock()

    def _container_of(self, database: str, name: str, sub_status: int = 1003) -> Container:
        with self._lock:
            if (database, name) not in self._containers:
                raise Refused(404, "NotFound", "Resource Not Found.", sub_status)
            return self._containers[database, name]

    def _check_rid(self, seen: Seen, container: Container) -> None:
        meant = seen.headers.get("x-ms-cosmos-intended-collection-rid")
        if meant and meant != container.properties["_rid"]:
            raise Refused(400, "BadRequest", "The collection was made anew.", 1024)

    def _ranges(self, seen: Seen, container: Container) -> Reply:
        etag = f'"{container.properties["_rid"]}"'
        if seen.headers.get("if-none-match") == etag:
            return Reply(304, None, {"etag": etag})
        whole = {"id": "0", "_rid": container.properties["_rid"], "minInclusive": "", "maxExclusive": "FF",
                 "parents": [], "status": "online", "ridPrefix": 0, "throughputFraction": 1}  # fmt: skip
        body = {"_rid": container.properties["_rid"], "PartitionKeyRanges": [whole], "_count": 1}
        return Reply(200, body, {"etag": etag})

    # Items

    def _item(self, seen: Seen, container: Container, id: str) -> Reply:
        partition, match = _partition(seen), seen.headers.get("if-match")
        if seen.method == "GET":
            stored = container.read(partition or "", id)
            return _of(stored, 200, charge=max(1.0, stored.bytes / 1024))
        if partition is None:
            raise Refused(400, "BadRequest", "PartitionKey extracted from document doesn't match.", 1001)
        if seen.method == "DELETE":
            container.delete(partition, id, match)
            return Reply(204, charge=5.0)
        if seen.method == "PATCH":
            return _said(seen, container.patch(partition, id, seen.json["operations"], match), 200)
        self._check_partition(container, partition, seen.json)
        return _said(seen, container.replace(partition, id, seen.json, len(seen.body), match), 200)

    def _items(self, seen: Seen, container: Container) -> Reply:
        if seen.kind == "plan":
            return self._query_plan(seen, container)
        if seen.kind == "query":
            return self._query(seen, container)
        partition = _partition(seen)
        if partition is None:
            raise Refused(400, "BadRequest", "The partition key is missing.", 1001)
        if seen.kind == "batch":
            return self._batch(seen, container, partition)
        self._check_partition(container, partition, seen.json)
        if seen.kind == "upsert":
            stored, is_new = container.upsert(seen.json, len(seen.body), seen.headers.get("if-match"))
            return _said(seen, stored, 201 if is_new else 200)
        return _said(seen, container.create(seen.json, len(seen.body)), 201)

    def _check_partition(self, container: Container, partition: str, document: Json) -> None:
        if container.partition_of(document) != partition:
            raise Refused(400, "BadRequest", "PartitionKey extracted from document doesn't match the header.", 1001)

    def _batch(self, seen: Seen, container: Container, partition: str) -> Reply:
        operations: list[Json] = seen.json
        if len(operations) > MOST_OPERATIONS:
            raise Refused(400, "BadRequest", "Batch request has more operations than what is supported.")
        if len(seen.body) > 2 * 1024 * 1024:
            raise Refused(413, "RequestEntityTooLarge", "Request size is too large")
        done: list[Json] = []

        def work() -> None:
            done.extend(self._operation(container, partition, each) for each in operations)

        try:
            container.together(work)
        except Refused as error:
            failed = [{"statusCode": 424, "requestCharge": 0} for _ in operations]
            failed[len(done)] = {"statusCode": error.status, "subStatusCode": error.sub_status, "requestCharge": 0}
            return Reply(207, failed)
        return Reply(200, done, charge=sum(each["requestCharge"] for each in done))

    def _operation(self, container: Container, partition: str, operation: Json) -> Json:
        kind, name, match = operation["operationType"], str(operation.get("id")), operation.get("ifMatch")
        body = operation.get("resourceBody")
        if kind in ("Create", "Upsert", "Replace"):
            assert body is not None
            self._check_partition(container, partition, body)
        size = len(json.dumps(body, ensure_ascii=False).encode()) if body else 0
        if kind == "Create":
            return _operated(container.create(body, size), 201)  # type: ignore[arg-type]
        if kind == "Upsert":
            stored, is_new = container.upsert(body, size, match)  # type: ignore[arg-type]
            return _operated(stored, 201 if is_new else 200)
        if kind == "Replace":
            return _operated(container.replace(partition, name, body, size, match), 200)  # type: ignore[arg-type]
        if kind == "Read":
            stored = container.read(partition, name)
            return {**_operated(stored, 200), "resourceBody": stored.whole()}
        if kind == "Patch":
            return _operated(container.patch(partition, name, body["operations"], match), 200)  # type: ignore[index]
        if kind == "Delete":
            container.delete(partition, name, match)
            return {"statusCode": 204, "requestCharge": 5.0}
        raise Refused(400, "BadRequest", f"There is no operation {kind}.")

    # Queries

    def _query_plan(self, seen: Seen, container: Container) -> Reply:
        text, parameters = _asked(seen)
        query = parse(text, parameters, lambda _: [None])
        return Reply(200, plan_of(query), charge=0.0)

    def _query(self, seen: Seen, container: Container) -> Reply:
        text, parameters = _asked(seen)
        partition, has_range = _partition(seen), "x-ms-documentdb-partitionkeyrangeid" in seen.headers
        query = parse(text, parameters, lambda _: [None])
        if partition is None and not has_range:
            if seen.headers.get("x-ms-documentdb-query-enablecrosspartition", "").lower() != "true":
                raise Refused(400, "BadRequest", "Cross partition query is required but disabled.")
            if query.is_merged:
                raise Refused(400, "BadRequest", "The query needs a plan.", 1004)
        if query.nearest is not None and self.behaviour.needs_plan and not has_range:
            raise Refused(400, "BadRequest", "The query needs a plan.", 1004)
        token = seen.headers.get("x-ms-continuation", "")
        if query.is_streamed:
            return self._streamed(seen, container, partition, token)
        return self._page(seen, container, container.ask(text, parameters, partition), token)

    def _streamed(self, seen: Seen, container: Container, partition: str | None, token: str) -> Reply:
        """A page behind the last row that was sent, whatever was written since."""
        kind, _, after = token.partition(":")
        most = _page_items(seen.headers, self.behaviour.most_page_items)
        found = container.ask(*_asked(seen), partition, int(after or -1), most + 1)
        if self.behaviour.empty_pages and kind != "full" and found.rows:
            return self._rows(seen, container, [], f"full:{after or -1}")
        more = len(found.rows) > most
        return self._rows(seen, container, found.rows[:most], f"next:{found.places[most - 1]}" if more else "")

    def _page(self, seen: Seen, container: Container, found: Answer, token: str) -> Reply:
        is_nearest = found.query.nearest is not None
        if is_nearest and self.behaviour.shuffled:
            found = found.shuffled()
        most = _page_items(seen.headers, self.behaviour.most_page_items)
        kind, _, after = token.partition(":")
        start = int(after or 0)
        if self.behaviour.empty_pages and kind != "full" and found.rows[start:]:
            return self._rows(seen, container, [], f"full:{start}")
        more = len(found.rows) > start + most
        return self._rows(seen, container, found.rows[start : start + most], f"next:{start + most}" if more else "")

    def _rows(self, seen: Seen, container: Container, rows: list[Any], token: str) -> Reply:
        body = {"_rid": container.properties["_rid"], "Documents": rows, "_count": len(rows)}
        headers = {"x-ms-item-count": str(len(rows)), **({"x-ms-continuation": token} if token else {})}
        return Reply(200, body, headers, charge=2.3 + 0.05 * len(rows))


def _page_items(headers: Mapping[str, str], most: int) -> int:
    asked = headers.get("x-ms-max-item-count", "")
    items = _PAGE_ITEMS[asked] if asked in _PAGE_ITEMS else int(asked)
    return min(items, most) if most else items


def _asked(seen: Seen) -> tuple[str, dict[str, Any]]:
    body = seen.json
    text = body["query"].replace("{documentdb-formattableorderbyquery-filter}", "true")
    return text, {each["name"]: each["value"] for each in body.get("parameters") or ()}


def _partition(seen: Seen) -> str | None:
    """The partition that a request names, as its JSON; None where it names none."""
    raw = seen.headers.get("x-ms-documentdb-partitionkey")
    if raw is None:
        return None
    values = json.loads(raw)
    return json.dumps(values[0]) if values else None


def _of(stored: Stored, code: int, charge: float) -> Reply:
    return Reply(code, stored.whole(), {"etag": stored.document["_etag"]}, charge)


def _said(seen: Seen, stored: Stored, code: int) -> Reply:
    """The answer to a write: without the item where whoever wrote it does not want it back."""
    reply = _of(stored, code, _write_charge(stored))
    if "return=minimal" in seen.headers.get("prefer", ""):
        reply.body = None
    return reply


def _operated(stored: Stored, code: int) -> Json:
    return {"statusCode": code, "requestCharge": _write_charge(stored), "eTag": stored.document["_etag"]}


def _write_charge(stored: Stored) -> float:
    return round(5.0 * max(1.0, stored.bytes / 1024), 2)


def _error(error: Refused) -> Reply:
    headers = {"x-ms-substatus": str(error.sub_status)} if error.sub_status else {}
    return Reply(error.status, {"code": error.code, "message": error.message}, headers, charge=1.0)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what these tests are about; anything else fails its test by its answer."""


def _handler_of(account: Account) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        pass

    Handler.account = account
    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms between its head and its body
    account: Account

    def setup(self) -> None:
        super().setup()
        self.account.connected(self.connection)

    def finish(self) -> None:
        try:
            super().finish()
        finally:
            self.account.disconnected(self.connection)

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = self.account.note(self.command, self.path.partition("?")[0], headers, body, id(self.connection))
        fault = self.account.fault_of(seen) or Fault()
        if fault.delay_s:
            time.sleep(fault.delay_s)
        if fault.closes:
            self.close_connection = True
        elif fault.status:
            sub_status = {"x-ms-substatus": str(fault.sub_status)} if fault.sub_status else {}
            said = {"code": "Fault", "message": "This was planned."}
            self._send(seen, Reply(fault.status, said, {**sub_status, **fault.headers}, 0.0))
        else:
            reply = self.account.answer(seen)
            if fault.lost:
                self.close_connection = True
            else:
                self._send(seen, reply, fault.cut_at)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 - names of http.server

    def _send(self, seen: Seen, reply: Reply, cut_at: int | None = None) -> None:
        seen.status, data = reply.status, reply.bytes()
        self.send_response_only(reply.status)
        common = {
            "Content-Type": "application/json",
            "x-ms-activity-id": str(uuid.uuid4()),
            "x-ms-request-charge": f"{reply.charge:.2f}",
            "x-ms-session-token": f"0:-1#{seen.number}",
        }
        for name, value in {**common, **reply.headers}.items():
            self.send_header(name, value)
        if reply.status not in (204, 304):
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data if cut_at is None else data[:cut_at])
        self.wfile.flush()
        if cut_at is not None:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what was asked is in `seen`."""


@contextmanager
def cosmos_account(certificate: ssl.SSLContext | None = None) -> Iterator[Account]:
    """An account without databases on a port of its own, until the block ends."""
    with Account(certificate) as account:
        yield account
