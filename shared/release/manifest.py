"""The manifest of a release: its bytes, its id, its keys in the bucket, and every check on it.

A manifest is one JSON object, UTF-8, keys sorted, no blanks. The id of a release is
`<UTC time>-<12 hex of the sha256 of these bytes>`, so a manifest cannot change without changing its name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from msgspec import to_builtins

from shared.contracts.release import LEXICAL_ROLES, RANGE_BYTES, READ_VERSIONS, Manifest, Pointer
from shared.contracts.strict import Mismatch, read
from shared.errors import ReleaseCorrupt, ReleaseIncompatible, SettingsError

Kind = Literal["tables", "items"]
Document = TypeVar("Document", Manifest, Pointer)

_ID = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{12}")
_CATALOG = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
# The vectors of items may lie in a database of their own instead.
_REQUIRED_ROLES: dict[str, tuple[str, ...]] = {
    "tables": ("vectors", "records", *LEXICAL_ROLES),
    "items": ("records", *LEXICAL_ROLES),
}


def pointer_key(catalog: str) -> str:
    """Where the pointer of a catalog lies."""
    return f"{_catalog(catalog)}/current.json"


def manifests_prefix(catalog: str) -> str:
    """What the keys of a catalog's manifests begin with."""
    return f"{_catalog(catalog)}/releases/"


def manifest_key(catalog: str, release_id: str) -> str:
    """Where a release's manifest lies. Raises ReleaseIncompatible for what cannot be an id."""
    if not is_id(release_id):
        raise ReleaseIncompatible(f"release id: expected YYYYMMDDTHHMMSSZ-<12 hex>, found {release_id[:100]!r}")
    return f"{manifests_prefix(catalog)}{release_id}.json"


def is_id(text: str) -> bool:
    """Whether a text has the form of a release id."""
    return _ID.fullmatch(text) is not None


def files_prefix(catalog: str) -> str:
    """What the keys of a catalog's files begin with."""
    return f"{_catalog(catalog)}/files/"


def file_key(catalog: str, sha256: str) -> str:
    """Where a file lies: it is named by its content."""
    return f"{files_prefix(catalog)}{sha256}"


def underway_prefix(catalog: str) -> str:
    """What the keys of builds that have published nothing yet begin with."""
    return f"{_catalog(catalog)}/builds/"


