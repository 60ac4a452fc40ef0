"""Settings are read once, typed, and refused loudly."""

from __future__ import annotations

import pytest

from shared.errors import SettingsError
from shared.settings import ROWS, Settings, without_userinfo

EVERY = pytest.mark.parametrize(("field", "row"), ROWS.items(), ids=[row.name for row in ROWS.values()])


def test_an_empty_environment_gives_every_default():
    assert Settings.from_env({}) == Settings()


def test_production_defaults_are_the_documented_ones():
    settings = Settings()
    assert (settings.prefilter_slice, settings.prefilter_examined_max, settings.prefilter_max) == (60, 120, 150)
    assert (settings.per_phrasing, settings.per_source_pool, settings.lexical_pool) == (6, 3, 6)
    assert (settings.result_sources, settings.min_rerank_score, settings.query_timeout_s) == (5, 50, 100.0)


@EVERY
def test_each_setting_is_read_from_its_own_name(field, row):
    value = {bool: "0", int: "77", float: "7.5"}.get(type(row.default), "embedded" if field == "llm_provider" else "x")
    bounded = {"max_body_bytes": "2077", "max_uri_bytes": "2077", "prefilter_band": "0.5"}
    bounded |= {"decision_min_score": "0.5", "decision_strong_score": "3.5", "store": "memory"}
    bounded |= {"gate_most_shrink": "0.5", "gate_score_margin": "0.5"}
    objects = {"bm25_field_weights", "bm25_field_b", "vector_field_weights"}
    bounded |= dict.fromkeys(objects, '{"name": 0.5, "body": 0}') | {"ranking_fields": '{"movies": ["name"]}'}
    value = bounded.get(field, value)
    read = getattr(Settings.from_env({row.name: value}), field)
    if field in objects:
        assert read == (0.5, row.default.description, 0)
    else:
        assert read == (False if value == "0" else type(row.default)(value))


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


_B_RULE = "expected a JSON object of numbers from 0 to 1 by field: name, description, body"
_NO_B = ("0.5", "[1]", '{"title": 1}', '{"name": "1"}', '{"name": true}', '{"name": 1.5}', '{"name": NaN}', "{")
_FIELDS_RULE = 'expected a JSON object of lists of names by kind, such as {"movies": ["name", "director"]}'
_NO_FIELDS = ("name", '["name"]', '{"movies": "name"}', '{"movies": []}', '{"movies": [1]}')


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("REFRESH_S", "abc", "expected a number of seconds, 0 or more"),
        ("REFRESH_S", "-1", "expected a number of seconds, 0 or more"),
        ("REFRESH_S", "1e999", "expected a number of seconds, 0 or more"),
        ("LLM_TIMEOUT", "0", "expected a number of seconds, 0.001 or more"),
        ("SPEND_LIMIT_USD_PER_DAY", "ten", "expected a number of dollars, 0 or more"),
        ("ARD_PREFILTER_BAND", "5", "expected a number from 0 to 2"),
        ("ARD_PER_PHRASING", "", "expected a whole number from 0 to 1,000,000"),
        ("MAX_URI_BYTES", "0", "expected a whole number of bytes from 1,024 to 1,000,000,000,000,000"),
        ("AGENT_FINDER_MAX_BODY", "0", "expected a whole number of bytes from 1,024 to 1,000,000,000,000,000"),
        ("MODEL_THREADS", "1" + "0" * 30, "expected a whole number from 0 to 1,024"),
        ("SCAN_THREADS", "1.5", "expected a whole number from 0 to 1,024"),
        ("TRUST_PROXY", "-1", "expected a whole number from 0 to 100"),
        ("ARD_MIN_RERANK_SCORE", "101", "expected a whole number from 0 to 100"),
        ("ARD_RESULT_SOURCES", "0", "expected a whole number from 1 to 1,000,000"),
        ("OPENROUTER_EMBEDDING_DIMENSION", "0", "expected a whole number from 1 to 65,536"),
        ("ARD_RERANK", "maybe", "expected 1 or 0"),
        ("LLM_PROVIDER", "gpt", "expected 'openrouter', 'embedded' or 'none'"),
        *[("ASKHUB_BM25_FIELD_B", value, _B_RULE) for value in _NO_B],
        *[("ASKHUB_RANKING_FIELDS", value, _FIELDS_RULE) for value in _NO_FIELDS],
        ("OPENROUTER_APP_TITLE", "Ask\nbucket", "expected one line of ASCII"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_with_the_rule(name, value, rule):
    with pytest.raises(SettingsError) as refused:
        Settings.from_env({name: value})
    assert refused.value.message == f"{name}={value!r}: {rule}"


@pytest.mark.parametrize(
    "name", [row.name for field, row in ROWS.items() if field.endswith("timeout_s") or field == "heartbeat_s"]
)
def test_no_wait_is_of_nothing(name):
    with pytest.raises(SettingsError) as refused:
        Settings.from_env({name: "0"})
    assert refused.value.message == f"{name}='0': expected a number of seconds, 0.001 or more"


@EVERY
def test_no_number_is_too_long_to_be_refused_in_a_line(field, row):
    if type(row.default) in (int, float):
        with pytest.raises(SettingsError) as refused:
            Settings.from_env({row.name: "9" * 5_000})
        assert len(refused.value.message) < 300


@EVERY
def test_every_default_is_a_value_that_can_be_given(field, row):
    given = str(int(row.default)) if isinstance(row.default, bool) else str(row.default)
    assert getattr(Settings.from_env({row.name: given}), field) == row.default


def test_an_empty_text_is_the_default():
    assert Settings.from_env({"CACHE_DIR": ""}).cache_dir == Settings().cache_dir


@pytest.mark.parametrize(("field", "row"), [each for each in ROWS.items() if "; empty " in each[1].help])
def test_a_setting_whose_default_can_be_left_out_says_so_and_takes_nothing_for_it(field, row):
    assert getattr(Settings.from_env({row.name: ""}), field) == ""


def test_a_fallback_that_is_set_to_nothing_is_none():
    assert Settings.from_env({"ASKHUB_DECISION_FALLBACK_MODEL": ""}).decision_fallback_model == ""
    assert Settings.from_env({"ASKHUB_DECISION_FALLBACK_MODEL": " "}).decision_fallback_model == ""
    assert Settings.from_env({}).decision_fallback_model == "openai/gpt-oss-20b"


def test_a_url_is_shown_without_what_could_be_a_password():
    assert without_userinfo("http://user:secret@host/v1") == "http://host/v1"
    assert without_userinfo("s3://KEY:secret@bucket/x") == "s3://bucket/x"
    assert without_userinfo("file:///srv/a@b") == "file:///srv/a@b"


def test_switches_take_the_usual_words():
    for word, meant in {"1": True, "true": True, "ON": True, "0": False, "no": False, "off": False}.items():
        assert Settings.from_env({"ARD_RERANK": word}).rerank is meant
