"""Which models may be named to rank items, under which names, and how each of them is asked."""

from __future__ import annotations

import pytest
from fakes.openrouter import KEY

from shared.errors import SettingsError, UnknownName
from shared.models.choice import Models
from shared.models.ranking_models import (
    RANKING_MODELS,
    default_ranking_model,
    full_id,
    ranking_model,
    ranking_models,
)
from shared.settings import Settings
from shared.sites.request import parse_ask

IDS = [model.id for model in RANKING_MODELS]
# The page's choice, and the models that are kept to compare with.
NAMED = {
    "typesafe/jev-1.14", "openai/gpt-oss-20b", "openai/gpt-oss-120b", "google/gemma-4-26b-a4b-it",
    "google/gemma-4-31b-it", "google/gemini-2.5-flash-lite", "google/gemini-3.1-flash-lite",
    "google/gemini-3.5-flash-lite", "google/gemini-3.8-flash",
    "microsoft/phi-4", "google/gemini-3.7-flash", "anthropic/claude-opus-5", "anthropic/claude-sonnet-5",
    "openai/gpt-5.6-sol", "openai/gpt-5.6-terra", "openai/gpt-5.6-luna", "openai/gpt-5-nano", "openai/gpt-5-mini",
}  # fmt: skip
KEYED = {"openrouter_api_key": KEY, "llm_provider": "openrouter"}


def test_the_list_is_the_pages_choice_and_every_model_of_reference():
    assert set(IDS) == NAMED
    assert len(IDS) == len(set(IDS))
    assert all(model.label and "/" not in model.label for model in RANKING_MODELS)


@pytest.mark.parametrize("model", IDS)
def test_a_request_may_name_a_model_whole_or_without_its_vendor_in_any_case(model):
    vendor, _, bare = model.partition("/")
    for name in (model, bare, f" {bare.upper()} ", f"{vendor.title()}/{bare}"):
        assert parse_ask({"query": "x", "ranking_model": name}, IDS).ranking_model == model


@pytest.mark.parametrize(
    "name",
    ["~typesafe/jev-latest", "typesafe/jev-latest", "jev-latest", "typesafe/jev-1.13", "jev-1.13", "jev-1", "JEV"],
)
def test_older_names_of_the_decision_model_are_the_present_one(name):
    assert parse_ask({"query": "x", "ranking_model": name}, IDS).ranking_model == "typesafe/jev-1.14"


@pytest.mark.parametrize(
    "name", ["gpt-9", "typesafe/jev-9", "typesafe/", "/gpt-oss-20b", "gpt-oss", "other/gpt-oss-20b"]
)
def test_a_name_that_nobody_knows_is_refused_with_every_full_id(name):
    with pytest.raises(UnknownName) as refused:
        parse_ask({"query": "x", "ranking_model": name}, IDS)
    assert refused.value.valid == IDS
    assert all(model in refused.value.message for model in IDS)


def test_the_models_kind_says_who_asks_it():
    models = Models(Settings(**KEYED))
    for model in RANKING_MODELS:
        ranker = models.ranker(model.id)
        assert ranker is not None
        decides = model.id == "typesafe/jev-1.14"
        assert (ranker.model, ranker.wants_batches, ranker.explains) == (model.id, not decides, not decides)


@pytest.mark.parametrize("name", ["typesafe/jev-1.14", "jev-1.14", "~typesafe/jev-latest"])
def test_the_settings_own_may_be_a_decision_model_by_any_name(name):
    settings = Settings(**KEYED, ranking_model=name)
    ranker = Models(settings).ranker()
    assert ranker is not None
    assert (ranker.model, ranker.explains) == ("typesafe/jev-1.14", False)
    assert default_ranking_model(settings) == "typesafe/jev-1.14"
    assert ranking_models(settings) == RANKING_MODELS


def test_a_model_of_the_settings_own_is_a_chat_model_and_leads_the_list():
    settings = Settings(**KEYED, ranking_model="acme/own-1")
    first, *rest = ranking_models(settings)
    assert (first.id, first.label, first.kind, tuple(rest)) == ("acme/own-1", "own-1", "chat", RANKING_MODELS)
    assert full_id("own-1", [model.id for model in ranking_models(settings)]) == "acme/own-1"


def test_a_models_own_room_and_effort_lead_and_the_settings_hold_for_the_others():
    settings = Settings(ranking_max_tokens=555, ranking_effort="medium")
    asked = {model.id: (model.room(settings), model.thinking(settings)) for model in RANKING_MODELS}
    assert asked["openai/gpt-oss-20b"] == (555, "medium")
    assert asked["openai/gpt-oss-120b"] == (1_200, "medium")
    assert asked["microsoft/phi-4"] == (555, "")
    assert ranking_model("acme/own-1").room(settings) == 555


def test_the_fallback_is_the_settings_chat_model_or_nobody():
    fallback = Models(Settings(**KEYED)).fallback_ranker()
    assert fallback is not None
    assert (fallback.model, fallback.wants_batches) == ("openai/gpt-oss-20b", True)
    named = Models(Settings(**KEYED, decision_fallback_model="phi-4")).fallback_ranker()
    assert named is not None
    assert named.model == "microsoft/phi-4"
    assert Models(Settings(**KEYED, decision_fallback_model="")).fallback_ranker() is None
    for provider in ("embedded", "none"):
        assert Models(Settings(llm_provider=provider)).fallback_ranker() is None


def test_a_fallback_that_would_fail_in_the_same_way_is_refused_at_start():
    with pytest.raises(SettingsError, match=r"ASKHUB_DECISION_FALLBACK_MODEL='jev-1\.14'"):
        Models(Settings(**KEYED, decision_fallback_model="jev-1.14"))
