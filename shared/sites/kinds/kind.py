"""What a kind of item has to say for itself: all that differs from one site to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from shared.contracts.items import Json, Value
from shared.sites.kinds.wording import Wording


class Kind(Struct, frozen=True, kw_only=True):
    """One kind of item, and the switches of the site that holds them.

    `name` and `label` are those of a collection, too, that nothing else names. `types` are the schema.org types whose
    records are of this kind, the most telling first. `projection` names the properties a chat ranker is shown, at
    every depth. `says_why` is true where the ranker writes each result's reason.

    `columns(record)` gives the same names in the same order for every record, also for `{}`; what a record does not
    say is None. `card_text(record)` is the item in a few lines of plain words, the telling ones first: what a judge
    that reads one text is shown. `wording` has the words in which people say what an item must be like.
    `triages` is true where a model is first asked how hard a question is and what it demands; `diets` names the columns
    whose constraints may not be broken, as an allergy's may not.
    """

    name: str
    label: str
    types: tuple[str, ...]
    projection: frozenset[str]
    says_why: bool
    columns: Callable[[Json], Mapping[str, Value]]
    card_text: Callable[[Json], str]
    triages: bool = False
    diets: frozenset[str] = frozenset()
    wording: Wording = field(default_factory=Wording)
