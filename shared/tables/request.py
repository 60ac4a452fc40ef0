"""From a request's body to a search that can be run, or the one line that says what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from shared.contracts.tables import SearchRequest
from shared.errors import RequestError

__all__ = ["SearchRequest", "parse_search"]


def parse_search(body: Mapping[str, Any]) -> SearchRequest:
    """The search a body asks for. Raises RequestError with one sentence about the first thing that is wrong."""
    try:
        return SearchRequest.model_validate(dict(body))
    except ValidationError as error:
        raise RequestError(error.errors(include_url=False, include_context=False)[0]["msg"]) from error
