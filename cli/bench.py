"""`askbucket bench`: figures about Askbucket on this machine (docs/performance.md)."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(verbs: Any) -> None:
    """Add the verb, its benches and their flags."""
    verb = verbs.add_parser("bench", help="measure Askbucket on this machine")
    benches = verb.add_subparsers(dest="bench", required=True, metavar="BENCH")
    start = benches.add_parser("start", help="process start to first answer, beside the bare framework")
    start.add_argument("--bucket", metavar="URL", help="a bucket with a release (default: BUCKET_URL)")
    start.add_argument("--runs", type=int, default=7, metavar="N", help="runs of each, interleaved (default: 7)")
    start.add_argument("--json", action="store_true", help="print one JSON object")
    start.set_defaults(run=run_start)


def run_start(args: argparse.Namespace) -> None:
    """Measure cold starts and print them."""
    import json

    from cli.bench_start import lines, measure
    from cli.options import settings_of

    report = measure(settings_of(args), args.runs)
    print(json.dumps(report, indent=2) if args.json else "\n".join(lines(report)))
