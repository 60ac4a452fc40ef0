"""`askbucket bench`: figures about Askbucket on this machine (docs/performance.md)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def add_parser(verbs: Any) -> None:
    """Add the verb, its benches and their flags."""
    verb = verbs.add_parser("bench", help="measure Askbucket on this machine")
    benches = verb.add_subparsers(dest="bench", required=True, metavar="BENCH")
    start = _bench(benches, "start", "process start to first answer, beside the bare framework", run_start)
    _add_runs(start, 7)
    opened = _bench(benches, "open", "remote bucket to mapped and checked, beside a plain copy", run_open)
    _add_runs(opened, 7)
    load = _bench(benches, "load", "steady traffic while releases are swapped under it", run_load)
    load.add_argument("--rate", type=float, default=50.0, metavar="N", help="requests a second (default: 50)")
    load.add_argument("--seconds", type=float, default=60.0, metavar="S", help="how long (default: 60)")
    load.add_argument("--swap-every", type=float, default=15.0, metavar="S", help="seconds to a swap (default: 15)")


def run_start(args: argparse.Namespace) -> None:
    """Measure cold starts and print them."""
    from cli.bench_start import lines, measure
    from cli.options import settings_of

    _print(measure(settings_of(args), args.runs), lines, args)


def run_open(args: argparse.Namespace) -> None:
    """Measure how long a release takes from a remote bucket and print it."""
    from cli.bench_open import lines, measure
    from cli.options import settings_of

    _print(measure(settings_of(args), args.runs), lines, args)


def run_load(args: argparse.Namespace) -> None:
    """Serve and swap under traffic, and print what callers saw."""
    from cli.bench_load import Plan, lines, measure
    from cli.options import settings_of

    _print(measure(settings_of(args), Plan(args.rate, args.seconds, args.swap_every)), lines, args)


def _bench(benches: Any, name: str, help: str, run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
    bench: argparse.ArgumentParser = benches.add_parser(name, help=help)
    bench.add_argument("--bucket", metavar="URL", help="a bucket with a release (default: BUCKET_URL)")
    bench.add_argument("--json", action="store_true", help="print one JSON object")
    bench.set_defaults(run=run)
    return bench


def _add_runs(bench: argparse.ArgumentParser, runs: int) -> None:
    bench.add_argument("--runs", type=int, default=runs, metavar="N", help=f"runs, interleaved (default: {runs})")


def _print(
    report: Mapping[str, Any], lines: Callable[[Mapping[str, Any]], Iterable[str]], args: argparse.Namespace
) -> None:
    print(json.dumps(report, indent=2) if args.json else "\n".join(lines(report)))
