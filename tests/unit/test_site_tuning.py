"""What an operator changes of a site is what the site does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fakes.openrouter import OpenRouter
from fakes.site import DIMENSION, movie, site_here

from functions.ask_site.service import create
from shared.errors import SettingsError
from shared.settings import Settings
from shared.sites.kinds import KINDS
from shared.sites.tuning import tuned

FILMS = [
    movie(1, "Rain", "A wedding.", director={"@type": "Person", "name": "Ann Lee"}),
    movie(2, "Wedding", "It never stops: rain, and more of it.", director={"@type": "Person", "name": "Bo Day"}),
]
RANKED = "relevance filter"


@pytest.fixture
def fake() -> Iterator[OpenRouter]:
    with OpenRouter(dimension=DIMENSION) as server:
        yield server


def given(**environment: str) -> dict[str, object]:
    """Settings as the environment gives them, by field."""
    read, plain = Settings.from_env(environment), Settings()
    return {name: getattr(read, name) for name in Settings.__slots__ if getattr(read, name) != getattr(plain, name)}


@pytest.mark.parametrize(("weights", "first"), [("{}", "Rain"), ('{"name": 0, "description": 9}', "Wedding")])
def test_a_keyword_match_counts_by_the_weight_of_its_field(fake, weights, first):
    with site_here(fake, FILMS, **given(ASKHUB_BM25_FIELD_WEIGHTS=weights)) as here:
        assert [here.site.items([row])[0].name for row, _ in here.site.bm25("rain", 1)] == [first]


def test_a_ranker_is_shown_the_properties_that_are_named_and_no_others(fake):
    with site_here(fake, FILMS, **given(ASKHUB_RANKING_FIELDS='{"movies": ["name", "director"]}')) as here:
        here.ask("rain", mode="list")
    shown = [text for seen in fake.chats if RANKED in str(seen.body) for text in [seen.body["messages"][1]["content"]]]
    assert shown
    assert all("Ann Lee" in text and "It never stops" not in text for text in shown if "Rain" in text)
    assert any("Wedding" in text for text in shown)


def test_another_kind_than_those_named_keeps_its_own_properties():
    settings = Settings.from_env({"ASKHUB_RANKING_FIELDS": '{"movies": ["name"]}'})
    assert tuned(KINDS["movies"], settings).projection == {"name"}
    assert tuned(KINDS["trails"], settings) is KINDS["trails"]


def test_a_kind_that_is_none_is_refused_at_start():
    named = Settings.from_env(
        {"ASKHUB_RANKING_FIELDS": '{"films": ["name"]}', "SITE": "movies", "BUCKET_URL": "file:///x"}
    )
    with pytest.raises(SettingsError, match="ASKHUB_RANKING_FIELDS names films: expected some of recipes, movies"):
        create(named)
