"""The verb that makes leaves of a publisher's catalog."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.options import add_json, answer, some
from cli.progress import StatusLine, progress_text
from shared.settings import Settings
from shared.words import counted

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from build_jobs.leaves.asked import AskedReport, Asking
    from build_jobs.leaves.family import Family
    from build_jobs.leaves.generate import LeavesReport
    from build_jobs.leaves.leaf import Draft

# Written out, like the functions in serve.py: a flag must not import what knows them. A test holds them together.
FAMILIES = (
    "cdc-places", "census", "census-acs-bq", "college-scorecard", "datacommons", "fema", "gcp-bigquery-public",
    "gcp-marketplace-free", "grants-gov", "irs-990-bq", "irs-grants", "nih-reporter", "nonprofit-990", "nonprofit-bmf",
    "nonprofit-profile", "nsf-awards", "sec-bq", "sec-edgar", "treasury", "un-sdg", "usaspending", "worldbank",
)  # fmt: skip

Parsers = Any  # argparse gives its sub-parsers no public type


def add_leaves(verbs: Parsers) -> None:
    """Add the verb to the command line."""
    leaves = verbs.add_parser(
        "leaves",
        help="make OKF leaves from a publisher's catalog",
        description="Write DIR/sources/<source>/*.md, one leaf a measure, and the source's _access.md.\n"
        "FILE is the publisher's own file, or JSON Lines with an id and a title each.",
        epilog="families:\n" + textwrap.indent(textwrap.fill(", ".join(FAMILIES), 96, break_on_hyphens=False), "  "),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    leaves.add_argument("family", metavar="FAMILY", choices=FAMILIES, help="one of the families below")
    leaves.add_argument(
        "--from",
        dest="sources",
        required=True,
        nargs="+",
        metavar="FILE|-",
        help="one or more files: .xz, .gz, plain, or - for stdin; docs/build.md lists what each family reads",
    )
    leaves.add_argument("--to", required=True, type=Path, metavar="DIR", help="the leaf root to write into")
    leaves.add_argument(
        "--questions",
        choices=("model", "rules"),
        help="who writes the questions of a row that has none; default: the model, where LLM_PROVIDER or the key"
        " say that there is one",
    )
    add_json(leaves)
    leaves.set_defaults(run=_leaves)


def _leaves(args: argparse.Namespace) -> int:
    from build_jobs.leaves.generate import write_leaves

    line = StatusLine()

    def told(done: int) -> None:
        line.show(f"{counted(done, 'leaf', 'leaves')} written")

    with ExitStack() as opened:
        asking = None if args.questions == "rules" else _asking(args, line, opened)
        report = write_leaves(args.family, args.sources, args.to, told, asking.asks if asking else None)
    line.end()
    asked = asking.report if asking else None
    report.notes += asked.notes() if asked else []
    answer(args, {**report.as_json(), "costUsd": asked.cost_usd if asked else 0.0}, _text(report, asked))
    return 0


@dataclass(frozen=True, slots=True)
class _AskingHere:
    """The model that the settings name, asked from a thread without an event loop."""

    portal: BlockingPortal
    asking: Asking

    @property
    def report(self) -> AskedReport:
        return self.asking.report

    def asks(self, family: Family, drafts: Sequence[Draft]) -> Mapping[str, Sequence[str]]:
        return self.portal.call(self.asking.write, family, drafts)


def _asking(args: argparse.Namespace, line: StatusLine, opened: ExitStack) -> _AskingHere | None:
    """None where the settings name no model that writes. Raises ModelUnavailable where it is asked for all the same."""
    from build_jobs.leaves.asked import Asking
    from shared.errors import ModelUnavailable
    from shared.models.choice import Models

    models = Models(Settings.from_env())
    asker = models.asker()
    if asker is None:
        if args.questions == "model":
            raise ModelUnavailable("--questions model needs a model that writes; set OPENROUTER_API_KEY")
        return None
    from anyio.from_thread import start_blocking_portal

    portal = opened.enter_context(start_blocking_portal())
    opened.enter_context(closing(models))  # before the portal's loop ends, which its connections hang on
    asking = Asking(asker, args.to, lambda progress: line.show(progress_text(progress)))
    return _AskingHere(portal, asking)


def _text(report: LeavesReport, asked: AskedReport | None) -> list[str]:
    leaves, rows = counted(report.written, "leaf", "leaves"), counted(report.rows, "row")
    by_model = f", {report.model_queries:,} by a model for ${asked.cost_usd:.4f}" if asked else ""
    lines = [
        f"{leaves} in {report.directory} ({report.made_queries:,} with questions made by rule{by_model})",
        f"{rows} read, {report.other_directories:,} of other directories, {len(report.bad):,} bad",
    ]
    lines += some([f"  {row}" for row in report.bad])
    lines += [f"{count:,} left out: {reason}" for reason, count in report.skipped.items()]
    lines += report.notes
    if report.left_over:
        left = counted(len(report.left_over), "file of an earlier run is", "files of an earlier run are")
        lines.append(f"{left} still there")
        lines += some([f"  {name}" for name in report.left_over])
    return lines
