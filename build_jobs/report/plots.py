"""The few plots of a report, drawn as SVG that takes its colours from the page.

They are drawn 420 units wide, so that their 13-unit letters can still be read on a telephone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from build_jobs.report.markup import Markup, element, joined

WIDTH = 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 14, 12, 40
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
_K_TICKS = (1, 2, 5, 10, 20, 60, 120)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a histogram: what it holds, in words, and how many."""

    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a bar chart: a share, and that of the hard part where there is one."""

    name: str
    share: float
    hard: float | None


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a series and what it belongs to; None where it was not measured."""

    label: str
    value: float | None


def series_class(name: str) -> str:
    """The class that gives a row of the report its colour, the same in every plot."""
    return "s-" + "-".join(name.split())


def curves(series: Mapping[str, Sequence[float]]) -> Markup:
    """Shares at 1, 2, 3 … as lines; the steps of the first axis are by ratio, since the first places matter most."""
    height, deepest = 280, max(map(len, series.values()))
    low, step = _share_axis([share for shares in series.values() for share in shares])

    def x(k: int) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * math.log(k) / max(math.log(deepest), 1e-9)

    def y(share: float) -> float:
        return _TOP + (height - _TOP - _BOTTOM) * (1 - share) / (1 - low)

    ticks = [low + at * step for at in range(round((1 - low) / step) + 1)]
    return _svg(
        f"Recall at k, k from 1 to {deepest}",
        height,
        *(_across(y(share), f"{share:.2f}") for share in ticks),
        *(_below(x(k), height, str(k)) for k in _K_TICKS if k <= deepest),
        _axis_name(height, "k, the first places looked at"),
        *(
            _curve(name, [(x(at + 1), y(share)) for at, share in enumerate(shares)], shares)
            for name, shares in reversed(list(series.items()))
        ),
    )


def bars(rows: Sequence[Bar]) -> Markup:
    """Shares from 0 to 1 as bars, with the hard part's thinner bar under each."""
    left, row_height = 104, 44
    height, reach = _TOP + row_height * len(rows) + 4, WIDTH - left - 50

    def bar(top: float, thick: int, share: float, css: str, said: str) -> Markup:
        shape = element("rect", element("title", said), x=left, y=_n(top), height=thick, width=_n(share * reach), rx=2)
        value = element("text", f"{share:.3f}", x=_n(left + share * reach + 6), y=_n(top + thick / 2 + 4))
        return element("g", shape, value, class_=css)

    def row(at: int, each: Bar) -> Iterator[Markup]:
        top = _TOP + at * row_height
        yield element("text", each.name, x=left - 8, y=top + 14, class_="name")
        yield bar(top, 18, each.share, f"bar {series_class(each.name)}", f"{each.name}: {each.share:.3f}")
        if each.hard is not None:
            yield element("text", "hard part", x=left - 8, y=top + 31, class_="name faint")
            css = f"bar hard {series_class(each.name)}"
            yield bar(top + 21, 12, each.hard, css, f"{each.name}, hard part: {each.hard:.3f}")

    drawn = [part for at, each in enumerate(rows) for part in row(at, each)]
    return _svg("Recall at 10 by engine", height, *drawn)


def columns(
    shown: Sequence[Column], *, ticks: Mapping[int, str], title: str, axis: str, mark: float | None = None
) -> Markup:
    """A histogram. `ticks` names the left edge of some columns; `mark` is a line at so many columns from the left."""
    height, most = 190, max([column.count for column in shown], default=0)
    wide = (WIDTH - _LEFT - _RIGHT) / max(len(shown), 1)
    step = _count_step(most)
    top_value = max(math.ceil(most / step), 1) * step

    def x(at: float) -> float:
        return _LEFT + at * wide

    def y(count: int) -> float:
        return _TOP + (height - _TOP - _BOTTOM) * (1 - count / top_value)

    drawn = [
        element(
            "rect", element("title", f"{column.label}: {column.count:,}"), x=_n(x(at) + 1), y=_n(y(column.count)),
            width=_n(wide - 2), height=_n(y(0) - y(column.count)), rx=1,
        )
        for at, column in enumerate(shown)
    ]  # fmt: skip
    line = element("line", x1=_n(x(mark)), x2=_n(x(mark)), y1=_TOP, y2=_n(y(0)), class_="mark") if mark else ""
    return _svg(
        title,
        height,
        *(_across(y(count), f"{count:,}") for count in range(0, top_value + 1, step)),
        *(_below(x(at), height, name) for at, name in ticks.items()),
        _axis_name(height, axis),
        element("g", *drawn, class_="columns"),
        line,
    )


