"""The leaf file: stems that any file system takes, front matter that comes back as it went in, the same bytes."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_jobs.frontmatter import read_document
from build_jobs.leaves.leaf import STEM_LENGTH, Draft, document, slug, split_camel, stems
from build_jobs.text import clean


def draft(code: str, wanted: str | None = None) -> Draft:
    return Draft(code, slug(code) if wanted is None else wanted, {}, "")


@pytest.mark.parametrize(
    ("code", "stem"),
    [
        ("DP03_0062E", "dp03-0062e"),
        ("sdg/SH_DYN_MORT.AGE--Y0T4", "sdg-sh-dyn-mort-age-y0t4"),
        ("antigua---barbuda", "antigua-barbuda"),
        ("Perú_Población", "peru-poblacion"),
    ],
)
def test_a_stem_is_the_slug_of_the_published_code(code: str, stem: str) -> None:
    assert stems([draft(code)]) == [stem]


def test_camel_case_splits_where_a_reader_would() -> None:
    assert split_camel("ProfitLoss") == "Profit Loss"
    assert slug(split_camel("IPOCostsNet")) == "ipo-costs-net"


def test_codes_that_differ_only_by_case_or_punctuation_get_different_stems_in_any_order() -> None:
    drafts = [draft(code) for code in ("Count_A", "count_a", "Count/A", "Count_B")]
    first = dict(zip((d.code for d in drafts), stems(drafts), strict=True))
    assert len(set(first.values())) == 4
    assert first["Count_B"] == "count-b"
    random.Random(3).shuffle(drafts)
    assert dict(zip((d.code for d in drafts), stems(drafts), strict=True)) == first


@pytest.mark.parametrize("code", ["CON", "nul", "Aux", "COM1", "index", "log", "人口", "_", "x" * 400, "a-" * 300])
def test_a_reserved_empty_or_endless_name_still_gives_a_safe_stem(code: str) -> None:
    (stem,) = stems([draft(code)])
    assert re.fullmatch(r"[a-z0-9]+(-+[a-z0-9]+)*", stem)
    assert len(stem) <= STEM_LENGTH
    assert stem not in {"con", "nul", "aux", "com1", "index", "log"}


def test_long_codes_that_agree_at_the_start_do_not_collide() -> None:
    assert len(set(stems([draft("x" * 300 + end) for end in "abc"]))) == 3


words = st.text(max_size=60).map(clean).filter(bool)
values = st.one_of(
    words,
    st.integers(-10, 10_000),
    st.booleans(),
    st.lists(words, min_size=1, max_size=4),
    st.dictionaries(words, words, min_size=1, max_size=3),
)


@given(st.dictionaries(words, values, min_size=1, max_size=6), words)
def test_what_is_written_reads_back_the_same(matter: dict[str, Any], body: str) -> None:
    read = read_document(document(matter, body))
    assert read.unreadable is None
    assert read.front_matter == matter
    assert read.body.strip() == body.strip()


@given(st.dictionaries(words, values, min_size=1, max_size=6))
def test_a_leaf_has_the_same_bytes_whether_or_not_yaml_was_built_with_libyaml(matter: dict[str, Any]) -> None:
    with_libyaml = document(matter, "body")
    with pytest.MonkeyPatch.context() as patched:
        patched.delattr("yaml.CSafeDumper", raising=False)
        assert document(matter, "body") == with_libyaml


def test_values_that_look_like_other_things_stay_text() -> None:
    matter = {
        "a": "no",
        "b": "2024",
        "c": "--- x",
        "d": "2024-01-31",
        "e": "12:30",
        "f": "null",
        "g": "a: b # c",
        "h": "---",
    }
    assert read_document(document(matter, "body")).front_matter == matter


def test_empty_values_are_left_out_but_an_empty_mapping_and_zero_stay() -> None:
    matter = {"a": "", "b": None, "c": [], "d": {}, "e": 0, "f": False}
    assert read_document(document(matter, "body")).front_matter == {"d": {}, "e": 0, "f": False}
