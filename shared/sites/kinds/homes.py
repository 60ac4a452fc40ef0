"""Homes: price, rooms, area, lot, year and place, in the many shapes listings give them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from shared.contracts.items import Json, Value
from shared.sites.kinds.card import card
from shared.sites.kinds.home_words import WORDING
from shared.sites.kinds.kind import Kind
from shared.sites.values import at, each, number, spelled, text, texts, whole, year

_PROJECTION = """@type name description price priceCurrency offers address streetAddress addressLocality postalCode
    numberOfBedrooms numberOfRooms numberOfBathrooms numberOfBathroomsTotal floorSize lotSize value unitCode yearBuilt
    propertyType listingStatus schoolDistrict schools hoaFee parking numberOfSpaces heating cooling features amenities
    appliances amenityFeature containedInPlace"""
_TYPES = ("SingleFamilyResidence", "RealEstateListing", "House", "Apartment", "Residence")
_SQFT = {"FTK": 1.0, "SQFT": 1.0, "MTK": 10.7639, "ACR": 43_560.0, "HAR": 107_639.1}
_UNITS = (
    (re.compile(r"\bacres?\b|\bac\b", re.IGNORECASE), 43_560.0),
    (re.compile(r"\bhectares?\b|\bha\b", re.IGNORECASE), 107_639.1),
    (re.compile(r"\bsq(?:uare|\.)?\s*(?:m|met(?:er|re)s?)\b|\bm2\b|m²", re.IGNORECASE), 10.7639),
)
# A number without a unit is square feet, but no lot is smaller than a room: it is acres then.
_LEAST_LOT_SQFT = 200
_LARGEST_SIZE = 1e9
_MILLIONS = re.compile(r"(\d+(?:[.,]\d+)?)\s*(m|mm|million|k)\b", re.IGNORECASE)
_SCALES = {"m": 1e6, "mm": 1e6, "million": 1e6, "k": 1e3}


def columns(record: Json) -> Mapping[str, Value]:
    """Price, beds, baths, square feet, lot in acres, year, fee, parking spaces, and where and what it is."""
    lot = square_feet(record.get("lotSize"), least=_LEAST_LOT_SQFT)
    return {
        "price": price(record),
        "currency": text(_offered(record, "priceCurrency")) or None,
        "beds": _first_number(record, "numberOfBedrooms", "numberOfRooms"),
        "baths": _baths(record),
        "area_sqft": square_feet(record.get("floorSize")),
        "lot_acres": round(lot / _SQFT["ACR"], 3) if lot else None,
        "year": year(record.get("yearBuilt")),
        "hoa_fee": number(record.get("hoaFee")),
        "parking": whole(at(record, "parking", "numberOfSpaces")),
        "type": text(record.get("propertyType")) or _type(record),
        "status": text(record.get("listingStatus")) or None,
        "town": text(at(record, "address", "addressLocality")) or None,
        "region": text(at(record, "address", "addressRegion")) or None,
        "neighborhood": text(record.get("containedInPlace")) or None,
        "postal_code": text(at(record, "address", "postalCode")) or None,
        "district": text(record.get("schoolDistrict")) or None,
        "features": tuple(dict.fromkeys(one.lower() for one in features(record))),
    }


def price(record: Json) -> float | None:
    """What it costs: its own price, else that of its first offer; `$1.2M` and `850k` are read."""
    value = _offered(record, "price")
    said = text(value)
    if found := _MILLIONS.search(said):
        return float(found[1].replace(",", ".")) * _SCALES[found[2].lower()]
    return number(value)


def _offered(record: Json, name: str) -> object:
    own = record.get(name)
    return own if own is not None else at(record, "offers", name)


def _baths(record: Json) -> float | None:
    """All of them, half ones as halves."""
    said = _first_number(record, "numberOfBathroomsTotal", "numberOfBathrooms")
    if said is not None:
        return said
    full, partial = number(record.get("numberOfFullBathrooms")), number(record.get("numberOfPartialBathrooms"))
    return None if full is None else full + (partial or 0) / 2


def _first_number(record: Json, *names: str) -> float | None:
    return next((found for name in names if (found := number(record.get(name))) is not None), None)


def square_feet(value: object, least: float = 0) -> float | None:
    """An area in square feet, by its unit code or by the unit its text names; below `least`, a bare one is acres."""
    for member in each(value):
        size = number(member)
        if size is None or not 0 <= size < _LARGEST_SIZE:  # a slip, which a unit would make larger yet
            continue
        scale = _scale(member)
        if scale is None:
            scale = _SQFT["ACR"] if size < least else 1.0
        return round(size * scale, 1)
    return None


def _scale(value: object) -> float | None:
    """Square feet of one unit, as a unit code or a text has it; None where neither names one."""
    if isinstance(value, dict):
        code = text(value.get("unitCode")).upper().removeprefix("UNECE:")
        return _SQFT.get(code) or _scale(f"{text(value.get('unitText'))} {text(value.get('value'))} {code}")
    said = value if isinstance(value, str) else ""
    named = next((scale for way, scale in _UNITS if way.search(said)), None)
    return named or (1.0 if re.search(r"(?i)\bsq|\bft|foot|feet", said) else None)


def _type(record: Json) -> str | None:
    kinds = texts(record.get("@type"))
    return next(
        ("Single family" if kind == "SingleFamilyResidence" else kind for kind in _TYPES if kind in kinds), None
    )


def features(record: Json) -> list[str]:
    """Features, amenities and appliances that a home has, in the record's order."""
    own = [one for key in ("features", "amenities", "appliances") for one in texts(record.get(key))]
    return list(dict.fromkeys((*own, *_amenities(record))))


def _amenities(record: Json) -> Iterator[str]:
    """Named amenities, but for those it is said not to have."""
    for one in each(record.get("amenityFeature")):
        if not (isinstance(one, dict) and one.get("value") is False) and (said := text(one)):
            yield said


def card_text(record: Json) -> str:
    """The home, its price, rooms, sizes and year, where it is, and what it has."""
    known = columns(record)
    facts = {
        "price": "{} " + str(known["currency"] or "USD"), "beds": "{} bedrooms", "baths": "{} bathrooms",
        "area_sqft": "{} sq ft", "lot_acres": "{} acre lot", "hoa_fee": "HOA {}",
    }  # fmt: skip
    return card(
        record,
        [shape.format(_thousands(value)) for name, shape in facts.items() if isinstance(value := known[name], float)],
        f"built in {known['year']}" if known["year"] else "",
        [str(known[name]) for name in ("type", "status", "town", "region") if known[name]],
        texts(record.get("containedInPlace")),
        features=features(record),
        schools=[*texts(record.get("schoolDistrict")), *texts(record.get("schools"))],
    )


def _thousands(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else spelled(value)


KIND = Kind(
    name="homes",
    label="Homes",
    types=_TYPES,
    projection=frozenset(_PROJECTION.split()),
    says_why=True,
    columns=columns,
    card_text=card_text,
    wording=WORDING,
)
