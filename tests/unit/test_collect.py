"""Reading leaf roots: the awkward leaves of real catalogs, each indexed, left out or refused as promised."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from build_jobs.collect import URN, Collected, collect
from build_jobs.frontmatter import read_document
from shared.contracts.leaf import Leaf
from shared.errors import BuildError

LEAVES = Path(__file__).parent.parent / "fixtures" / "leaves"
AWKWARD = LEAVES / "awkward"
PLAIN = b"---\ntitle: Rain\nvariable: Rain_Fall\nrepresentativeQueries: [how much rain]\n---\n\n# Schema\n"
ACCESS = b"---\npublisher: rain.example.org\nentityType: a town\n---\n"


@pytest.fixture(scope="module")
def awkward() -> Collected:
    return collect([AWKWARD])


def leaf(collected: Collected, path: str) -> Leaf:
    return next(one for one in collected.leaves if one.path == path)


def root(tmp_path: Path, **files: bytes) -> Path:
    """A leaf root with one source, `rain`, and these files in it (`name` → `name.md`)."""
    directory = tmp_path / "sources" / "rain"
    directory.mkdir(parents=True)
    (directory / "_access.md").write_bytes(ACCESS)
    for name, data in files.items():
        (directory / f"{name}.md").write_bytes(data)
    return tmp_path


def test_a_leaf_without_a_description_is_indexed(awkward: Collected) -> None:
    found = leaf(awkward, "sources/disasters/declarations.md")
    assert found.description == ""
    assert found.text.endswith("Describes a US state")


def test_placeholders_in_a_question_stay_as_written(awkward: Collected) -> None:
    assert (
        leaf(awkward, "sources/disasters/declarations.md").queries[0] == "What disasters have been declared in {state}?"
    )


def test_questions_written_as_one_text_are_a_list_of_one(awkward: Collected) -> None:
    assert leaf(awkward, "sources/colleges/student-size.md").queries == ("How many students does {school} have?",)
    assert awkward.report.queries_as_text == 1


def test_questions_that_are_numbers_become_text_and_others_are_dropped_and_counted(awkward: Collected) -> None:
    assert leaf(awkward, "sources/mixed/non-string-queries.md").queries == ("2024", "households of 5 people")
    assert awkward.report.queries_dropped == 4


def test_a_title_of_more_than_200_characters_is_kept_whole(awkward: Collected) -> None:
    found = leaf(awkward, "sources/census/b25070-010e.md")
    assert len(found.title) > 200
    assert found.title.endswith("— US Census")


def test_three_hyphens_inside_a_value_or_the_body_split_nothing(awkward: Collected) -> None:
    found = leaf(awkward, "sources/census/b25070-010e.md")
    assert "--- the heaviest burden" in found.description
    assert found.front_matter["representativeQueries"] == ["How many renters spend half of their income on rent?"]
    assert found.body.startswith("# Schema")
    assert "A rule above this line belongs to the body." in found.body


def test_a_date_in_yaml_becomes_iso_text(awkward: Collected) -> None:
    assert leaf(awkward, "sources/census/b25070-010e.md").front_matter["released"] == "2024-12-12"
    dates = leaf(awkward, "sources/datacommons/median-rent-survey.md").front_matter["coverage"]["dates"]
    assert dates == {"first": "2011-01-01", "last": "2024-12-31"}


def test_a_date_that_is_none_and_keys_that_are_no_text_do_no_harm() -> None:
    read = read_document(
        b"---\nwhen: 2024-13-45\n2024: a year\n2024-01-01: a day\nbig: .inf\nraw: !!binary aGk=\n---\n"
    )
    assert read.front_matter == {
        "when": "2024-13-45",
        "2024": "a year",
        "2024-01-01": "a day",
        "big": None,
        "raw": "aGk=",
    }


def test_missing_tags_are_an_empty_list(awkward: Collected) -> None:
    assert leaf(awkward, "sources/disasters/declarations.md").tags == ()


def test_a_leafs_own_publisher_stays_a_term_and_the_access_documents_names_the_urn(awkward: Collected) -> None:
    found = leaf(awkward, "corpora/gcp-bigquery/okf/marketplace/weather-feed.md")
    assert found.front_matter["publisher"] == "Example Weather Ltd"
    assert found.urn == "urn:air:console.cloud.google.com:okf:gcp-marketplace-free.weather-feed"


def test_the_second_root_holds_the_two_corpora_of_the_bigquery_family(awkward: Collected) -> None:
    found = {one.source for one in awkward.leaves if one.family == "bigquery"}
    assert found == {"gcp-bigquery-public", "gcp-marketplace-free"}
    assert leaf(awkward, "corpora/gcp-bigquery/okf/public/usa-names.md").urn.endswith(":gcp-bigquery-public.usa-names")


def test_two_facets_of_one_variable_with_one_title_are_two_leaves(awkward: Collected) -> None:
    both = [one for one in awkward.leaves if one.code == "Median_GrossRent_HousingUnit"]
    assert len({one.urn for one in both}) == 2
    assert len({one.title for one in both}) == 1


def test_words_of_sex_and_gender_stay_as_the_leaf_says_them(awkward: Collected) -> None:
    found = leaf(awkward, "sources/datacommons/count-person-female.md")
    assert found.front_matter["constraints"] == {"gender": "Female"}
    assert "number of people by sex: female" in found.queries


def test_a_source_without_an_access_document_is_indexed_under_a_domain_nobody_can_own(awkward: Collected) -> None:
    found = leaf(awkward, "sources/orphans/lonely-measure.md")
    assert found.publisher == "orphans.invalid"
    assert found.scope == ""
    assert awkward.report.without_access == ["orphans"]
    assert awkward.report.without_publisher == ["orphans"]


def test_a_publisher_is_the_first_domain_of_its_prose_else_of_the_trust_identity(awkward: Collected) -> None:
    publishers = {source.directory: source.publisher for source in awkward.sources}
    assert publishers["census"] == "census.gov"
    assert publishers["disasters"] == "www.fema.gov"


def test_a_trust_identity_of_another_domain_is_reported(awkward: Collected) -> None:
    assert awkward.report.trust_differs == ["mixed"]


def test_a_missing_title_is_the_first_heading_that_names_anything(awkward: Collected) -> None:
    assert leaf(awkward, "sources/mixed/no-title.md").title == "Length of the cycle paths"


def test_a_leaf_without_questions_is_left_out_and_named(awkward: Collected) -> None:
    assert awkward.report.without_queries == ["sources/mixed/no-questions.md"]


def test_access_index_and_log_documents_are_never_leaves(awkward: Collected) -> None:
    assert not [one.path for one in awkward.leaves if Path(one.path).name in ("_access.md", "index.md", "log.md")]


def test_R13_a_broken_leaf_is_indexed_by_stem_and_heading_and_named_in_the_report(awkward: Collected) -> None:
    found = leaf(awkward, "sources/mixed/broken-yaml.md")
    assert (found.title, found.queries) == ("Noise at night", ("broken yaml",))
    assert found.unreadable is not None
    assert "broken YAML" in found.unreadable
    assert set(awkward.report.unreadable) == {
        f"sources/mixed/{name}.md" for name in ("broken-yaml", "empty", "never-closed")
    }


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf \n", "empty"),
        (b"---\ntitle: caf\xe9\n---\n# Coffee prices\n", "not UTF-8"),
        (b"---\ntitle: x\n---\n# Coffee prices\n" + b"x" * 5_000_000, "more than 1,000,000 bytes"),
        (b"---\n- a list\n---\n# Coffee prices\n", "not a mapping"),
        (b"---\na: &a [x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n" + b"".join(
            b"%c: &%c [%s]\n" % (c, c, b", ".join([b"*%c" % (c - 1)] * 10)) for c in b"cdefgh"
        ) + b"---\n# Coffee prices\n", "expands"),
        (b"---\na: &a [*a]\n---\n# Coffee prices\n", "expands"),
        (b"---\na: !!python/object/apply:os.system [1]\n---\n# Coffee prices\n", "determine a constructor"),
    ],
    ids=["empty", "blank", "latin-1", "5 MB", "list", "bomb", "endless", "object"],
)  # fmt: skip
def test_R13_front_matter_that_cannot_be_used_is_said_and_the_heading_kept(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    collected = collect([root(tmp_path, plain=PLAIN, coffee=data)])
    found = leaf(collected, "sources/rain/coffee.md")
    assert found.title in ("Coffee prices", "coffee")
    assert reason in collected.report.unreadable["sources/rain/coffee.md"]
    assert len(collected.leaves) == 2


@pytest.mark.parametrize("convert", [lambda data: data.replace(b"\n", b"\r\n"), lambda data: b"\xef\xbb\xbf" + data])
def test_windows_line_ends_and_a_byte_order_mark_read_like_any_other(tmp_path: Path, convert: object) -> None:
    assert callable(convert)
    (found,) = collect([root(tmp_path, plain=convert(PLAIN))]).leaves
    assert (found.title, found.code, found.body) == ("Rain", "Rain_Fall", "# Schema\n")
    assert found.unreadable is None


def test_stems_that_differ_only_by_case_are_two_leaves(tmp_path: Path) -> None:
    leaves = collect([root(tmp_path, rain=PLAIN, RAIN=PLAIN)]).leaves
    if len(list((tmp_path / "sources" / "rain").glob("*.md"))) < 3:
        pytest.skip("this file system does not tell case apart")
    assert [one.urn.rpartition(".")[2] for one in leaves] == ["RAIN", "rain"]


def test_a_stem_with_characters_no_urn_has_still_gives_one(tmp_path: Path) -> None:
    (found,) = collect([root(tmp_path, **{"Zürich (Stadt)": PLAIN})]).leaves
    assert found.urn == "urn:air:rain.example.org:okf:rain.Z-rich-Stadt"
    assert URN.match(found.urn)


def test_two_files_of_one_urn_are_refused_with_both_named(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"a!b.md.*a\?b.md|a\?b.md.*a!b.md"):
        collect([root(tmp_path, **{"a!b": PLAIN, "a?b": PLAIN})])


def test_one_source_directory_in_two_roots_is_refused(tmp_path: Path) -> None:
    shutil.copytree(AWKWARD, tmp_path / "copy")
    with pytest.raises(BuildError, match=r"source directory \S+ lies in"):
        collect([AWKWARD, tmp_path / "copy"])


def test_a_twin_stem_in_a_source_of_its_own_gets_a_urn_of_its_own() -> None:
    """A catalog that adds to a family brings its own source directory, so that one stem may live twice."""
    collected = collect([AWKWARD, LEAVES / "open-data"])
    twins = [one.urn for one in collected.leaves if one.urn.endswith("b25070-010e")]
    assert twins == ["urn:air:census.gov:okf:census.b25070-010e", "urn:air:census.gov:okf:census-tables.b25070-010e"]


def test_rows_are_sorted_by_family_then_urn(awkward: Collected) -> None:
    keys = [(one.family, one.urn) for one in awkward.leaves]
    assert keys == sorted(keys)


def test_a_root_without_sources_and_a_catalog_without_publishers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="expected the parent of `sources/`"):
        collect([tmp_path])
    lonely = tmp_path / "lonely"
    shutil.copytree(AWKWARD / "sources" / "orphans", lonely / "sources" / "orphans")
    with pytest.raises(BuildError, match=r"publisher: <domain>` in orphans/_access.md \(not there\)$"):
        collect([lonely])


def test_without_a_publisher_the_access_documents_that_were_looked_at_are_named(tmp_path: Path) -> None:
    for number in range(7):
        source = tmp_path / "sources" / f"rain{number}"
        source.mkdir(parents=True)
        (source / "_access.md").write_bytes(b"---\ntitle: Rain\n---\n")
        (source / "wet.md").write_bytes(b"---\ntitle: Rain\nrepresentativeQueries: [how wet]\n---\n")
    with pytest.raises(BuildError, match=r"in sources/rain0/_access\.md, .*sources/rain4/_access\.md and 2 more$"):
        collect([tmp_path])


def test_leaves_without_a_single_question_are_no_catalog(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="no leaf with representativeQueries"):
        collect([root(tmp_path, quiet=b"---\ntitle: Quiet\n---\n", readme=b"# No front matter\n")])
