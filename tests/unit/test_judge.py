"""Judging and widening: which candidates a judge is shown, and what is said where nothing qualifies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import anyio
import numpy as np
import pytest
from releases import a_manifest
from test_records import leaf, source

from shared.bucket.file import FileBucket
from shared.contracts.release import Family
from shared.errors import RelevanceScoringFailed
from shared.index.records import Records, write_records
from shared.models.judging import Candidate, Judgement, Question, Verdict
from shared.models.ledger import Ledger
from shared.release.reader import Release
from shared.settings import Settings
from shared.tables.catalogs import Catalog, Mount
from shared.tables.judge import Asked, Judged, judge_pool
from shared.tables.pool import Retrieved, shape_pool
from shared.tables.tables import Tables

ROWS = 200


class Strict:
    """A judge that scores by a rule, and remembers what it was shown and asked for."""

    provider, model = "embedded", "rule"

    def __init__(self, score: Callable[[Candidate], float], skipped: int = 0, wants_groups: bool = False) -> None:
        self.score, self.skipped, self.wants_groups = score, skipped, wants_groups
        self.shown: list[list[int]] = []
        self.wanted: list[int] = []

    async def judge(self, question: Question, candidates: Sequence[Candidate], k: int, ledger: Ledger) -> Judgement:
        self.shown.append([candidate.row for candidate in candidates])
        self.wanted.append(k)
        return Judgement(tuple(Verdict(i, self.score(c)) for i, c in enumerate(candidates)), self.skipped)


def served(folder: Path, families: Sequence[str]) -> Tables:
    """Tables of leaves without vectors: what a judge is given comes from the records alone."""
    leaves = [leaf(f"l{row:03}", family=family) for row, family in enumerate(families)]
    write_records(folder / "r.db", leaves, [source()], [str(row) for row in range(len(leaves))])
    manifest = a_manifest(rows=ROWS, families=[Family(family="dc", first_row=0, rows=ROWS, sources={"dc": ROWS})])
    records = Records(folder / "r.db")
    release = Release("r1", "built-in", manifest, {"records": folder / "r.db"})
    mount = Mount("built-in", FileBucket(folder.as_uri()))
    return Tables(Settings(), (Catalog(mount, release, records, records.sources(), 0),), None)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    with closing(served(tmp_path_factory.mktemp("judge"), ["dc"] * ROWS)) as tables:
        yield tables


def run(judge: Strict, tables: Tables, best: np.ndarray) -> Judged:
    found = Retrieved.of(np.arange(ROWS), best[np.newaxis].astype(np.float32), np.zeros(ROWS, np.float32))
    pool = shape_pool(found, slices(tables), tables.settings)
    asked = Asked(Question("q", ("q",), (False,)), 10, tables, Ledger())
    return anyio.run(judge_pool, judge, asked, found, pool)


def slices(tables: Tables) -> dict[str, tuple[tuple[int, int], ...]]:
    """Each family's range of rows, as the leaves say."""
    families = [leaf.family for _, leaf in sorted(tables.catalogs[0].records.leaves(range(ROWS)).items())]
    return {name: ((families.index(name), families.index(name) + families.count(name)),) for name in set(families)}


NARROW = 0.7 - np.arange(ROWS) * 0.001
WIDE = np.concatenate([np.linspace(0.9, 0.5, 60), np.full(ROWS - 60, 0.3)])


def test_a_pool_with_an_answer_is_judged_once(tables):
    judge = Strict(lambda c: 80.0 if c.row == 3 else 10.0)
    judged = run(judge, tables, NARROW)
    assert judge.shown == [list(range(60))]
    assert [candidate.row for candidate, _ in judged.eligible] == [3]
    assert judged.notices == []


def test_a_judge_that_scores_by_retrieval_is_not_asked_for_what_lies_deeper(tables):
    judge = Strict(lambda c: 10.0)
    judged = run(judge, tables, NARROW)
    assert len(judge.shown) == 1
    assert judged.notices == []


def test_M07_where_nothing_qualifies_and_scores_lie_close_deeper_windows_are_judged(tables):
    judge = Strict(lambda c: 90.0 if c.row == 100 else 10.0, wants_groups=True)
    judged = run(judge, tables, NARROW)
    assert judge.shown == [list(range(60)), list(range(60, 120))]
    assert [candidate.row for candidate, _ in judged.eligible] == [100]


def test_M07_widening_ends_at_the_examined_cap_with_the_best_score_of_all(tables):
    judge = Strict(lambda c: float(c.row % 50), wants_groups=True)
    judged = run(judge, tables, NARROW)
    assert sum(map(len, judge.shown)) == 120
    assert (judged.eligible, judged.best) == ([], 49.0)


