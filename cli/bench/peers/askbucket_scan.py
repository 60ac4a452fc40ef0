"""Askbucket's scan: the mapped float16 file times the packed queries."""

from __future__ import annotations

from pathlib import Path

from cli.bench.peers.protocol import Clock, Message, Turn, serve


def prepare(task: Message) -> tuple[Message, Turn]:
    """Map the vectors; a turn scans them."""
    import numpy as np

    from shared.index.scan import Scanner, Vectors, top

    vectors, queries = Vectors(Path(task["vectors"])), np.load(task["queries"])
    scanner = Scanner(task["threads"])

    def turn(_: Message) -> Message:
        clock = Clock()
        rows = top(scanner.scan(vectors, queries).max(axis=0), task["top"])
        return {"seconds": clock.read(), "rows": rows.tolist()}

    return {}, turn


if __name__ == "__main__":
    serve(prepare)
