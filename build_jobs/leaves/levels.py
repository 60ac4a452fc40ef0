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
    known = {_PLACE_TYPES[name] for name in place_types if name in _PLACE_TYPES}
    return [level for level in LEVELS if level in known]
