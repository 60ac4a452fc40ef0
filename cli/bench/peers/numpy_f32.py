"""numpy alone, all vectors held in memory as float32: twice the bytes of the file, and no page of it shared."""

from __future__ import annotations

from cli.bench.peers.protocol import Clock, Message, Turn, serve


def prepare(task: Message) -> tuple[Message, Turn]:
    """Read and convert the vectors; a turn is one product."""
    import numpy as np

    from cli.bench.peers.best import best_of_maximum

    vectors, queries = np.load(task["vectors"]).astype(np.float32), np.load(task["queries"])

    def turn(_: Message) -> Message:
        clock = Clock()
        rows = best_of_maximum(queries @ vectors.T, task["top"])
        return {"seconds": clock.read(), "rows": rows}

    return {"version": np.__version__}, turn


if __name__ == "__main__":
    serve(prepare)
