"""The verbs that work offline: leaves, convert, build, publish, rollback, releases, prune."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from cli import history
from cli.building import add_build_flags, add_questions, gate_text, interruptible, plan_text, whole
from cli.cosmos import refuse_unloaded
from cli.items import add_build_items, add_convert
from cli.leaves import add_leaves
from cli.options import add_bucket, add_json, answer, bucket_url, settings_of, some
from cli.progress import StatusLine, duration, progress_text
from shared.words import counted

if TYPE_CHECKING:
    from build_jobs.build_report import BuildReport
    from build_jobs.rate import Shard
    from shared.bucket.base import Bucket
    from shared.settings import Settings

Parsers = Any  # argparse gives its sub-parsers no public type


def add_parsers(verbs: Parsers) -> None:
    """Add this module's verbs to the command line."""
    add_leaves(verbs)
    add_convert(verbs)
    _add_build(verbs)
    _add_release_verbs(verbs)


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
    add_questions(tables, "JSON Lines with --qrels, or YAML; default: questions/*.yaml beside sources/")
    tables.add_argument(
        "--qrels", nargs="+", action="extend", type=Path, metavar="FILE", help="TSV: question, leaf, score"
    )
    tables.add_argument(
        "--task", type=whole, metavar="I", help="embed one part of several, from 0; default: CLOUD_RUN_TASK_INDEX"
    )
    tables.add_argument("--of", type=whole, metavar="N", help="how many parts; default: CLOUD_RUN_TASK_COUNT")
    tables.add_argument(
        "--no-merge", dest="merge", action="store_false", help="leave the release to a build without --task"
    )
    add_build_flags(tables)
    add_json(tables)
    tables.set_defaults(run=_build_tables)
    add_build_items(kinds)


def _add_release_verbs(verbs: Parsers) -> None:
    publish = verbs.add_parser("publish", help="make a release the current one")
    publish.add_argument("release", nargs="?", metavar="RELEASE", help="its id; default: the newest complete one")
    rollback = verbs.add_parser("rollback", help="make the previous release current again")
    releases = verbs.add_parser("releases", help="list a catalog's releases, newest first")
    releases.add_argument("--report", type=Path, metavar="FILE", help="write one HTML page with plots, too")
    prune = verbs.add_parser("prune", help="remove old releases and the files that no release names")
    prune.add_argument(
        "--keep", type=whole, default=3, metavar="N", help="newest releases to keep beside current and previous (3)"
    )
    for verb in (publish, rollback):
        verb.add_argument("--unloaded", action="store_true", help="even where Cosmos DB lacks items of that release")
    jobs: Mapping[Any, Callable[[argparse.Namespace], int]] = {
        publish: _publish, rollback: _rollback, releases: _releases, prune: _prune,
    }  # fmt: skip
    for parser, run in jobs.items():
        add_bucket(parser)
        parser.add_argument("--catalog", default="built-in", metavar="NAME", help="default: built-in")
        add_json(parser)
        parser.set_defaults(run=run)


def _build_tables(args: argparse.Namespace) -> int:
    from anyio.from_thread import start_blocking_portal

    from build_jobs.run import build_tables, open_build_embedder
    from build_jobs.samples import questions_beside, read_table_suites
    from shared.models.choice import Models

    settings, line = settings_of(args), StatusLine()
    with interruptible(line), start_blocking_portal() as portal, closing(Models(settings)) as models:
        build = partial(
            build_tables,
            args.leaves,
            bucket_url(settings.bucket_url),
            settings=settings,
            embedder=open_build_embedder(args.embedder, settings, models),
            catalog=args.catalog,
            extends=[name.strip() for name in args.extends.split(",") if name.strip()],
            suites=read_table_suites(args.questions or questions_beside(args.leaves), args.qrels or []),
            shard=_shard(args, settings),
            merge=args.merge,
            dry_run=args.dry_run,
            force=args.force,
            told=lambda progress: line.show(progress_text(progress)),
        )
        report = portal.call(build)
    line.end()
    answer(args, report.as_json(), _build_text(report))
    return 0


def _shard(args: argparse.Namespace, settings: Settings) -> Shard:
    """This task, by the flags or as the platform says. Raises SettingsError where they make no sense together."""
    from build_jobs.rate import Shard
    from shared.errors import SettingsError

    if (args.task is None) != (args.of is None):
        raise SettingsError("--task I and --of N go together")
    index, of = (settings.task_index, settings.task_count) if args.task is None else (args.task, args.of)
    if index >= of:
        raise SettingsError(f"task {index} of {of}: tasks are counted from 0, so the last one is {of - 1}")
    return Shard(index, of)


def _build_text(report: BuildReport) -> list[str]:
    done = {
        "published": "published",
        "unchanged": "nothing changed since",
        "planned": "would be built; current is",
        "waiting": f"task {report.shard.index} of {report.shard.of} is done; current is",
    }
    lines = [
        f"{report.catalog}: {done[report.status]} {report.release or 'none'}",
        f"{counted(report.rows, 'row')}; vectors: {report.reused:,} reused, "
        f"{report.resumed:,} from a build that was stopped, "
        f"{report.embedded:,} {'to embed' if report.status == 'planned' else 'embedded'}",
        f"{report.embedder.model}, {report.embedder.dimension} dimensions; {duration(report.seconds)}, "
        f"${report.cost_usd:.4f}",
    ]
    if report.waiting_for:
        lines.append(
            f"waiting for {counted(len(report.waiting_for), 'task')}: {', '.join(map(str, report.waiting_for))}"
        )
    lines += plan_text(report.plan) + gate_text(report.gate)
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
    refuse_unloaded(args, bucket, release)
    return _pointed(args, to_builtins(writer.switch(bucket, args.catalog, release)))


def _rollback(args: argparse.Namespace) -> int:
    from shared.release import reader, writer

    bucket = _bucket(args)
    if previous := reader.current(bucket, args.catalog).previous:
        refuse_unloaded(args, bucket, previous)
    return _pointed(args, to_builtins(writer.rollback(bucket, args.catalog)))


def _pointed(args: argparse.Namespace, pointer: Mapping[str, Any]) -> int:
    text = f"{args.catalog}: current is {pointer['release']}, previous {pointer['previous'] or 'none'}"
    answer(args, {"catalog": args.catalog, **pointer}, [text])
    return 0


def _releases(args: argparse.Namespace) -> int:
    from shared.release import writer

    history.refuse_no_folder(args.report)
    found = writer.releases(_bucket(args), args.catalog)
    if args.report:
        history.write_page(args.catalog, found, args.report)
    document = {"catalog": args.catalog, "releases": history.as_rows(found)}
    answer(args, document, history.as_lines(found) or [f"{args.catalog}: no release"])
    return 0


def _prune(args: argparse.Namespace) -> int:
    from shared.release import writer

    pruned = writer.prune(_bucket(args), args.catalog, args.keep, settings_of(args).prune_grace_s)
    removed = {
        "releases": list(pruned.releases),
        "files": list(pruned.files),
        "bytes": pruned.bytes,
        "abandoned": list(pruned.abandoned),
    }
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
