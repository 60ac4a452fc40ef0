"""A folder as a bucket: `file:///…`.

Every write is whole or not at all (temporary name, fsync, rename), so a reader never meets half an object.
Names that begin with a dot are this module's own (temporary files, locks) and are never listed as keys.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from shared.errors import BucketError, ObjectMissing, PreconditionFailed, SettingsError

_TEMPORARY = ".tmp-"
_PIECE_BYTES = 1 << 20
# Longer than any single object takes to write; what is older was left by a process that died.
_ABANDONED_S = 24 * 3600
_NETWORK = frozenset(
    """nfs nfs4 cifs smb smb2 smb3 smbfs afs 9p virtiofs ceph lustre gpfs glusterfs beegfs orangefs davfs
    fuse""".split()
)
_MOUNTS = Path("/proc/self/mountinfo")


class FileBucket:
    """Objects are files under one folder. The folder need not exist before the first write."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._root = _folder(url)

    @property
    def url(self) -> str:
        """The URL the bucket was opened with."""
        return self._url

    def read(self, key: str) -> bytes:
        """A small object, whole."""
        with self._failures(key, "read"):
            return self._path(key).read_bytes()

    def read_versioned(self, key: str) -> tuple[bytes, str]:
        """A small object and its version: the digest of its bytes, so the two can never disagree."""
        data = self.read(key)
        return data, _version(data)

    def stream_range(self, key: str, start: int, end: int) -> Iterator[bytes]:
        """Bytes start to end (end exclusive) in pieces, fewer where the object ends before."""
        with self._failures(key, "read"), self._path(key).open("rb", buffering=0) as file:
            file.seek(start)
            while start < end and (piece := file.read(min(end - start, _PIECE_BYTES))):
                yield piece
                start += len(piece)

    def put(self, key: str, data: bytes) -> None:
        """Write a small object, replacing what is there."""
        with self._failures(key, "written"):
            _replace(self._path(key), lambda file: _write_all(file, data))

    def put_file(self, key: str, path: Path) -> None:
        """Write a large object from a local file, whole or not at all."""
        with path.open("rb") as source, self._failures(key, "written"):
            _replace(self._path(key), lambda file: shutil.copyfileobj(source, file, 1 << 20))

    def put_if(self, key: str, data: bytes, version: str | None) -> str:
        """Write only if the object's version is still `version` (None: only if there is none)."""
        with self._failures(key, "written"):
            path = self._path(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            with _locked(path.with_name(f".{path.name}.lock")):
                found = _version(path.read_bytes()) if path.exists() else None
                if found != version:
                    raise PreconditionFailed(f"bucket object {key!r} changed since it was read")
                _replace(path, lambda file: _write_all(file, data))
        return _version(data)

    def size(self, key: str) -> int | None:
        """Bytes of the object, or None where there is none."""
        with self._failures(key, "read"):
            path = self._path(key)
            return path.stat().st_size if path.is_file() else None

    def keys(self, prefix: str) -> Iterator[str]:
        """Every key under the prefix, sorted. A prefix is text: `a/b` covers `a/b.json` and `a/bc/d`."""
        folder = self._path(prefix.rpartition("/")[0]) if "/" in prefix else self._root
        with self._failures(prefix, "listed"):
            found = [path.relative_to(self._root).as_posix() for path in _files(folder)]
        yield from sorted(key for key in found if key.startswith(prefix))

    def delete(self, key: str) -> None:
        """Remove the object; one that is not there is no error."""
        with self._failures(key, "deleted"):
            self._path(key).unlink(missing_ok=True)

    def local_path(self, key: str) -> Path | None:
        """The object's path where its disk is this machine's own, else None.

        A mapped file on a network mount faults over the network in the middle of a scan, and kills the
        process (SIGBUS) when the server forgets it; so such a file has to be copied first.
        """
        with self._failures(key, "read"):
            path = self._path(key)
            return path if path.is_file() and not is_network(path, _mounts()) else None

    def _path(self, key: str) -> Path:
        """Where a key lies. Raises BucketError for a key that would leave the folder, also through a link."""
        parts = key.split("/")
        if any(not part or part.startswith(".") for part in parts) or "\\" in key or not key.isprintable():
            raise BucketError(f"bucket key {key[:200]!r} is refused: expected names joined with '/'")
        path = self._root.joinpath(*parts)
        try:
            is_inside = path.resolve().is_relative_to(self._root.resolve())
        except RuntimeError as error:  # what Python 3.11 calls a link that leads to itself
            raise BucketError(f"bucket key {key!r} could not be read: its links lead in a circle") from error
        if not is_inside:
            raise BucketError(f"bucket key {key!r} is refused: it leads out of the bucket")
        return path

    @contextmanager
    def _failures(self, key: str, done: str) -> Iterator[None]:
        """What the operating system says, as a BucketError. The folder's own path stays out: callers see these."""
        try:
            yield
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
            where = (
                f"the bucket holds no object {key!r}" if self._root.is_dir() else "the bucket's folder does not exist"
            )
            raise ObjectMissing(where) from error
        except OSError as error:
            raise BucketError(f"bucket object {key!r} could not be {done}: {error.strerror or error}") from error


def is_network(path: Path, mounts: str) -> bool:
    """Whether a path lies on a network filesystem, by the text of /proc/self/mountinfo.

    Where that is empty (not Linux) the answer is no.
    """
    kind = _filesystem(path.resolve(), mounts)
    return kind in _NETWORK or kind.startswith("fuse.")


def _filesystem(path: Path, mounts: str) -> str:
    """The type of the innermost mount over a path; of two on one point the later, which hides the other."""
    kind, depth = "", 0
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        point = Path(_unescape(before.split(" ")[4]))
        if path.is_relative_to(point) and len(point.parts) >= depth:
            kind, depth = after.split(" ")[0], len(point.parts)
    return kind


def _unescape(text: str) -> str:
    """The kernel writes blanks and backslashes in mount points as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def _mounts() -> str:
    return _MOUNTS.read_text(errors="surrogateescape") if _MOUNTS.exists() else ""


def _folder(url: str) -> Path:
    path = unquote(url.removeprefix("file://").removeprefix("localhost"))
    if not url.startswith("file://") or not path.startswith("/") or "\x00" in path:
        raise SettingsError(f"bucket URL {url!r}: expected file:///absolute/path")
    return Path(path)


def _version(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder, onerror=_unless_missing):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(parent, name) for name in names if not name.startswith("."))


def _unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _write_all(file: BinaryIO, data: bytes) -> None:
    file.write(data)


def _replace(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Fill a temporary file beside `path`, flush it to the disk, and rename it over."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path.parent)
    temporary = path.with_name(f"{_TEMPORARY}{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """A rename survives a power cut only once its folder is on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sweep(folder: Path) -> None:
    """Remove what dead processes left. Another writer's temporary file may be gone before it is looked at."""
    for left in folder.glob(f"{_TEMPORARY}*"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _ABANDONED_S:
                left.unlink()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One writer at a time, over all threads and processes of a machine. The lock goes with its process."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
