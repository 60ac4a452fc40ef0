"""Questions as clients of NLWeb's version 0.54 put them: told from others, held to its rules, and made ours.

{query: {text, site, num_results, max_results, min_score, decontextualized_query},
 context: {prev, text, memory}, prefer: {streaming, response_format, mode}, meta: {api_version, start_num, …}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

from msgspec import Struct

from shared.contracts.notices import Notice, notice
from shared.contracts.text import whole_number
from shared.errors import RequestError
from shared.sites.request import MAX_COUNT, maybe_json, wants_stream

Format = Literal["conv_search", "chatgpt_app"]

FORMATS: tuple[Format, ...] = get_args(Format)
QUERY_KEYS = ("text", "site", "num_results", "max_results", "min_score", "decontextualized_query")
# Name → what is meant where nothing is said, the least and the most.
NUMBERS = {"num_results": (50, 1, 1_000), "max_results": (9, 1, 100), "min_score": (51, 0, 100)}

_PARTS = ("context", "prefer", "meta")
_IN_ACCEPT = re.compile(rf"\b({'|'.join(FORMATS)})\b")
# What a client may send that this server, which keeps nothing between requests, makes no use of.
_UNUSED = (("context", "text"), ("context", "memory"), ("meta", "remember"))


class Question54(Struct, frozen=True):
    """A question as `parse_ask` reads one, and how its reply is to look.

    `session` comes back in the reply as it was sent; `notices` say what of the question was not used.
    """

    values: Mapping[str, Any]
    format: Format
    session: Mapping[str, Any] | None = None
    notices: tuple[Notice, ...] = ()


def is_54(values: Mapping[str, Any], accept: str = "") -> bool:
    """Whether these parameters, or the Accept header beside them, ask for a reply of version 0.54.

    They do where they name one of its formats; and where `query` is an object, beside any format or version.
    """
    named = _named_format(values, accept)
    versioned = bool(_object(values, "meta").get("api_version"))
    return named in FORMATS or (isinstance(_query(values), dict) and (named is not None or versioned))


def format_of(values: Mapping[str, Any], accept: str = "") -> Format:
    """The format to answer in, also where the question is wrong: the one that is named, else `conv_search`."""
    named = _named_format(values, accept)
    return next((known for known in FORMATS if known == named), "conv_search")


def streams_54(values: Mapping[str, Any]) -> bool:
    """Whether the reply is to be a stream, also where the question is wrong: unless it says that it is not."""
    try:
        return wants_stream(values)
    except RequestError:
        return True


def read_54(values: Mapping[str, Any], accept: str = "") -> Question54:
    """The question, held to 0.54's rules. Raises RequestError with one sentence about the first thing wrong."""
    for part in _PARTS:
        if values.get(part) is not None and not isinstance(maybe_json(values[part], "{"), dict):
            raise RequestError(f"{part} must be an object")
    named = _named_format(values, accept)
    if named is not None and named not in FORMATS:
        raise RequestError(f"prefer.response_format must be {' or '.join(FORMATS)}, found {str(named)[:60]!r}")
    query, numbers = _asked(values), {}
    for name, (default, least, most) in NUMBERS.items():
        numbers[name] = _number(query, name, default, least, most)
    counted = {**numbers, "num_results": min(numbers["num_results"], MAX_COUNT)}
    rest = {name: value for name, value in values.items() if name not in ("query", *QUERY_KEYS)}
    flat = {**rest, **query, **counted, "query": query.get("text")}
    return Question54(flat, format_of(values, accept), _session(values), tuple(_unused(values, numbers)))


def _asked(values: Mapping[str, Any]) -> dict[str, Any]:
    """The members of `query`; where that is a text, it and what stands beside it."""
    query = _query(values)
    if not isinstance(query, dict):
        beside = {name: values[name] for name in QUERY_KEYS if values.get(name) is not None}
        return {**beside, "text": query}
    unknown = sorted(set(query) - set(QUERY_KEYS))
    if unknown:
        raise RequestError(f"query.{unknown[0][:60]} is not known; there are: {', '.join(QUERY_KEYS)}")
    return {name: value for name, value in query.items() if value is not None}


def _number(query: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    number = whole_number(query[name], f"query.{name}") if name in query else default
    if not least <= number <= most:
        raise RequestError(f"query.{name} must be from {least} to {most}, found {number}")
    return number


def _unused(values: Mapping[str, Any], numbers: Mapping[str, int]) -> list[Notice]:
    told = [f"{part}.{name}" for part, name in _UNUSED if _object(values, part).get(name)]
    notices = [notice("context_ignored", f"Not used here: {', '.join(told)}.", names=told)] if told else []
    if numbers["num_results"] > MAX_COUNT:
        said = f"At most {MAX_COUNT} candidates are looked at."
        notices.append(notice("candidates_limited", said, asked=numbers["num_results"], candidates=MAX_COUNT))
    return notices


def _session(values: Mapping[str, Any]) -> Mapping[str, Any] | None:
    session = _object(values, "meta").get("session_context")
    return session if isinstance(session, dict) else None


def _named_format(values: Mapping[str, Any], accept: str) -> object:
    """What is asked for by name: in `prefer`, at the top, or in Accept; None where nothing is."""
    for given in (_object(values, "prefer").get("response_format"), values.get("response_format")):
        if given not in (None, ""):
            return given
    found = _IN_ACCEPT.search(accept)
    return found[1] if found else None


def _query(values: Mapping[str, Any]) -> object:
    return maybe_json(values.get("query"), "{")


def _object(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = maybe_json(values.get(name), "{")
    return value if isinstance(value, dict) else {}
