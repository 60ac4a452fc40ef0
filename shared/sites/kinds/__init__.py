"""The kinds of items there are, by name. A sixth one is one more module here, named as its kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import cast

from shared.sites.kinds.kind import Kind

_NAMES = ("recipes", "movies", "reviews", "trails", "homes")


class _Kinds(Mapping[str, Kind]):
    """Imports a kind when it is asked for: a function serves one, and the words of all five cost its start 10 ms."""

    def __getitem__(self, name: str) -> Kind:
        if name not in _NAMES:
            raise KeyError(name)
        return cast("Kind", import_module(f"{__name__}.{name}").KIND)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)

    def __contains__(self, name: object) -> bool:
        return name in _NAMES


KINDS: Mapping[str, Kind] = _Kinds()

__all__ = ["KINDS", "Kind"]
