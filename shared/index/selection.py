"""Which rows of a catalog are meant, as a condition that SQLite settles."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from msgspec import Struct

# What a reader of a listing sees of a leaf, or could call it by.
_SEEN = ("title", "description", "urn", "path", "queries")


class Selection(Struct, frozen=True):
    """Rows for which every part that is given holds; a part that is an empty tuple holds for none.

    `sources`, `tags` and `rows` hold where one of theirs is the row's. `titles` are groups of texts, and of each
    group one has to stand in the title; `words` stands in the title, description, URN, path or a question. Both
    are looked for whatever their case.
    """

    sources: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    rows: tuple[int, ...] | None = None
    titles: tuple[tuple[str, ...], ...] = ()
    words: str | None = None

    @property
    def is_all(self) -> bool:
        """Whether nothing restricts it."""
        return self == Selection()

    def condition(self) -> tuple[str, list[str]]:
        """What stands behind WHERE in a statement over table `leaf`, and its parameters."""
        parts = list(self._parts())
        clause = " AND ".join(clause for clause, _ in parts) or "1"
        return clause, [parameter for _, parameters in parts for parameter in parameters]

    def _parts(self) -> Iterator[tuple[str, list[str]]]:
        if self.sources is not None:
            yield f"source IN {_LISTED}", [json.dumps(self.sources)]
        if self.tags is not None:
            yield f"row IN {_TAGGED}", [json.dumps(self.tags)]
        if self.rows is not None:
            yield f"row IN {_LISTED}", [json.dumps(self.rows)]
        for texts in self.titles:
            yield _any([_holds("title", text) for text in texts])
        if self.words is not None:
            yield _any([_holds(column, self.words) for column in _SEEN])


# A list of any length as one parameter, so that the statement stays the same and short.
_LISTED = "(SELECT value FROM json_each(?))"
_TAGGED = "(SELECT tag.row FROM tag WHERE tag.tag IN (SELECT value FROM json_each(?)))"


def _any(alternatives: Sequence[tuple[str, str]]) -> tuple[str, list[str]]:
    clauses = [clause for clause, _ in alternatives]
    return f"({' OR '.join(clauses)})", [parameter for _, parameter in alternatives]


def _holds(column: str, text: str) -> tuple[str, str]:
    """LIKE knows the case of ASCII letters only, but takes a third of the time of asking Python for each row."""
    spelled = json.dumps(text, ensure_ascii=False)[1:-1] if column == "queries" else text
    if spelled.isascii():
        escaped = spelled.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return f"{column} LIKE ? ESCAPE '\\'", f"%{escaped}%"
    return f"instr(folded({column}), ?)", spelled.casefold()
