"""The report of an evaluation: what outcomes add up to, and the page that shows it."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from build_jobs.judged import JudgedQuestion, Target
from build_jobs.report.figures import (
    DEFAULT_ORDER,
    SCORE_ORDER,
    Figures,
    Found,
    JudgedSet,
    Metrics,
    Outcome,
    Rank,
    Report,
    Subject,
    Unanswerable,
    as_json,
    curve,
    latency_bins,
    report_of,
    worst_misses,
)
from build_jobs.report.markup import Markup, element, text
from build_jobs.report.page import as_html, percent, share
from build_jobs.report.plots import Bar, Column, bars, columns, curves
from build_jobs.report.text import as_text

HOSTILE = "</td></table><script>alert('\"x\"')</script><img src=x onerror=alert(1)> & \ud800 \u202e\x00"
SUBJECT = Subject(
    "in this process", {"built-in": "r1"}, {"built-in": 542}, "bge (embedded)", "ranker (embedded)",
    {"ARD_PREFILTER_SLICE": 60}, 50,
)  # fmt: skip
FIRST = Found("Gross domestic product", "NY.GDP", "worldbank", 88)
VOID = {"meta", "br"}


def question(name: str, asked: str = "", hard: bool | None = None) -> JudgedQuestion:
    return JudgedQuestion(name, asked or f"question {name}", (Target("census", name),), hard)


def outcome(asked: JudgedQuestion, rank: Rank, pool: Rank = 0, *, of: str = "one", **more: object) -> Outcome:
    ranks = {SCORE_ORDER: rank, DEFAULT_ORDER: rank, "pool": pool}
    made = Outcome(of, asked, ranks, took_ms=10.0, first=FIRST, answerable=True)
    return replace(made, **more)  # type: ignore[arg-type]


def reported(outcomes: Sequence[Outcome], nothing: Sequence[Unanswerable] = (), subject: Subject = SUBJECT) -> Report:
    names = list(dict.fromkeys(each.set for each in outcomes)) or ["one"]
    sets = [JudgedSet(name, [o.question for o in outcomes if o.set == name], 1000) for name in names]
    return report_of(sets, outcomes, nothing, subject)


def varied(seed: int = 0, size: int = 40) -> list[Outcome]:
    """Two sets with ranks, scores and times of every kind."""
    chance = random.Random(seed)
    ranks = [None, *range(10)]
    return [
        outcome(
            question(f"{name}-{at}", hard=at % 3 == 0), chance.choice(ranks), chance.choice([None, *range(130)]),
            of=name, took_ms=chance.lognormvariate(3, 1), right_score=chance.choice([None, *range(101)]),
        )
        for name in ("one", "two")
        for at in range(size)
    ]  # fmt: skip


class Page(HTMLParser):
    """A page as a browser takes it apart: cells of its tables, definitions, and every tag and address it names."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.captions: list[str] = []
        self.shown: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self._open: list[str] = []
        self.feed(source)
        assert self._open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            return
        self.shown.append(data)
        if {"td", "th"} & set(self._open):
            self.tables[-1][-1][-1] += data
        if self._open and self._open[-1] == "h2":
            self.captions.append(data)

    def row(self, table: int, name: str) -> list[str]:
        return next(row[1:] for row in self.tables[table] if row[0] == name)


def written(metrics: Metrics) -> list[str]:
    values = (metrics.recall_1, metrics.recall_10, metrics.mrr_10, metrics.recall_60, metrics.recall_120)
    return [share(value) for value in values]


def test_several_sets_are_reported_each_by_name_and_all_together():
    report = reported([outcome(question("a"), 0, of="one"), outcome(question("b"), None, of="two")])
    assert list(report.parts) == ["one", "two", "all sets together"]
    assert [part.rows[SCORE_ORDER].recall_10 for part in report.parts.values()] == [1.0, 0.0, 0.5]
    assert (report.questions, report.of) == (2, 2000)
    assert [line for line in as_text(report).splitlines() if line.endswith("a sample of 1,000")] == [
        "one: 1 question, a sample of 1,000",
        "two: 1 question, a sample of 1,000",
    ]


def test_one_set_is_reported_once_and_its_figures_are_the_reports_own():
    report = reported([outcome(question("a"), 0)])
    assert list(report.parts) == ["one"]
    told = as_json(report)
    assert {name: told[name] for name in told["sets"]["one"]} == told["sets"]["one"]


