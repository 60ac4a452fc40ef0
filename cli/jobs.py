"""The verbs that work offline: leaves, convert, build, publish, rollback, releases, prune."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.items import add_build_items, add_convert
from cli.options import add_bucket, add_json, answer, bucket_url, settings_of, some
from cli.progress import StatusLine, duration, progress_text
from shared.words import counted

if TYPE_CHECKING:
    from build_jobs.leaves.generate import LeavesReport
    from build_jobs.run import BuildReport
    from shared.bucket.base import Bucket

# Written out, like the functions in serve.py: a flag must not import what knows them. A test holds them together.
FAMILIES = ("census", "datacommons", "sec-edgar", "treasury", "worldbank")

Parsers = Any  # argparse gives its sub-parsers no public type


def add_parsers(verbs: Parsers) -> None:
    """Add this module's verbs to the command line."""
    _add_leaves(verbs)
    add_convert(verbs)
    _add_build(verbs)
    _add_release_verbs(verbs)


def _add_leaves(verbs: Parsers) -> None:
    leaves = verbs.add_parser(
        "leaves",
        help="make OKF leaves from a publisher's catalog",
        description="Write DIR/sources/<source>/*.md, one leaf a row, and the source's _access.md.",
    )
    leaves.add_argument("family", metavar="FAMILY", choices=FAMILIES, help=", ".join(FAMILIES))
    leaves.add_argument(
        "--from", dest="source", required=True, metavar="FILE|-", help="JSON Lines: .xz, .gz, plain, or - for stdin"
    )
    leaves.add_argument("--to", required=True, type=Path, metavar="DIR", help="the leaf root to write into")
    add_json(leaves)
    leaves.set_defaults(run=_leaves)


def _add_build(verbs: Parsers) -> None:
    build = verbs.add_parser(
        "build", help="build a release from leaves or items", description="Build and publish a release."
    )
    kinds = build.add_subparsers(dest="kind", required=True, metavar="KIND")
    tables = kinds.add_parser(
        "tables",
        help="a catalog of table documents",
        description="Collect leaves, embed what is new, index, verify, publish. Skips the work if nothing changed.",
    )
    tables.add_argument(
        "--leaves", required=True, nargs="+", type=Path, metavar="DIR", help="parents of sources/ or of corpora/"
    )
    add_bucket(tables)
    tables.add_argument("--catalog", default="built-in", metavar="NAME", help="default: built-in")
    tables.add_argument(
        "--extends", default="", metavar="FAMILY,…", help="families of another catalog that this one adds to"
    )
    tables.add_argument(
        "--embedder", choices=("embedded", "openrouter"), help="default: as LLM_PROVIDER or the key says"
    )
    tables.add_argument("--dry-run", action="store_true", help="say what would be done; write nothing")
    tables.add_argument("--force", action="store_true", help="build and publish even if nothing changed")
    add_json(tables)
    tables.set_defaults(run=_build_tables)
    add_build_items(kinds)


def _add_release_verbs(verbs: Parsers) -> None:
    publish = verbs.add_parser("publish", help="make a release the current one")
    publish.add_argument("release", nargs="?", metavar="RELEASE", help="its id; default: the newest complete one")
    rollback = verbs.add_parser("rollback", help="make the previous release current again")
    releases = verbs.add_parser("releases", help="list a catalog's releases, newest first")
    prune = verbs.add_parser("prune", help="remove old releases and the files that no release names")
    prune.add_argument(
        "--keep", type=_whole, default=3, metavar="N", help="newest releases to keep beside current and previous (3)"
    )
    jobs: Mapping[Any, Callable[[argparse.Namespace], int]] = {
        publish: _publish, rollback: _rollback, releases: _releases, prune: _prune,
    }  # fmt: skip
    for parser, run in jobs.items():
        add_bucket(parser)
        parser.add_argument("--catalog", default="built-in", metavar="NAME", help="default: built-in")
        add_json(parser)
        parser.set_defaults(run=run)


def _whole(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return value


def _leaves(args: argparse.Namespace) -> int:
    from build_jobs.leaves.generate import write_leaves

    line = StatusLine()
    report = write_leaves(
        args.family, args.source, args.to, lambda done: line.show(f"{counted(done, 'leaf', 'leaves')} written")
    )
    line.end()
    answer(args, report.as_json(), _leaves_text(report))
    return 0


def _leaves_text(report: LeavesReport) -> list[str]:
    leaves, rows = counted(report.written, "leaf", "leaves"), counted(report.rows, "row")
    lines = [
        f"{leaves} in {report.directory} ({report.made_queries:,} with questions made by rule)",
        f"{rows} read, {report.other_directories:,} of other directories, {len(report.bad):,} bad",
    ]
    lines += some([f"  line {row.line}: {row.reason}" for row in report.bad])
    if report.left_over:
        left = counted(len(report.left_over), "file of an earlier run is", "files of an earlier run are")
        lines.append(f"{left} still there")
        lines += some([f"  {name}" for name in report.left_over])
    return lines


def _build_tables(args: argparse.Namespace) -> int:
    from anyio.from_thread import start_blocking_portal

    from build_jobs.run import build_tables, open_build_embedder
    from shared.models.choice import Models

    settings, line = settings_of(args), StatusLine()
    with start_blocking_portal() as portal, closing(Models(settings)) as models:
        build = partial(
            build_tables,
            args.leaves,
            bucket_url(settings.bucket_url),
            settings=settings,
            embedder=open_build_embedder(args.embedder, settings, models),
            catalog=args.catalog,
            extends=[name.strip() for name in args.extends.split(",") if name.strip()],
            dry_run=args.dry_run,
            force=args.force,
            told=lambda progress: line.show(progress_text(progress)),
        )
        report = portal.call(build)
    line.end()
    answer(args, report.as_json(), _build_text(report))
    return 0


def _build_text(report: BuildReport) -> list[str]:
    done = {"published": "published", "unchanged": "nothing changed since", "planned": "would be built; current is"}
    lines = [
        f"{report.catalog}: {done[report.status]} {report.release or 'none'}",
        f"{counted(report.rows, 'row')}; vectors: {report.reused:,} reused, "
        f"{report.resumed:,} from a build that was stopped, "
        f"{report.embedded:,} {'to embed' if report.status == 'planned' else 'embedded'}",
        f"{report.embedder.model}, {report.embedder.dimension} dimensions; {duration(report.seconds)}, "
        f"${report.cost_usd:.4f}",
    ]
    lines += [f"  {rows:>8,}  {source}" for source, rows in sorted(report.collected.indexed.items())]
    return lines + _collected_text(report)


def _collected_text(report: BuildReport) -> list[str]:
    """What an author should look at, each with its reason."""
    found = report.collected
    unreadable = [f"{path}: {why}" for path, why in found.unreadable.items()]
    lines = _listed("leaf", "leaves", "that could not be read", unreadable)
    lines += _listed("file", "files", "without questions, not indexed", found.without_queries)
    lines += _listed("source", "sources", "without an access document", found.without_access)
    lines += _listed("source", "sources", "without a publisher's domain", found.without_publisher)
    lines += _listed("source", "sources", "whose trust identity is another's", found.trust_differs)
    if found.queries_dropped:
        dropped = counted(found.queries_dropped, "question that is no text was", "questions that are no text were")
        lines.append(f"{dropped} dropped")
    return lines + report.notes


def _listed(one: str, many: str, what: str, items: Sequence[str]) -> list[str]:
    return [f"{counted(len(items), one, many)} {what}:", *some([f"  {item}" for item in items])] if items else []


def _publish(args: argparse.Namespace) -> int:
    from shared.errors import ReleaseMissing
    from shared.release import writer

    bucket = _bucket(args)
    release = args.release or next(
        (listed.id for listed in writer.releases(bucket, args.catalog) if listed.complete), None
    )
    if release is None:
        raise ReleaseMissing(f"catalog {args.catalog!r} has no complete release to publish")
    return _pointed(args, asdict(writer.switch(bucket, args.catalog, release)))


def _rollback(args: argparse.Namespace) -> int:
    from shared.release import writer

    return _pointed(args, asdict(writer.rollback(_bucket(args), args.catalog)))


def _pointed(args: argparse.Namespace, pointer: Mapping[str, Any]) -> int:
    text = f"{args.catalog}: current is {pointer['release']}, previous {pointer['previous'] or 'none'}"
    answer(args, {"catalog": args.catalog, **pointer}, [text])
    return 0


def _releases(args: argparse.Namespace) -> int:
    from shared.release import writer

    found = writer.releases(_bucket(args), args.catalog)
    rows = [
        {"release": one.id, "createdAt": one.created_at, "rows": one.rows, "mark": one.mark, "problem": one.problem}
        for one in found
    ]
    text = [
        f"{one.id}  {one.rows if one.rows is not None else '?':>9}  {one.mark:<8}  {one.problem or ''}".rstrip()
        for one in found
    ]
    answer(args, {"catalog": args.catalog, "releases": rows}, text or [f"{args.catalog}: no release"])
    return 0


def _prune(args: argparse.Namespace) -> int:
    from shared.release import writer

    pruned = writer.prune(_bucket(args), args.catalog, args.keep)
    removed = {"releases": list(pruned.releases), "files": list(pruned.files), "bytes": pruned.bytes}
    gone = f"{counted(len(pruned.releases), 'release')} and {counted(len(pruned.files), 'file')} removed"
    text = f"{args.catalog}: {gone}, {counted(pruned.bytes, 'byte')}"
    answer(args, {"catalog": args.catalog, **removed}, [text])
    return 0


def _bucket(args: argparse.Namespace) -> Bucket:
    from shared.bucket.base import open_bucket

    settings = settings_of(args)
    bucket = open_bucket(bucket_url(settings.bucket_url), settings)
    _refuse_no_catalog(bucket, args.catalog)
    return bucket


def _refuse_no_catalog(bucket: Bucket, catalog: str) -> None:
    """A misspelled name would otherwise be a catalog in which all is well: it has nothing in it."""
    from shared.errors import UnknownName
    from shared.release import writer
    from shared.settings import without_userinfo

    if writer.exists(bucket, catalog):
        return
    there = writer.catalogs(bucket)
    said = ", ".join(there) or "none yet: make one with `askbucket build tables`"
    raise UnknownName(f"{without_userinfo(bucket.url)} has no catalog {catalog!r}; there is {said}", there)
