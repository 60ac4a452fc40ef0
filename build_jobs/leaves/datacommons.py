"""Data Commons: one leaf a statistical variable and import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.import_names import import_name
from build_jobs.leaves.leaf import Draft, slug, split_camel
from build_jobs.leaves.levels import level_of_place, levels_of, widest_first
from build_jobs.leaves.queries import distinct, for_datacommons
from build_jobs.leaves.rows import BadRow, Located, NoMeasure, Row, RowError, identity
from build_jobs.leaves.shapes import Record, Shape, at, listed, members, required, text_at
from build_jobs.text import clean, clean_list

_KEPT = ("populationType", "measuredProperty", "statType", "measurementQualifier", "measurementDenominator", "unit")

_FACET = ("importName", "measurementMethod", "observationPeriod", "unit", "scalingFactor", "provenanceUrl")

_ACCESS = access_document(
    title="Data Commons",
    description="Statistical variables about places, drawn together from public agencies and surveys.",
    resource="https://api.datacommons.org/v2/",
    publisher="datacommons.org",
    scope="a place: a country, state, county, city or another area",
    auth="key",
    headers={"X-API-Key": "env:DATACOMMONS_API_KEY"},
    operations={
        "observation": {
            "method": "GET",
            "url": "https://api.datacommons.org/v2/observation?variable.dcids={variable}&entity.dcids={entity}"
            "&date={date}&select=entity&select=variable&select=date&select=value&select=facet",
        },
        "node": {"method": "GET", "url": "https://api.datacommons.org/v2/node?nodes={variable}&property=-%3E*"},
    },
)
_ABOUT = """# About

Data Commons joins public statistics under one vocabulary: a *variable* is measured of an *entity* (a place), and a
*facet* says where an observation came from.

# Query

`observation` takes the leaf's `variable`, an `entity` such as `country/IND` or `geoId/06`, and a `date`: a year,
`LATEST`, or empty for the whole series. The reply groups observations by facet. `node` lists a variable's own
properties.

# Matching & caveats

- One variable may come from several imports that differ in method, period and places.
- An entity without an observation is left out of the reply; it is no error.
"""


def _constraints(row: Row) -> dict[str, str]:
    given = row.get("constraints")
    return {clean(key): clean(value) for key, value in given.items()} if isinstance(given, dict) else {}


def _schema(row: Row, constraints: dict[str, str]) -> dict[str, Any]:
    """The variable's schema; a row without a population type has none, which is not the same as no constraints."""
    kept: dict[str, Any] = {key: clean(row.get(key)) for key in _KEPT}
    if kept["populationType"]:
        kept["constraints"] = constraints
    return kept


def _queries(row: Row, title: str, schema: dict[str, Any]) -> list[str]:
    if own := clean_list(row.get("queries") or []):
        return own
    return for_datacommons(
        title,
        mechanical=clean(row.get("titleSource")).startswith("mechanical"),
        population=schema["populationType"],
        measured=schema["measuredProperty"],
        statistic=schema["statType"],
        constraints=schema.get("constraints", {}),
        denominator=schema["measurementDenominator"],
    )


def _facet(row: Row, name: str) -> dict[str, str] | None:
    """Where the observations came from: as the publisher says, or the import that a row of ours names."""
    given = row.get("facet")
    if isinstance(given, Mapping):
        return {key: text for key in _FACET if (text := clean(given.get(key)))}
    return {"importName": clean(row.get("family"))} if name else None


def _coverage(row: Row) -> dict[str, Any] | None:
    """What a publisher's row says of places and dates, or the place types of a row of ours."""
    given = row.get("coverage")
    if isinstance(given, Mapping):
        return dict(given)
    place_types = clean_list(given or [])
    return {"levels": levels_of(place_types), "placeTypes": place_types} if place_types else None


