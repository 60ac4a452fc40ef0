"""What an operator may change of a kind of site."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shared.errors import SettingsError
from shared.sites.kinds import KINDS

if TYPE_CHECKING:
    from shared.settings import Settings
    from shared.sites.kinds import Kind


def tuned(kind: Kind, settings: Settings) -> Kind:
    """The kind, with the properties that ASKHUB_RANKING_FIELDS lets a chat ranker see."""
    names = shown_properties(settings).get(kind.name)
    return kind if names is None else replace(kind, projection=names)


def shown_properties(settings: Settings) -> Mapping[str, frozenset[str]]:
    """Kind → property names, for the kinds that ASKHUB_RANKING_FIELDS names. Raises SettingsError for one unknown."""
    if not settings.ranking_fields:
        return {}
    named: dict[str, list[str]] = json.loads(settings.ranking_fields)
    unknown = sorted(set(named) - set(KINDS))
    if unknown:
        raise SettingsError(f"ASKHUB_RANKING_FIELDS names {', '.join(unknown)}: expected some of {', '.join(KINDS)}")
    return {kind: frozenset(names) for kind, names in named.items()}
