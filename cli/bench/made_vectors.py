"""Made-up unit vectors, the same in every run: scattered evenly, or in clusters as those of texts are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shared.index.scan import Float32

ROWS_PER_BLOCK = 4_096
ROWS_PER_CLUSTER = 1_000
# Beside a unit centre: two members of a cluster then have a cosine of 0.6, as two texts on one subject do.
_SPREAD = 0.8


def unit_blocks(rows: int, dimension: int, *, clustered: bool = False) -> Iterator[tuple[int, Float32]]:
    """`(first row, rows of length one)` for so many rows, block by block.

    In clusters, a row's own is drawn from one centre for every thousand rows, wherever the row stands.
    """
    import numpy as np

    draw = np.random.default_rng(0)
    centres = unit(draw.standard_normal((max(1, rows // ROWS_PER_CLUSTER), dimension), dtype=np.float32))
    for start in range(0, rows, ROWS_PER_BLOCK):
        block = draw.standard_normal((min(ROWS_PER_BLOCK, rows - start), dimension), dtype=np.float32)
        if clustered:
            block = centres[draw.integers(0, len(centres), len(block))] + np.float32(_SPREAD) * unit(block)
        yield start, unit(block)


def unit(rows: Float32) -> Float32:
    """Each row with length one."""
    import numpy as np

    scaled: Float32 = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled
