"""`askbucket releases`: a catalog's history as lines, as JSON and as a page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shared.errors import BuildError, SettingsError

if TYPE_CHECKING:
    from shared.release.writer import Listed

_HEAD = f"{'release':29} {'rows':>9} {'MB':>8} {'R@10':>6} {'MRR':>6} {'no match':>8}  is"
_SHARES = (("recall_at_10", 6), ("mrr", 6), ("no_match_right", 8))


def as_rows(found: Sequence[Listed]) -> list[dict[str, Any]]:
    """For programs."""
    return [
        {
            "release": one.id,
            "createdAt": one.created_at,
            "rows": one.rows,
            "bytes": one.bytes,
            "sources": dict(one.sources),
            "gate": dict(one.gate),
            "forced": bool(one.gate.get("forced")),
            "mark": one.mark,
            "problem": one.problem,
        }
        for one in found
    ]


def as_lines(found: Sequence[Listed]) -> list[str]:
    """For people, newest first."""
    return [_HEAD, *map(_line, found)] if found else []


def _line(one: Listed) -> str:
    rows = "?" if one.rows is None else f"{one.rows:,}"
    size = "?" if one.bytes is None else f"{one.bytes / 1e6:,.1f}"
    shares = " ".join(f"{f'{one.gate[key]:.3f}' if key in one.gate else '-':>{wide}}" for key, wide in _SHARES)
    told = ", ".join(filter(None, (one.mark, "forced" if one.gate.get("forced") else "", one.problem)))
    return f"{one.id:29} {rows:>9} {size:>8} {shares}  {told}".rstrip()


def refuse_no_folder(page: Path | None) -> None:
    """Before the bucket is read. Raises SettingsError."""
    if page and (page.is_dir() or not page.resolve().parent.is_dir()):
        raise SettingsError(f"--report {page}: expected a file in a folder that is there")


def write_page(catalog: str, found: Sequence[Listed], page: Path) -> None:
    """Write the releases that can be read as one page. Raises BuildError."""
    from build_jobs.report.history import Past, history_page

    past = [
        Past(one.id, one.created_at, one.rows, one.bytes, one.mark, one.gate)
        for one in reversed(found)
        if one.created_at is not None and one.rows is not None and one.bytes is not None
    ]
    try:
        page.write_text(history_page(catalog, past), encoding="utf-8")
    except OSError as error:
        raise BuildError(f"--report {page} cannot be written: {error.strerror}") from error
    print(f"report written to {page}", file=sys.stderr)
