"""Terms hold of every row of the pool they were made for: a store that filters by them loses nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from item_questions import questions, records

from shared.contracts.items import Item, Value
from shared.index.columns import Columns
from shared.index.item_vectors import Compared, Has, Term, Unsaid
from shared.index.items import Items, write_items
from shared.sites.aim import Aim
from shared.sites.constraints import read
from shared.sites.eligible import eligible
from shared.sites.kinds import KINDS
from shared.sites.terms import terms_where_met, terms_where_open
from shared.sites.vocabulary import SiteVocabulary

PREDICATES = Path(__file__).parents[1] / "quality" / "predicates"
MORE = {
    "homes": ["3 or 4 bedrooms, not in Portland", "a condo or townhouse under $500k built after 1990 with 2 baths"],
    "movies": [
        "drama or comedy from the 1980s without romance",
        "films under 100 minutes rated above 7",
        "not from 1994",
    ],
    "trails": [
        "no harder than moderate, under 5 km",
        "an easy loop where dogs are allowed",
        "hard or moderate, 3 hours",
    ],
    "recipes": ["vegan soup under 30 minutes", "serves 4, no nuts", "a dessert with at most 300 calories"],
    "reviews": ["headphones under $100", "newest reviews of vacuums", "not a blender, under $50"],
}


@pytest.fixture(scope="module", params=sorted(KINDS))
def collection(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Items]]:
    """A kind and the demo's items of it, every third without anything that could be compared."""
    kind = KINDS[request.param]
    told = [Item(f"{n:03}", "", str(record.get("name")), "demo", record) for n, record in enumerate(records(kind.name))]
    columns = [kind.columns(item.record) for item in told]
    columns += [dict.fromkeys(columns[0]) for _ in told[::3]]
    told += [Item(f"{900 + n}", "", "Nameless", "demo", {"name": "Nameless"}) for n, _ in enumerate(told[::3])]
    path = tmp_path_factory.mktemp(kind.name) / "records.db"
    write_items(path, told, columns, [("s", "s", "s")] * len(told))
    with closing(Items(path)) as items:
        yield kind.name, items


def asked_of(kind: str) -> list[str]:
    suite = yaml.safe_load((PREDICATES / f"{kind}.yaml").read_text(encoding="utf-8"))
    return [*(each.text for each in questions(kind)), *(each["ask"] for each in suite["questions"]), *MORE[kind]]


def holds(term: Term, facts: Mapping[str, Value]) -> bool:
    """Whether one of a term's conditions holds of an item, decided as plainly as it can be."""
    return any(_part_holds(part, facts) for part in term)


def _part_holds(part: Compared | Has | Unsaid, facts: Mapping[str, Value]) -> bool:
    if isinstance(part, Unsaid):
        return all(facts[column] in (None, ()) for column in part.columns)
    value = facts[part.column]
    if isinstance(part, Has):
        told = ("yes" if value else "no") if isinstance(value, bool) else value
        return part.word in (told if isinstance(told, tuple) else (told,))
    if not isinstance(value, int | float):
        return False
    far = value - part.value
    return {"<": far < 1e-6, "<=": far <= 1e-6, ">": far > -1e-6, ">=": far >= -1e-6, "=": abs(far) <= 1e-6}[part.op]


def test_C06_terms_hold_of_every_row_of_their_pool(collection: tuple[str, Items]):
    name, items = collection
    kind, rows = KINDS[name], len(items.column(next(iter(items.columns()))))
    columns, facts = Columns(items, rows), items.facts(range(rows))
    terms_in_all = 0
    for question in asked_of(name):
        reading = read(question, kind, SiteVocabulary(columns))
        if not reading.constraints:
            continue
        for pool in Aim(question, reading, eligible(reading, columns, kind.wording)).pools:
            terms = (terms_where_open if pool.is_open else terms_where_met)(pool.constraints, columns, kind.wording)
            terms_in_all += len(terms)
            assert pool.rows is not None
            broken = [(row, term) for row in pool.rows.nonzero()[0] for term in terms if not holds(term, facts[row])]
            assert broken == [], question
    assert terms_in_all > 10
