"""The SQLite files of a release: written once, whole, then read by any number of threads at a time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from shared.errors import ReleaseIncompatible

# SQLite takes at most 32,766 parameters; far fewer keep the statement small.
_MOST_PARAMETERS = 500


@contextmanager
def writing(path: Path, schema: str, indexes: str = "") -> Iterator[sqlite3.Connection]:
    """A new database with these tables, filled in one transaction; then the indexes, and it is packed."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA page_size=4096;" + schema)
        db.execute("BEGIN")
        yield db
        db.execute("COMMIT")
        db.executescript(indexes + "ANALYZE; VACUUM;")


Check = Callable[[Sequence[str], Sequence[tuple[Any, ...]]], None]


class Database:
    """One file, read only, safe to share between threads. Raises ReleaseIncompatible, naming `what` it should hold.

    Connections are pooled: each serves one thread at a time, and none is opened before the first read, so
    none crosses a fork.
    """

    def __init__(self, path: Path, what: str, check: Check | None = None) -> None:
        """`check` is shown the columns' names and the lines of every read that gives any."""
        self._path = path
        self._what = what
        self._check = check
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False

    def all(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Every line that a statement gives."""
        with self._connection() as db:
            cursor = db.execute(sql, parameters)
            lines = cursor.fetchall()
            if lines and self._check is not None:
                self._check([column[0] for column in cursor.description], lines)
            return lines

    def one(self, sql: str) -> tuple[Any, ...]:
        """The first line that a statement gives; it gives one."""
        return self.all(sql)[0]

    def of(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Every line for any number of values, which stand at `{}` in the statement."""
        found: list[tuple[Any, ...]] = []
        for start in range(0, len(values), _MOST_PARAMETERS):
            part = values[start : start + _MOST_PARAMETERS]
            found += self.all(sql.format(", ".join("?" * len(part))), part)
        return found

    def close(self) -> None:
        """Close every idle connection; one in use is closed when it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            db = self._take()
            try:
                yield db
            finally:
                self._give_back(db)
        except sqlite3.DatabaseError as error:
            raise ReleaseIncompatible(f"records: expected the tables of {self._what}, found {error}") from error

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            db = self._idle.pop() if self._idle else None
        return db or self._open()

    def _give_back(self, db: sqlite3.Connection) -> None:
        with self._lock:
            keep = not self._closed
            if keep:
                self._idle.append(db)
        if not keep:
            db.close()

    def _open(self) -> sqlite3.Connection:
        uri = f"{self._path.absolute().as_uri()}?mode=ro&immutable=1"
        db = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            db.execute(f"PRAGMA mmap_size = {self._path.stat().st_size}")
            db.create_function("folded", 1, str.casefold, deterministic=True)
        except sqlite3.DatabaseError:
            db.close()
            raise
        return db
