"""`askbucket doctor`: is everything there that serving needs?"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cli.checkup import Finding


def add_parser(verbs: Any) -> None:
    """Add the verb and its flags."""
    verb = verbs.add_parser("doctor", help="check keys, bucket, releases, models and what else serving needs")
    verb.add_argument("--bucket", metavar="URL", help="where the releases lie (default: BUCKET_URL)")
    verb.add_argument("--json", action="store_true", help="one JSON object on standard output")
    verb.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check everything and print each finding. 1 where a check failed; a warning is none."""
    findings = []
    for finding in _findings(args):
        findings.append(finding)
        if not args.json:
            print(_line(finding), flush=True)
    ok = all(finding.status != "failed" for finding in findings)
    if args.json:
        print(json.dumps({"ok": ok, "checks": [asdict(finding) for finding in findings]}, ensure_ascii=False))
    return 0 if ok else 1


def _findings(args: argparse.Namespace) -> Iterator[Finding]:
    from cli.checkup import Checkup, unusable
    from cli.options import settings_of
    from shared.errors import SettingsError

    try:
        settings = settings_of(args)
    except SettingsError as error:
        yield unusable(error)
        return
    yield from Checkup(settings).findings()


def _line(finding: Finding) -> str:
    todo = f"\n         → {finding.todo}" if finding.todo else ""
    return f"{finding.status:<8} {finding.name}: {finding.message}{todo}"
