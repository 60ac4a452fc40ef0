"""The one table of settings, and the one place that reads the environment.

Each field of `Settings` is a row: its environment name, default, phase (`serve`, `build` or `both`) and
what it does. docs/settings.md is held to this table by a test.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from shared.errors import SettingsError

Phase = Literal["serve", "build", "both"]


def _text(raw: str) -> str:
    return raw.strip()


def _whole(raw: str) -> int:
    value = int(raw)
    if value < 0:
        raise ValueError("must not be negative")
    return value


def _number(raw: str) -> float:
    value = float(raw)
    if not 0 <= value < float("inf"):
        raise ValueError("must be a finite number, zero or more")
    return value


def _switch(raw: str) -> bool:
    words = {"1": True, "true": True, "on": True, "yes": True, "0": False, "false": False, "off": False, "no": False}
    if raw.strip().lower() not in words:
        raise ValueError("must be 1 or 0")
    return words[raw.strip().lower()]


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(raw: str) -> str:
        if raw.strip() not in choices:
            raise ValueError(f"must be one of {', '.join(repr(choice) for choice in choices)}")
        return raw.strip()

    return parse


_PARSERS: dict[type, Callable[[str], Any]] = {str: _text, int: _whole, float: _number, bool: _switch}


def _setting(
    name: str, default: Any, help: str, *, phase: Phase = "serve", parse: Callable[[str], Any] | None = None
) -> Any:
    row = {"name": name, "help": help, "phase": phase, "parse": parse or _PARSERS[type(default)]}
    return field(default=default, metadata=row)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. Times are in seconds, sizes in bytes, unless the name says otherwise."""

    bucket_url: str = _setting("BUCKET_URL", "", "Where releases lie: `file:///…`.", phase="both")
    cache_dir: str = _setting(
        "CACHE_DIR", "/tmp/askbucket", "Where release files from a bucket that is not a local disk are kept."
    )
    refresh_s: float = _setting("REFRESH_S", 60.0, "Age at which the pointer is read again, beside a request.")
    ard_catalogs: str = _setting(
        "ARD_CATALOGS", "", "More table catalogs to mount: `name` or `name=<bucket URL>`, comma-separated."
    )
    llm_provider: str = _setting(
        "LLM_PROVIDER", "", "Who judges: `embedded` or `none`; empty chooses embedded where its weights are installed.",
        phase="both", parse=_one_of("", "embedded", "none"),
    )  # fmt: skip
    model_threads: int = _setting(
        "MODEL_THREADS", 0, "Threads an embedded model may use; 0 means one a core.", phase="both"
    )
    scan_threads: int = _setting("SCAN_THREADS", 0, "Threads of the vector scan; 0 means one a core.")

    max_body_bytes: int = _setting("AGENT_FINDER_MAX_BODY", 65_536, "Largest request body; a larger one is a 413.")
    max_uri_bytes: int = _setting("MAX_URI_BYTES", 8_192, "Longest path and query string; a longer one is a 414.")
    query_timeout_s: float = _setting(
        "AGENT_FINDER_QUERY_TIMEOUT", 100.0, "Deadline of a search, under the platform's own."
    )
    self_url: str = _setting(
        "AGENT_FINDER_SELF", "", "The registry's public base URL, sent as `source`; empty uses the request's."
    )
    okf_namespace: str = _setting(
        "OKF_NAMESPACE", "https://github.com/GoogleCloudPlatform/knowledge-catalog/okf/ns#", "IRI of the `okf:` prefix."
    )

    rerank: bool = _setting("ARD_RERANK", True, "0 answers every search in embedding order.")
    strip_places: bool = _setting("ARD_STRIP_PLACES", True, "Add a place-stripped twin of each phrasing.")
    prefilter_max: int = _setting("ARD_PREFILTER_MAX", 150, "Rows of the embedding walk.")
    prefilter_band: float = _setting("ARD_PREFILTER_BAND", 0.05, "Cosine below the best at which the head ends.")
    prefilter_slice: int = _setting("ARD_PREFILTER_SLICE", 60, "Smallest head, and the size of a widening window.")
    prefilter_examined_max: int = _setting(
        "ARD_PREFILTER_EXAMINED_MAX", 120, "Largest head, and how deep widening goes."
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
        "ARD_RESULT_SOURCES", 5, "Source families that are judged, and that lead the results."
    )
    source_anchors: int = _setting("ARD_SOURCE_ANCHORS", 2, "Candidates of the first family shown with each other one.")
    min_rerank_score: int = _setting("ARD_MIN_RERANK_SCORE", 50, "Score (0-100) from which a result is eligible.")

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read the environment once. Raises SettingsError naming the variable, its value and the rule."""
        source = os.environ if environ is None else environ
        given = {}
        for row in fields(cls):
            name = row.metadata["name"]
            if name in source:
                try:
                    given[row.name] = row.metadata["parse"](source[name])
                except ValueError as error:
                    raise SettingsError(f"{name}={source[name]!r}: {error}") from error
        return cls(**given)
