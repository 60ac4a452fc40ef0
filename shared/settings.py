"""The one table of settings, and the one place that reads the environment.

Each field of `Settings` is a row: its environment name, default, phase (`serve`, `build` or `both`) and
what it does. docs/settings.md is held to this table by a test.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from shared.errors import SettingsError

Phase = Literal["serve", "build", "both"]


def _text(raw: str) -> str:
    return raw.strip()


# Numbers beyond these were never meant: a thread pool of 10^30 or a timeout of nothing starts well and fails later.
_MOST = 10**6
_MOST_BYTES = 10**15
_MOST_THREADS = 1_024
_LEAST_TIMEOUT_S = 0.001
_LEAST_REQUEST_BYTES = 1_024
_MOST_SHOWN = 100


def _switch(raw: str) -> bool:
    words = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
    if raw.strip().lower() not in words:
        raise ValueError("expected 1 or 0")
    return words[raw.strip().lower()]


def _key(raw: str) -> str:
    """A secret that goes into a header: one word of visible ASCII."""
    value = raw.strip()
    if not all("!" <= letter <= "~" for letter in value):
        raise ValueError("expected one word of ASCII letters, digits and signs")
    return value


def _header(raw: str) -> str:
    """A text that goes into a header: one line of visible ASCII."""
    value = raw.strip()
    if not all(" " <= letter <= "~" for letter in value):
        raise ValueError("expected one line of ASCII")
    return value


def _one_of(*choices: str) -> Callable[[str], str]:
    """One of several words; nothing at all where `choices` has the empty one."""

    def parse(raw: str) -> str:
        if raw.strip() not in choices:
            *words, last = (repr(choice) for choice in choices if choice)
            raise ValueError(f"expected {', '.join(words)} or {last}")
        return raw.strip()

    return parse


class ByField(NamedTuple):
    """A number for each field of an item."""

    name: float
    description: float
    body: float

    def __str__(self) -> str:
        """As it is set."""
        return json.dumps(self._asdict())


def _by_field(default: ByField, most: float) -> Callable[[str], ByField]:
    """A JSON object of numbers by field; a field that it leaves out keeps its default."""
    rule = f"expected a JSON object of numbers from 0 to {most:g} by field: {', '.join(ByField._fields)}"

    def parse(raw: str) -> ByField:
        given = _json_object(raw, rule)
        for name, value in given.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if name not in ByField._fields or not is_number or not 0 <= value <= most:
                raise ValueError(rule)
        return default._replace(**{name: float(value) for name, value in given.items()})

    return parse


def _properties(raw: str) -> str:
    """A JSON object of lists of names, such as {"movies": ["name", "director"]}, as it was written."""
    rule = 'expected a JSON object of lists of names by kind, such as {"movies": ["name", "director"]}'
    for names in _json_object(raw, rule).values():
        if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
            raise ValueError(rule)
    return raw.strip()


def _json_object(raw: str, rule: str) -> dict[str, Any]:
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError):
        raise ValueError(rule) from None
    if not isinstance(given, dict):
        raise ValueError(rule)
    return given


# The field weights of BM25F and of the vectors; each of the latter counts alike.
_WORD_WEIGHTS, _WORD_B, _VECTOR_WEIGHTS = ByField(32.0, 1.0, 0.5), ByField(0.75, 0.75, 0.75), ByField(1.0, 1.0, 1.0)


def _number(kind: type[int] | type[float], least: float, most: float, unit: str) -> Callable[[str], float]:
    """A finite number of one kind between two bounds, both allowed. Its ValueError says all of that."""
    what = f"a {'whole ' if kind is int else ''}number{f' of {unit}' if unit else ''}"
    rule = f"expected {what}{f', {least:,} or more' if most == inf else f' from {least:,} to {most:,}'}"

    def parse(raw: str) -> float:
        try:
            value = kind(raw)
        except ValueError:
            raise ValueError(rule) from None
        if not least <= value <= most or value == inf:
            raise ValueError(rule)
        return value

    return parse


def _parser(default: Any, least: float, most: float | None, unit: str) -> Callable[[str], Any]:
    if isinstance(default, bool):
        return _switch
    if isinstance(default, int):
        return _number(int, least, most or (_MOST_BYTES if unit == "bytes" else _MOST), unit)
    return _number(float, least, most or inf, unit) if isinstance(default, float) else _text


class Row(Struct, frozen=True):
    """One setting: the variable that sets it, and what is said of it. `parse` raises ValueError saying the rule.

    `blank`: a text that is set to nothing is nothing, and not its default.
    """

    name: str
    default: Any
    help: str
    phase: Phase
    parse: Callable[[str], Any]
    secret: bool
    blank: bool


_rows: list[Row] = []  # in the order of the fields of Settings, which cannot carry them


def _setting(
    name: str, default: Any, help: str, *, phase: Phase = "serve", parse: Callable[[str], Any] | None = None,
    secret: bool = False, least: float = 0, most: float | None = None, unit: str = "", blank: bool = False,
) -> Any:  # fmt: skip
    """A row. A number has bounds, `most` being generous where it is not said, and may have a unit.

    A text that is set to nothing is its default, or with `blank` nothing.
    """
    _rows.append(Row(name, default, help, phase, parse or _parser(default, least, most, unit), secret, blank))
    return default


class Settings(Struct, frozen=True):
    """Everything that can be set. Times are in seconds, sizes in bytes, unless the name says otherwise."""

    bucket_url: str = _setting("BUCKET_URL", "", "Where releases lie: `gs://…`, `s3://…` or `file:///…`.", phase="both")
    cache_dir: str = _setting(
        "CACHE_DIR",
        "/tmp/askbucket",  # noqa: S108 - made for this user alone, and refused where another one could write to it
        "Where release files from a bucket that is not a local disk, and a build's work, are kept.",
        phase="both",
    )
    storage_emulator_host: str = _setting(
        "STORAGE_EMULATOR_HOST", "", "A local server to use as Google Cloud Storage, without credentials.", phase="both"
    )
    aws_endpoint_url: str = _setting(
        "AWS_ENDPOINT_URL", "", "Another server to use as S3; credentials and region are found as boto3 does.",
        phase="both",
    )  # fmt: skip
    k_service: str = _setting(
        "K_SERVICE", "", "Set by Google's platform in a function: it then reads `gs://` as the platform's account."
    )
    gce_metadata_host: str = _setting(
        "GCE_METADATA_HOST",
        "metadata.google.internal",
        "The server that gives a function on `gs://` its access tokens.",
    )
    store: str = _setting(
        "STORE",
        "",
        "Where the vectors of a site are searched: `memory` or `cosmos`; empty is cosmos for trails, movies and homes "
        "where COSMOS_ENDPOINT is set, else memory.",
        parse=_one_of("memory", "cosmos", ""),
        phase="both",
    )
    cosmos_endpoint: str = _setting(
        "COSMOS_ENDPOINT", "", "The Cosmos DB account: `https://<account>.documents.azure.com/`.", phase="both"
    )
    cosmos_key: str = _setting(
        "COSMOS_KEY", "", "A key of the account; empty asks as the identity that the platform or the user has.",
        phase="both", parse=_key, secret=True,
    )  # fmt: skip
    cosmos_database: str = _setting("COSMOS_DATABASE", "samples", "The database in it.", phase="both")
    cosmos_container: str = _setting(
        "COSMOS_CONTAINER", "items", "The container in that, which holds the items of all sites.", phase="both"
    )
    cosmos_timeout_s: float = _setting(
        "COSMOS_TIMEOUT_S",
        5.0,
        "Longest search of one question there, retries included; then keyword matches alone are ranked.",
        least=_LEAST_TIMEOUT_S,
        unit="seconds",
    )
    cosmos_grace_s: float = _setting(
        "COSMOS_GRACE_S",
        86_400.0,
        "How long items that no release lists stay in the container.",
        phase="build",
        unit="seconds",
    )
    refresh_s: float = _setting(
        "REFRESH_S", 60.0, "Age at which the pointer is read again, beside a request.", unit="seconds"
    )
    ard_catalogs: str = _setting(
        "ARD_CATALOGS", "", "More table catalogs to mount: `name` or `name=<bucket URL>`, comma-separated."
    )
    llm_provider: str = _setting(
        "LLM_PROVIDER", "",
        "Who judges: `openrouter`, `embedded` or `none`; empty chooses openrouter where its key is set, else embedded "
        "where its weights are installed.",
        phase="both", parse=_one_of("", "openrouter", "embedded", "none"),
    )  # fmt: skip
    model_threads: int = _setting(
        "MODEL_THREADS", 0, "Threads an embedded model may use; 0 means one a core.", phase="both", most=_MOST_THREADS
    )
    scan_threads: int = _setting(
        "SCAN_THREADS", 0, "Threads of the vector scan; 0 means one a core.", most=_MOST_THREADS
    )

    openrouter_api_key: str = _setting(
        "OPENROUTER_API_KEY", "", "The key of the model gateway; never shown.", phase="both", parse=_key, secret=True
    )
    openrouter_base_url: str = _setting(
        "OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1", "The only address that model calls go to.", phase="both"
    )
    app_title: str = _setting(
        "OPENROUTER_APP_TITLE", "Askbucket", "The name that the gateway lists our calls under; empty is none.",
        phase="both", parse=_header, blank=True,
    )  # fmt: skip
    app_url: str = _setting(
        "OPENROUTER_APP_URL", "", "The address of the deployment that goes with it.", phase="both", parse=_header
    )
    openrouter_embedding_model: str = _setting(
        "OPENROUTER_EMBEDDING_MODEL", "openai/text-embedding-3-small", "The model of `--embedder openrouter`.",
        phase="build",
    )  # fmt: skip
    openrouter_embedding_dimension: int = _setting(
        "OPENROUTER_EMBEDDING_DIMENSION", 1536, "Length of that model's vectors.", phase="build", least=1, most=65_536
    )
    openrouter_model: str = _setting(
        "OPENROUTER_MODEL", "openai/gpt-oss-120b", "The chat model; it judges where RERANK_MODEL is empty."
    )
    rerank_model: str = _setting("RERANK_MODEL", "openai/gpt-oss-20b", "The chat model that judges.")
    llm_timeout_s: float = _setting(
        "LLM_TIMEOUT", 120.0, "Longest model call, one attempt.", phase="both", least=_LEAST_TIMEOUT_S, unit="seconds"
    )
    llm_connect_timeout_s: float = _setting(
        "LLM_CONNECT_TIMEOUT",
        5.0,
        "Longest wait for a connection to the gateway.",
        phase="both",
        least=_LEAST_TIMEOUT_S,
        unit="seconds",
    )
    llm_read_timeout_s: float = _setting(
        "LLM_READ_TIMEOUT",
        30.0,
        "Longest silence of the gateway before an attempt is given up.",
        phase="both",
        least=_LEAST_TIMEOUT_S,
        unit="seconds",
    )
    llm_max_retries: int = _setting(
        "LLM_MAX_RETRIES", 3, "Attempts of a model call after the first.", phase="both", most=100
    )
    llm_provider_sort: str = _setting(
        "LLM_PROVIDER_SORT",
        "throughput",
        "How the gateway chooses among a chat model's providers; empty leaves it.",
        blank=True,
    )
    llm_provider_order: str = _setting(
        "LLM_PROVIDER_ORDER", "", "Providers of a chat model to try first, comma-separated."
    )
    llm_breaker_failures: int = _setting(
        "LLM_BREAKER_FAILURES", 10, "Failed model calls in a row after which the gateway is left alone; 0: never.",
        phase="both",
    )  # fmt: skip
    llm_breaker_open_s: float = _setting(
        "LLM_BREAKER_OPEN", 15.0, "How long it is left alone before one call tries again.", phase="both", unit="seconds"
    )
    rerank_max_tokens: int = _setting(
        "ARD_RERANK_MAX_TOKENS", 400, "Least room for the judge's verdicts, in tokens.", least=1
    )
    rerank_reasoning_headroom: int = _setting(
        "ARD_RERANK_REASONING_HEADROOM", 1500, "Room for the judge's thinking on top, in tokens."
    )
    rerank_reasoning_effort: str = _setting(
        "ARD_RERANK_REASONING_EFFORT", "low", "How hard the judge thinks; empty leaves it to the model.", blank=True
    )
    rerank_description: bool = _setting("ARD_RERANK_DESC", False, "Show the judge each table's description too.")
    spend_limit_usd_per_day: float = _setting(
        "SPEND_LIMIT_USD_PER_DAY",
        0.0,
        "Most that one process spends on models in a UTC day; 0: no limit.",
        phase="both",
        unit="dollars",
    )
    embed_cache_entries: int = _setting(
        "EMBED_CACHE_ENTRIES", 4_096, "Query vectors kept in memory; 0: none.", most=10**12
    )
    embed_cache_bytes: int = _setting("EMBED_CACHE_BYTES", 33_554_432, "Memory for them.", unit="bytes")
    verdict_cache_entries: int = _setting(
        "VERDICT_CACHE_ENTRIES",
        4_096,
        "Judgements kept in memory, and as many rankings of items; 0: none.",
        most=10**12,
    )
    verdict_cache_bytes: int = _setting(
        "VERDICT_CACHE_BYTES", 16_777_216, "Memory for them, for each of the two.", unit="bytes"
    )

    embedding_calls_per_minute: float = _setting(
        "EMBEDDING_CALLS_PER_MINUTE", 0.0,
        "Most calls to an embedding model over the wire in a minute, of all tasks of a build together; 0: no limit.",
        phase="build",
    )  # fmt: skip
    task_index: int = _setting(
        "CLOUD_RUN_TASK_INDEX", 0, "Which of several tasks this is, from 0; set by the platform in a job.",
        phase="build",
    )  # fmt: skip
    task_count: int = _setting(
        "CLOUD_RUN_TASK_COUNT", 1, "How many tasks share a build; set by the platform in a job.", phase="build",
        least=1, most=10_000,
    )  # fmt: skip
    gate_most_shrink: float = _setting(
        "GATE_MOST_SHRINK", 0.2, "Share of a source's rows that a release may lack against the current one.",
        phase="build", most=1,
    )  # fmt: skip
    gate_score_margin: float = _setting(
        "GATE_SCORE_MARGIN", 0.02, "How much lower judged questions may score than with the current release.",
        phase="build", most=1,
    )  # fmt: skip
    prune_grace_s: float = _setting(
        "PRUNE_GRACE_S", 86_400.0, "Silence after which a prune takes a build for abandoned.", phase="build",
        unit="seconds",
    )  # fmt: skip

    stats_url: str = _setting(
        "STATS_URL", "", "Where searches are counted over all instances: a bucket of its own; empty counts in memory."
    )
    stats_flush_s: float = _setting(
        "STATS_FLUSH_S",
        60.0,
        "Age at which changed counters are written, beside a request, and sums are read again.",
        unit="seconds",
    )

    max_body_bytes: int = _setting(
        "AGENT_FINDER_MAX_BODY",
        65_536,
        "Largest request body; a larger one is a 413.",
        least=_LEAST_REQUEST_BYTES,
        unit="bytes",
    )
    body_timeout_s: float = _setting(
        "BODY_TIMEOUT",
        10.0,
        "How long a body may pause; all of it has six times as long. Then a 400.",
        least=_LEAST_TIMEOUT_S,
        unit="seconds",
    )
    max_uri_bytes: int = _setting(
        "MAX_URI_BYTES",
        8_192,
        "Longest path and query string; a longer one is a 414.",
        least=_LEAST_REQUEST_BYTES,
        unit="bytes",
    )
    trust_proxy: int = _setting(
        "TRUST_PROXY",
        0,
        "Who the client is: 0, the connection's peer; n, the nth address of X-Forwarded-For from its end.",
        most=100,
    )
    search_limit_per_day: int = _setting(
        "SEARCH_LIMIT_PER_DAY", 10_000, "Searches of one address in a UTC day; then 429. 0: no limit.", most=10**12
    )
    search_max_concurrent: int = _setting(
        "SEARCH_MAX_CONCURRENT",
        0,
        "Searches under way at once; one more is a 429. 0: as many as there are threads.",
        most=10**12,
    )
    rate_limit_per_minute: int = _setting(
        "RATE_LIMIT_PER_MINUTE", 50, "A site's requests of one address in a minute.", most=10**12
    )
    rate_limit_per_hour: int = _setting(
        "RATE_LIMIT_PER_HOUR", 1_000, "A site's requests of everybody in an hour.", most=10**12
    )
    rate_limit_per_day: int = _setting(
        "RATE_LIMIT_PER_DAY", 10_000, "A site's requests of everybody in a UTC day.", most=10**12
    )
    max_concurrent: int = _setting("MAX_CONCURRENT", 4, "A site's requests under way at once.")
    rate_limit_storage_url: str = _setting(
        "RATE_LIMIT_STORAGE_URL", "", "A Redis (`redis://…`) in which all instances count; empty counts in each.",
        secret=True,
    )  # fmt: skip
    log_queries: bool = _setting(
        "LOG_QUERIES", False, "1 writes what was asked to the log, addresses and keys struck out."
    )
    query_timeout_s: float = _setting(
        "AGENT_FINDER_QUERY_TIMEOUT",
        100.0,
        "Deadline of a search, under the platform's own.",
        least=_LEAST_TIMEOUT_S,
        unit="seconds",
    )
    self_url: str = _setting(
        "AGENT_FINDER_SELF", "", "The registry's public base URL, sent as `source`; empty uses the request's."
    )
    registry_name: str = _setting("ARD_NAME", "Askbucket", "What the registry calls itself in its manifest and card.")
    documentation_url: str = _setting(
        "ARD_DOCUMENTATION_URL", "", "Where people read about this registry; empty names its own address."
    )
    robots_noindex: bool = _setting(
        "ROBOTS_NOINDEX", False, "1 asks crawlers to keep off: robots.txt and `X-Robots-Tag`."
    )
    site_urls: str = _setting(
        "SITE_URLS", "", "Sites whose tools POST /mcp offers too, and which the pages ask: `<kind>=<URL of the site>`, "
        "comma-separated.",
    )  # fmt: skip
    tables_url: str = _setting(
        "TABLES_URL", "", "Where the pages find the tables' routes; empty is the pages' own origin."
    )
    site: str = _setting(
        "SITE", "", "The kind of items that an ask_site function serves, `recipes` and so on: the catalog of that name."
    )
    cors_origins: str = _setting(
        "ASKHUB_CORS_ORIGINS", "https://neuralweb.dev",
        "Origins whose pages may ask a site, comma-separated; `*` is any, empty is none but its own.", blank=True,
    )  # fmt: skip
    heartbeat_s: float = _setting(
        "STREAM_HEARTBEAT",
        10.0,
        "Silence of a stream after which a comment keeps proxies from cutting it.",
        least=_LEAST_TIMEOUT_S,
        unit="seconds",
    )
    okf_namespace: str = _setting(
        "OKF_NAMESPACE", "https://github.com/GoogleCloudPlatform/knowledge-catalog/okf/ns#", "IRI of the `okf:` prefix."
    )

    rerank: bool = _setting("ARD_RERANK", True, "0 answers every search in embedding order.")
    strip_places: bool = _setting("ARD_STRIP_PLACES", True, "Add a place-stripped twin of each phrasing.")
    prefilter_max: int = _setting("ARD_PREFILTER_MAX", 150, "Rows of the embedding walk.", least=1)
    prefilter_band: float = _setting(
        "ARD_PREFILTER_BAND", 0.05, "Cosine below the best at which the head ends.", most=2
    )
    prefilter_slice: int = _setting(
        "ARD_PREFILTER_SLICE", 60, "Smallest head, and the size of a widening window.", least=1
    )
    prefilter_examined_max: int = _setting(
        "ARD_PREFILTER_EXAMINED_MAX", 120, "Largest head, and how deep widening goes.", least=1
    )
    prefilter_narrow_std: float = _setting(
        "ARD_PREFILTER_NARROW_STD", 3.0, "Spread (points) from which no match is believed."
    )
    per_phrasing: int = _setting("ARD_PER_PHRASING", 6, "Best rows of each phrasing that always join the head.")
    per_source_pool: int = _setting(
        "ARD_PER_SOURCE_POOL", 3, "Best rows of each source family that always join the head."
    )
    lexical_pool: int = _setting("ARD_LEXICAL_POOL", 6, "Best keyword matches that always join the head.")
    result_sources: int = _setting(
        "ARD_RESULT_SOURCES", 5, "Source families that are judged, and that lead the results.", least=1
    )
    source_anchors: int = _setting("ARD_SOURCE_ANCHORS", 2, "Candidates of the first family shown with each other one.")
    min_rerank_score: int = _setting(
        "ARD_MIN_RERANK_SCORE", 50, "Score (0-100) from which a result is eligible.", most=100
    )

    ranking_model: str = _setting(
        "OPENROUTER_RANKING_MODEL", "openai/gpt-oss-20b", "The chat or decision model that ranks a site's items."
    )
    ranking_providers: str = _setting(
        "OPENROUTER_RANKING_PROVIDERS", "coreweave;novita;groq",
        "Providers of the default ranking model, in the order to try, semicolon-separated; empty leaves the choice.",
        blank=True,
    )  # fmt: skip
    ranking_effort: str = _setting(
        "OPENROUTER_RANKING_REASONING_EFFORT", "low", "How hard it thinks; empty leaves it to the model.", blank=True
    )
    writing_effort: str = _setting(
        "OPENROUTER_LLM_REASONING_EFFORT",
        "low",
        "How hard OPENROUTER_MODEL thinks when it rewrites or writes; empty leaves it to the model.",
        blank=True,
    )
    describer_model: str = _setting(
        "ASKHUB_DESCRIBER_MODEL", "google/gemini-3.8-flash",
        "The chat model that writes what is shown of recipes and reviews.",
    )  # fmt: skip
    describer_effort: str = _setting(
        "ASKHUB_DESCRIBER_REASONING_EFFORT", "low", "How hard it thinks; empty leaves it to the model.", blank=True
    )
    lite_model: str = _setting(
        "ASKHUB_LITE_MODEL", "google/gemini-2.5-flash-lite",
        "The chat model that sums up the results of a simple question.",
    )  # fmt: skip
    ask_bm25_count: int = _setting("ASKHUB_BM25_RANK_COUNT", 20, "Best keyword matches that are ranked.")
    ask_vector_count: int = _setting("ASKHUB_VECTOR_RANK_COUNT", 20, "Best vector matches beside them.")
    bm25_field_weights: ByField = _setting(
        "ASKHUB_BM25_FIELD_WEIGHTS", _WORD_WEIGHTS, "What a keyword match counts by field; a JSON object.",
        parse=_by_field(_WORD_WEIGHTS, 1_000),
    )  # fmt: skip
    bm25_field_b: ByField = _setting(
        "ASKHUB_BM25_FIELD_B", _WORD_B, "How much a field's length takes off such a match, 0 to 1; a JSON object.",
        parse=_by_field(_WORD_B, 1),
    )  # fmt: skip
    vector_field_weights: ByField = _setting(
        "ASKHUB_VECTOR_FIELD_WEIGHTS", _VECTOR_WEIGHTS, "What a field's cosine counts; a JSON object.",
        parse=_by_field(_VECTOR_WEIGHTS, 1_000),
    )  # fmt: skip
    ranking_fields: str = _setting(
        "ASKHUB_RANKING_FIELDS", "",
        "The properties of a record that a chat ranker is shown, by kind: a JSON object of lists; empty, and for kinds "
        "that it leaves out, the kind's own.", parse=_properties,
    )  # fmt: skip
    ranking_batches: int = _setting("ASKHUB_RANKING_BATCH_COUNT", 3, "Calls that share the candidates; 0: one each.")
    ranking_batch_keep: int = _setting("ASKHUB_RANKING_BATCH_RETURN_COUNT", 3, "Most items that one call may keep.")
    ranking_max_tokens: int = _setting("ASKHUB_RANKING_MAX_TOKENS", 800, "Room for a call's verdicts, in tokens.")
    decision_fallback_model: str = _setting(
        "ASKHUB_DECISION_FALLBACK_MODEL", "openai/gpt-oss-20b",
        "The chat model that ranks where a decision model fails or keeps nothing; empty is none.", blank=True,
    )  # fmt: skip
    decision_attempts: int = _setting("ASKHUB_DECISION_ATTEMPTS", 3, "Attempts of a decision call.", least=1, most=100)
    decision_timeout_s: float = _setting(
        "ASKHUB_DECISION_TIMEOUT", 90.0, "Longest decision call, one attempt.", least=_LEAST_TIMEOUT_S, unit="seconds"
    )
    decision_min_score: float = _setting(
        "ASKHUB_DECISION_MIN_SCORE", 1.9, "Score (0-4) of a decision model that an item has to be above.", most=4
    )
    decision_strong_score: float = _setting(
        "ASKHUB_DECISION_STRONG_SCORE", 3.0, "Score (0-4) from which an item is strong.", most=4
    )
    rewrite_timeout_s: float = _setting(
        "ASKHUB_DECONTEXTUALIZE_TIMEOUT", 15.0, "Longest rewrite of a follow-up.", least=_LEAST_TIMEOUT_S,
        unit="seconds",
    )  # fmt: skip
    triage_timeout_s: float = _setting(
        "ASKHUB_TRIAGE_TIMEOUT", 4.0, "Longest reading of what a question demands.", least=_LEAST_TIMEOUT_S,
        unit="seconds",
    )  # fmt: skip
    expands: bool = _setting(
        "ASKHUB_EXPANSION", True, "Let a chat model propose names and terms to look for beside the question."
    )
    expansion_timeout_s: float = _setting(
        "ASKHUB_EXPANSION_TIMEOUT", 6.0, "Longest wait for such a proposal.", least=_LEAST_TIMEOUT_S, unit="seconds"
    )
    fast_track: bool = _setting(
        "ASKHUB_FAST_TRACK", True, "Rank a follow-up as typed while it is rewritten; 0 waits for the rewrite."
    )
    ask_timeout_s: float = _setting(
        "ASKHUB_QUERY_TIMEOUT",
        280.0,
        "Deadline of a site's answer, under the platform's own.",
        least=_LEAST_TIMEOUT_S,
        unit="seconds",
    )

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read the environment once. Raises SettingsError naming the variable, its value and the rule."""
        source = os.environ if environ is None else environ
        given = {}
        for field, row in ROWS.items():
            means_nothing = row.blank or not isinstance(row.default, str)
            if source.get(row.name) or (row.name in source and means_nothing):
                try:
                    given[field] = row.parse(source[row.name])
                except ValueError as error:
                    shown = "(secret)" if row.secret else _shown(source[row.name])
                    raise SettingsError(f"{row.name}={shown}: {error}") from error
        return cls(**given)

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """What may be shown: all but secrets. A struct has a method of this name, which shows them."""
        return [(field, getattr(self, field)) for field, row in ROWS.items() if not row.secret]

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{field}={value!r}' for field, value in self.__rich_repr__())})"


ROWS: Mapping[str, Row] = dict(zip(Settings.__struct_fields__, _rows, strict=True))
"""The table: each field of Settings and its row."""


def _shown(raw: str) -> str:
    return repr(raw if len(raw) <= _MOST_SHOWN else f"{raw[:_MOST_SHOWN]}…")


def secrets_of(settings: Settings) -> list[str]:
    """The values of secret settings that are set: what must never be shown."""
    return [value for field, row in ROWS.items() if row.secret and (value := getattr(settings, field))]


def without_userinfo(url: str) -> str:
    """A URL as it may be shown: what stands before an `@` in its address could be a password."""
    scheme, separator, rest = url.partition("://")
    address, slash, path = rest.partition("/")
    return f"{scheme}{separator}{address.rpartition('@')[2]}{slash}{path}"


def threads_or_cores(threads: int) -> int:
    """As many threads as a setting says; for 0, one for each core this process may run on."""
    if threads:
        return threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
