"""Settings are read once, typed, and refused loudly."""

from __future__ import annotations

from dataclasses import fields

import pytest

from shared.errors import SettingsError
from shared.settings import Settings, without_userinfo


def test_an_empty_environment_gives_every_default():
    assert Settings.from_env({}) == Settings()


def test_production_defaults_are_the_documented_ones():
    settings = Settings()
    assert (settings.prefilter_slice, settings.prefilter_examined_max, settings.prefilter_max) == (60, 120, 150)
    assert (settings.per_phrasing, settings.per_source_pool, settings.lexical_pool) == (6, 3, 6)
    assert (settings.result_sources, settings.min_rerank_score, settings.query_timeout_s) == (5, 50, 100.0)


@pytest.mark.parametrize("row", fields(Settings), ids=lambda row: row.metadata["name"])
def test_each_setting_is_read_from_its_own_name(row):
    value = {bool: "0", int: "7", float: "7.5"}.get(
        type(row.default), "embedded" if row.name == "llm_provider" else "x"
    )
    read = getattr(Settings.from_env({row.metadata["name"]: value}), row.name)
    assert read == {bool: False, int: 7, float: 7.5}.get(type(row.default), value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ARD_PER_PHRASING", "six"), ("ARD_PER_PHRASING", "-1"), ("REFRESH_S", "nan"), ("REFRESH_S", "inf"),
        ("ARD_RERANK", "maybe"), ("LLM_PROVIDER", "gpt"), ("ARD_PER_PHRASING", ""),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_read_names_the_variable_and_the_value(name, value):
    with pytest.raises(SettingsError, match=rf"^{name}={value!r}: "):
        Settings.from_env({name: value})


def test_an_empty_text_is_the_default():
    assert Settings.from_env({"CACHE_DIR": ""}).cache_dir == Settings().cache_dir


def test_a_url_is_shown_without_what_could_be_a_password():
    assert without_userinfo("http://user:secret@host/v1") == "http://host/v1"
    assert without_userinfo("s3://KEY:secret@bucket/x") == "s3://bucket/x"
    assert without_userinfo("file:///srv/a@b") == "file:///srv/a@b"


def test_switches_take_the_usual_words():
    for word, meant in {"1": True, "true": True, "ON": True, "0": False, "no": False, "off": False}.items():
        assert Settings.from_env({"ARD_RERANK": word}).rerank is meant
