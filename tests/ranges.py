"""A range of an object, whole: what tests ask, where the code streams."""

from __future__ import annotations

from shared.bucket.base import Bucket


def read_range(bucket: Bucket, key: str, start: int, end: int) -> bytes:
    return b"".join(bucket.stream_range(key, start, end))