def trend(points: Sequence[Point], *, title: str, most: float | None = None) -> Markup:
    """Values one after the other as a line with a dot each; what was not measured is left out.

    The axis begins at 0 and ends at `most`, or at the round value over the largest.
    """
    height = 190
    known = [(at, point.label, point.value) for at, point in enumerate(points) if point.value is not None]
    top_value = most or _round_up(max((value for _, _, value in known), default=0.0))

    def x(at: int) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (at + 0.5) / max(len(points), 1)

    def y(value: float) -> float:
        return _TOP + (height - _TOP - _BOTTOM) * (1 - value / top_value)

    path = " ".join(f"{_n(x(at))},{_n(y(value))}" for at, _, value in known)
    dots = [
        element("circle", element("title", f"{label}: {value:,g}"), cx=_n(x(at)), cy=_n(y(value)), r=3, class_="dot")
        for at, label, value in known
    ]
    ticks = [top_value * share / 4 for share in range(5)]
    return _svg(
        title,
        height,
        *(_across(y(value), f"{value:,g}") for value in ticks),
        _axis_name(height, "oldest to newest"),
        element("polyline", points=path, class_="curve s-trend"),
        *dots,
    )


def legend(names: Sequence[str]) -> Markup:
    """Which line is which row: a swatch of each, drawn as its line is."""
    swatch = {
        name: element(
            "svg", element("line", x1=1, x2=27, y1=6, y2=6, class_=f"curve {series_class(name)}"),
            viewBox="0 0 28 12", width=28, height=12, aria_hidden="true",
        )
        for name in names
    }  # fmt: skip
    return element("ul", *(element("li", swatch[name], " ", name) for name in names), class_="legend")


def _svg(title: str, height: float, *parts: object) -> Markup:
    return element(
        "svg", element("title", title), *parts,
        viewBox=f"0 0 {WIDTH} {_n(height)}", role="img", aria_label=title, class_="plot",
    )  # fmt: skip


def _curve(name: str, points: Sequence[tuple[float, float]], shares: Sequence[float]) -> Markup:
    said = ", ".join(f"{shares[k - 1]:.3f} at {k}" for k in _K_TICKS if k <= len(shares))
    path = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
    return element(
        "polyline", element("title", f"{name}: {said}"), points=path, class_=f"curve {series_class(name)}"
    )  # fmt: skip


def _across(y: float, label: str) -> Markup:
    """A line of the grid with its value."""
    return joined(
        element("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=_n(y), y2=_n(y), class_="grid"),
        element("text", label, x=_LEFT - 6, y=_n(y + 4), class_="name"),
    )


def _below(x: float, height: float, label: str) -> Markup:
    return element("text", label, x=_n(x), y=_n(height - _BOTTOM + 16), class_="tick")


def _axis_name(height: float, name: str) -> Markup:
    middle = _LEFT + (WIDTH - _LEFT - _RIGHT) / 2
    return element("text", name, x=_n(middle), y=_n(height - 6), class_="tick faint")


def _share_axis(shares: Sequence[float]) -> tuple[float, float]:
    """Where an axis up to 1 begins, and the step of its grid: at most six lines."""
    lowest = min(shares, default=0.0)
    step = next((step for step in _STEPS if (1 - lowest) / step <= 5), _STEPS[-1])
    return max(math.floor(round(lowest / step, 6)) * step, 0.0) if lowest < 1 else 1 - step, step


def _count_step(most: int) -> int:
    """A round step that draws at most five lines over the base."""
    scale = 1
    while scale * 50 < most:
        scale *= 10
    return next(scale * factor for factor in (1, 2, 5, 10) if scale * factor * 5 >= most)


def _round_up(value: float) -> float:
    """The next round number, of which a quarter is still round; 1 for nothing."""
    if value <= 0:
        return 1.0
    scale = 10.0 ** math.floor(math.log10(value))
    return next(scale * factor for factor in (1, 2, 4, 6, 8, 10) if scale * factor >= value)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
