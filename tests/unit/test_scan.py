"""The scan against a slow, plain oracle, and the refusals of what is no matrix of unit vectors."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from shared.errors import ReleaseIncompatible
from shared.index.scan import Scanner, Vectors, _Scan, not_cosines, top, write_vectors

ROWS = np.arange(3)


def unit(rows: int, dimension: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((rows, dimension), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def oracle(vectors: Vectors, queries: np.ndarray) -> np.ndarray:
    return queries.astype(np.float16).astype(np.float32) @ np.asarray(vectors.array).astype(np.float32).T


@pytest.fixture
def scanner():
    scanner = Scanner(2)
    yield scanner
    scanner.close()


def saved(tmp_path: Path, vectors: np.ndarray) -> Vectors:
    write_vectors(tmp_path / "vectors.npy", vectors)
    return Vectors(tmp_path / "vectors.npy")


@pytest.mark.parametrize("dimension", [3, 384, 1536])
@pytest.mark.parametrize("queries", [1, 8])
def test_the_scan_agrees_with_a_plain_product(tmp_path, scanner, dimension, queries):
    vectors, asked = saved(tmp_path, unit(9_001, dimension)), unit(queries, dimension, seed=1)
    np.testing.assert_allclose(scanner.scan(vectors, asked), oracle(vectors, asked), atol=2e-6)


@given(st.sets(st.integers(0, 999), min_size=0, max_size=400))
@settings(max_examples=60, deadline=None)
def test_a_scan_of_some_rows_equals_those_columns_of_a_whole_scan(tmp_path_factory, chosen):
    scanner = Scanner(2)
    vectors = saved(tmp_path_factory.mktemp("scan"), unit(1_000, 16))
    asked, rows = unit(3, 16, seed=2), np.array(sorted(chosen), dtype=np.int64)
    whole = scanner.scan(vectors, asked)
    np.testing.assert_allclose(scanner.scan(vectors, asked, rows), whole[:, rows], atol=1e-6)
    scanner.close()


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0]), max_size=60), st.integers(0, 70))
def test_top_is_the_sorted_order_with_ties_by_row(values, k):
    scores = np.array(values, dtype=np.float32)
    expected = sorted(range(len(values)), key=lambda i: (-values[i], i))[:k]
    assert top(scores, k).tolist() == expected


# Few values and many of them equal, in lines of up to a dozen blocks: ties lie inside of blocks and across them.
lines = npst.arrays(np.float32, st.integers(0, 3_000), elements=st.sampled_from([-1.0, -0.0, 0.0, 0.25, 0.5, 1.0]))
lines |= npst.arrays(np.float32, st.integers(0, 3_000), elements=st.floats(-1, 1, width=32))


@given(lines, st.sampled_from([0, 1, 2, 6, 11, 150, 2_999, 4_000]))
@settings(max_examples=150, deadline=None)
def test_top_of_a_long_line_equals_the_slow_order(scores, k):
    assert top(scores, k).tolist() == np.lexsort((np.arange(len(scores)), -scores))[:k].tolist()


@pytest.mark.parametrize("scores", [np.zeros(5_000), np.arange(5_000), -np.arange(5_000), np.arange(5_000) % 7])
def test_top_of_crowded_blocks_and_of_equal_scores_is_in_row_order(scores):
    expected = np.lexsort((np.arange(5_000), -scores))
    for k in (1, 6, 150, 5_000, 6_000):
        assert top(scores.astype(np.float32), k).tolist() == expected[:k].tolist()


def test_scans_asked_for_together_each_get_their_own_lines_the_same_bits_as_alone(tmp_path, scanner):
    one, other = saved(tmp_path, unit(9_001, 64)), unit(700, 64, seed=9)
    (tmp_path / "other").mkdir()
    other = saved(tmp_path / "other", other)
    asked = [(one, unit(count, 64, seed=count), None) for count in (1, 8, 3, 8, 8, 31, 40, 2)]
    asked += [(other, unit(8, 64, seed=5), None), (one, unit(2, 64, seed=6), np.arange(100, 900))]
    alone = [scanner.scan(*each) for each in asked]
    gate = threading.Barrier(len(asked))

    def ask(each):
        gate.wait()
        return [scanner.scan(*each) for _ in range(5)]

    with ThreadPoolExecutor(len(asked)) as callers:
        for expected, together in zip(alone, callers.map(ask, asked), strict=True):
            assert all(np.array_equal(expected, scores) for scores in together)
    assert scanner._waiting == []


def test_who_has_the_turn_does_the_oldest_and_what_fits_beside_it_and_leaves_the_others(tmp_path, scanner):
    vectors = saved(tmp_path, unit(50, 8))
    some, many, filtered = (_Scan(vectors, unit(count, 8), rows) for count, rows in ((8, None), (25, None), (1, ROWS)))
    more, last = _Scan(vectors, unit(20, 8), None), _Scan(vectors, unit(4, 8), None)
    scanner._waiting += [some, many, filtered, more, last]
    batches = []
    while any(each.scores is None for each in scanner._waiting):
        batches.append(scanner._next())
        scanner._answer(batches[-1])
    assert batches == [[some, more, last], [many], [filtered]]


@pytest.mark.parametrize("dimension", [7, 9])
def test_queries_of_another_dimension_are_refused_and_the_next_ones_answered(tmp_path, scanner, dimension):
    vectors = saved(tmp_path, unit(50, 8))
    with pytest.raises(ValueError, match="expected queries of 8 dimensions"):
        scanner.scan(vectors, unit(1, dimension))
    assert scanner.scan(vectors, unit(1, 8)).shape == (1, 50)
    assert scanner._waiting == []


@pytest.mark.parametrize("poison", [np.nan, np.inf, 60.0])
def test_R05_scores_that_are_no_cosines_are_told_apart_from_those_that_are(tmp_path, scanner, poison):
    rows = unit(50, 8)
    rows[7] = poison
    vectors = saved(tmp_path, rows)
    assert not_cosines(scanner.scan(vectors, unit(2, 8, seed=3))).tolist() == [7]


@pytest.mark.parametrize("poison", [np.nan, np.inf, 0.0, 60.0])
def test_R05_a_row_that_is_no_unit_vector_is_told_by_its_length(tmp_path, poison):
    rows = unit(50, 8)
    rows[7] = poison
    assert saved(tmp_path, rows).unusable(np.arange(50)).nonzero()[0].tolist() == [7]


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3, 0.9])
def test_a_scattered_selection_of_any_size_is_scanned_right(tmp_path, scanner, share):
    vectors, asked = saved(tmp_path, unit(20_000, 16)), unit(3, 16, seed=2)
    rows = np.flatnonzero(np.random.default_rng(4).random(20_000) < share)
    np.testing.assert_allclose(scanner.scan(vectors, asked, rows), oracle(vectors, asked)[:, rows], atol=2e-6)


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.zeros((3, 4), np.float32), "<f4"),
        (np.zeros(4, np.float16), "1-dimensional"),
        (np.asfortranarray(np.zeros((3, 4), np.float16)), "Fortran"),
    ],
)
def test_an_array_of_another_kind_is_refused_with_what_was_found(tmp_path, array, found):
    np.save(tmp_path / "vectors.npy", array)
    with pytest.raises(ReleaseIncompatible, match=r"vectors: expected .*" + found):
        Vectors(tmp_path / "vectors.npy")


def test_a_file_that_is_gone_is_refused_without_its_path(tmp_path):
    with pytest.raises(ReleaseIncompatible) as refused:
        Vectors(tmp_path / "vectors.npy")
    assert refused.value.message == "vectors: expected a plain <f2 .npy array, found none: No such file or directory"


def test_R06_an_object_array_is_refused_and_its_pickle_never_read(tmp_path):
    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    np.save(tmp_path / "vectors.npy", np.array([[Trap()]], dtype=object), allow_pickle=True)
    with pytest.raises(ReleaseIncompatible, match=r"^vectors: expected"):
        Vectors(tmp_path / "vectors.npy")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"PK\x03\x04 an archive", b"no array at all"])
def test_R06_bytes_that_are_no_array_are_refused_by_name(tmp_path, content):
    (tmp_path / "vectors.npy").write_bytes(content)
    with pytest.raises(ReleaseIncompatible, match=r"^vectors: expected"):
        Vectors(tmp_path / "vectors.npy")
