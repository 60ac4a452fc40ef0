"""From a request's body to a search that can be run, or the one sentence that says what is wrong with it.

Written out by hand: importing pydantic and building its schema took 50 ms of every cold start, a tenth of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from shared.contracts.tables import (
    MAX_ASK_CHARS,
    MAX_SOURCES,
    MAX_TEXTS,
    OKF_NAMESPACES,
    ORDERS,
    Order,
    SearchQuery,
    SearchRequest,
)
from shared.contracts.text import normal, whole_number
from shared.errors import RequestError
from shared.tables.filters import filter_of

T = TypeVar("T")

_FEDERATION = ("auto", "referrals", "none")
_QUESTION = ("query", "question", "q", "text")
_PAGE_SIZE = ("pageSize", "limit", "k", "max_results")


def parse_search(body: Mapping[str, Any], okf_namespace: str = OKF_NAMESPACES[0]) -> SearchRequest:
    """The search a body asks for. Raises RequestError with one sentence about the first thing that is wrong.

    Unknown root keys are ignored, never refused, and null means not given. `okf_namespace` is what the prefix `okf`
    of a filter's key stands for.
    """
    query = _query(body.get("query"), okf_namespace)
    _one_of(body, "federation", _FEDERATION, "auto")
    if body.get("pageToken") is not None:
        _refuse("pageToken was not issued by this registry: a search answers in one page")
    return SearchRequest(
        query=query,
        page_size=_page_size(body),
        rerank=_switch(body, "rerank", True),
        order=_one_of(body, "order", ORDERS, "source"),
        sources=names_of(body, "sources"),
        exclude_sources=names_of(body, "excludeSources"),
        catalogs=names_of(body, "catalogs"),
    )


def parse_ask(*given: Mapping[str, Any]) -> SearchRequest:
    """The search a plain question asks for, from parameters that came in several places.

    Values may be spelled as a query string spells them (`"10"`, `"a,b"`, `"false"`) or as JSON does. A parameter
    given twice, in two places or by two of its names, has to say the same. Raises RequestError like `parse_search`.
    """
    text = _agreed(given, _QUESTION, _question)
    if text is None:
        _refuse(f"query is missing: what is asked, in at most {MAX_ASK_CHARS} characters (also {_or(_QUESTION[1:])})")
    size = _agreed(given, _PAGE_SIZE, whole_number)
    rerank = _agreed(given, ("rerank",), _spelled_switch)
    return SearchRequest(
        query=SearchQuery(text=text),
        page_size=10 if size is None else size,
        rerank=True if rerank is None else rerank,
        order=_agreed(given, ("order",), _order) or "source",
        sources=_agreed(given, ("sources",), _spelled_names) or (),
        exclude_sources=_agreed(given, ("excludeSources",), _spelled_names) or (),
        catalogs=_agreed(given, ("catalogs",), _spelled_names) or (),
    )


def clean_text(value: object, name: str) -> str:
    """A question in its one normal form: NFC, no control, zero-width or half characters, single spaces."""
    text = normal(value) if isinstance(value, str) else ""
    if not text:
        _refuse(f"{name} must be a non-empty string")
    return text


def _agreed(given: Sequence[Mapping[str, Any]], names: Sequence[str], parse: Callable[[Any, str], T]) -> T | None:
    """What every mention of a parameter comes to; None where nobody mentions it."""
    said = [(name, parse(each[name], name)) for each in given for name in names if each.get(name) is not None]
    if any(value != said[0][1] for _, value in said):
        spelled = dict.fromkeys(name for name, _ in said)
        _refuse(f"{' and '.join(spelled)} must not be given twice with different values")
    return said[0][1] if said else None


def _question(value: object, name: str) -> str:
    text = clean_text(value, name)
    if len(text) > MAX_ASK_CHARS:
        _refuse(
            f"{name} may have at most {MAX_ASK_CHARS} characters, found {len(text)}; POST /search takes longer ones"
        )
    return text


def _spelled_switch(value: object, name: str) -> bool:
    words = {"true": True, "1": True, "false": False, "0": False}
    if isinstance(value, str):
        value = words.get(value.strip().lower(), value)
    return _switch({name: value}, name, True)


def _spelled_names(value: object, name: str) -> tuple[str, ...]:
    """A list, or its values with commas between them."""
    if isinstance(value, str):
        value = [item for item in map(str.strip, value.split(",")) if item]
    return names_of({name: value}, name)


def _order(value: object, name: str) -> Order:
    return _one_of({name: value}, name, ORDERS, "source")


def _or(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _query(value: object, okf_namespace: str) -> SearchQuery:
    given: Mapping[str, Any] = value if isinstance(value, dict) else {}
    return SearchQuery(
        text=clean_text(given.get("text"), "query.text"),
        texts=_texts(given.get("texts")),
        filter=filter_of(given, okf_namespace),
    )


def _texts(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_TEXTS:
        _refuse(f"query.texts must be a list of 1 to {MAX_TEXTS} non-empty strings")
    return tuple(dict.fromkeys(clean_text(item, "each of query.texts") for item in value))


def _page_size(body: Mapping[str, Any]) -> int:
    sizes = [whole_number(body[name], name) for name in ("pageSize", "limit") if body.get(name) is not None]
    return sizes[0] if sizes else 10


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


def names_of(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of names in a body, at most 50; empty where it is not given. Raises RequestError."""
    value = body.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        _refuse(f"{name} must be a list of strings")
    if len(value) > MAX_SOURCES:
        _refuse(f"{name} may hold at most {MAX_SOURCES} names, found {len(value)}")
    return tuple(dict.fromkeys(item.strip() for item in value))


def _refuse(sentence: str) -> NoReturn:
    raise RequestError(sentence)
