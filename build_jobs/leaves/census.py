"""US Census Bureau, American Community Survey: one leaf a variable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.leaf import Draft, slug
from build_jobs.leaves.queries import distinct, for_census, inside
from build_jobs.leaves.rows import BadRow, Located, NoMeasure, Row, identity
from build_jobs.leaves.shapes import Record, Shape, members, required, text_at, under
from build_jobs.text import clean, clean_list

_LEVELS = ["country", "state", "county", "metro", "city", "place", "zip", "tract"]
_DATASETS = (("DP", "profile"), ("CP", "comparison"), ("S", "subject"), ("B", "detailed"), ("C", "detailed"))
_VARIABLE = re.compile(r"^[A-Z0-9]+_(?:C\d+_)?\d+[A-Z]+$")
_VINTAGE = re.compile(r"\bACS 5-year (\d{4})\b")

_ACCESS = access_document(
    title="US Census — American Community Survey",
    description="Population, housing, social and economic estimates of the ACS 5-year survey.",
    resource="https://api.census.gov/data/",
    publisher="census.gov",
    scope="a US state, county, city or tract",
    auth="key",
    operations={
        "detailed": {
            "method": "GET",
            "url": "https://api.census.gov/data/{vintage}/acs/acs5?get={get}&for={geo}&key={key}",
        },
        "subject": {
            "method": "GET",
            "url": "https://api.census.gov/data/{vintage}/acs/acs5/subject?get={get}&for={geo}&key={key}",
        },
        "profile": {
            "method": "GET",
            "url": "https://api.census.gov/data/{vintage}/acs/acs5/profile?get={get}&for={geo}&key={key}",
        },
        "comparison": {
            "method": "GET",
            "url": "https://api.census.gov/data/{vintage}/acs/acs5/cprofile?get={get}&for={geo}&key={key}",
        },
    },
)
_ABOUT = """# About

The American Community Survey asks a sample of US addresses every month; the 5-year estimates are averages over
sixty months and reach down to the census tract.

# Query

Use the operation named by the leaf's `dataset`. The leaf fixes `get` and `key`; the caller gives `geo`, for
instance `state:06`, or `county:037&in=state:06`. The reply is a list of lists: a header, then one row an area.

# Matching & caveats

- A large negative number such as -666666666 stands for a value that is not published.
- A code ending in `PE` is the percentage that belongs to the estimate ending in `E`.
- Not every variable is published for every area.
"""


def _dataset(code: str) -> str:
    return next((dataset for prefix, dataset in _DATASETS if code.startswith(prefix)), "detailed")


def _asked(row: Row, title: str, concept: str, code: str) -> list[str]:
    made = for_census(clean(row.get("label")) or title, concept, percent=code.endswith("PE"))
    # The label of a detailed table says little alone: `Female` is a row of some two hundred tables.
    within = row.get("within")
    if not isinstance(within, str) or made[0].casefold() == within.casefold():
        return made
    return distinct([*made, f"{made[0]}, {within}"])


def draft(row: Row) -> Draft:
    code, title = identity(row)
    description, concept = clean(row.get("description")), clean(row.get("concept"))
    dataset, vintage = _dataset(code), _VINTAGE.search(description)
    own = clean_list(row.get("queries") or [])
    front_matter = {
        "type": "Census Variable",
        "title": f"{title} — US Census",
        "description": description,
        "tags": list(dict.fromkeys([*clean_list(row.get("tags") or ["census", "acs", dataset]), *_LEVELS])),
        "source": "./_access.md",
        "dataset": dataset,
        "get": f"NAME,{code}",
        "variable": code,
        "key": "env:CENSUS_API_KEY",
        "vintage": vintage[1] if vintage else None,
        "table": clean(row.get("table")) or code.split("_")[0],
        "concept": concept,
        "universe": clean(row.get("universe")),
        "representativeQueries": own or _asked(row, title, concept, code),
    }
    body = (
        f"# Schema\n\nReports `{code}` for one US area, keyed by its Census geography (operation `{dataset}`); "
        "see [access](./_access.md)."
    )
    return Draft(code, slug(code), front_matter, body)


# What the Census Bureau serves of a dataset


def _variable(record: Record) -> Row:
    """A member of `variables.json`: its label is a path, `Estimate!!Total:!!Male:`."""
    code = required(record, "name")
    if not _VARIABLE.match(code):
        raise NoMeasure("a part of every query, no variable")
    if not code.endswith(("E", "PE")) or code.endswith("EA"):
        raise NoMeasure("a margin of error or an annotation")
    steps = [step.strip().rstrip(":") for step in required(record, "label").split("!!")]
    kind, *path = steps if steps[0] in ("Estimate", "Percent") else ("Estimate", *steps)
    label = ("% " if kind == "Percent" else "") + (" — ".join(filter(None, path)) or "Total")
    table = text_at(record, "group") or code.split("_")[0]
    concept = text_at(record, "concept")
    own_words = _dataset(code) == "profile" or not concept
    return {
        "id": code,
        "title": label if own_words else f"{_as_title(concept)}: {label}",
        "within": None if own_words else inside(_as_title(concept)),
        "label": label,
        "table": table,
        "concept": concept,
        "description": f"ACS 5-year {_dataset(code)} variable {code}, table {table}: {concept} ({label}).",
        "tags": ["census", "acs", _dataset(code), table],
    }


def _as_title(concept: str) -> str:
    return concept.capitalize() if concept.isupper() else concept


def _group(record: Record) -> Row:
    """A member of `groups.json`; the API spells one key with a blank at its end."""
    universe = text_at(record, "universe ") or text_at(record, "universe")
    return {"group": required(record, "name"), "concept": required(record, "description"), "universe": universe}


def join(rows: Iterable[Located]) -> Iterator[Located | BadRow]:
    """One row a variable, with its group's universe where `groups.json` is among the files."""
    variables: list[Located] = []
    groups: dict[str, Row] = {}
    for each in rows:
        if "group" in each.row:
            groups[each.row["group"]] = each.row
        else:
            variables.append(each)
    for each in variables:
        universe = groups.get(each.row["table"], {}).get("universe")
        yield Located(each.line, {**each.row, "universe": universe} if universe else each.row, each.file, True)


_SHAPES = (
    Shape("a dataset's `variables.json`", ("name", "label", "group"), _variable, members("variables", name="name")),
    Shape("a dataset's `groups.json`", ("name", "description", "variables"), _group, under("groups")),
)

FAMILY = Family("census", _ACCESS, _ABOUT, draft, _SHAPES, join)
