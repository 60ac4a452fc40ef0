"""`askbucket evaluate`: how well a release answers judged questions."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.progress import StatusLine, progress_text
from shared.errors import SettingsError

if TYPE_CHECKING:
    from build_jobs.evaluate import Report


def add_parser(verbs: Any) -> None:
    """Add the verb, its kinds and their flags."""
    verb = verbs.add_parser("evaluate", help="measure answers against judged questions")
    kinds = verb.add_subparsers(dest="kind", required=True, metavar="KIND")
    tables = kinds.add_parser("tables", help="table searches")
    tables.add_argument("--questions", required=True, type=Path, metavar="FILE", help="JSON Lines: _id, text")
    tables.add_argument("--qrels", required=True, type=Path, metavar="FILE", help="TSV: question, leaf, score")
    tables.add_argument("--unanswerable", type=Path, metavar="FILE", help="questions that should find no match")
    tables.add_argument("--sample", type=int, metavar="N", help="only N questions of each file, the same ones always")
    tables.add_argument("--baselines", action="store_true", help="plain engines on the same questions, too (--bucket)")
    where = tables.add_mutually_exclusive_group()
    where.add_argument("--url", help="a running service")
    where.add_argument("--bucket", metavar="URL", help="the releases there, in this process (default: BUCKET_URL)")
    tables.add_argument("--json", action="store_true", help="one JSON object on standard output")
    tables.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Measure and print."""
    import asyncio

    from build_jobs.evaluate import as_json, as_text

    line = StatusLine()
    report = asyncio.run(measure(args, line))
    line.end()
    print(json.dumps(as_json(report)) if args.json else as_text(report))


async def measure(args: argparse.Namespace, line: StatusLine) -> Report:
    """The report. Raises SettingsError for flags that do not go together, BuildError for files that cannot be read."""
    from build_jobs.evaluate import evaluate_by, evaluate_here
    from build_jobs.judged import read_judged, read_texts, sample
    from cli.options import settings_of

    questions = sample(read_judged(args.questions, args.qrels), args.sample)
    unanswerable = sample(read_texts(args.unanswerable), args.sample) if args.unanswerable else []

    def told(progress: Any) -> None:
        line.show(progress_text(progress))

    if args.url:
        if args.baselines:
            raise SettingsError("--baselines are measured in process: give --bucket instead of --url")
        return await evaluate_by(_over(args.url), questions, unanswerable=unanswerable, told=told)
    settings = settings_of(args)
    return await evaluate_here(settings, questions, unanswerable=unanswerable, baselines=args.baselines, told=told)


def _over(url: str) -> Any:
    """POST /search of a running service, as the evaluation asks it."""
    import asyncio

    from cli.client import post

    async def ask(body: dict[str, Any]) -> Mapping[str, Any]:
        return await asyncio.to_thread(post, f"{url.rstrip('/')}/search", body)

    return ask