def test_the_json_keeps_the_keys_that_programs_read():
    kept = "questions rows hard unknown_answers kept unanswerable no_match answered_wrongly p50_ms p95_ms"
    told = as_json(reported(varied(), [Unanswerable("joke", True, 60), Unanswerable("sing", False, 3)]))
    assert set(kept.split()) <= set(told)
    assert set(told["rows"]["pool"]) == {"questions", "recall_1", "recall_10", "mrr_10", "recall_60", "recall_120"}
    assert (told["unanswerable"], told["no_match"], told["answered_wrongly"]) == (2, 0.5, ["joke"])


def test_a_curve_passes_through_the_recalls_of_its_row():
    report = reported(varied())
    for name, metrics in report.rows.items():
        drawn = report.curves[name]
        assert (drawn[0], drawn[9]) == (metrics.recall_1, metrics.recall_10)
        assert drawn == sorted(drawn)
    assert (report.curves["pool"][59], report.curves["pool"][119]) == (
        report.rows["pool"].recall_60,
        report.rows["pool"].recall_120,
    )
    assert len(report.curves[SCORE_ORDER]) == 10, "a reply is read to its end and no deeper"
    assert curve([], 3) == [0.0, 0.0, 0.0]


def test_misses_are_the_questions_furthest_off_first_without_those_that_no_document_answers():
    ranks = {"first": 0, "third": 2, "tenth": 9, "gone": None}
    outcomes = [outcome(question(name), rank, pool=40) for name, rank in ranks.items()]
    outcomes.append(outcome(question("nowhere"), None, None, answerable=False))
    misses = worst_misses(outcomes)
    assert [(miss.id, miss.rank, miss.pool_rank) for miss in misses] == [
        ("gone", None, 41), ("tenth", 10, 41), ("third", 3, 41),
    ]  # fmt: skip
    assert misses[0].expected == ["census:gone"]
    assert misses[0].first == FIRST
    assert reported(outcomes).unknown_answers == 1


def test_at_most_fifty_misses_are_listed_and_every_set_has_its_share():
    outcomes = [outcome(question(str(at)), None, of=name) for name in ("one", "two") for at in range(200)]
    misses = worst_misses(outcomes)
    assert len(misses) == 50
    assert {miss.set for miss in misses} == {"one", "two"}
    assert worst_misses(list(reversed(outcomes))) == misses


@pytest.mark.parametrize("took", [[3.0], [0.0, 0.0], [1.0] * 99 + [5000.0], [float(at) for at in range(200)]])
def test_every_time_is_in_the_bin_that_names_it(took):
    bins = latency_bins(took)
    assert sum(each.questions for each in bins) == len(took)
    assert [each.questions for each in bins] == [
        sum(each.from_ms <= ms and (each.to_ms is None or ms < each.to_ms) for ms in took) for each in bins
    ]
    assert len(bins) <= 42
    assert latency_bins([]) == []


def test_scores_fall_into_steps_of_five_and_a_hundred_into_the_last():
    outcomes = [outcome(question(str(score)), 0, right_score=score) for score in (0, 4, 5, 99, 100)]
    nothing = [Unanswerable("a", False, 49), Unanswerable("b", False, None)]
    scores = reported([*outcomes, outcome(question("none"), None)], nothing).scores
    assert (scores.right[0], scores.right[1], scores.right[19], scores.right_not_returned) == (2, 1, 2, 1)
    assert (sum(scores.unanswerable), scores.unanswerable[9], scores.unanswerable_unscored) == (1, 1, 1)


def test_what_was_not_measured_is_said():
    outside = replace(outcome(question("a"), 0), ranks={SCORE_ORDER: 0, DEFAULT_ORDER: 0}, answerable=None)
    said = " ".join(reported([outside]).notes)
    assert all(word in said for word in ("--bucket", "bm25Rank", "--unanswerable"))
    full = outcome(question("a", hard=True), 0)
    full.ranks["bm25"] = 0
    assert [note for note in reported([full], [Unanswerable("x", False, 1)]).notes if "ten results" not in note] == []
    assert "--baselines" in " ".join(reported([outcome(question("a"), 0)]).notes)


