"""`askbucket bench`: figures about Askbucket on this machine (docs/performance.md)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any


def add_parser(verbs: Any) -> None:
    """Add the verb, its benches and their flags."""
    verb = verbs.add_parser("bench", help="measure Askbucket on this machine")
    benches = verb.add_subparsers(dest="bench", required=True, metavar="BENCH")
    _add_scan(benches)
    _add_lexical(benches)
    start = _bench(benches, "start", "process start to first answer, beside the bare framework", run_start)
    start.add_argument("--only", type=_names, default=(), metavar="NAME,…", help="functions, sites (default: all)")
    start.add_argument("--gcs", action="store_true", help="also from a copy in a Cloud Storage server of the tests")
    _add_runs(start, 7)
    opened = _bench(benches, "open", "remote bucket to mapped and checked, beside copies and other engines", run_open)
    _add_runs(opened, 7)
    _add_peers(opened, "json,lancedb")
    search = _bench(benches, "search", "one table search, stage by stage, beside the models it asks", run_search)
    search.add_argument("--concurrency", type=_counts, default=(1, 10), metavar="N,…", help="callers (default: 1,10)")
    search.add_argument("--requests", type=int, default=200, metavar="N", help="searches of each (default: 200)")
    search.add_argument("--judge", choices=("fake", "embedded"), default="fake", help="who judges (default: fake)")
    made = _bench(benches, "make", "put a made-up release into a bucket, for the other benches", run_make)
    made.add_argument("--rows", type=int, default=118_703, metavar="N", help="documents (default: 118703)")
    made.add_argument("--dimension", type=int, default=1_536, metavar="N", help="of each vector (default: 1536)")
    _add_clustered(made)
    load = _bench(benches, "load", "steady traffic while releases are swapped under it", run_load)
    load.add_argument("--rate", type=float, default=50.0, metavar="N", help="requests a second (default: 50)")
    load.add_argument("--seconds", type=float, default=60.0, metavar="S", help="how long (default: 60)")
    load.add_argument("--swap-every", type=float, default=15.0, metavar="S", help="seconds to a swap (default: 15)")
    peers = benches.add_parser("peers", help="install the engines that scan, lexical and open compare with")
    peers.add_argument("names", nargs="*", metavar="NAME", help="bm25s, faiss, lancedb, usearch (default: all)")
    _add_json(peers, run_peers)


def run_scan(args: argparse.Namespace) -> None:
    """Scan beside the peers and print who took how long."""
    from cli.bench.scan import Plan, lines, measure

    shape = (args.rows, args.dimension, args.phrasings, args.runs)
    _print(measure(Plan(*shape, args.threads, args.peers, args.vectors, args.clustered)), lines, args)


def run_lexical(args: argparse.Namespace) -> None:
    """Ask keyword questions beside bm25s and print who took how long."""
    from cli.bench.lexical import Plan, lines, measure
    from cli.options import settings_of

    _print(measure(settings_of(args), Plan(args.rows, args.questions, args.runs, args.peers, args.items)), lines, args)


def run_peers(args: argparse.Namespace) -> None:
    """Install what is missing and print what is there."""
    from cli.bench.contest import install, lines

    _print(install(args.names, lambda text: print(text, file=sys.stderr)), lines, args)


def run_start(args: argparse.Namespace) -> None:
    """Measure cold starts and print them."""
    from cli.bench.start import Plan, lines, measure
    from cli.options import settings_of

    _print(measure(settings_of(args), Plan(args.runs, args.only, args.gcs)), lines, args)


def run_open(args: argparse.Namespace) -> None:
    """Measure how long a release takes from a remote bucket and print it."""
    from cli.bench.open_remote import lines, measure
    from cli.options import settings_of

    _print(measure(settings_of(args), args.runs, args.peers), lines, args)


def run_search(args: argparse.Namespace) -> None:
    """Search stage by stage and print what each takes."""
    from cli.bench.search import Plan, lines, measure
    from cli.options import settings_of

    _print(measure(settings_of(args), Plan(args.concurrency, args.requests, args.judge)), lines, args)


def run_make(args: argparse.Namespace) -> None:
    """Make a release and print which."""
    from cli.bench.made_release import lines, make
    from cli.options import settings_of

    _print(make(settings_of(args), args.rows, args.dimension, clustered=args.clustered), lines, args)


def run_load(args: argparse.Namespace) -> None:
    """Serve and swap under traffic, and print what callers saw."""
    from cli.bench.load import Plan, lines, measure
    from cli.options import settings_of

    _print(measure(settings_of(args), Plan(args.rate, args.seconds, args.swap_every)), lines, args)


def _add_scan(benches: Any) -> None:
    scan: argparse.ArgumentParser = benches.add_parser("scan", help="the exact vector scan beside other engines")
    scan.add_argument("--rows", type=int, default=118_703, metavar="N", help="random unit vectors (default: 118703)")
    scan.add_argument("--dimension", type=int, default=1_536, metavar="N", help="of each (default: 1536)")
    scan.add_argument(
        "--vectors", type=Path, metavar="FILE", help="a float16 .npy of unit vectors, instead of those two"
    )
    _add_clustered(scan)
    scan.add_argument("--phrasings", type=int, default=8, metavar="N", help="queries at once (default: 8)")
    scan.add_argument("--threads", type=_counts, default=(1, 2), metavar="N,…", help="threads of each (default: 1,2)")
    _add_runs(scan, 9)
    _add_peers(scan, "numpy-blocks,numpy-f32,faiss,usearch")
    _add_json(scan, run_scan)


def _add_lexical(benches: Any) -> None:
    lexical: argparse.ArgumentParser = benches.add_parser("lexical", help="keyword questions beside bm25s")
    documents = lexical.add_mutually_exclusive_group()
    documents.add_argument("--bucket", metavar="URL", help="the documents of a release (default: BUCKET_URL)")
    documents.add_argument("--rows", type=int, metavar="N", help="made-up documents (118703 where there is no bucket)")
    documents.add_argument("--items", type=Path, metavar="FILE", help="a site's items, JSON Lines (.xz as well)")
    lexical.add_argument("--questions", type=int, default=500, metavar="N", help="different ones (default: 500)")
    _add_runs(lexical, 5)
    _add_peers(lexical, "bm25s")
    _add_json(lexical, run_lexical)


def _bench(benches: Any, name: str, help: str, run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
    bench: argparse.ArgumentParser = benches.add_parser(name, help=help)
    bench.add_argument("--bucket", metavar="URL", help="a bucket with a release (default: BUCKET_URL)")
    _add_json(bench, run)
    return bench


def _add_json(bench: argparse.ArgumentParser, run: Callable[[argparse.Namespace], None]) -> None:
    bench.add_argument("--json", action="store_true", help="print one JSON object")
    bench.set_defaults(run=run)


def _add_clustered(bench: argparse.ArgumentParser) -> None:
    bench.add_argument("--clustered", action="store_true", help="vectors in clusters, as texts have them")


def _add_peers(bench: argparse.ArgumentParser, peers: str) -> None:
    bench.add_argument(
        "--peers",
        type=_names,
        default=_names(peers),
        metavar="NAME,…",
        help=f"engines beside ours, or none (default: {peers})",
    )


def _names(text: str) -> tuple[str, ...]:
    """The names of a list with commas; `none` is no name."""
    return () if text == "none" else tuple(text.split(","))


def _counts(text: str) -> tuple[int, ...]:
    return tuple(int(count) for count in text.split(","))


def _add_runs(bench: argparse.ArgumentParser, runs: int) -> None:
    bench.add_argument("--runs", type=int, default=runs, metavar="N", help=f"runs, interleaved (default: {runs})")


def _print(
    report: Mapping[str, Any], lines: Callable[[Mapping[str, Any]], Iterable[str]], args: argparse.Namespace
) -> None:
    print(json.dumps(report, indent=2) if args.json else "\n".join(lines(report)))
