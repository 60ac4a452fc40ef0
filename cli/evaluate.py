"""`askbucket evaluate`: how well a release answers judged questions."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.progress import StatusLine, progress_text
from shared.errors import AskbucketError, BuildError, SettingsError

if TYPE_CHECKING:
    from build_jobs.report.figures import JudgedSet, Report, Subject
    from build_jobs.report.item_figures import ItemReport

_ENDINGS = (".xz", ".jsonl", ".json")


def add_parser(verbs: Any) -> None:
    """Add the verb, its kinds and their flags."""
    verb = verbs.add_parser("evaluate", help="measure answers against judged questions")
    kinds = verb.add_subparsers(dest="kind", required=True, metavar="KIND")
    tables = kinds.add_parser("tables", help="table searches")
    judged: dict[str, Any] = {"required": True, "action": "append", "type": Path, "metavar": "FILE"}
    tables.add_argument("--questions", help="JSON Lines: _id, text; may be repeated, each with its --qrels", **judged)
    tables.add_argument("--qrels", help="TSV: question, leaf, score", **judged)
    tables.add_argument("--unanswerable", type=Path, metavar="FILE", help="questions that should find no match")
    tables.add_argument("--sample", type=int, metavar="N", help="only N questions of each file, the same ones always")
    tables.add_argument("--baselines", action="store_true", help="plain engines on the same questions, too (--bucket)")
    where = tables.add_mutually_exclusive_group()
    where.add_argument("--url", help="a running service")
    where.add_argument("--bucket", metavar="URL", help="the releases there, in this process (default: BUCKET_URL)")
    tables.add_argument("--html", type=Path, metavar="FILE", help="write the report as one HTML page, too")
    tables.add_argument("--json", action="store_true", help="one JSON object on standard output")
    tables.set_defaults(run=run)
    _add_items(kinds)


def _add_items(kinds: Any) -> None:
    items = kinds.add_parser("items", help="sites' answers")
    suites: dict[str, Any] = {"required": True, "action": "append", "nargs": "+", "type": Path, "metavar": "FILE"}
    items.add_argument("--predicates", help="YAML: questions to a kind, and what is true of their answers", **suites)
    where = items.add_mutually_exclusive_group()
    where.add_argument("--url", help="a running service, or with one file a site's own …/ask")
    where.add_argument("--bucket", metavar="URL", help="the releases there, in this process (default: BUCKET_URL)")
    items.add_argument("--json", action="store_true", help="one JSON object on standard output")
    items.set_defaults(run=run_items)


def run_items(args: argparse.Namespace) -> None:
    """Put the suites to the sites, and print what came of it."""
    import asyncio

    from build_jobs.report.item_figures import items_as_json, items_as_text

    line = StatusLine()
    report = asyncio.run(measure_items(args, line))
    line.end()
    print(json.dumps(items_as_json(report), ensure_ascii=False) if args.json else items_as_text(report))


async def measure_items(args: argparse.Namespace, line: StatusLine) -> ItemReport:
    """The report. Raises BuildError for suites that cannot be read."""
    from build_jobs.evaluate_items import evaluate_items_by, evaluate_items_here
    from build_jobs.predicates import read_suite
    from cli.options import settings_of
    from shared.settings import without_userinfo

    suites = [read_suite(path) for paths in args.predicates for path in paths]

    def told(progress: Any) -> None:
        line.show(progress_text(progress))

    if args.url:
        where = f"over HTTP at {without_userinfo(args.url)}"
        return await evaluate_items_by(_streams_of(args.url), suites, where, told)
    return await evaluate_items_here(settings_of(args), suites, told)


def run(args: argparse.Namespace) -> None:
    """Measure, print, and write the page where one is asked for."""
    import asyncio

    from build_jobs.report.figures import as_json
    from build_jobs.report.text import as_text

    _refuse_no_folder(args.html)
    line = StatusLine()
    report = asyncio.run(measure(args, line))
    line.end()
    if args.html:
        _write_page(report, args.html)
    print(json.dumps(as_json(report)) if args.json else as_text(report))


async def measure(args: argparse.Namespace, line: StatusLine) -> Report:
    """The report. Raises SettingsError for flags that do not go together, BuildError for files that cannot be read."""
    from build_jobs.evaluate import evaluate_by, evaluate_here
    from build_jobs.judged import read_texts, sample
    from cli.options import settings_of

    if args.url and args.baselines:
        raise SettingsError("--baselines are measured in process: give --bucket instead of --url")
    if args.sample is not None and args.sample < 1:
        raise SettingsError(f"--sample {args.sample}: expected 1 or more")
    sets = judged_sets(args.questions, args.qrels, args.sample)
    unanswerable = sample(read_texts(args.unanswerable), args.sample) if args.unanswerable else []

    def told(progress: Any) -> None:
        line.show(progress_text(progress))

    if args.url:
        ask = _over(args.url)
        return await evaluate_by(ask, sets, subject=_service(args.url), unanswerable=unanswerable, told=told)
    settings = settings_of(args)
    return await evaluate_here(settings, sets, unanswerable=unanswerable, baselines=args.baselines, told=told)


def judged_sets(questions: Sequence[Path], qrels: Sequence[Path], size: int | None) -> list[JudgedSet]:
    """The first file of questions with the first of judgements, and so on; each named by its file of questions.

    Raises SettingsError where the flags do not pair.
    """
    from build_jobs.judged import read_judged, sample
    from build_jobs.report.figures import JudgedSet

    if len(questions) != len(qrels):
        raise SettingsError(f"each --questions needs its --qrels: found {len(questions)} and {len(qrels)}")
    read = [read_judged(*pair) for pair in zip(questions, qrels, strict=True)]
    named = zip(_names(questions), read, strict=True)
    return [JudgedSet(name, sample(judged, size), len(judged)) for name, judged in named]


def _names(paths: Sequence[Path]) -> list[str]:
    """File names without their endings; where two are the same, the later one is numbered."""
    names: list[str] = []
    for path in paths:
        name = path.name
        while name.endswith(_ENDINGS):
            name = name[: name.rindex(".")]
        same = sum(each == name or each.startswith(f"{name} (") for each in names)
        names.append(f"{name} ({same + 1})" if same else name)
    return names


def _refuse_no_folder(page: Path | None) -> None:
    """Before minutes of measuring, not after them."""
    if page and (page.is_dir() or not page.resolve().parent.is_dir()):
        raise SettingsError(f"--html {page}: expected a file in a folder that is there")


def _write_page(report: Report, path: Path) -> None:
    from build_jobs.report.page import as_html

    try:
        path.write_text(as_html(report), encoding="utf-8")
    except OSError as error:
        raise BuildError(f"--html {path} cannot be written: {error.strerror}") from error
    print(f"report written to {path}", file=sys.stderr)


def _service(url: str) -> Subject:
    """What the service says of itself; a service may answer searches and keep its /health to itself."""
    from build_jobs.evaluate import subject_over
    from cli.client import get
    from shared.settings import without_userinfo

    try:
        health = get(f"{url.rstrip('/')}/health")
    except AskbucketError:
        health = {}
    return subject_over(without_userinfo(url), health)


def _over(url: str) -> Any:
    """POST /search of a running service, as the evaluation asks it."""
    import asyncio

    from cli.client import post

    async def ask(body: dict[str, Any]) -> Mapping[str, Any]:
        return await asyncio.to_thread(post, f"{url.rstrip('/')}/search", body)

    return ask


def _streams_of(url: str) -> Any:
    """The messages of a running service's /ask, site by site."""
    import asyncio

    from cli.ask import address
    from cli.client import stream

    async def ask(kind: str, body: dict[str, Any]) -> Sequence[Mapping[str, Any]]:
        return await asyncio.to_thread(lambda: list(stream(address(url, kind), body)))

    return ask
