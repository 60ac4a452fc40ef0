"""Progress of long work, for a person who waits."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from build_jobs.progress import Progress

_EVERY_S = 5.0


def progress_text(progress: Progress) -> str:
    """How far a stage is, how fast, how long it will take yet and, of embedding and loading, what it has cost."""
    text = f"{progress.stage} {progress.done:,}" + (f" of {progress.total:,}" if progress.total else "")
    if progress.rate_s:
        text += f", {progress.rate_s:,.0f} a second"
    if progress.left_s is not None and progress.done < progress.total:
        text += f", {duration(progress.left_s)} left"
    text += f", {progress.units:,.0f} RU" if progress.units else ""
    return text + (f", ${progress.cost_usd:.4f}" if progress.stage in ("embed", "load") else "")


def duration(seconds: float) -> str:
    """`95 s`, from two minutes on `3 min`."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


class StatusLine:
    """Progress on standard error: one line that is rewritten on a terminal, else a line every five seconds."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._last = time.monotonic()
        self._shown = False

    def show(self, text: str) -> None:
        """Write the text, unless the last one was written a moment ago."""
        now = time.monotonic()
        if now - self._last < (0.1 if self._terminal else _EVERY_S):
            return
        self._last, self._shown = now, True
        print(
            f"\r\x1b[K{text}" if self._terminal else text,
            end="" if self._terminal else "\n",
            file=sys.stderr,
            flush=True,
        )

    def end(self) -> None:
        """Leave the terminal on a fresh line."""
        if self._terminal and self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
