"""What the two kinds of build have in common on the command line: their flags, and what they say of plan and gate."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cli.progress import StatusLine, duration
from shared.words import counted

if TYPE_CHECKING:
    from build_jobs.gate import Gate
    from build_jobs.plan import Plan, Priced

_MARKS = {"passed": "ok", "failed": "FORCED", "skipped": "skipped"}


def add_questions(parser: argparse.ArgumentParser, said: str) -> None:
    """Files of questions that the release must answer no worse than the current one."""
    parser.add_argument("--questions", nargs="+", action="extend", type=Path, metavar="FILE", help=said)


def add_build_flags(parser: argparse.ArgumentParser) -> None:
    """Whether to build at all."""
    parser.add_argument("--dry-run", action="store_true", help="say what would be done and its price; write nothing")
    parser.add_argument(
        "--force",
        action="store_true",
        help="build even if nothing changed, and publish even if it falls behind the current release; is written down",
    )


@contextmanager
def interruptible(line: StatusLine) -> Iterator[None]:
    """Ctrl-C in a build says what to do next."""
    try:
        yield
    except KeyboardInterrupt:
        line.end()
        print("askbucket: stopped; what was embedded is kept, and the same command goes on there", file=sys.stderr)
        raise


def whole(text: str) -> int:
    """A number of things, from a flag."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return value


def plan_text(plan: Plan | None) -> list[str]:
    """What a dry run would do, and what it would be refused for."""
    if plan is None:
        return []
    lines = [_price_text(plan.price)]
    if len(plan.tasks) > 1:
        lines += [
            f"  task {each.task}: {counted(each.rows, 'row')}, {counted(each.texts, 'text')} to embed,"
            f" {each.first} … {each.last}"
            for each in plan.tasks
        ]
    if plan.questions:
        lines.append(f"{counted(plan.questions, 'sample question')} would be asked")
    return lines + [f"the gate would refuse it: {said}" for said in plan.gate]


def _price_text(price: Priced) -> str:
    said = f"plan: {counted(price.texts, 'text')} to embed in {counted(price.calls, 'call')},"
    said += f" about {counted(price.tokens, 'token')}, ${price.cost_usd:.4f}"
    return said + (f"; {duration(price.least_s)} or more at the set rate" if price.least_s else "")


def gate_text(gate: Gate | None) -> list[str]:
    """Each check with what it found."""
    if gate is None or not any(check.verdict == "passed" for check in gate.checks):
        return []
    return [f"gate: {check.name:8} {_MARKS[check.verdict]:8} {check.message}" for check in gate.checks]
