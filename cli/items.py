"""The verbs that make items: convert and build items."""

from __future__ import annotations

import argparse
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from cli.building import add_build_flags, add_questions, gate_text, interruptible, plan_text
from cli.options import add_bucket, add_json, answer, bucket_url, listed, settings_of
from cli.progress import StatusLine, duration, progress_text
from shared.errors import SettingsError
from shared.words import counted

if TYPE_CHECKING:
    from build_jobs.items.build import ItemsReport
    from build_jobs.items.load import Report
    from build_jobs.items.sources import Collection

SITES = ("recipes", "movies", "reviews", "trails", "homes")

Parsers = Any  # argparse gives its sub-parsers no public type


def add_convert(verbs: Parsers) -> None:
    """Add `convert`."""
    convert = verbs.add_parser(
        "convert",
        help="make items of crawled pages",
        description="One item a page: a folder of pages, a WARC, or records as JSON. Says what was dropped and why.",
    )
    _add_site(convert)
    convert.add_argument(
        "--from", dest="source", type=Path, metavar="PATH", help="folder, page, WARC or JSON; default: its `crawl`"
    )
    convert.add_argument("--to", type=Path, metavar="FILE", help="JSON Lines, one item a line; default: its `items`")
    _add_sources(convert)
    add_json(convert)
    convert.set_defaults(run=_convert)


def add_build_items(kinds: Parsers) -> None:
    """Add `items` below `build`."""
    items = kinds.add_parser(
        "items",
        help="a collection of items",
        description="Read items, embed what is new, index, verify, publish. Skips the work if nothing changed.",
    )
    _add_site(items)
    items.add_argument(
        "--items",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="JSON Lines or JSON, plain or .xz/.gz; default: its `items`",
    )
    add_bucket(items)
    items.add_argument("--catalog", default="", metavar="NAME", help="default: the kind's name")
    items.add_argument(
        "--embedder", choices=("embedded", "openrouter"), help="default: as LLM_PROVIDER or the key says"
    )
    _add_sources(items)
    add_questions(items, "YAML: questions with answers, or suites of conditions; default: none are asked")
    add_build_flags(items)
    add_json(items)
    items.set_defaults(run=_build_items)


def _add_site(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--site", required=True, choices=SITES, metavar="KIND", help=", ".join(SITES))


def _add_sources(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sources",
        type=Path,
        metavar="FILE",
        help="what collections are called; default: sources.yaml beside the items",
    )


def _convert(args: argparse.Namespace) -> int:
    from build_jobs.items.convert import convert
    from shared.sites.kinds import KINDS

    collection, line = _collection(args, [args.source] if args.source else []), StatusLine()
    source = _needed(args.source or (collection.crawl if collection else None), "--from PATH")
    target = _needed(args.to or (collection.items if collection else None), "--to FILE")
    report = convert(KINDS[args.site], source, target, told=lambda progress: line.show(progress_text(progress)))
    line.end()
    kept = counted(report.kept, args.site.removesuffix("s"))
    text = [f"{kept} in {target}, of {counted(report.read, 'page or record', 'pages and records')}"]
    answer(args, {"to": str(target), **report.as_json()}, text + _reasons(report))
    return 0


def _collection(args: argparse.Namespace, files: list[Path]) -> Collection | None:
    from build_jobs.items.sources import collection_of, sources_beside
    from shared.sites.kinds import KINDS

    return collection_of(KINDS[args.site], files, sources_beside(files, args.sources))


def _needed(path: Path | None, flag: str) -> Path:
    if path is None:
        raise SettingsError(f"give {flag}, or --sources with a file that says it for one collection of this kind")
    return path


def _build_items(args: argparse.Namespace) -> int:
    from anyio.from_thread import start_blocking_portal

    from build_jobs.item_samples import read_item_suites
    from build_jobs.items.build import build_items
    from build_jobs.items.embed import RETRIES
    from build_jobs.run import open_build_embedder
    from shared.models.choice import Models
    from shared.sites.kinds import KINDS

    settings, line = settings_of(args), StatusLine()
    settings = structs.replace(settings, llm_max_retries=max(RETRIES, settings.llm_max_retries))
    collection = _collection(args, args.items or [])
    files = args.items or [_needed(collection.items if collection else None, "--items FILE…")]
    with interruptible(line), start_blocking_portal() as portal, closing(Models(settings)) as models:
        build = partial(
            build_items,
            files,
            bucket_url(settings.bucket_url),
            settings=settings,
            embedder=open_build_embedder(args.embedder, settings, models),
            kind=KINDS[args.site],
            collection=collection,
            catalog=args.catalog,
            suites=read_item_suites(args.questions or [], KINDS[args.site]),
            dry_run=args.dry_run,
            force=args.force,
            told=lambda progress: line.show(progress_text(progress)),
        )
        report = portal.call(build)
    line.end()
    answer(args, report.as_json(), _build_text(report))
    return 0


def _build_text(report: ItemsReport) -> list[str]:
    done = {"published": "published", "unchanged": "nothing changed since", "planned": "would be built; current is"}
    lines = [
        f"{report.catalog}: {done[report.status]} {report.release or 'none'}",
        f"{counted(report.rows, 'item')} of {report.label} ({report.collection}); vectors: {report.reused:,} reused, "
        f"{report.resumed:,} from a build that was stopped, "
        f"{report.embedded:,} {'to embed' if report.status == 'planned' else 'embedded'}",
        f"{report.embedder.model}, {report.embedder.dimension} dimensions; {duration(report.seconds)}, "
        f"${report.cost_usd:.4f}",
    ]
    lines += plan_text(report.plan) + gate_text(report.gate)
    lines += [f"  {rows:>8,}  {site}" for site, rows in report.sites.items()]
    lines += [f"{counted(count, 'item')} with an empty {field}" for field, count in report.empty.items() if count]
    if report.cosmos:
        from cli.cosmos import load_text

        lines += load_text(report.cosmos)
    return lines + _reasons(report.loaded) + report.notes


def _reasons(report: Report) -> list[str]:
    """What was dropped and what to look at, each reason with where it stood."""
    lines: list[str] = []
    for reason, places in report.dropped.items():
        lines += listed(f"dropped: {reason}", places)
    for reason, places in report.noted.items():
        lines += listed(f"noted: {reason}", places)
    return lines