def test_M07_a_head_that_stands_apart_is_believed_and_the_reply_says_so(tables):
    judge = Strict(lambda c: 10.0, wants_groups=True)
    judged = run(judge, tables, WIDE)
    assert judge.shown == [list(range(60))]
    assert [(said["code"], said["examined"]) for said in judged.notices] == [("widening_stopped", 60)]


def test_verdicts_a_judge_could_not_give_are_counted(tables):
    judged = run(Strict(lambda c: 60.0, skipped=2), tables, NARROW)
    assert [(said["code"], said["verdicts"]) for said in judged.notices] == [("verdicts_skipped", 2)]


def test_a_score_qualifies_as_it_is_shown(tables):
    judged = run(Strict(lambda c: {0: 49.5, 1: 49.6, 2: 49.4}.get(c.row, 0.0)), tables, NARROW)
    assert [(c.row, round(score)) for c, score in judged.eligible] == [(0, 50), (1, 50)]


def test_a_candidate_carries_its_card_and_what_retrieval_measured(tables):
    seen: list[Candidate] = []
    run(Strict(lambda c: seen.append(c) or 60.0), tables, NARROW)
    first = seen[0]
    assert (first.row, first.family, first.embed_rank) == (0, "dc", 0)
    assert first.cosine == pytest.approx(0.7)
    assert (first.card.title, first.card.geography) == (
        "L000",
        "countries; not published for any area inside a country",
    )


# Seven families of 20 rows each, in the order in which the walk meets them; the last 60 rows are an eighth.
FAMILIES = [f"f{row // 20}" if row < 140 else "f7" for row in range(ROWS)]


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    with closing(served(tmp_path_factory.mktemp("families"), FAMILIES)) as tables:
        yield tables


def test_each_of_the_first_five_families_is_one_call_and_all_but_the_first_see_its_best_as_anchors(families):
    judge = Strict(lambda c: 60.0, wants_groups=True)
    run(judge, families, NARROW)
    shown = sorted(judge.shown, key=lambda rows: rows[-1])
    assert shown[0] == list(range(20))
    assert all(rows[:2] == [0, 1] for rows in shown[1:])
    assert [rows[2] // 20 for rows in shown[1:]] == [1, 2, 3, 4]
    assert sorted(judge.wanted) == [10, 12, 12, 12, 12]


def test_an_anchors_score_counts_only_in_its_own_family(families):
    judged = run(Strict(lambda c: 60.0, wants_groups=True), families, NARROW)
    rows = [candidate.row for candidate, _ in judged.scored]
    assert len(rows) == len(set(rows))


def test_M06_families_that_are_not_judged_are_named(families):
    judged = run(Strict(lambda c: 60.0, wants_groups=True), families, NARROW)
    [said] = judged.notices
    assert (said["code"], said["sources"]) == ("source_not_scored", ["f5", "f6", "f7"])


def test_M05_a_later_family_that_fails_is_named_and_the_others_stay(families):
    judged = run(Failing(lambda family: family == "f2"), families, NARROW)
    assert [said["source"] for said in judged.notices if said["code"] == "source_failed"] == ["f2"]
    assert {candidate.family for candidate, _ in judged.eligible} == {"f0", "f1", "f3", "f4"}


@pytest.mark.parametrize("fails", [lambda family: family == "f0", lambda family: True])
def test_M05_the_leading_familys_failure_is_the_searchs(families, fails):
    with pytest.raises(RelevanceScoringFailed):
        run(Failing(fails), families, NARROW)


def test_M05_calls_under_way_end_when_the_leading_family_fails(families):
    judge = Failing(lambda family: family == "f0", others_take_s=30)
    with pytest.raises(RelevanceScoringFailed):
        run(judge, families, NARROW)
    assert judge.cancelled == 4


class Failing(Strict):
    """A judge whose calls for some families fail; those for the others may take their time."""

    def __init__(self, fails: Callable[[str], bool], others_take_s: float = 0.0) -> None:
        super().__init__(lambda c: 60.0, wants_groups=True)
        self.fails, self.others_take_s, self.cancelled = fails, others_take_s, 0

    async def judge(self, question: Question, candidates: Sequence[Candidate], k: int, ledger: Ledger) -> Judgement:
        if self.fails(candidates[-1].family):
            raise RelevanceScoringFailed("the judge did not answer")
        try:
            await anyio.sleep(self.others_take_s)
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        return await super().judge(question, candidates, k, ledger)
