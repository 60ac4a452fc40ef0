"""The report of an evaluation for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from build_jobs.report.figures import Figures, Metrics, Report
from shared.words import counted as in_words

_HEADER = f"{'':16}{'R@1':>8}{'R@10':>8}{'MRR@10':>8}{'R@60':>8}{'R@120':>8}"


def as_text(report: Report) -> str:
    """A table for each set, one for all where there are several, then what is not a rank."""
    lines: list[str] = []
    for name, part in report.parts.items():
        lines += [f"{name}: {counted(part)}", "", _HEADER, *_rows(part), ""]
        if part.unknown_answers:
            unknown = in_words(part.unknown_answers, "question has", "questions have")
            lines.append(f"{unknown} no right answer among the documents")
        if part.kept is not None:
            lines.append(f"kept an eligible result   {part.kept:.1%}")
        lines += [f"latency                   {latency(part)}", ""]
    lines += [*_no_match(report), *_subject(report)]
    return "\n".join([*lines, *(f"Note: {note}" for note in report.notes)])


def counted(part: Figures) -> str:
    """How many questions, and of how many where they are a sample."""
    return in_words(part.questions, "question") + (f", a sample of {part.of:,}" if part.questions < part.of else "")


def latency(part: Figures) -> str:
    """The three quantiles."""
    return f"p50 {part.p50_ms:.0f} ms, p95 {part.p95_ms:.0f} ms, p99 {part.p99_ms:.0f} ms"


def _rows(part: Figures) -> Iterator[str]:
    for name, metrics in part.rows.items():
        yield _line(name, metrics)
        if name in part.hard:
            yield _line(f"  hard ({part.hard[name].questions})", part.hard[name])


def _line(name: str, metrics: Metrics) -> str:
    values = (metrics.recall_1, metrics.recall_10, metrics.mrr_10, metrics.recall_60, metrics.recall_120)
    return f"{name:16}" + "".join("" if value is None else f"{value:8.4f}" for value in values)


def _no_match(report: Report) -> list[str]:
    if report.no_match is None:
        return []
    answered = [f"  answered: {text}" for text in report.answered_wrongly]
    return [f"no match for unanswerable {report.no_match:.1%} of {report.unanswerable}", *answered]


def _subject(report: Report) -> Iterator[str]:
    subject = report.subject
    yield f"asked                     {subject.where}"
    for catalog, release in (subject.releases or {}).items():
        documents = (subject.documents or {}).get(catalog)
        yield f"release                   {catalog} {release}" + (
            f", {in_words(documents, 'document')}" if documents else ""
        )
    if subject.embedder:
        yield f"embedder                  {subject.embedder}"
    if subject.judge:
        yield f"judge                     {subject.judge}"
