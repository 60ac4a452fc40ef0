"""numpy alone over the mapped float16 file: blocks of 1,024 rows converted to float32, then multiplied."""

from __future__ import annotations

from cli.bench.peers.protocol import Clock, Message, Turn, serve

ROWS_PER_BLOCK = 1_024


def prepare(task: Message) -> tuple[Message, Turn]:
    """Map the vectors; a turn converts and multiplies block after block."""
    import numpy as np

    from cli.bench.peers.best import best_of_maximum

    vectors, queries = np.load(task["vectors"], mmap_mode="r"), np.load(task["queries"])

    def turn(_: Message) -> Message:
        clock = Clock()
        scores = np.empty((len(queries), len(vectors)), dtype=np.float32)
        for start in range(0, len(vectors), ROWS_PER_BLOCK):
            block = vectors[start : start + ROWS_PER_BLOCK].astype(np.float32)
            np.matmul(queries, block.T, out=scores[:, start : start + len(block)])
        rows = best_of_maximum(scores, task["top"])
        return {"seconds": clock.read(), "rows": rows}

    return {"version": np.__version__}, turn


if __name__ == "__main__":
    serve(prepare)
