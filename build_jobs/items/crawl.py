"""What a crawl holds: pages and records, out of folders, single files and web archives (WARC)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from itertools import count
from pathlib import Path
from typing import IO, Any

from build_jobs.items.load import Report
from build_jobs.items.read import MAX_LINE_BYTES as MAX_PAGE_BYTES
from build_jobs.items.read import is_records, open_bytes, read_records, suffix_of
from shared.contracts.items import Json
from shared.errors import BuildError

_PAGES = frozenset({".html", ".htm", ".xhtml", ".shtml", ".php", ".asp", ".aspx", ""})
_PAGE_MEDIA = frozenset({"text/html", "application/xhtml+xml"})


@dataclass(frozen=True, slots=True)
class Page:
    """One page as it was crawled. `url` and `charset` are empty where the crawl does not know them."""

    where: str
    content: bytes
    url: str = ""
    charset: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One record that was crawled as such."""

    where: str
    record: Json


def crawled(source: Path, report: Report) -> Iterator[Page | Record]:
    """Every page and record below a folder, or of one file, in the order of their names.

    What is neither is in the report. Raises BuildError where there is no such file or folder.
    """
    if not source.exists():
        raise BuildError(f"{source}: no such file or folder")
    for path in _files(source):
        where = path.relative_to(source).as_posix() if source.is_dir() else path.name
        try:
            yield from _of_file(path, where, report)
        except BuildError as error:  # one file that is cut short is no reason to give up the others
            report.drop(where, error.message.removeprefix(f"{path}: "))


def _files(source: Path) -> list[Path]:
    if source.is_file():
        return [source]
    inside = source.rglob("*")
    return sorted(
        path
        for path in inside
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(source).parts)
    )


def _of_file(path: Path, where: str, report: Report) -> Iterator[Page | Record]:
    if is_records(path):
        yield from _records(path, where, report)
    elif suffix_of(path) == ".warc":
        yield from _archive(path, where, report)
    elif suffix_of(path) in _PAGES:
        with open_bytes(path) as file:
            yield from _page(file, where, report)
    else:
        report.read += 1
        report.drop(where, f"a {suffix_of(path)} file, no page")


def _records(path: Path, where: str, report: Report) -> Iterator[Record]:
    for read in read_records(path):
        report.read += 1
        place = where + read.where.removeprefix(path.name)
        if read.record is None:
            report.drop(place, read.problem)
        else:
            yield Record(place, read.record)


def _page(file: IO[bytes], where: str, report: Report, url: str = "", charset: str = "") -> Iterator[Page]:
    report.read += 1
    try:
        content = file.read(MAX_PAGE_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        report.drop(where, f"cut short: {type(error).__name__}")
        return
    if len(content) > MAX_PAGE_BYTES:
        report.drop(where, f"a page of more than {MAX_PAGE_BYTES >> 20} MB")
    elif not content.strip():
        report.drop(where, "an empty page")
    else:
        yield Page(where, content, url, charset)


def _archive(path: Path, where: str, report: Report) -> Iterator[Page]:
    """The pages among an archive's responses; redirects, errors, pictures and the like are counted as what they are."""
    from warcio.archiveiterator import ArchiveIterator

    with path.open("rb") as file:
        archive = ArchiveIterator(file)
        for number in count():
            record = _next(archive, path)
            if record is None:
                return
            if record.rec_type == "response":
                yield from _response(record, f"{where}:{number}", report)


def _next(archive: Any, path: Path) -> Any:
    """The archive's next record; None at its end. Raises BuildError where it is broken off, or none at all."""
    from warcio.exceptions import ArchiveLoadFailed

    try:
        return next(archive, None)
    except (ArchiveLoadFailed, AttributeError, EOFError, OSError, ValueError, zlib.error) as error:
        # AttributeError is what warcio raises for a file without a single header.
        raise BuildError(f"{path}: broken off: {next(iter(str(error).splitlines()), '')[:120]}") from error


def _response(record: Any, where: str, report: Report) -> Iterator[Page]:
    headers = record.http_headers
    url = record.rec_headers.get_header("WARC-Target-URI") or ""
    status = headers.get_statuscode() if headers else ""
    media = Message()
    media["Content-Type"] = (headers.get_header("Content-Type") if headers else "") or "text/html"
    if status != "200":
        report.read += 1
        report.drop(url or where, f"answered {status or 'nothing'}")
    elif media.get_content_type() not in _PAGE_MEDIA:
        report.read += 1
        report.drop(url or where, f"{media.get_content_type()}, no page")
    else:
        charset = media.get_param("charset")
        stream = record.content_stream()
        yield from _page(stream, url or where, report, url, charset if isinstance(charset, str) else "")
