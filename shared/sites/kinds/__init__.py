"""The kinds of items there are, by name. A sixth one is one more module here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shared.sites.kinds.homes import HOMES
from shared.sites.kinds.kind import Kind
from shared.sites.kinds.movies import MOVIES
from shared.sites.kinds.recipes import RECIPES
from shared.sites.kinds.reviews import REVIEWS
from shared.sites.kinds.trails import TRAILS

KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in (RECIPES, MOVIES, REVIEWS, TRAILS, HOMES)})

__all__ = ["KINDS", "Kind"]
