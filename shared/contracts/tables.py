"""What a table search takes: the request's shape, its normal forms, and one sentence for each way to be wrong."""

from __future__ import annotations

import unicodedata
from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

MAX_TEXTS = 4
MAX_SOURCES = 50
MAX_PAGE_SIZE = 100
FILTER_KEYS = ("publisher", "type", "tags")

_OPEN = ConfigDict(extra="ignore", frozen=True, defer_build=True)


def _refuse(message: str) -> PydanticCustomError:
    return PydanticCustomError("request", "{sentence}", {"sentence": message})


def clean_text(value: object, name: str) -> str:
    """A question in its one normal form: NFC, no control, zero-width or half characters, single spaces."""
    if not isinstance(value, str):
        raise _refuse(f"{name} must be a non-empty string")
    words = "".join(_visible(c) for c in unicodedata.normalize("NFC", value)).split()
    if not words:
        raise _refuse(f"{name} must be a non-empty string")
    return " ".join(words)


def _visible(character: str) -> str:
    """A control character separates words, a zero-width or half one is nothing at all."""
    category = unicodedata.category(character)
    if category in {"Cc", "Zl", "Zp"}:
        return " "
    return "" if category in {"Cf", "Cs"} else character


def whole_number(value: object, name: str) -> int:
    """An integer as JSON, a form or a query string spell it: 10, 10.0 or "10". True is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _refuse(f"{name} must be an integer")
    try:
        number = int(value)
    except (ValueError, OverflowError):
        raise _refuse(f"{name} must be an integer") from None
    if isinstance(value, float) and number != value:
        raise _refuse(f"{name} must be an integer")
    return number


def _names(value: object, name: str, most: int) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _refuse(f"{name} must be a list of strings")
    if len(value) > most:
        raise _refuse(f"{name} may hold at most {most} names, found {len(value)}")
    return tuple(dict.fromkeys(item.strip() for item in value))


class SearchQuery(BaseModel):
    """The question: `text` for the judge, `texts` for the embedder, and what may be searched."""

    model_config = _OPEN
    text: str
    texts: tuple[str, ...] = ()
    filter: dict[str, tuple[str, ...]] | None = None

    @field_validator("text", mode="before")
    @classmethod
    def _text(cls, value: object) -> str:
        return clean_text(value, "query.text")

    @field_validator("texts", mode="before")
    @classmethod
    def _texts(cls, value: object) -> tuple[str, ...]:
        if value is None:
            return ()
        if not isinstance(value, list) or not 1 <= len(value) <= MAX_TEXTS:
            raise _refuse(f"query.texts must be a list of 1 to {MAX_TEXTS} non-empty strings")
        return tuple(dict.fromkeys(clean_text(item, "each of query.texts") for item in value))

    @field_validator("filter", mode="before")
    @classmethod
    def _filter(cls, value: object) -> dict[str, tuple[str, ...]] | None:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _refuse("query.filter must be an object")
        return {key: _filter_values(key, given) for key, given in value.items()}

    @property
    def phrasings(self) -> tuple[str, ...]:
        """What is embedded: the texts, or the text where none are given."""
        return self.texts or (self.text,)


def _filter_values(key: str, given: object) -> tuple[str, ...]:
    """The values of a filter key; a scalar is a list of one. Keys nobody reads may hold anything."""
    if key not in FILTER_KEYS:
        return ()
    values = given if isinstance(given, list) else [given]
    words = [value.strip() for value in values if isinstance(value, str)]
    if len(words) < len(values) or not all(words):
        raise _refuse(f"query.filter.{key} must be a string or a list of non-empty strings")
    return tuple(words)


class SearchRequest(BaseModel):
    """POST /search. Unknown root keys are ignored, never refused."""

    model_config = _OPEN
    query: SearchQuery
    page_size: int = Field(10, validation_alias=AliasChoices("pageSize", "limit"))
    rerank: bool = True
    order: Literal["source", "score"] = "source"
    sources: tuple[str, ...] = ()
    exclude_sources: tuple[str, ...] = Field((), validation_alias="excludeSources")
    catalogs: tuple[str, ...] = ()
    federation: Literal["auto", "referrals", "none"] = "auto"
    page_token: None = Field(None, validation_alias="pageToken")

    @model_validator(mode="before")
    @classmethod
    def _query_first(cls, body: Any) -> Any:
        query = body.get("query")
        if not isinstance(query, dict):
            raise _refuse("query.text must be a non-empty string")
        size = body.get("pageSize", body.get("limit"))
        asked = 10 if size is None else whole_number(size, "pageSize")
        return {**body, "query": {"text": None, **query}, "pageSize": asked}

    @property
    def page(self) -> int:
        """Results asked for, clamped to what a page may hold."""
        return min(max(self.page_size, 1), MAX_PAGE_SIZE)

    @field_validator("rerank", mode="before")
    @classmethod
    def _rerank(cls, value: object) -> bool:
        if not isinstance(value, bool):
            raise _refuse("rerank must be true or false")
        return value

    @field_validator("order", "federation", mode="before")
    @classmethod
    def _choice(cls, value: object, info: Any) -> object:
        choices = {"order": ("source", "score"), "federation": ("auto", "referrals", "none")}[info.field_name]
        if value not in choices:
            raise _refuse(f"{info.field_name} must be one of {', '.join(choices)}")
        return value

    @field_validator("sources", mode="before")
    @classmethod
    def _sources(cls, value: object) -> tuple[str, ...]:
        return _names(value, "sources", MAX_SOURCES)

    @field_validator("exclude_sources", mode="before")
    @classmethod
    def _exclude_sources(cls, value: object) -> tuple[str, ...]:
        return _names(value, "excludeSources", MAX_SOURCES)

    @field_validator("catalogs", mode="before")
    @classmethod
    def _catalogs(cls, value: object) -> tuple[str, ...]:
        return _names(value, "catalogs", MAX_SOURCES)

    @field_validator("page_token", mode="before")
    @classmethod
    def _page_token(cls, value: object) -> None:
        if value is not None:
            raise _refuse("pageToken was not issued by this registry: a search answers in one page")
