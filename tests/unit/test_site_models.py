"""Which models a site is answered with."""

from __future__ import annotations

import pytest
from fakes.openrouter import KEY

from shared.errors import SettingsError
from shared.models.choice import Models
from shared.models.ranking_models import default_ranking_model, ranking_models
from shared.settings import Settings


def test_a_key_ranks_and_writes_with_the_settings_models():
    models = Models(Settings(openrouter_api_key=KEY))
    ranker, writer = models.ranker(), models.writer()
    assert ranker is not None
    assert writer is not None
    assert (ranker.provider, ranker.model, ranker.wants_batches) == ("openrouter", "openai/gpt-oss-20b", True)
    assert (writer.provider, writer.model) == ("openrouter", "openai/gpt-oss-120b")


def test_a_caller_may_choose_the_ranking_model():
    ranker = Models(Settings(openrouter_api_key=KEY)).ranker("microsoft/phi-4")
    assert ranker is not None
    assert ranker.model == "microsoft/phi-4"


def test_nobody_ranks_where_no_model_is_wanted():
    models = Models(Settings(llm_provider="none"))
    assert models.ranker() is models.writer() is None


def test_a_missing_key_stops_tables_and_lets_a_site_serve_in_retrieval_order():
    settings = Settings(llm_provider="openrouter")
    with pytest.raises(SettingsError):
        Models(settings)
    models = Models(settings, may_lack_a_key=True)
    assert models.ranker() is models.writer() is None
    assert models.describe() == {"judge": "none"}


def test_the_embedded_ones_need_no_key():
    models = Models(Settings(llm_provider="embedded"))
    ranker, writer = models.ranker(), models.writer()
    assert ranker is not None
    assert writer is not None
    assert (ranker.provider, writer.provider, ranker.wants_batches) == ("embedded", "embedded", False)


def test_a_model_of_the_settings_own_may_always_be_named():
    models = ranking_models(Settings(ranking_model="acme/own-1"))
    assert models[0].id == default_ranking_model(Settings(ranking_model="acme/own-1")) == "acme/own-1"
    assert len({model.id for model in models}) == len(models)


def test_a_key_advises_describes_and_sums_up_with_models_of_their_own():
    models = Models(Settings(openrouter_api_key=KEY))
    advisor, describer, writer = models.advisor(), models.describer(), models.lite_writer()
    assert advisor is not None
    assert describer is not None
    assert writer is not None
    assert (advisor.model, describer.model) == ("openai/gpt-oss-120b", "google/gemini-3.8-flash")
    assert (writer.provider, writer.model) == ("openrouter", "google/gemini-2.5-flash-lite")


@pytest.mark.parametrize("provider", ["none", "embedded"])
def test_without_a_chat_model_nobody_advises_or_describes(provider):
    models = Models(Settings(llm_provider=provider, openrouter_api_key=KEY))
    assert models.advisor() is models.describer() is models.lite_writer() is None
