"""JSON Schema (2020-12) made from the types of the contracts, so that nobody writes a shape down twice."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import fields

Schema = dict[str, Any]

_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    Any: {},
    object: {},
}


class Keywords:
    """Schema keywords beside a type: `Annotated[int, Keywords(minimum=0)]`."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords


class Schemas:
    """Schemas of types. A TypedDict or struct becomes a component of its own, and a reference to it."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """The schema of a type; a struct's names become camelCase. Raises TypeError for a type that JSON lacks."""
        origin, inner = get_origin(kind), get_args(kind)
        if origin is None:
            return dict(_PLAIN[kind]) if kind in _PLAIN else self._component(kind)
        if origin in (Annotated, Required, NotRequired):
            return self.of(inner[0]) | (inner[1].keywords if origin is Annotated else {})
        if origin in (Union, UnionType):
            return {"anyOf": [self.of(each) for each in inner]}
        return self._container(origin, inner)

    def _container(self, origin: Any, inner: Sequence[Any]) -> Schema:
        if origin is Literal:
            return {"type": "string", "enum": list(inner)}
        if origin in (list, tuple, Sequence):
            return {"type": "array", "items": self.of(inner[0])}
        if origin in (dict, Mapping):
            return {"type": "object", "additionalProperties": self.of(inner[1])}
        raise TypeError(f"no schema for {origin!r}")

    def _component(self, kind: type) -> Schema:
        name = kind.__name__
        if name not in self.components:
            self.components[name] = {}  # a type may hold itself
            self.components[name] = self._struct(kind) if issubclass(kind, Struct) else self._typed_dict(kind)
        return {"$ref": f"#/components/schemas/{name}"}

    def _typed_dict(self, kind: Any) -> Schema:
        if not typing.is_typeddict(kind):
            raise TypeError(f"no schema for {kind!r}")
        hints = get_type_hints(kind, include_extras=True)
        required = [name for name, hint in hints.items() if get_origin(hint) is not NotRequired]
        return _object(kind, {name: self.of(hint) for name, hint in hints.items()}, required)

    def _struct(self, kind: type[Struct]) -> Schema:
        known = fields(kind)
        properties = {_camel(each.name): self.of(each.type) for each in known}
        return _object(kind, properties, [_camel(each.name) for each in known if each.required])


def _object(kind: type, properties: Mapping[str, Schema], required: Sequence[str]) -> Schema:
    said = " ".join((inspect.getdoc(kind) or "").split())
    return {
        "type": "object",
        **({"description": said} if said else {}),
        "properties": dict(properties),
        **({"required": list(required)} if required else {}),
    }


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)
