"""Geographic levels in the words that leaves are tagged with, and that a card prints."""

from __future__ import annotations

from collections.abc import Iterable

LEVELS = (
    "continent", "region", "country", "state", "county", "metro", "city", "place", "district", "zip", "tract",
)  # fmt: skip
"""Every level word, the widest first."""

# Place types as Data Commons names them. An AdministrativeArea1 is a state or a province; a 2 or a 3 is the
# district or the municipality under it, whatever a country calls them. NUTS units are regions of the EU.
_PLACE_TYPES = {
    "Continent": "continent",
    "UNGeoRegion": "region",
    "Country": "country",
    "State": "state",
    "AdministrativeArea1": "state",
    "County": "county",
    "AdministrativeArea2": "district",
    "AdministrativeArea3": "district",
    "EurostatNUTS1": "region",
    "EurostatNUTS2": "region",
    "EurostatNUTS3": "region",
    "CensusZipCodeTabulationArea": "zip",
    "CensusTract": "tract",
    "CensusCoreBasedStatisticalArea": "metro",
    "City": "city",
    "Place": "place",
}


def levels_of(place_types: Iterable[str]) -> list[str]:
    """Level words of some place types, the widest first; a type nobody knows adds none."""
    return widest_first(_PLACE_TYPES[name] for name in place_types if name in _PLACE_TYPES)


_GEO_ID_LEVELS = {2: "state", 5: "county", 7: "city", 11: "tract"}
_PLACE_ID_LEVELS = {"country": "country", "zip": "zip", "nuts": "region"}


def level_of_place(dcid: str) -> str | None:
    """The level of one place by its Data Commons id: `country/IND`, `geoId/06037`; None where the id does not say."""
    kind, _, code = dcid.partition("/")
    if kind == "geoId":
        return _GEO_ID_LEVELS.get(len(code))
    return _PLACE_ID_LEVELS.get(kind)


def widest_first(levels: Iterable[str]) -> list[str]:
    """Level words, each once, the widest first."""
    known = set(levels)
    return [level for level in LEVELS if level in known]
