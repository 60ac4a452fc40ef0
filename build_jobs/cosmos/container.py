"""Whether a container is made as a site needs it. What it was made with cannot be changed later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.index.cosmos_client import DISTANCE, PARTITION_PATH, VECTOR_PATHS

Properties = Mapping[str, Any]


def misfits(properties: Properties, dimension: int) -> list[str]:
    """Why this container cannot hold vectors of so many numbers, as sentences; none where it can."""
    found = _partition_misfits(properties)
    embeddings = {each["path"]: each for each in _listed(properties, "vectorEmbeddingPolicy", "vectorEmbeddings")}
    for path in VECTOR_PATHS:
        policy = embeddings.get(path, {})
        for name, expected in (("dimensions", dimension), ("distanceFunction", DISTANCE), ("dataType", "float32")):
            if policy.get(name) != expected:
                found.append(f"vector policy of {path}: expected {name} {expected}, found {policy.get(name) or 'none'}")
    return found


def remarks(properties: Properties) -> list[str]:
    """What makes it slower or dearer than it need be, as sentences."""
    indexed = {each["path"] for each in _listed(properties, "indexingPolicy", "vectorIndexes")}
    excluded = {each["path"] for each in _listed(properties, "indexingPolicy", "excludedPaths")}
    found = [
        f"{path} has no vector index: each question reads every vector" for path in VECTOR_PATHS if path not in indexed
    ]
    found += [
        f"{path} is not excluded from the index: each write pays for its numbers"
        for path in VECTOR_PATHS
        if f"{path}/*" not in excluded
    ]
    return found


def _partition_misfits(properties: Properties) -> list[str]:
    paths = list((properties.get("partitionKey") or {}).get("paths", ()))
    return [] if paths == [PARTITION_PATH] else [f"partition key: expected {PARTITION_PATH}, found {', '.join(paths)}"]


def _listed(properties: Properties, policy: str, name: str) -> list[Mapping[str, Any]]:
    return list((properties.get(policy) or {}).get(name) or ())
