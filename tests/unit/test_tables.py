"""Tables over two catalogs: what may be combined, what a filter leaves, what lookups and replies hold."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import numpy as np
import pytest
import yaml
from building import build_tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from shared.contracts.leaf import LEAF_TYPE
from shared.contracts.tables import OKF_NAMESPACES
from shared.errors import CatalogConflict, RequestError, SettingsError, UnknownName
from shared.index.scan import Float32, Rows, Vectors
from shared.models.choice import Models
from shared.models.judging import Candidate, Judgement, Question
from shared.models.ledger import Ledger
from shared.settings import Settings
from shared.tables.catalogs import mounts
from shared.tables.exact import variable, variables
from shared.tables.legs import Legs
from shared.tables.registry.browse import entry_of
from shared.tables.request import parse_search
from shared.tables.scope import scope_of
from shared.tables.search import phrase, retrieve, search
from shared.tables.tables import Tables, open_tables

Ask = Callable[..., dict[str, Any]]

GITHUB, PUBLISHED = OKF_NAMESPACES
ACCESS = {"type": "Data Source", "title": "X (access)", "publisher": "example.org", "entityType": "a place"}


def write(folder: Path, name: str, matter: dict[str, Any] | str, body: str = "# Schema\n") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    head = matter if isinstance(matter, str) else yaml.safe_dump(matter)
    (folder / name).write_text(f"---\n{head}\n---\n\n{body}", encoding="utf-8")


def leaf(title: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "T",
        "title": title,
        "source": "./_access.md",
        "representativeQueries": [f"what is the {title}?"],
        **more,
    }


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A built-in catalog of two sources, and one mounted beside it that extends the first of them."""
    root = tmp_path_factory.mktemp("two")
    quantity = {"populationType": "Person", "measuredProperty": "count", "statType": "measuredValue"}
    dc, money = root / "a/sources/datacommons", root / "a/sources/money"
    write(dc, "_access.md", {**ACCESS, "publisher": "datacommons.org"})
    write(dc, "people.md", leaf("number of people", variable="Count_Person", tags=["country"], **quantity))
    write(dc, "women.md", leaf("number of women", variable="Count_Woman", constraints={"gender": "F"}, **quantity))
    write(money, "_access.md", ACCESS)
    write(money, "income.md", leaf("household income", tags=["state", "country"]))
    write(money, "broken.md", "title: [never closed", "# Government debt\n\nHow much the government owes.\n")
    india = root / "b/sources/datacommons"
    write(india, "_access.md", {**ACCESS, "publisher": "datacommons.org"})
    write(
        india,
        "people-india.md",
        leaf("number of people in India", variable="Count_Person", coverage={"places": 700}, **quantity),
    )
    url = build_tiny(root / "bucket", root / "a")
    build(url, root / "b", "open-data", "--extends", "datacommons")
    return Settings(bucket_url=url, ard_catalogs="open-data", cache_dir=str(root / "cache"))


def build(url: str, leaves: Path, catalog: str, *flags: str) -> None:
    from cli.main import main

    assert main(["build", "tables", "--leaves", str(leaves), "--bucket", url, "--catalog", catalog, *flags]) == 0


@pytest.fixture(scope="module")
def tables(two: Settings) -> Iterator[Tables]:
    with closing(Models(two)) as models, closing(open_tables(two, models)) as opened:
        yield opened


@pytest.fixture
def ask(tables: Tables) -> Ask:
    def answer(text: str, **body: Any) -> dict[str, Any]:
        query = {"text": text, **body.pop("query", {})}
        return anyio.run(search, parse_search({"query": query, **body}), tables, Ledger())

    return answer


def found(reply: dict[str, Any]) -> list[str]:
    return [result["okf:sourceDocument"] for result in reply["results"]]


def codes(reply: dict[str, Any]) -> set[str]:
    return {notice["code"] for notice in reply["notices"]}


