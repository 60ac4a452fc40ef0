"""From a request's parameters to a question that can be asked, or the one sentence that says what is wrong with it.

Three kinds of client ask a site: our pages, clients of NLWeb as first published (GET, `prev`, `generate_mode`) and
clients of its version 0.54 (`query` as an object, `prefer`, `context`, `meta`). One reading serves them all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from shared.contracts.ask import MODES, RETRIEVALS, AskRequest, Mode, Retrieval
from shared.contracts.text import normal, whole_number
from shared.errors import RequestError, UnknownName
from shared.models.ranking_models import full_id

T = TypeVar("T")

MAX_QUERY_CHARS = 8_000
MAX_PREVIOUS_QUERIES = 5
MAX_PREVIOUS_RESULTS = 10
MAX_PREVIOUS_CHARS = 1_000
MAX_RESULTS = 200
MAX_COUNT = 200
MAX_ID_CHARS = 200

_SWITCHES = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
_NAME_KEYS = ("name", "title", "url")


def parse_ask(values: Mapping[str, Any], models: Sequence[str] = ()) -> AskRequest:
    """The question that these parameters ask, a query string's and a body's together.

    Values may be spelled as a query string spells them or as JSON does; null means not given, and so does an empty
    text. Unknown names are ignored. `models` are the ranking models that may be named. Raises RequestError with one
    sentence about the first thing that is wrong.
    """
    given = _Given(values)
    return AskRequest(
        query=_text("query", given.query),
        site=_site(given.first("site")),
        mode=_mode(given),
        previous_queries=_previous_queries(given),
        previous_results=_previous_results(given),
        standalone_query=_text("decontextualized_query", given.first("decontextualized_query")),
        max_results=_whole(given, ("max_results",), 10, 1, MAX_RESULTS),
        start_num=_whole(given, ("start_num",), 0, 0, 1_000_000),
        min_score=_whole(given, ("min_score",), 70, 0, 100),
        retrieval=_retrieval(given.first("retrieval")),
        ranking_model=_model(given.first("ranking_model"), models),
        retrieval_count=_count(given, ("retrieval_count", "num_results")),
        ranking_count=_count(given, ("ranking_count",)),
        include_excluded=_switch(given, "include_excluded", False),
        streaming=_switch(given, "streaming", True),
        query_id=_query_id(given.first("query_id")),
    )


def wants_stream(values: Mapping[str, Any]) -> bool:
    """Whether these parameters leave `streaming` on. Raises RequestError where it is no switch."""
    return _switch(_Given(values), "streaming", True)


class _Given:
    """The parameters, wherever they stand: in `prefer`, at the top, in an object `query`, in `context` or `meta`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._top = values
        query = maybe_json(values.get("query"), "{")
        self._query = query if isinstance(query, dict) else {}
        self.query: object = self._query.get("text") if isinstance(query, dict) else values.get("query")

    def first(self, *names: str) -> object:
        """The first value of any of these names that says something; None where none does."""
        for place in self._places():
            for name in names:
                value = place.get(name)
                if value is not None and not (isinstance(value, str) and not value.strip()):
                    return value
        return None

    def _places(self) -> Iterator[Mapping[str, Any]]:
        yield self._inner("prefer")
        yield self._top
        yield self._query
        yield self._inner("context")
        yield self._inner("meta")

    def _inner(self, name: str) -> Mapping[str, Any]:
        value = maybe_json(self._top.get(name), "{")
        return value if isinstance(value, dict) else {}


