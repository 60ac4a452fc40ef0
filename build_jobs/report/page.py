"""The report of an evaluation as one HTML page that needs nothing but itself: no script, no font, no other address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from build_jobs.report.figures import MOST_MISSES, SCORE_ORDER, Bin, Figures, Metrics, Miss, Report
from build_jobs.report.markup import Markup, element, joined
from build_jobs.report.plots import Bar, Column, bars, columns, curves, legend
from build_jobs.report.text import counted, latency

# Even markup that slipped through could then load nothing and run nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = Path(__file__).with_name("page.css")
_COLUMNS = ("R@1", "R@10", "MRR@10", "R@60", "R@120")
_MOST_CHARS = 300
_NOT_MEASURED = "–"


def as_html(report: Report) -> str:
    """The page. The same report gives the same page, byte for byte."""
    # What is true of everything comes first, then each set in the order given.
    parts = sorted(report.parts.items(), key=lambda part: part[1] is not report)
    body = element(
        "main",
        element("h1", "How well the tables are found"),
        element("p", _opening(report), class_="lead"),
        _tiles(report),
        *(_part(name, part) for name, part in parts),
        _scores(report),
        _latency(report),
        _misses(report),
        _texts("Judged questions that got no result", report.unanswered),
        _texts("Answered, though nothing answers them", report.answered_wrongly),
        _subject(report),
    )
    page = element("html", head("Askbucket: how well the tables are found"), element("body", body), lang="en")
    return f"<!doctype html>\n{page}\n"


def share(value: float | None) -> str:
    """A share as the page writes it: three decimals, a dash where it was not measured."""
    return _NOT_MEASURED if value is None else f"{value:.3f}"


def percent(value: float | None) -> str:
    """A share as the page writes it where it is no recall."""
    return _NOT_MEASURED if value is None else f"{value:.1%}"


def head(title: str) -> Markup:
    """What every page begins with: its name, and a policy that lets it load and run nothing."""
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(_STYLE.read_text(encoding="utf-8"))),
    )


def _opening(report: Report) -> str:
    releases = [f"{catalog} {release}" for catalog, release in (report.subject.releases or {}).items()]
    over = f" Release {', '.join(releases)}." if releases else ""
    return f"{counted(report)}, asked {report.subject.where}.{over}"


def _tiles(report: Report) -> Markup:
    """What to look at first."""
    ordered, hard = report.rows.get(SCORE_ORDER), report.hard.get(SCORE_ORDER)
    shown = {
        "right table first": share(ordered.recall_1 if ordered else None),
        "right table in the first ten": share(ordered.recall_10 if ordered else None),
        "MRR@10": share(ordered.mrr_10 if ordered else None),
        "in the first ten, hard part": share(hard.recall_10 if hard else None),
        "judged questions with a result": percent(report.kept),
        "no match, where nothing answers": percent(report.no_match),
        "half of the searches within": f"{report.p50_ms:.0f} ms",
    }
    tiles = [element("div", element("dd", value), element("dt", name)) for name, value in shown.items()]
    return element("dl", *tiles, class_="tiles")


def _part(name: str, part: Figures) -> Markup:
    return section(
        name,
        element("p", _said_of(part), class_="faint"),
        _table(part),
        _curves(part) if part.rows else "",
    )


def _said_of(part: Figures) -> str:
    said = [counted(part), f"{percent(part.kept)} got a result", latency(part)]
    if part.unknown_answers:
        said.append(f"{part.unknown_answers:,} have no right answer among the documents and count as missed")
    return "; ".join(said) + "."


def _table(part: Figures) -> Markup:
    head = element("tr", element("th", ""), *(element("th", name, scope="col") for name in _COLUMNS))
    return element(
        "div", element("table", element("thead", head), element("tbody", *_rows(part)), class_="figures"),
        class_="scroll",
    )  # fmt: skip


def _rows(part: Figures) -> Iterator[Markup]:
    for name, metrics in part.rows.items():
        yield _row(name, metrics, None)
        if name in part.hard:
            yield _row(f"hard ({part.hard[name].questions:,})", part.hard[name], "hard")


def _row(name: str, metrics: Metrics, css: str | None) -> Markup:
    values = (metrics.recall_1, metrics.recall_10, metrics.mrr_10, metrics.recall_60, metrics.recall_120)
    cells = [element("td", share(value)) for value in values]
    return element("tr", element("th", name, scope="row"), *cells, class_=css)


def _curves(part: Figures) -> Markup:
    rows = [
        Bar(name, metrics.recall_10, part.hard[name].recall_10 if name in part.hard else None)
        for name, metrics in part.rows.items()
    ]
    return element(
        "div",
        figure("Recall at k", curves(part.curves), legend(list(part.curves))),
        figure("Recall at 10" + (", and of the hard part" if part.hard else ""), bars(rows)),
        class_="plots",
    )


def _scores(report: Report) -> Markup:
    scores = report.scores
    ends = [*range(scores.step, 100, scores.step), 101]
    labels = [f"{at * scores.step} to {end - 1}" for at, end in enumerate(ends)]
    ticks = {at: str(at * scores.step) for at in range(0, len(ends) + 1, 4)}
    mark = None if scores.threshold is None else scores.threshold / scores.step

    def plot(title: str, counts: Sequence[int], not_shown: int, why: str) -> Markup:
        shown = [Column(label, count) for label, count in zip(labels, counts, strict=True)]
        said = element("p", f"{not_shown:,} {why}", class_="faint") if not_shown else ""
        drawn = columns(shown, ticks=ticks, title=title, axis="score, 0 to 100", mark=mark)
        return figure(f"{title} ({sum(counts):,})", drawn, said)

    line = f" The line is the threshold, {scores.threshold}." if scores.threshold is not None else ""
    right = plot("Scores of right answers", scores.right, scores.right_not_returned, "had none among the results.")
    best = plot(
        "Best scores where nothing answers", scores.unanswerable, scores.unanswerable_unscored, "got no score."
    )  # fmt: skip
    shown = [right, best] if report.unanswerable else [right]
    return section(
        "Scores",
        element("p", f"A good threshold has the right answers on its right and the others on its left.{line}"),
        element("div", *shown, class_="plots"),
    )


def _latency(report: Report) -> Markup:
    if not report.latency:
        return joined()
    shown = [Column(_took(each), each.questions) for each in report.latency]
    every = max(len(shown) // 5, 1)
    ticks = {at: f"{each.from_ms:g}" for at, each in enumerate(report.latency) if at % every == 0}
    drawn = columns(
        shown, ticks=ticks, title="Questions by time taken", axis="milliseconds; the last column is all above"
    )
    said = f"{latency(report)}. One question at a time, {report.subject.where}."
    return section("Latency", element("p", said), element("div", figure("", drawn), class_="plots"))


def _took(each: Bin) -> str:
    return f"{each.from_ms:g} ms or more" if each.to_ms is None else f"{each.from_ms:g} to {each.to_ms:g} ms"


def _misses(report: Report) -> Markup:
    if not report.misses:
        return section("Worst misses", element("p", "None: every right answer comes first."))
    said = f"The right answer came late or not at all; those furthest off first, at most {MOST_MISSES}."
    head = ("question", "expected", "rank", "in the pool", "came first")
    table = element(
        "table",
        element("thead", element("tr", *(element("th", name, scope="col") for name in head))),
        element("tbody", *(_miss(miss, head, named=len(report.sets) > 1) for miss in report.misses)),
        class_="misses",
    )
    return section("Worst misses", element("p", said), table)


def _miss(miss: Miss, head: Sequence[str], *, named: bool) -> Markup:
    first = miss.first
    about = ([miss.set] if named else []) + (["hard"] if miss.hard else [])
    codes = ", ".join(miss.expected[:5]) + (f" and {len(miss.expected) - 5} more" if len(miss.expected) > 5 else "")
    cells = (
        joined(_question(miss.question), _small(" · ".join(about))),
        joined(_clipped(miss.expected_title or ""), _small(codes)),
        "not shown" if miss.rank is None else str(miss.rank),
        _NOT_MEASURED if miss.pool_rank is None else str(miss.pool_rank),
        "nothing: no match"
        if first is None
        else joined(
            _clipped(first.title), _small(f"{first.source}{f':{first.code}' if first.code else ''} · {first.score}")
        ),
    )
    return element("tr", *(element("td", cell, data_name=name) for name, cell in zip(head, cells, strict=True)))


def _texts(title: str, texts: Sequence[str]) -> Markup:
    if not texts:
        return joined()
    more = len(texts) - MOST_MISSES
    return section(
        f"{title} ({len(texts):,})",
        element("ul", *(element("li", _question(each)) for each in texts[:MOST_MISSES])),
        element("p", f"And {more:,} more: --json has all of them.", class_="faint") if more > 0 else "",
    )


def _subject(report: Report) -> Markup:
    subject = report.subject
    said = {
        "asked": subject.where,
        **{f"release of {name}": release for name, release in (subject.releases or {}).items()},
        **{f"documents of {name}": f"{rows:,}" for name, rows in (subject.documents or {}).items()},
        "embedder": subject.embedder or "not told by the service",
        "judge": subject.judge or "not told by the service",
        "questions": "; ".join(f"{name}: {counted(part)}" for name, part in report.sets.items()),
        "questions that nothing answers": f"{report.unanswerable:,}",
        **{name: str(value) for name, value in (subject.settings or {}).items()},
    }
    pairs = [element("div", element("dt", name), element("dd", value)) for name, value in said.items()]
    notes = [element("li", note) for note in report.notes]
    return section("What was measured", element("ul", *notes), element("dl", *pairs, class_="facts"))


def section(title: str, *children: object) -> Markup:
    """A part of a page under its heading."""
    return element("section", element("h2", title), *children)


def figure(caption: str, *children: object) -> Markup:
    """A plot under its caption."""
    return element("figure", element("figcaption", caption) if caption else "", *children)


def _question(asked: str) -> Markup:
    """A question in the direction it is written in, whatever the page's own."""
    return element("span", _clipped(asked), dir="auto")


def _small(said: str) -> Markup:
    return element("small", said) if said else joined()


def _clipped(said: str) -> str:
    return said if len(said) <= _MOST_CHARS else f"{said[:_MOST_CHARS]}…"