def test_every_catalog_is_searched_and_a_mounted_ones_documents_carry_its_name(ask):
    reply = ask("number of people in India", rerank=False)
    assert found(reply)[0] == "open-data:sources/datacommons/people-india.md"
    assert reply["results"][0]["okf:accessDescriptor"] == "open-data:sources/datacommons/_access.md"
    assert "sources/datacommons/people.md" in found(reply)


def test_catalogs_can_be_chosen_and_an_unknown_one_is_refused_with_the_valid_names(ask):
    assert set(found(ask("people", rerank=False, catalogs=["open-data"]))) == {
        "open-data:sources/datacommons/people-india.md"
    }
    with pytest.raises(UnknownName) as caught:
        ask("people", catalogs=["opendata"])
    assert caught.value.valid == ["built-in", "open-data"]


def test_a_family_reaches_over_the_catalogs_that_extend_it(ask):
    assert len(found(ask("people", rerank=False, sources=["datacommons"]))) == 3


@pytest.mark.parametrize(
    ("body", "documents"),
    [
        ({"sources": ["money"]}, {"money/income", "money/broken"}),
        ({"excludeSources": ["datacommons"]}, {"money/income", "money/broken"}),
        ({"sources": ["money"], "excludeSources": ["money"]}, set()),
        ({"query": {"filter": {"publisher": "example.org"}}}, {"money/income", "money/broken"}),
        ({"query": {"filter": {"publisher": ["money", "datacommons.org"], "tags": "country"}}},
         {"datacommons/people", "money/income"}),
        ({"query": {"filter": {"tags": ["state", "nowhere"]}}}, {"money/income"}),
        ({"query": {"filter": {"type": "application/mcp-server-card+json"}}}, set()),
        ({"query": {"filter": {"publisher": "example.org"}}, "sources": ["datacommons"]}, set()),
        ({"query": {"filter": {"okf:sourceDirectory": "money"}}}, {"money/income", "money/broken"}),
        ({"query": {"filter": {f"{GITHUB}sourceDirectory": ["money"]}}}, {"money/income", "money/broken"}),
        ({"query": {"filter": {f"{PUBLISHED}sourceDirectory": "money", "tags": "state"}}}, {"money/income"}),
        ({"query": {"@context": ["x", {"k": PUBLISHED}], "filter": {"k:sourceDirectory": "money"}}},
         {"money/income", "money/broken"}),
        ({"query": {"filter": {"okf:sourceDirectory": "money"}}, "sources": ["datacommons"]}, set()),
    ],
)  # fmt: skip
def test_values_of_a_filter_are_alternatives_and_filters_are_all_required(ask, body, documents):
    reply = ask("anything at all", rerank=False, **body)
    assert set(found(reply)) == {f"sources/{document}.md" for document in documents}


def test_Q10_filters_that_leave_nothing_ask_no_model(ask):
    reply = ask("people", query={"filter": {"tags": ["nowhere"], "colour": "red"}})
    assert reply["eligibility"] == {"status": "no_match", "threshold": 50, "topScore": None}
    assert reply["filter"] == {"ignored": ["colour"]}
    assert reply["usage"]["llm_calls"] == 0


def test_Q09_an_unknown_source_or_publisher_is_refused_with_the_valid_names(ask):
    with pytest.raises(UnknownName) as caught:
        ask("people", sources=["datacomons"])
    assert caught.value.valid == ["datacommons", "money"]
    with pytest.raises(UnknownName) as caught:
        ask("people", query={"filter": {"publisher": "nobody.org"}})
    assert caught.value.valid == ["datacommons.org", "example.org"]


@pytest.mark.parametrize("key", ["sourceDirectory", "k:sourceDirectory", "okf:unit", f"{PUBLISHED}unit"])
def test_a_key_that_only_looks_like_one_that_is_read_restricts_nothing_and_is_told(ask, key):
    reply = ask("people", rerank=False, query={"filter": {key: "nowhere", "okf:sourceDirectory": "money"}})
    assert reply["filter"] == {"ignored": [key]}
    assert set(found(reply)) == {"sources/money/income.md", "sources/money/broken.md"}


