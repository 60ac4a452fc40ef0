"""Pool shaping: each rule of the walk, alone and together, against what the rule says in words."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.settings import Settings
from shared.tables.pool import Pool, Retrieved, shape_pool, spread, window

FAMILIES = {"big": ((0, 300),), "small": ((300, 310),), "split": ((310, 312), (400, 403)), "rest": ((312, 400),)}
ROWS = 403


def retrieved(best, cosines=None, keywords=None, rows=None) -> Retrieved:
    lines = np.array([best] if cosines is None else cosines, dtype=np.float32)
    numbers = np.arange(lines.shape[1]) if rows is None else rows
    words = np.zeros(lines.shape[1], np.float32) if keywords is None else np.array(keywords, dtype=np.float32)
    return Retrieved.of(numbers, lines, words)


def falling(rows: int = ROWS, start: float = 0.9, step: float = 0.001) -> np.ndarray:
    return start - step * np.arange(rows)


def test_the_head_is_at_least_the_slice_even_where_the_band_is_thinner():
    pool = shape_pool(retrieved(falling(step=0.01)), {}, Settings(prefilter_slice=60))
    assert pool.head.tolist() == list(range(60))


def test_the_head_takes_all_within_five_points_of_the_best():
    pool = shape_pool(retrieved(falling(step=0.0005)), {}, Settings(prefilter_slice=30))
    assert len(pool.head) == 101


def test_the_head_never_grows_over_the_examined_cap():
    pool = shape_pool(retrieved(falling(step=0.00001)), {}, Settings())
    assert len(pool.head) == 120


def test_each_phrasings_best_six_join_the_head_within_the_cap():
    first, second = falling(step=0.00001), np.full(ROWS, 0.1)
    second[390:396] = np.linspace(0.5, 0.4, 6)
    pool = shape_pool(retrieved(None, cosines=[first, second]), {}, Settings())
    assert set(range(390, 396)) <= set(pool.positions.tolist())
    assert len(pool.positions) == 120
    assert all("phrasing" in pool.found_by[position] for position in range(390, 396))


def test_a_phrasings_best_that_already_stands_in_the_heads_tail_is_not_cut_to_make_room():
    first, second = falling(step=0.00001), np.full(ROWS, 0.1)
    second[[117, 118, 119, 390, 391, 392]] = np.linspace(0.5, 0.45, 6)
    pool = shape_pool(retrieved(None, cosines=[first, second]), {}, Settings())
    assert {117, 118, 119, 390, 391, 392} <= set(pool.positions.tolist())
    assert len(pool.positions) == 120


def test_a_judge_that_reads_nothing_gets_as_many_candidates_as_may_be_examined():
    pool = shape_pool(retrieved(falling(step=0.01)), {}, Settings(prefilter_slice=60), reads=False)
    assert pool.head.tolist() == list(range(120))


def test_in_that_head_each_of_two_phrasings_has_a_quarter_of_its_own_however_far_the_other_is_ahead():
    first, second = falling(step=0.00001), np.full(ROWS, 0.1)
    second[200:260] = np.linspace(0.5, 0.4, 60)
    pool = shape_pool(retrieved(None, cosines=[first, second]), {}, Settings(), reads=False)
    assert set(pool.positions.tolist()) == {*range(90), *range(200, 230)}


def test_a_keyword_match_stands_in_that_head_where_both_legs_together_put_it():
    keywords = np.zeros(ROWS)
    keywords[[180, 250]] = (10.0, 5.0)
    pool = shape_pool(retrieved(falling(), keywords=keywords), {}, Settings(lexical_pool=0), reads=False)
    # The best match counts .08, which is eighty rows here; the other one half of it, which is not enough.
    assert set(pool.head.tolist()) == {*range(119), 180}
    assert 99 <= pool.head.tolist().index(180) <= 101
    assert pool.found_by[180] == ("keyword",)
    assert pool.found_by[100] == ("embedding",)


def test_rows_that_are_left_out_are_in_no_walk_and_no_pool():
    found = retrieved(falling(rows=5)).without(np.array([0, 3]))
    pool = shape_pool(found, {"all": ((0, 5),)}, Settings())
    assert found.rows[pool.walk].tolist() == found.rows[pool.positions].tolist() == [1, 2, 4]


def test_each_family_gets_its_three_best_beyond_the_cap_wherever_its_slices_lie():
    pool = shape_pool(retrieved(falling(step=0.00001)), FAMILIES, Settings())
    assert set(pool.positions.tolist()) - set(range(120)) == {300, 301, 302, 310, 311, 400, 312, 313, 314}


def test_the_best_keyword_matches_join_and_a_row_without_a_word_does_not():
    keywords = np.zeros(ROWS)
    keywords[[350, 351]] = (3.0, 2.0)
    pool = shape_pool(retrieved(falling(), keywords=keywords), {}, Settings())
    assert pool.found_by[350] == ("keyword",)
    assert {350, 351} == {position for position, reasons in pool.found_by.items() if "keyword" in reasons}


def test_widening_continues_where_the_head_ended_and_shows_nothing_twice():
    found = retrieved(falling(step=0.01))
    pool = shape_pool(found, FAMILIES, Settings(prefilter_slice=30))
    deeper = window(found, pool, 30, Settings(prefilter_slice=30))
    assert deeper.tolist() == list(range(30, 60))
    assert window(found, pool, 120, Settings(prefilter_slice=30)).tolist() == []


def test_spread_is_measured_in_points():
    assert abs(spread(retrieved([0.5, 0.7]), np.array([0, 1])) - 10.0) < 1e-4


def judged_from(found: Retrieved, pool: Pool, chosen: Settings) -> list[list[tuple]]:
    """Everything that is read of a pool once its judge is asked: the walk, the pool, and each widening window."""
    windows = [window(found, pool, start, chosen) for start in range(0, 130, 10)]
    return [
        [
            (found.rows[at], tuple(found.cosines[:, at]), found.best[at], found.keywords[at], pool.found_by.get(at))
            for at in part.tolist()
        ]
        for part in (pool.walk, pool.head, pool.positions, *windows)
    ]


scores = st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=ROWS)


# Scores on a coarse grid, so that heads are often full to the cap and phrasings' best lie in their tails.
scores |= st.lists(st.sampled_from([0.9, 0.89, 0.88, 0.2]), min_size=125, max_size=ROWS)


@given(scores, scores, st.integers(1, 130), st.integers(0, 8), st.booleans())
@settings(max_examples=120, deadline=None)
def test_any_pool_holds_what_every_rule_promises_and_nothing_twice(first, second, slice_, k, reads):
    size = min(len(first), len(second))
    found = retrieved(None, cosines=[first[:size], second[:size]], keywords=np.abs(np.array(first[:size])))
    chosen = Settings(prefilter_slice=slice_, per_phrasing=k, per_source_pool=3, lexical_pool=k)
    slices = {name: parts for name, parts in FAMILIES.items() if parts[0][0] < size}
    pool = shape_pool(found, slices, chosen, reads=reads)
    positions = pool.positions.tolist()
    assert len(positions) == len(set(positions))
    assert set(pool.found_by) == set(positions)
    for line in found.cosines:
        assert set(np.argsort(-line, kind="stable")[:k].tolist()) <= set(positions)
    for parts in FAMILIES.values():
        members = [row for start, stop in parts for row in range(start, min(stop, size))]
        if parts[0][0] < size:
            best = sorted(members, key=lambda row: (-found.best[row], row))[:3]
            assert set(best) <= set(positions)


@given(scores, scores, st.integers(1, 60), st.integers(1, 150), st.booleans())
@settings(max_examples=60, deadline=None)
def test_what_is_kept_for_the_judge_is_read_as_before_and_is_all_that_is_kept(first, second, slice_, deep, reads):
    size = min(len(first), len(second))
    keywords = np.maximum(np.array(second[:size]), 0)
    found = retrieved(None, [first[:size], second[:size]], keywords, rows=np.arange(size) * 3)
    chosen = Settings(prefilter_slice=slice_, prefilter_max=deep)
    pool = shape_pool(found, {"all": ((0, 3 * size),)}, chosen, reads=reads)
    kept, same = found.kept_for(pool, chosen)
    assert judged_from(kept, same, chosen) == judged_from(found, pool, chosen)
    assert spread(kept, same.head) == spread(found, pool.head)
    assert len(kept.rows) <= len({*pool.walk.tolist(), *pool.positions.tolist()}) + chosen.prefilter_examined_max
    assert not any(np.may_share_memory(kept.cosines, whole) for whole in (found.cosines, found.best))
