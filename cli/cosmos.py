"""The verb that fills Cosmos DB: load-cosmos."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from cli.items import SITES
from cli.options import add_bucket, add_json, answer, bucket_url, listed, settings_of
from cli.progress import StatusLine, duration, progress_text
from shared.errors import SettingsError
from shared.words import counted

if TYPE_CHECKING:
    from build_jobs.cosmos.check import CosmosCheck
    from build_jobs.cosmos.compare import Comparison
    from build_jobs.load_cosmos import LoadReport
    from shared.bucket.base import Bucket
    from shared.settings import Settings


def add_parser(verbs: Any) -> None:
    """Add the verb and its flags."""
    verb = verbs.add_parser(
        "load-cosmos",
        help="put a site's items into Cosmos DB",
        description="Write the items of a release that Cosmos DB lacks, and remove those that no release lists."
        " May be stopped and run again.",
    )
    verb.add_argument("--site", required=True, choices=SITES, metavar="KIND", help=", ".join(SITES))
    add_bucket(verb)
    verb.add_argument("--catalog", default="", metavar="NAME", help="default: the kind's name")
    verb.add_argument("--release", metavar="RELEASE", help="its id; default: the current one")
    verb.add_argument("--check", action="store_true", help="say what is wrong and what a question takes; write nothing")
    verb.add_argument(
        "--compare",
        type=int,
        default=0,
        metavar="N",
        help="put N questions, made of the records, to the current release in memory and there; write nothing",
    )
    add_json(verb)
    verb.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Load, check or compare. 1 where a check found something wrong, or a question another candidate."""
    settings = settings_of(args)
    if not settings.cosmos_endpoint:
        raise SettingsError("no Cosmos DB: set COSMOS_ENDPOINT=https://<account>.documents.azure.com/")
    if args.compare:
        return _compare(args, settings)
    return _check(args, settings) if args.check else _load(args, settings)


def refuse_unloaded(args: argparse.Namespace, bucket: Bucket, release_id: str) -> None:
    """Before a site is pointed to a release: whether the Cosmos DB it reads has that. Raises BuildError, StoreError."""
    if args.catalog not in SITES or args.unloaded:
        return
    from shared.sites.store_choice import store_of

    settings = settings_of(args)
    if store_of(settings, args.catalog) == "cosmos":
        from build_jobs import load_cosmos

        load_cosmos.refuse_unloaded(bucket, args.catalog, release_id, settings)


def _load(args: argparse.Namespace, settings: Settings) -> int:
    from build_jobs.load_cosmos import load_cosmos

    line = StatusLine()
    report = load_cosmos(
        bucket_url(settings.bucket_url),
        settings=settings,
        catalog=args.catalog or args.site,
        release_id=args.release,
        told=lambda progress: line.show(progress_text(progress)),
    )
    line.end()
    answer(args, report.as_json(), load_text(report))
    return 0


def load_text(report: LoadReport) -> list[str]:
    """What a load did, for people."""
    lines = [
        f"{report.catalog}: {report.release} is in {report.container}, {counted(report.rows, 'item')}",
        f"{report.there:,} were there, {report.written:,} written, {report.renewed:,} renewed"
        f" in {counted(report.batches, 'batch', 'batches')}; {report.compared:,} read back and compared",
        f"{report.removed:,} removed that no release lists, {report.waiting:,} not yet",
        f"{report.units:,.0f} RU ({report.write_units:,.0f} of them for writing), ${report.cost_usd:.4f} where they are"
        f" billed one by one; {duration(report.seconds)}",
    ]
    return lines + listed("too large for Cosmos DB, found by their words alone", report.too_large) + report.notes


def _check(args: argparse.Namespace, settings: Settings) -> int:
    from build_jobs.cosmos.check import check_cosmos

    found = check_cosmos(
        bucket_url(settings.bucket_url), settings=settings, catalog=args.catalog or args.site, release_id=args.release
    )
    answer(args, found.as_json(), _check_text(found))
    return 1 if found.wrong else 0


def _compare(args: argparse.Namespace, settings: Settings) -> int:
    import anyio

    from build_jobs.cosmos.compare import compare_stores

    line = StatusLine()
    found = anyio.run(compare_stores, settings, args.site, args.compare, lambda at: line.show(progress_text(at)))
    line.end()
    answer(args, found.as_json(), _compare_text(found))
    return int(found.same < len(found.compared))


def _compare_text(found: Comparison) -> list[str]:
    told = found.as_json()
    lines = [
        f"{found.catalog}: {found.release}, {counted(found.items, 'item')}",
        f"{found.same} of {counted(len(found.compared), 'question')} find the same candidates in the same order;"
        f" scores differ by {told['furthest']:.1e} at most",
    ]
    for name, unit in (("requestUnits", " RU"), ("requests", " requests"), ("cosmosMs", " ms"), ("memoryMs", " ms")):
        if each := told[name]:
            what = "in memory" if name == "memoryMs" else "there"
            lines.append(
                f"a question {what}: {each['median']:,g}{unit} (median), {each['p90']:,g} (p90), {each['most']:,g}"
            )
    return lines + [
        f"another candidate: {each['question']}: without {', '.join(each['missing']) or 'none'},"
        f" with {', '.join(each['more']) or 'none'}{''.join(f' ({code})' for code in each['notices'])}"
        for each in told["different"]
    ]


def _check_text(found: CosmosCheck) -> list[str]:
    lines = [
        f"{found.catalog}: {found.release}, {counted(found.rows, 'item')}, {found.dimension} dimensions",
        f"{found.container}: {found.there:,} of them are there, {found.others:,} of other releases",
    ]
    for each in found.asked:
        order = "in order" if each.is_in_order else "not in order"
        lines.append(
            f"{each.field}: {each.path}, {counted(each.rows, 'row')} on {counted(each.pages, 'page')}, {order},"
            f" {each.exact} as by looking at all; {each.units:,.2f} RU, {each.seconds * 1000:,.0f} ms"
        )
    if found.asked:
        lines.append(f"a question takes {found.units:,.2f} RU, listing the items {found.listing_units:,.2f} RU")
    return lines + [f"wrong: {each}" for each in found.wrong] + [f"note: {each}" for each in found.remarks]