def maybe_json(value: object, opening: str) -> object:
    """What a text spells in JSON, where it begins as that and is that; else the value itself."""
    if isinstance(value, str) and value.lstrip().startswith(opening):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _text(name: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        _refuse(f"{name} must be a string" + (", or an object with a string `text`" if name == "query" else ""))
    text = normal(value)
    if len(text) > MAX_QUERY_CHARS:
        _refuse(f"{name} may have at most {MAX_QUERY_CHARS} characters, found {len(text)}")
    return text


def _site(value: object) -> str:
    """Names with commas between them; empty for every item."""
    given = value if isinstance(value, list) else [value] if value is not None else []
    names = [name for name in given if isinstance(name, str)]
    if len(names) < len(given):
        _refuse("site must be the name of a site, or several with commas between them")
    parts = [normal(part) for name in names for part in name.split(",")]
    return "" if any(part.lower() == "all" for part in parts) else ",".join(filter(None, parts))


def _mode(given: _Given) -> Mode:
    """The strongest of the modes that are named: `none` is a list, and "list, summarize" a summary."""
    value = given.first("mode", "generate_mode")
    if value is None:
        return "summarize"
    named = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
    words = [str(word).strip().lower() for word in named]
    known = ["list" if word == "none" else word for word in words if word]
    wrong = [word for word in known if word not in MODES]
    if wrong or not known:
        _refuse(f"mode must be list, summarize, or generate, found {_shown(value)}")
    return max((MODES[MODES.index(word)] for word in known), key=MODES.index)


def _retrieval(value: object) -> Retrieval:
    word = value.strip().lower() if isinstance(value, str) else value
    if word is None:
        return "compare"
    if word not in RETRIEVALS:
        _refuse("retrieval must be vector, bm25, or compare")
    return RETRIEVALS[RETRIEVALS.index(word)]


def _model(value: object, models: Sequence[str]) -> str:
    if value is None:
        return ""
    model = full_id(value, models) if isinstance(value, str) else ""
    if not isinstance(value, str) or (models and model not in models):
        valid = ", ".join(models)
        raise UnknownName(f"ranking_model {_shown(value)} is not one of the models here: {valid}", models)
    return model


def _previous_queries(given: _Given) -> tuple[str, ...]:
    """The last five queries before this one. A blank one is no history."""
    texts = _listed(given.first("previous_queries", "prev"), "previous_queries", _as_text)
    return tuple(texts[-MAX_PREVIOUS_QUERIES:])


def _previous_results(given: _Given) -> tuple[str, ...]:
    names = _listed(given.first("previous_results", "last_ans"), "previous_results", _as_name)
    return tuple(names[:MAX_PREVIOUS_RESULTS])


def _listed(value: object, name: str, read: Callable[[object], str | None]) -> list[str]:
    """Texts of a list, of a list spelled in JSON, or of one text; each cut, blank ones left out."""
    value = maybe_json(value, "[")
    members = value if isinstance(value, list) else [] if value is None else [value]
    texts = [read(member) for member in members]
    if any(text is None for text in texts):
        _refuse(f"{name} must be a list of strings")
    cut = [normal((text or "")[:MAX_PREVIOUS_CHARS]) for text in texts]
    return [text for text in cut if text]


def _as_text(member: object) -> str | None:
    """A query; clients of 0.54 wrap one in an object with its `text`."""
    found = member.get("text", member.get("query")) if isinstance(member, dict) else member
    return found if isinstance(found, str) else None


def _as_name(member: object) -> str | None:
    found = member
    if isinstance(member, dict):
        found = next((member[key] for key in _NAME_KEYS if isinstance(member.get(key), str)), None)
    return found if isinstance(found, str) else None


def _whole(given: _Given, names: tuple[str, ...], default: int, least: int, most: int) -> int:
    value = given.first(*names)
    number = default if value is None else whole_number(value, names[0])
    if not least <= number <= most:
        _refuse(f"{names[0]} must be from {least} to {most}, found {number}")
    return number


def _count(given: _Given, names: tuple[str, ...]) -> int | None:
    """How many candidates; more than 200 are 200."""
    value = given.first(*names)
    if value is None:
        return None
    number = whole_number(value, names[0])
    if number < 1:
        _refuse(f"{names[0]} must be at least 1")
    return min(number, MAX_COUNT)


def _switch(given: _Given, name: str, default: bool) -> bool:
    value = given.first(name)
    if value is None:
        return default
    if isinstance(value, bool):
        return value
    known = _SWITCHES.get(str(value).strip().lower())
    if known is None:
        _refuse(f"{name} must be true or false")
    return known


def _query_id(value: object) -> str:
    if value is None:
        return ""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not text or len(text) > MAX_ID_CHARS or not text.isprintable():
        _refuse(f"query_id must be a string of at most {MAX_ID_CHARS} printable characters")
    return text


def _shown(value: object) -> str:
    """A caller's value as an error quotes it."""
    return repr(str(value)[:60])


def _refuse(sentence: str) -> NoReturn:
    raise RequestError(sentence)