def now() -> str:
    """The time as manifests and pointers write it: UTC, whole seconds, `2026-01-31T12:00:00Z`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def age_s(release_id: str) -> float:
    """Seconds since a release of this id was built."""
    built = datetime.strptime(release_id.partition("-")[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return (datetime.now(UTC) - built).total_seconds()


def encode(document: Manifest | Pointer) -> bytes:
    """The canonical bytes of a manifest or a pointer."""
    plain = to_builtins(document)
    if not plain.get("collection", True):
        del plain["collection"]  # a reader that does not know the field can still read the tables
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def id_of(manifest: Manifest) -> str:
    """The id of the release that this manifest describes."""
    return f"{_stamp(manifest.created_at)}-{_digest(encode(manifest))}"


def parse(data: bytes, catalog: str, release_id: str, kind: Kind | None = None) -> Manifest:
    """The manifest of `release_id`, checked against its id, its catalog and the kind that is wanted.

    Raises ReleaseCorrupt where the bytes are not the ones the id names, ReleaseIncompatible otherwise.
    """
    expected = release_id.rpartition("-")[2]
    if _digest(data) != expected:
        raise ReleaseCorrupt(
            f"manifest of release {release_id}: expected a sha256 that begins {expected}, found {_digest(data)}"
        )
    where = f"manifest of release {release_id}"
    manifest = _parsed(data, Manifest, where, versions=READ_VERSIONS)
    _same(where, "created_at", release_id.partition("-")[0], _stamp(manifest.created_at))
    _same(where, "catalog", catalog, manifest.catalog)
    check(manifest, kind or manifest.kind, where)
    return manifest


def parse_pointer(data: bytes, catalog: str) -> Pointer:
    """The pointer of a catalog. Raises ReleaseIncompatible."""
    pointer = _parsed(data, Pointer, pointer_key(catalog))
    for release_id in filter(None, (pointer.release, pointer.previous)):
        manifest_key(catalog, release_id)
    return pointer


def check(manifest: Manifest, kind: Kind, where: str = "manifest") -> None:
    """Whether a manifest agrees with itself. Raises ReleaseIncompatible naming field, expected and found."""
    _check_version(where, READ_VERSIONS, manifest.format_version)
    _same(where, "kind", kind, manifest.kind)
    _check_roles(manifest, where)
    _check_ranges(manifest, where)
    _check_families(manifest, where)


def matches(role: str, wanted: Iterable[str]) -> bool:
    """Whether a role is among the wanted ones; `lexical.*` wants every role that begins with `lexical.`."""
    return any(role == want or (want.endswith(".*") and role.startswith(want[:-1])) for want in wanted)


def _check_roles(manifest: Manifest, where: str) -> None:
    roles = [file.role for file in manifest.files]
    for role in roles:
        _same(where, f"files with role {role!r}", 1, roles.count(role))
    for required in _REQUIRED_ROLES[manifest.kind]:
        if required not in roles:
            raise _wrong(where, "files", f"one with role {required!r}", f"only {', '.join(sorted(roles)) or 'none'}")


def _check_ranges(manifest: Manifest, where: str) -> None:
    """Every range of every file has its crc32, but in version 1, where none has."""
    for file in manifest.files:
        ranges = -(-file.bytes // RANGE_BYTES) if manifest.format_version > 1 else 0
        _same(where, f"crc32 of {file.role!r}, their number", ranges, len(file.crc32))


def _check_version(where: str, versions: Sequence[int], found: object) -> None:
    if type(found) is not int or found not in versions:
        raise _wrong(where, "format_version", " or ".join(map(repr, versions)), repr(found))


def _check_families(manifest: Manifest, where: str) -> None:
    """Families are slices of the rows: in order, without a gap, together all of them."""
    end = 0
    for number, family in enumerate(manifest.families):
        field = f"families.{number} ({family.family})"
        _same(where, f"{field}.first_row", end, family.first_row)
        _same(where, f"{field}.sources, added up", family.rows, sum(family.sources.values()))
        end += family.rows
    _same(where, "rows of all families together", manifest.rows, end)
    _all_different(where, "family", [family.family for family in manifest.families])
    _all_different(where, "source", [source for family in manifest.families for source in family.sources])


def _all_different(where: str, what: str, names: list[str]) -> None:
    for name in names:
        _same(where, f"families that name the {what} {name!r}", 1, names.count(name))


def _parsed(data: bytes, model: type[Document], where: str, versions: Sequence[int] = ()) -> Document:
    document = _json_object(data, where)
    if versions:  # first of all: a later format may differ in every other field
        _check_version(where, versions, document.get("format_version"))
    try:
        return read(model, document)
    except Mismatch as mismatch:
        raise ReleaseIncompatible(f"{where}: {mismatch}") from mismatch


def _json_object(data: bytes, where: str) -> dict[str, Any]:
    try:
        document = json.loads(data.decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ReleaseIncompatible(f"{where}: expected a JSON object, found something else ({error})") from error
    if not isinstance(document, dict):
        raise ReleaseIncompatible(f"{where}: expected a JSON object, found {type(document).__name__}")
    return document


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _stamp(created_at: str) -> str:
    """A manifest's time as it stands in an id."""
    try:
        moment = datetime.fromisoformat(created_at)
    except ValueError as error:
        raise _wrong("manifest", "created_at", "YYYY-MM-DDTHH:MM:SSZ", repr(created_at)) from error
    if moment.tzinfo is None:
        raise _wrong("manifest", "created_at", "a time with its zone (Z)", repr(created_at))
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def _catalog(name: str) -> str:
    if not _CATALOG.fullmatch(name):
        raise SettingsError(f"catalog {name[:100]!r}: expected lower-case letters, digits, '-', '_' and '.'")
    return name


def _same(where: str, field: str, expected: object, found: object) -> None:
    if expected != found:
        raise _wrong(where, field, repr(expected), repr(found))


def _wrong(where: str, field: str, expected: str, found: str) -> ReleaseIncompatible:
    return ReleaseIncompatible(f"{where}: {field}: expected {expected}, found {found}")
