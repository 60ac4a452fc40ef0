"""What /health says of a site, as the pages that wake sites and count their items read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shared.sites.site import Site


def health(site: Site) -> dict[str, Any]:
    """`status` is "ok" for a site that answers; `sites` are the collections its items name, `collections` the kinds.

    `embedding_cache_hit` says that vectors came with the release and a query can be compared with them. A release is
    built offline, so `sources` counts no checks here.
    """
    manifest = site.release.manifest
    return {
        **site.describe(),
        "status": "ok",
        "items": site.count,
        "sites": sorted(manifest.families[0].sources),
        "collections": {site.kind.name: site.count},
        "embedding_cache_hit": site.embedder is not None,
        "corpus": {
            "snapshot_id": site.release.id,
            "profile": site.kind.name,
            "built_at": manifest.created_at,
            "items": site.count,
        },
        "sources": {
            "last_check": None,
            "last_change": manifest.created_at,
            "checks": 0,
            "rebuilds": 0,
            "sources": len(manifest.families[0].sources),
            "refreshed": 0,
            "failures": [],
        },
    }