def test_an_unknown_source_directory_is_refused_with_the_valid_names(ask):
    with pytest.raises(UnknownName) as caught:
        ask("people", query={"filter": {"okf:sourceDirectory": "nowhere"}})
    assert caught.value.valid == ["datacommons", "money"]


def test_a_whole_scope_needs_no_row_numbers(tables):
    request = parse_search({"query": {"text": "x"}, "sources": None, "catalogs": ["built-in", "open-data"]})
    assert scope_of(request, tables).rows is None


def some(*names: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), max_size=3)


DIRECTORIES = ("datacommons", "money")


@given(
    some("built-in", "open-data"), some(*DIRECTORIES), some(*DIRECTORIES),
    some("example.org", "datacommons.org", "money"), some("country", "state", "nowhere"),
    some(LEAF_TYPE, "another/type"),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_a_filter_met_again_leaves_what_each_document_says_of_itself(
    tables, catalogs, sources, excluded, publishers, tags, types
):
    filters = {"publisher": publishers, "tags": tags, "type": types}
    body = {"query": {"text": "x", "filter": filters}, "sources": sources, "excludeSources": excluded}
    fits = [
        row for row, hit in sorted(tables.hits(range(tables.rows)).items())
        if (not catalogs or hit.catalog.name in catalogs)
        and (not sources or hit.leaf.source in sources)
        and hit.leaf.source not in excluded
        and (not publishers or {hit.leaf.publisher, hit.leaf.source} & set(publishers))
        and (not tags or set(hit.leaf.tags) & set(tags))
        and (not types or LEAF_TYPE in types)
    ]  # fmt: skip
    again = {**body, "sources": [*reversed(sources), *sources[:1]], "catalogs": catalogs[::-1]}
    first, second = (scope_of(parse_search(each), tables).rows for each in ({**body, "catalogs": catalogs}, again))
    assert (list(range(tables.rows)) if first is None else first.tolist()) == fits
    assert first is second


def test_rows_that_requests_share_cannot_be_written(tables):
    rows = scope_of(parse_search({"query": {"text": "x"}, "sources": ["money"]}), tables).rows
    with pytest.raises(ValueError, match="read-only"):
        rows[0] = 3


def test_a_filter_that_is_wrong_is_refused_every_time(tables):
    request = parse_search({"query": {"text": "x"}, "sources": ["nobody"]})
    for _ in range(2):
        with pytest.raises(UnknownName):
            scope_of(request, tables)


def test_unjudged_results_say_so_and_keep_embedding_order(ask):
    reply = ask("number of women", rerank=False, pageSize=3)
    scores = [result["embedScore"] for result in reply["results"]]
    assert scores == sorted(scores, reverse=True)
    assert codes(reply) == {"embedding_order"}
    assert all("rerankScore" not in result and isinstance(result["score"], int) for result in reply["results"])


def test_judged_results_say_who_judged_and_which_leg_found_them(ask):
    reply = ask("number of women", order="score")
    assert found(reply)[0] == "sources/datacommons/women.md"
    assert "embedded_models" in codes(reply)
    assert {"embedding", "phrasing", "source", "keyword"} >= set(reply["results"][0]["foundBy"]) >= {"keyword"}


def test_R13_a_leaf_that_could_not_be_read_is_served_with_a_notice(ask):
    reply = ask("Government debt", order="score")
    assert found(reply)[0] == "sources/money/broken.md"
    [said] = [notice for notice in reply["notices"] if notice["code"] == "leaf_unreadable"]
    assert said["identifiers"] == ["urn:air:example.org:okf:money.broken"]
    assert reply["results"][0]["okf:entityType"] == "a place"
    assert reply["results"][0]["okf:unreadable"].startswith("broken YAML")


def test_R13_an_entry_by_itself_says_that_it_could_not_be_read_and_another_says_nothing(tables):
    broken = entry_of("urn:air:example.org:okf:money.broken", tables)
    assert broken == entry_of("sources/money/broken.md", tables)
    assert broken["okf:unreadable"].startswith("broken YAML")
    assert "okf:unreadable" not in entry_of("sources/money/income.md", tables)


def test_a_page_size_out_of_range_is_clamped_and_the_reply_says_so(ask):
    [said] = [each for each in ask("people", pageSize=500)["notices"] if each["code"] == "page_size_clamped"]
    assert (said["asked"], said["used"]) == (500, 100)


@pytest.mark.parametrize("poison", [np.nan, 0.0, 9.0])
def test_R05_a_document_without_a_usable_vector_is_left_out_of_every_reply_and_counted(two, tables, poison):
    request = parse_search({"query": {"text": "number of women"}, "sources": ["datacommons"]})
    question, _ = phrase(request, 2_000)
    queries = anyio.run(tables.legs.embedder.embed, question.phrasings, "query", Ledger())
    array = np.array(tables.legs.vectors[0].array)
    array[1] = poison
    damaged = SimpleNamespace(array=array, rows=len(array), unusable=lambda rows: Vectors.unusable(damaged, rows))
    legs = replace(tables.legs, vectors=(damaged, *tables.legs.vectors[1:]))
    found, pool, notices = retrieve(question, queries, scope_of(request, tables), replace(tables, legs=legs))
    assert 1 not in found.rows[pool.walk]
    assert 1 not in found.rows[pool.positions]
    assert [(said["code"], said["documents"]) for said in notices] == [("vector_unusable", 1)]


class Asks:
    """A judge that asks something while it is being asked, and finds nothing."""

    provider, model, wants_groups = "embedded", "asks", True

    def __init__(self, ask: Callable[[], None]) -> None:
        self.ask = ask

    async def judge(self, question: Question, candidates: Sequence[Candidate], k: int, ledger: Ledger) -> Judgement:
        self.ask()
        return Judgement(())


class WatchedLegs(Legs):
    """Legs that hold on to nothing, and know whether somebody else holds on to the cosines."""

    def cosines(self, queries: Float32, rows: Rows | None) -> Float32:
        measured = super().cosines(queries, rows)
        watched.append(weakref.ref(measured))
        return measured


watched: list[weakref.ref[Float32]] = []


def test_the_cosines_of_all_rows_are_gone_before_a_judge_is_asked(tables):
    asked = []
    judge = Asks(lambda: asked.append(watched[-1]()))
    legs = asdict(tables.legs)
    searched = replace(tables, legs=WatchedLegs(**{**legs, "judge": judge}))
    anyio.run(search, parse_search({"query": {"text": "number of women"}}), searched, Ledger())
    assert asked
    assert all(cosines is None for cosines in asked)


def test_a_long_text_is_cut_and_the_reply_says_so(ask):
    [said] = [each for each in ask("people " * 300, rerank=False)["notices"] if each["code"] == "query_shortened"]
    assert said["texts"] == 1
    assert "query_shortened" not in codes(ask("people " * 280, rerank=False))


def test_places_that_a_twin_of_the_question_lacks_are_named(ask):
    [said] = [each for each in ask("number of people in India")["notices"] if each["code"] == "places_set_aside"]
    assert said["places"] == ["India"]
    assert "places_set_aside" not in codes(ask("number of people"))


def test_words_that_fit_every_table_are_left_out_and_said_to_be(ask):
    [said] = [each for each in ask("data on number of people")["notices"] if each["code"] == "words_set_aside"]
    assert said["searched"] == ["number of people"]
    assert "words_set_aside" not in codes(ask("number of people"))


def test_exact_lookups_read_every_catalog_widest_coverage_first(tables):
    reply = variable(tables, id="Count_Person", limit=20)
    paths = [result["okf:sourceDocument"] for result in reply["results"]]
    assert paths == ["open-data:sources/datacommons/people-india.md", "sources/datacommons/people.md"]
    assert (reply["total"], reply["truncated"]) == (2, False)
    assert all("score" not in result for result in reply["results"])


def test_a_variable_that_two_catalogs_publish_counts_once_with_the_documents_of_both(tables):
    quantity = {"population_type": "Person", "measured_property": "count", "stat_type": "measuredValue"}
    dimensions = variables(tables, **quantity, constraints=None, limit=9)["dimensions"]
    assert dimensions == [{"constraints": [], "count": 1}, {"constraints": ["gender"], "count": 1}]
    [total] = variables(tables, **quantity, constraints=[], limit=9)["variables"]
    assert (total["variable"], total["documents"]) == ("Count_Person", 2)


def test_R12_catalogs_that_share_a_source_are_refused_by_name_unless_the_later_extends_it(two, tmp_path):
    write(tmp_path / "c/sources/money", "_access.md", ACCESS)
    write(tmp_path / "c/sources/money", "wages.md", leaf("wages"))
    build(two.bucket_url, tmp_path / "c", "more")
    settings = Settings(bucket_url=two.bucket_url, ard_catalogs="more", cache_dir=two.cache_dir)
    with pytest.raises(CatalogConflict, match=r"'built-in' and 'more' both hold source 'money'"):
        open_tables(settings)


def test_R12_what_was_opened_before_a_refusal_is_closed_again(two, tmp_path):
    write(tmp_path / "c/sources/money", "_access.md", ACCESS)
    write(tmp_path / "c/sources/money", "wages.md", leaf("wages"))
    build(two.bucket_url, tmp_path / "c", "again")
    settings = Settings(bucket_url=two.bucket_url, ard_catalogs="again", cache_dir=two.cache_dir)
    descriptors = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    for _ in range(3):
        with pytest.raises(CatalogConflict):
            open_tables(settings)
    assert descriptors == (len(list(Path("/proc/self/fd").iterdir())) if descriptors else 0)


def test_R12_two_documents_of_one_urn_are_refused(two, tmp_path):
    write(tmp_path / "c/sources/money", "_access.md", ACCESS)
    write(tmp_path / "c/sources/money", "income.md", leaf("income once more"))
    build(two.bucket_url, tmp_path / "c", "twin", "--extends", "money", "--force")
    settings = Settings(bucket_url=two.bucket_url, ard_catalogs="twin", cache_dir=two.cache_dir)
    with pytest.raises(CatalogConflict, match=r"both hold urn:air:example\.org:okf:money\.income"):
        open_tables(settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings(), "BUCKET_URL is not set"),
        (Settings(bucket_url="ftp://x"), "BUCKET_URL: bucket URL 'ftp://x'"),
        (Settings(bucket_url="file:///x", ard_catalogs="a,a"), "ARD_CATALOGS names 'a' twice"),
        (Settings(bucket_url="file:///x", ard_catalogs="built-in"), "ARD_CATALOGS names 'built-in' twice"),
        (Settings(bucket_url="file:///x", ard_catalogs="more=gs://"), "ARD_CATALOGS: bucket URL 'gs://'"),
        (Settings(bucket_url="file:///x", ard_catalogs="open data"), "catalog 'open data'"),
        (Settings(bucket_url="file:///x", ard_catalogs="=file:///y"), "catalog ''"),
    ],
)
def test_what_settings_alone_show_to_be_wrong_is_refused_before_anything_is_read(settings, message):
    with pytest.raises(SettingsError, match=message):
        mounts(settings)


def test_a_question_nobody_can_answer_gets_no_match_with_its_best_score(ask):
    reply = ask("how do I reset my router password")
    assert reply["results"] == []
    assert reply["eligibility"]["status"] == "no_match"
    assert 0 <= reply["eligibility"]["topScore"] < 50


def test_the_refusal_of_a_request_is_a_request_error(ask):
    with pytest.raises(RequestError):
        ask("")
