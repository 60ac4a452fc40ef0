"""Names that a query leaves out."""

from __future__ import annotations

import re

from shared.contracts.titles import spaced

_DENIED = r"(?:not|no|except|excluding|besides|without|avoid|other than|apart from|instead of|anything but)"


def is_denied(title: str, query: str) -> bool:
    """Whether a query names a plain title only to leave it out.

    >>> is_denied("vertigo", "like Rear Window, but not Vertigo"), is_denied("vertigo", "films like Vertigo")
    (True, False)
    """
    return bool(title) and re.search(rf"\b{_DENIED} (?:the |an? )?{re.escape(title)}\b", spaced(query)) is not None
