"""An item's three fields: what its name, its description and all the rest of its record say, in plain words."""

from __future__ import annotations

from collections.abc import Iterator

from shared.contracts.items import Json
from shared.sites.values import each, minutes, plain, spelled, spoken_duration, texts

_NAME = ("name", "alternateName", "headline")
_DESCRIPTION = ("description", "alternativeHeadline")
# They say who may copy a page, where it was had and whose it is, the same for every item of a collection.
_ABOUT_THE_PAGE = frozenset({
    "license", "isBasedOn_license", "copyrightHolder", "copyrightNotice", "copyrightYear", "creditText", "publisher",
    "sourceCollection", "descriptionSource", "url", "image", "thumbnailUrl", "sameAs", "identifier",
    "geo",
})  # fmt: skip


UNITS = {"FTK": "sq ft", "MTK": "square metres", "ACR": "acres", "KMT": "km", "SMI": "miles"}


def fields_of(record: Json) -> tuple[str, str, str]:
    """Name, description and body of a record; each may be empty.

    The body is every other text and number, a property's own name before it (`recipeCuisine Italian`); the values of
    one list share one name, and a thing's name is said by the property that holds it (`author Ann`). Tags, addresses,
    `@type` and the like, booleans, coordinates, and what is said of the page rather than of the thing are left out.
    A `PropertyValue` gives its own name (`Dogs No dogs`), a duration is put in words.
    """
    name = "\n".join(dict.fromkeys(said for key in _NAME for said in texts(record.get(key))))
    description = "\n".join(dict.fromkeys(said for key in _DESCRIPTION for said in texts(record.get(key))))
    return name, description, "\n".join(_body(record, skip=frozenset((*_NAME, *_DESCRIPTION))))


def _body(record: Json, skip: frozenset[str] = frozenset()) -> Iterator[str]:
    for key, value in record.items():
        if key.startswith("@") or key in skip or key in _ABOUT_THE_PAGE:
            continue
        yield from _property(key, value)


def _property(key: str, value: object) -> Iterator[str]:
    """One property: what it says itself, the names of the things it holds among it, then what else is said of those."""
    members = list(each(value))
    said = dict.fromkeys(filter(None, (_said(_own(member)) for member in members)))
    if said:
        yield f"{key} {', '.join(said)}"
    for member in members:
        if isinstance(member, dict):
            yield from _nested(member)


def _own(member: object) -> object:
    """What an object is: its name, or the number it stands for; a property with its value says both itself."""
    if not isinstance(member, dict):
        return member
    if isinstance(member.get("value"), int | float) and not isinstance(member["value"], bool) and "name" not in member:
        return f"{_said(member['value'])} {UNITS.get(str(member.get('unitCode')), '')}".strip()
    return None if _is_property(member) else member.get("name")


def _is_property(record: Json) -> bool:
    value = record.get("value")
    return isinstance(record.get("name"), str) and value is not None and not isinstance(value, bool | dict)


def _nested(record: Json) -> Iterator[str]:
    if _is_property(record):
        yield from _property(plain(record["name"]), record["value"])
    yield from _body(record, skip=frozenset({"name", "value", "unitCode"}))


def _said(value: object) -> str:
    if isinstance(value, bool):
        return ""
    if isinstance(value, str):
        duration = minutes(value)
        return spoken_duration(duration) if duration else plain(value)
    return spelled(value) if isinstance(value, int | float) else ""
