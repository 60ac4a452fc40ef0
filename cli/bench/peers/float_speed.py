"""No engine: products of float32 matrices that stay in the caches, to learn what a second thread is worth here.

Two virtual processors may be one core, which multiplies no faster for two threads than for one.
"""

from __future__ import annotations

from cli.bench.peers.protocol import Clock, Message, Turn, serve

_SIDE = 256


def prepare(task: Message) -> tuple[Message, Turn]:
    """Make the matrix; a turn multiplies it by itself many times."""
    import numpy as np

    products = task["products"]
    matrix = np.full((_SIDE, _SIDE), 0.5, dtype=np.float32)
    out = np.empty_like(matrix)

    def turn(_message: Message) -> Message:
        clock = Clock()
        for _ in range(products):
            np.matmul(matrix, matrix, out=out)
        return {"seconds": clock.read()}

    return {}, turn


if __name__ == "__main__":
    serve(prepare)
