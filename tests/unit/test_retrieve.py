"""Candidates of a question: words, then vectors beside them, and what is said where one of the two failed."""

from __future__ import annotations

import anyio
import numpy as np
import pytest
from fakes import openrouter
from fakes.openrouter import OpenRouter
from fakes.site import DIMENSION, Here, movie, site_here

from shared.models.ledger import Ledger
from shared.sites.aim import aimed
from shared.sites.retrieve import Found, Plan, retrieve

UNAVAILABLE = "Vector retrieval unavailable; returning BM25 results."


def found_by(here: Here, text: str = "space crew", ledger: Ledger | None = None, **plan):
    """The candidates and notices of a question."""

    async def run():
        try:
            return await retrieve(aimed(text, here.site), here.site, Plan(**plan), ledger or Ledger())
        finally:
            if here.fake is not None:
                await here.gateway.client().aclose()

    return anyio.run(run)


@pytest.fixture(scope="module")
def fake():
    with OpenRouter(dimension=DIMENSION) as gateway:
        yield gateway


@pytest.fixture
def here(fake):
    fake.heal()
    with site_here(fake, llm_max_retries=0) as site:
        yield site
    fake.heal()


def sources(found: list[Found]) -> list[str]:
    return [each.source for each in found]


def test_both_searches_give_bm25s_candidates_then_the_vectors_others(here):
    found, notices = found_by(here, bm25_count=5, vector_count=4)
    assert sources(found) == ["bm25"] * 5 + ["vector"] * 4
    assert len({each.row for each in found}) == 9
    assert notices == []
    for each in found:
        assert (each.bm25_score is None, each.vector_score is None) == (each.source == "vector", each.source == "bm25")


def test_each_search_gives_the_best_first(here):
    found, _ = found_by(here, bm25_count=6, vector_count=6)
    words = [each.bm25_score for each in found if each.source == "bm25"]
    vectors = [each.vector_score for each in found if each.source == "vector"]
    assert words == sorted(words, reverse=True)
    assert vectors == sorted(vectors, reverse=True)


def test_a_plan_for_words_alone_embeds_nothing(here):
    ledger = Ledger()
    found, notices = found_by(here, ledger=ledger, retrieval="bm25", bm25_count=7)
    assert (sources(found), notices) == (["bm25"] * 7, [])
    assert ledger.snapshot()["embed_calls"] == 0


def test_a_plan_for_vectors_alone_looks_up_no_word(here):
    found, notices = found_by(here, retrieval="vector", vector_count=7)
    assert (sources(found), notices) == (["vector"] * 7, [])


def test_a_question_without_a_known_word_is_found_by_vectors(here):
    found, notices = found_by(here, "zyzzyva", vector_count=5)
    assert (sources(found), notices) == (["vector"] * 5, [])


@pytest.mark.parametrize(
    "fault",
    [openrouter.status(500), openrouter.zeros(), openrouter.nan(), openrouter.wrong_dimension(), openrouter.refuse()],
)
def test_M08_a_question_that_cannot_be_embedded_is_answered_by_words_and_says_so(here, fake, fault):
    expected, _ = found_by(here, retrieval="bm25", bm25_count=5)
    fake.fail(fault)
    found, [notice] = found_by(here, bm25_count=5)
    assert found == expected
    assert (notice["code"], notice["message"]) == ("vectors_unavailable", UNAVAILABLE)
    assert notice["reason"]


def test_R05_a_vector_that_cannot_be_used_is_said_and_the_others_are_searched(here):
    for role, row in (("vectors.name", 3), ("vectors.body", 3), ("vectors.body", 5)):
        vectors = np.load(here.site.release.paths[role], mmap_mode="r+")
        vectors[row] = np.nan
        vectors.flush()
    found, [notice] = found_by(here, retrieval="vector", vector_count=60)
    assert (notice["code"], notice["items"]) == ("vector_unusable", 2)
    assert {each.row for each in found} == set(range(here.site.count))
    assert all(np.isfinite(each.vector_score) for each in found)


def test_words_stand_in_where_vectors_alone_were_asked_for_and_failed(here, fake):
    fake.fail(openrouter.status(500))
    found, [notice] = found_by(here, retrieval="vector", vector_count=4)
    assert sources(found) == ["bm25"] * 4
    assert notice["code"] == "vectors_unavailable"


def test_M09_a_site_without_its_embedder_gives_bm25s_candidates_and_the_notice():
    with site_here(None) as site:
        found, [notice] = found_by(site, bm25_count=5)
        assert sources(found) == ["bm25"] * 5
        assert (notice["message"], notice["reason"]) == (UNAVAILABLE, "model_unavailable")
        assert found_by(site, retrieval="bm25")[1] == []


def test_a_question_longer_than_the_embedder_takes_is_cut_and_says_so(here):
    found, [notice] = found_by(here, "space " * 5_000)
    assert notice["code"] == "query_shortened"
    assert len(found) > 20


def test_a_site_with_fewer_items_than_asked_for_gives_each_once(fake):
    fake.heal()
    items = [movie(1, "Solaris", "A planet."), movie(2, "Stalker", "A zone.")]
    with site_here(fake, items) as site:
        found, _ = found_by(site, "solaris", bm25_count=20, vector_count=20)
        assert [(each.item.name, each.source) for each in found] == [("Solaris", "bm25"), ("Stalker", "vector")]