def test_the_numbers_on_the_page_are_those_of_the_json():
    report = reported(varied(), [Unanswerable("joke", True, 60), Unanswerable("sing", False, 3)])
    page, told = Page(as_html(report)), as_json(report)
    assert page.captions[:3] == ["all sets together", "one", "two"]
    for at, part in enumerate([told, told["sets"]["one"], told["sets"]["two"]]):
        for name, row in part["rows"].items():
            assert page.row(at, name) == written(Metrics(**row))
    shown = " ".join(page.shown)
    assert percent(told["kept"]) in shown
    assert percent(told["no_match"]) in shown
    assert f"p99 {told['p99_ms']:.0f} ms" in shown
    assert "ARD_PREFILTER_SLICE" in shown
    assert all(miss["question"] in shown for miss in told["misses"])
    assert len(page.tables[3]) == 1 + len(told["misses"])


def test_the_hard_part_stands_under_its_row():
    report = reported(varied())
    rows = Page(as_html(report)).tables[0]
    names = [row[0] for row in rows]
    under = rows[names.index("pool") + 1]
    assert under == [f"hard ({report.hard['pool'].questions})", *written(report.hard["pool"])]


def test_a_hostile_question_stays_text_wherever_it_is_shown():
    asked = question("a", HOSTILE, hard=True)
    first = Found(HOSTILE, HOSTILE, HOSTILE, 1)
    hostile = outcome(asked, 4, of=HOSTILE, first=first, expected_title=HOSTILE)
    lost = outcome(question("b", HOSTILE), None, first=None, of=HOSTILE)
    subject = Subject(HOSTILE, {HOSTILE: HOSTILE}, {HOSTILE: 1}, HOSTILE, HOSTILE, {HOSTILE: HOSTILE}, 50)
    source = as_html(reported([hostile, lost], [Unanswerable(HOSTILE, True, 60)], subject))
    source.encode("utf-8")
    page = Page(source)
    assert not page.tags & {"script", "img", "iframe", "object", "link", "a"}
    assert not {name for name in page.attributes if name.startswith("on")}
    assert "<script>alert('\"x\"')</script>" in " ".join(page.shown)


def test_the_page_needs_nothing_but_itself():
    source = as_html(reported(varied()))
    page = Page(source)
    assert not page.attributes & {"src", "href", "srcset", "action"}
    assert not re.search(r"url\(|@import|https?:", source)
    assert "default-src &#x27;none&#x27;" in source
    assert "prefers-color-scheme: dark" in source
    assert 'name="viewport"' in source


def test_the_same_outcomes_give_the_same_page():
    assert as_html(reported(varied())) == as_html(reported(varied()))


def test_a_set_without_questions_makes_a_page_that_says_so():
    report = reported([])
    assert "No judged question was asked" in as_text(report)
    assert any("No judged question was asked" in each for each in Page(as_html(report)).shown)


@pytest.mark.parametrize("shares", [[0.0], [1.0], [1.0, 1.0], [0.0, 1.0], [0.97, 0.981, 0.999], [0.005]])
def test_plots_stay_inside_their_frame(shares):
    drawn = curves({"pool": shares}) + bars([Bar("pool", shares[0], shares[-1])])
    drawn += columns([Column("a", round(each * 1000)) for each in shares], ticks={0: "0"}, title="t", axis="a", mark=1)
    numbers = [float(each) for each in re.findall(r' (?:x|y|x1|x2|y1|y2|width|height)="([^"]+)"', drawn)]
    assert all(0 <= number <= 420 for number in numbers)
    for points in re.findall(r'points="([^"]+)"', drawn):
        for point in points.split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= 420
            assert 0 <= y <= 280


def test_markup_is_escaped_unless_it_is_markup_already():
    assert text("<b> & \"'") == "&lt;b&gt; &amp; &quot;&#x27;"
    assert element("p", Markup("<b>a</b>"), "<i>", class_='x" onclick="') == (
        '<p class="x&quot; onclick=&quot;"><b>a</b>&lt;i&gt;</p>'
    )
    assert element("p", "a", title=None) == "<p>a</p>"


def test_figures_of_the_report_are_those_of_all_outcomes():
    outcomes = varied(seed=3)
    report = reported(outcomes)
    alone = reported([replace(each, set="one") for each in outcomes])
    assert all(getattr(report, name) == getattr(alone, name) for name in Figures.__slots__ if name != "of")