def draft(row: Row) -> Draft:
    code, title = identity(row)
    published = isinstance(row.get("facet"), Mapping)
    name = _published_name(row["facet"]) if published else import_name(clean(row.get("family")))
    schema = _schema(row, _constraints(row))
    facet, coverage = _facet(row, name), _coverage(row)
    levels = coverage["levels"] if coverage else []
    topics = [slug(word) for word in (name, schema["populationType"]) if word]
    front_matter = {
        "type": "Data Commons Variable",
        "title": f"{title} — Data Commons" + (f" ({name})" if name else ""),
        "description": clean(row.get("description")),
        "tags": distinct(["datacommons", *topics])[:4] + levels,
        "source": "./_access.md",
        "variable": code,
        **schema,
        "unit": schema["unit"] or (facet or {}).get("unit"),
        "facet": facet,
        "coverage": coverage,
        "latestObservation": clean((coverage or {}).get("dates", {}).get("last")),
        "descriptionUrl": clean(row.get("descriptionUrl")),
        "representativeQueries": _queries(row, title, schema),
    }
    body = f"# Schema\n\nVariable `{code}`. Ask for it with the `observation` operation; see [access](./_access.md)."
    if not published or not facet:
        return Draft(code, slug(code), front_matter, body)
    # A stem of variable and facet: one more source of a variable must not give the others another name.
    named = [facet[key] for key in ("importName", "measurementMethod", "observationPeriod") if key in facet]
    identifier = "|".join([code, *(facet.get(key, "") for key in _FACET)])
    return Draft(identifier, slug(" ".join([code, *named])), front_matter, body)


def _published_name(facet: Mapping[str, Any]) -> str:
    return split_camel(import_name(clean(facet.get("importName"))))


# What Data Commons serves of a variable


def _node(record: Record) -> Row:
    """A reply of `node`: the variable's own properties, each a list of nodes."""
    arcs = at(record, "arcs")
    types = _nodes(arcs, "typeOf")
    if types and "StatisticalVariable" not in types:
        raise NoMeasure(f"a {types[0]}, no statistical variable")
    constraints = {name: _one(arcs, name) for name in sorted(_nodes(arcs, "constraintProperties"))}
    if unknown := [name for name, value in constraints.items() if not value]:
        raise RowError(f"constraintProperties names {', '.join(unknown)}, of which it gives no value")
    return {
        "id": required(record, "dcid"),
        "title": _one(arcs, "name") or required(record, "dcid").replace("_", " "),
        "titleSource": "" if _one(arcs, "name") else "mechanical:dcid",
        **{name: _one(arcs, name) for name in ("description", "descriptionUrl", *_KEPT)},
        "constraints": constraints,
    }


def _nodes(arcs: Any, name: str) -> list[str]:
    found = at(arcs, name, "nodes")
    return (
        [text_at(node, "value") or text_at(node, "dcid") for node in found if node] if isinstance(found, list) else []
    )


def _one(arcs: Any, name: str) -> str:
    return next(iter(_nodes(arcs, name)), "")


def _observed(document: Any) -> list[Any] | None:
    """A reply of `observation`: for each variable and facet the places that have it, and from when to when."""
    variables, facets = at(document, "byVariable"), at(document, "facets")
    if not isinstance(variables, dict) or not isinstance(facets, dict):
        return None
    return [
        {"variable": variable, "place": place, **found, "facet": facets.get(text_at(found, "facetId"))}
        for variable, reply in variables.items()
        for place, by_place in (at(reply, "byEntity") or {}).items()
        for found in at(by_place, "orderedFacets") or []
        if isinstance(found, dict)
    ]


def _observation(record: Record) -> Row:
    facet = at(record, "facet")
    if not isinstance(facet, dict) or not text_at(facet, "importName"):
        raise RowError(f"facet {text_at(record, 'facetId')!r} is not among the facets, or has no importName")
    dates = sorted(date for each in at(record, "observations") or [] if (date := text_at(each, "date")))
    first = text_at(record, "earliestDate") or (dates[0] if dates else "")
    last = text_at(record, "latestDate") or (dates[-1] if dates else "")
    return {
        "id": required(record, "variable"),
        "facet": facet,
        "place": required(record, "place"),
        "dates": [first, last],
        "observations": at(record, "obsCount") or len(dates),
    }


