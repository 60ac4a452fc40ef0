"""`python -m infra.load mix|beside|soak`: load on the real functions (docs/load.md)."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shared.errors import AskbucketError
from shared.settings import Settings

Report = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one load. 0 where every bar is met, 1 where one is not or the load could not be run."""
    args = parser().parse_args(arguments)
    try:
        report, lines = args.run(args)
    except AskbucketError as error:
        print(error.message, file=sys.stderr)
        return 1
    print(json.dumps(report, indent=2) if args.json else "\n".join(lines(report)))
    return int(not all(each["met"] for each in report["bars"]))


def parser() -> argparse.ArgumentParser:
    """The loads and their flags."""
    made = argparse.ArgumentParser(prog="python -m infra.load", description="Load on the real functions.")
    loads = made.add_subparsers(dest="load", required=True, metavar="LOAD")
    _add_mix(loads)
    _add_soak(loads)
    _add_beside(loads)
    return made


def _add_mix(loads: Any) -> None:
    mix = _load(loads, "mix", "a realistic mix at several levels of concurrency", _run_mix)
    mix.add_argument("--concurrency", type=_counts, default=(1, 5, 20, 50), metavar="N,…", help="default: 1,5,20,50")
    mix.add_argument("--seconds", type=float, default=60.0, metavar="S", help="of each level (default: 60)")
    _add_latencies(mix, embed_ms=250.0, chat_ms=1_000.0)


def _add_soak(loads: Any) -> None:
    soak = _load(loads, "soak", "steady traffic with hot swaps and faults, and what it leaves behind", _run_soak)
    soak.add_argument("--minutes", type=float, default=20.0, metavar="N", help="how long (default: 20)")
    soak.add_argument("--callers", type=int, default=8, metavar="N", help="at once (default: 8)")
    soak.add_argument("--swap-every", type=float, default=20.0, metavar="S", help="seconds to a swap (default: 20)")
    soak.add_argument("--phase", type=float, default=25.0, metavar="S", help="seconds of each fault (default: 25)")
    _add_latencies(soak, embed_ms=20.0, chat_ms=80.0)


def _add_beside(loads: Any) -> None:
    beside = loads.add_parser("beside", help="searches beside the plain way: float32 and JSON in memory")
    beside.add_argument("--bucket", metavar="URL", help="a release of OpenRouter's vectors (default: one is made up)")
    beside.add_argument("--rows", type=int, default=118_703, metavar="N", help="of the one made up (default: 118703)")
    beside.add_argument("--callers", type=int, default=20, metavar="N", help="at once (default: 20)")
    beside.add_argument("--requests", type=int, default=200, metavar="N", help="of each in a round (default: 200)")
    beside.add_argument("--rounds", type=int, default=5, metavar="N", help="interleaved (default: 5)")
    beside.add_argument("--json", action="store_true", help="print one JSON object")
    beside.set_defaults(run=_run_beside)


def _load(loads: Any, name: str, help: str, run: Callable[[argparse.Namespace], Any]) -> argparse.ArgumentParser:
    load: argparse.ArgumentParser = loads.add_parser(name, help=help)
    load.add_argument("--bucket", metavar="URL", help="a bucket with tables (default: the demo, built for the purpose)")
    load.add_argument("--json", action="store_true", help="print one JSON object")
    load.set_defaults(run=run)
    return load


def _add_latencies(load: argparse.ArgumentParser, embed_ms: float, chat_ms: float) -> None:
    load.add_argument("--embed-ms", type=float, default=embed_ms, metavar="MS", help=f"default: {embed_ms:g}")
    load.add_argument("--chat-ms", type=float, default=chat_ms, metavar="MS", help=f"default: {chat_ms:g}")


@contextmanager
def _ready(args: argparse.Namespace) -> Iterator[tuple[Any, Settings, Path]]:
    """The scripted models, settings with a bucket, and a folder for what is made on the way."""
    from infra.load.buckets import build_demo
    from infra.load.models import scripted
    from tests.fakes.openrouter import Latency

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = args.bucket
        if not url:
            with scripted() as at_once:
                url = build_demo(folder / "demo", at_once.url)
        latency = Latency(args.embed_ms, args.chat_ms, token_ms=2.0, sigma=0.4)
        with scripted(latency) as models:
            yield models, Settings(bucket_url=url, cache_dir=str(folder / "cache")), folder


def _run_mix(args: argparse.Namespace) -> tuple[Report, Callable[[Mapping[str, Any]], Iterable[str]]]:
    from infra.load import known, mix
    from shared.bucket.base import open_bucket

    with _ready(args) as (models, settings, _):
        found = known.read(open_bucket(settings.bucket_url, settings), settings)
        functions = mix.functions_of(found, settings.bucket_url, models.url, settings.cache_dir)
        return mix.measure(mix.Plan(args.concurrency, args.seconds), found, functions), mix.lines


def _run_soak(args: argparse.Namespace) -> tuple[Report, Callable[[Mapping[str, Any]], Iterable[str]]]:
    from infra.load import soak

    plan = soak.Plan(args.minutes * 60, args.callers, args.swap_every, args.phase)
    with _ready(args) as (models, settings, folder):
        return soak.measure(plan, settings, models, folder / "soak"), soak.lines


def _run_beside(args: argparse.Namespace) -> tuple[Report, Callable[[Mapping[str, Any]], Iterable[str]]]:
    from infra.load import beside

    plan = beside.Plan(args.rows, args.callers, args.requests, args.rounds)
    return beside.measure(plan, args.bucket or ""), beside.lines


def _counts(text: str) -> tuple[int, ...]:
    return tuple(int(count) for count in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
