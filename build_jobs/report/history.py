"""A catalog's releases on one HTML page: what each held, scored, took and cost, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from build_jobs.report.markup import Markup, element
from build_jobs.report.page import figure, head, section
from build_jobs.report.plots import Point, trend
from shared.words import counted

_NOT_MEASURED = "–"


@dataclass(frozen=True, slots=True)
class Past:
    """One release as the page shows it. `gate` is what its manifest says was measured."""

    id: str
    created_at: str
    rows: int
    bytes: int
    mark: str
    gate: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Column:
    """A figure that is told of every release: its name, where it is found, how it is written."""

    name: str
    key: str
    written: Callable[[float], str]


_SHARE = "{:.3f}".format
_COLUMNS = (
    _Column("R@1", "recall_at_1", _SHARE),
    _Column("R@10", "recall_at_10", _SHARE),
    _Column("MRR@10", "mrr", _SHARE),
    _Column("no match", "no_match_right", _SHARE),
    _Column("median ms", "p50_ms", "{:.0f}".format),
    _Column("$ a question", "usd_per_question", "{:.6f}".format),
    _Column("$ to build", "build_usd", "{:.4f}".format),
    _Column("seconds to build", "build_s", "{:,.0f}".format),
)
_PLOTS = {
    "Right answer in the first ten": ("recall_at_10", 1.0),
    "Median milliseconds a question": ("p50_ms", None),
    "Dollars a question": ("usd_per_question", None),
    "Dollars to build": ("build_usd", None),
}


def history_page(catalog: str, releases: Sequence[Past]) -> str:
    """The page; the releases come oldest first. The same releases give the same page, byte for byte."""
    said = f"{counted(len(releases), 'release')} of {catalog}, oldest first."
    body = element(
        "main",
        element("h1", f"The releases of {catalog}"),
        element("p", said, class_="lead"),
        section("From release to release", element("div", *_plots(releases), class_="plots")),
        section("What each was", _table(releases)),
    )
    title = f"Askbucket: the releases of {catalog}"
    return f"<!doctype html>\n{element('html', head(title), element('body', body), lang='en')}\n"


def _plots(releases: Sequence[Past]) -> list[Markup]:
    rows = [Point(each.id, float(each.rows)) for each in releases]
    drawn = [figure("Rows", trend(rows, title="Rows by release"))]
    for title, (key, most) in _PLOTS.items():
        points = [Point(each.id, each.gate.get(key)) for each in releases]
        if any(point.value is not None for point in points):
            drawn.append(figure(title, trend(points, title=f"{title}, by release", most=most)))
    return drawn


def _table(releases: Sequence[Past]) -> Markup:
    names = ("release", "rows", "MB", *(column.name for column in _COLUMNS), "")
    heads = element("tr", *(element("th", name, scope="col") for name in names))
    rows = [_row(each) for each in reversed(releases)]
    table = element("table", element("thead", heads), element("tbody", *rows), class_="figures")
    return element("div", table, class_="scroll")


def _row(release: Past) -> Markup:
    values = [release.gate.get(column.key) for column in _COLUMNS]
    told = [
        _NOT_MEASURED if value is None else column.written(value)
        for column, value in zip(_COLUMNS, values, strict=True)
    ]
    marks = [release.mark, "forced" if release.gate.get("forced") else ""]
    cells = [f"{release.rows:,}", f"{release.bytes / 1e6:,.1f}", *told, " ".join(filter(None, marks))]
    return element("tr", element("th", release.id, scope="row"), *(element("td", cell) for cell in cells))