def _summarised(document: Any) -> list[Any] | None:
    """A reply of `info/variable`: for each variable and series of an import, how many places of which type."""
    replies = listed("node", "info")(
        at(document, "data") if isinstance(document, dict) and "data" in document else document
    )
    if replies is None:
        return None
    return [
        {"variable": text_at(reply, "node"), "importName": text_at(provenance, "importName"), **series}
        for reply in replies
        for provenance in (at(reply, "info", "provenanceSummary") or {}).values()
        for series in at(provenance, "seriesSummary") or []
        if isinstance(series, dict)
    ]


def _summary(record: Record) -> Row:
    types = at(record, "placeTypeSummary")
    counts = {name: at(each, "placeCount") or 0 for name, each in types.items()} if isinstance(types, dict) else {}
    facet = {**(at(record, "seriesKey") or {}), "importName": required(record, "importName")}
    return {
        "id": required(record, "variable"),
        "facet": facet,
        "placeTypes": counts,
        "dates": [text_at(record, "earliestDate"), text_at(record, "latestDate")],
        "observations": at(record, "observationCount") or 0,
    }


@dataclass(slots=True)
class _Seen:
    """What the files say of one variable and facet, added up over its places and pages."""

    located: Located
    facet: Mapping[str, Any]
    places: set[str] = field(default_factory=set)
    types: dict[str, int] = field(default_factory=dict)
    dates: list[str] = field(default_factory=list)
    observations: int = 0

    def add(self, row: Row) -> None:
        self.places |= {row["place"]} if "place" in row else set()
        self.types |= row.get("placeTypes", {})
        self.dates += filter(None, row["dates"])
        self.observations += row["observations"]

    def coverage(self) -> dict[str, Any]:
        """Orderable: places, levels, dates. Types are counted by the publisher, places seen one by one are not."""
        levels = widest_first([*levels_of(self.types), *filter(None, map(level_of_place, self.places))])
        found: dict[str, Any] = {"places": max(sum(self.types.values()), len(self.places)), "levels": levels}
        if self.types:
            found["placeTypes"] = sorted(self.types)
        if self.dates:
            found["dates"] = {"first": min(self.dates), "last": max(self.dates)}
        if self.observations:
            found["observations"] = self.observations
        return found


def join(rows: Iterable[Located]) -> Iterator[Located | BadRow]:
    """One row a variable and facet: the variable's properties from `node`, coverage from what was observed of it.

    A variable of which no observation is among the files is a row without a facet.
    """
    variables: dict[str, Located] = {}
    seen: dict[str, dict[str, _Seen]] = {}
    for each in rows:
        if "facet" not in each.row:
            variables.setdefault(each.row["id"], each)
            continue
        facet = each.row["facet"]
        key = "|".join(clean(facet.get(name)) for name in _FACET if name != "provenanceUrl")
        seen.setdefault(each.row["id"], {}).setdefault(key, _Seen(each, facet)).add(each.row)
    for code, found in seen.items():
        if code not in variables:
            yield next(iter(found.values())).located.bad(
                f"variable {code!r} is observed, but no node reply describes it"
            )
    for code, located in variables.items():
        for one in seen.get(code, {}).values():
            yield Located(
                located.line, {**located.row, "facet": one.facet, "coverage": one.coverage()}, located.file, True
            )
        if code not in seen:
            yield located


_SHAPES = (
    Shape("a reply of Data Commons `v2/node`", ("arcs",), _node, members("data", name="dcid")),
    Shape("a reply of Data Commons `v2/observation`", ("variable", "facetId", "facet"), _observation, _observed),
    Shape(
        "a reply of Data Commons `v1/bulk/info/variable`",
        ("variable", "importName", "placeTypeSummary"),
        _summary,
        _summarised,
    ),
)

FAMILY = Family("datacommons", _ACCESS, _ABOUT, draft, _SHAPES, join)
