"""From a request's body to a search that can be run, or the one sentence that says what is wrong with it.

Written out by hand: importing pydantic and building its schema took 50 ms of every cold start, a tenth of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, TypeVar

from shared.contracts.tables import FILTER_KEYS, MAX_SOURCES, MAX_TEXTS, SearchQuery, SearchRequest
from shared.errors import RequestError

T = TypeVar("T")

_FEDERATION = ("auto", "referrals", "none")
# No script puts more marks on one letter.
_MOST_MARKS = 12
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


def parse_search(body: Mapping[str, Any]) -> SearchRequest:
    """The search a body asks for. Raises RequestError with one sentence about the first thing that is wrong.

    Unknown root keys are ignored, never refused, and null means not given.
    """
    query = _query(body.get("query"))
    _one_of(body, "federation", _FEDERATION, "auto")
    if body.get("pageToken") is not None:
        _refuse("pageToken was not issued by this registry: a search answers in one page")
    return SearchRequest(
        query=query,
        page_size=_page_size(body),
        rerank=_switch(body, "rerank", True),
        order=_one_of(body, "order", ("source", "score"), "source"),
        sources=_names(body, "sources"),
        exclude_sources=_names(body, "excludeSources"),
        catalogs=_names(body, "catalogs"),
    )


def clean_text(value: object, name: str) -> str:
    """A question in its one normal form: NFC, no control, zero-width or half characters, single spaces."""
    words = _normal(value).split() if isinstance(value, str) else []
    if not words:
        _refuse(f"{name} must be a non-empty string")
    return " ".join(words)


def whole_number(value: object, name: str) -> int:
    """An integer as JSON, a form or a query string spell it: 10, 10.0 or "10". True is not one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    raise RequestError(f"{name} must be an integer")


def _query(value: object) -> SearchQuery:
    given: Mapping[str, Any] = value if isinstance(value, dict) else {}
    return SearchQuery(
        text=clean_text(given.get("text"), "query.text"),
        texts=_texts(given.get("texts")),
        filter=_filter(given.get("filter")),
    )


def _texts(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_TEXTS:
        _refuse(f"query.texts must be a list of 1 to {MAX_TEXTS} non-empty strings")
    return tuple(dict.fromkeys(clean_text(item, "each of query.texts") for item in value))


def _filter(value: object) -> dict[str, tuple[str, ...]] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        _refuse("query.filter must be an object")
    return {key: _filter_values(key, given) for key, given in value.items()}


def _filter_values(key: str, given: object) -> tuple[str, ...]:
    """The values of a filter key; a scalar is a list of one. Keys nobody reads may hold anything."""
    if key not in FILTER_KEYS:
        return ()
    values = given if isinstance(given, list) else [given]
    words = [value.strip() for value in values if isinstance(value, str)]
    if len(words) < len(values) or not all(words):
        _refuse(f"query.filter.{key} must be a string or a list of non-empty strings")
    return tuple(words)


def _page_size(body: Mapping[str, Any]) -> int:
    size = body.get("limit") if body.get("pageSize") is None else body["pageSize"]
    return 10 if size is None else whole_number(size, "pageSize")


def _switch(body: Mapping[str, Any], name: str, default: bool) -> bool:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        _refuse(f"{name} must be true or false")
    return value


def _one_of(body: Mapping[str, Any], name: str, choices: tuple[T, ...], default: T) -> T:
    value = body.get(name)
    if value is None:
        return default
    if value not in choices:
        _refuse(f"{name} must be one of {', '.join(map(str, choices))}")
    return choices[choices.index(value)]


def _names(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = body.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        _refuse(f"{name} must be a list of strings")
    if len(value) > MAX_SOURCES:
        _refuse(f"{name} may hold at most {MAX_SOURCES} names, found {len(value)}")
    return tuple(dict.fromkeys(item.strip() for item in value))


def _normal(text: str) -> str:
    """NFC of what can be seen. Putting marks in order takes quadratic time, so no character keeps more than a few."""
    return unicodedata.normalize("NFC", "".join(_seen(text)))


def _seen(text: str) -> Iterator[str]:
    """A control character separates words, a zero-width or half one is nothing at all."""
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        category = unicodedata.category(character)
        if category in {"Cc", "Zl", "Zp"}:
            yield " "
        elif category not in {"Cf", "Cs"} and marks <= _MOST_MARKS:
            yield character


def _refuse(sentence: str) -> NoReturn:
    raise RequestError(sentence)
