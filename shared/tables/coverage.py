"""Which part of the world a table can speak of, and which parts the places of a question lie in.

A table of US states was once chosen for New Zealand, and one of OECD members for Africa. Most tables reach any
place; what limits one stands in its source's scope ("a US public company") or in the name of the import it came
from ("kenya", "BLS QCEW", "OECD"). Both sides are named alike: `us`, `oecd`, `europe`, `puerto rico`, or a country as
it is keyed in the gazetteer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from shared.contracts.leaf import Leaf
from shared.models.judging import ABROAD, US
from shared.tables.gazetteer import gazetteer, key_of
from shared.tables.places import found

_MOST_WORDS = 3
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_IMPORT = re.compile(r" — .*\(([^()]+)\)$")
# A region and a demonym by the gazetteer; in a question they mean the US.
_AMERICAN = frozenset({"america", "american"})
# The Census gives Puerto Rico tables of its own, most of them with the titles of those for the US: DP02PR_0135E.
_PUERTO_RICAN = re.compile(r"[A-Z]{1,2}\d+[A-Z]?PR_")
PUERTO_RICO = "puerto rico"
_US_KINDS = frozenset({"us", "state", "town", "county"})

# Publishers whose name holds no place, by the words their imports' names begin with.
_PUBLISHERS = {
    US: (
        "bea", "bls", "cdc", "census acs", "census county", "census monthly", "census population", "census saipe",
        "crdc", "deepsolar", "eia", "epa", "fbi", "feeding america", "fema", "hud", "national center for", "nces",
        "nchs", "ncses", "nhtsa", "ntia", "usda", "usgs",
    ),
    "oecd": ("oecd",),
    "europe": ("eurostat",),
    "india": ("udise", "mospi"),
    "south africa": ("southafrica",),
    "south korea": ("southkorea",),
    "cote divoire": ("cotedivoire",),
}  # fmt: skip

# Other names of countries that a table may be limited to.
_SAME = {
    "korea": "south korea", "republic of korea": "south korea", "korea rep": "south korea", "uk": "united kingdom",
    "great britain": "united kingdom", "britain": "united kingdom", "england": "united kingdom",
    "scotland": "united kingdom", "wales": "united kingdom", "northern ireland": "united kingdom",
    "ivory coast": "cote divoire", "cote d ivoire": "cote divoire", "cote divoire": "cote divoire",
    "czechia": "czech republic", "turkiye": "turkey", "slovak republic": "slovakia", "holland": "netherlands",
    "the netherlands": "netherlands", "republic of ireland": "ireland",
}  # fmt: skip

_OECD = frozenset(
    """australia|austria|belgium|canada|chile|colombia|costa rica|czech republic|denmark|estonia|finland|france
    |germany|greece|hungary|iceland|ireland|israel|italy|japan|south korea|latvia|lithuania|luxembourg|mexico
    |netherlands|new zealand|norway|poland|portugal|slovakia|slovenia|spain|sweden|switzerland|turkey
    |united kingdom|us""".replace("\n    ", "").split("|")
)
# Members of the EU and of EFTA, and the candidates that Eurostat reports on.
_EUROPE = frozenset(
    """albania|austria|belgium|bosnia and herzegovina|bulgaria|croatia|cyprus|czech republic|denmark|estonia|finland
    |france|germany|georgia|greece|hungary|iceland|ireland|italy|kosovo|latvia|liechtenstein|lithuania|luxembourg
    |malta|moldova|montenegro|netherlands|north macedonia|norway|poland|portugal|romania|serbia|slovakia|slovenia
    |spain|sweden|switzerland|turkey|ukraine|united kingdom""".replace("\n    ", "").split("|")
)


def coverage(leaf: Leaf) -> str:
    """The part of the world a leaf's numbers are about; empty where nothing says that it is limited to one."""
    if leaf.code is not None and _PUERTO_RICAN.match(leaf.code):
        return PUERTO_RICO
    imported = _IMPORT.search(leaf.title)
    return (_of_import(imported[1]) if imported else "") or _of_scope(leaf.scope)


@lru_cache(maxsize=256)
def _of_scope(scope: str) -> str:
    return US if re.search(r"\bUS\b|\bU\.S\.|\bUnited States\b", scope) else ""


@lru_cache(maxsize=1024)
def _of_import(name: str) -> str:
    words = [word.lower() for word in _WORD.findall(name)]
    written = " ".join(words) + " "
    for part, beginnings in _PUBLISHERS.items():
        if any(written.startswith(f"{beginning} ") for beginning in beginnings):
            return part
    return next(_named(words), "")


def _named(words: list[str]) -> Iterator[str]:
    """The countries among these words, states as their country."""
    names = gazetteer().names
    for size in range(_MOST_WORDS, 0, -1):
        for first in range(len(words) + 1 - size):
            key = " ".join(words[first : first + size])
            if key in names and names[key].kind in ("us", "state", "country"):
                yield US if names[key].kind in _US_KINDS else _SAME.get(key, key)


def lies_in(text: str) -> frozenset[str]:
    """Every part of the world that holds a place named in a question; empty where it names none.

    A place that is part of the measure ("born in Mexico") is none that the table has to reach.
    """
    return frozenset(part for place in found(text) for part in _parts(key_of(place)))


def _parts(key: str) -> Iterator[str]:
    name = gazetteer().names.get(key)
    # Only counties and towns of the US are found by what stands beside them and not by their names.
    american = name is None or name.kind in _US_KINDS or key in _AMERICAN
    if american:
        yield from (US, "oecd")
    if key == PUERTO_RICO:
        yield PUERTO_RICO
    if key == "georgia" or (name is not None and name.kind == "country"):
        country = _SAME.get(key, key)
        yield country
        yield from (group for group, members in (("oecd", _OECD), ("europe", _EUROPE)) if country in members)
    elif not american:
        yield ABROAD
