"""usearch: its exact search over the mapped float16 rows, no index."""

from __future__ import annotations

from cli.bench.peers.protocol import Clock, Message, Turn, serve


def prepare(task: Message) -> tuple[Message, Turn]:
    """Map the vectors; a turn searches them for every query and merges what they found."""
    import numpy as np
    import usearch
    from usearch.index import MetricKind, search

    from cli.bench.peers.best import merge

    vectors, queries = np.load(task["vectors"], mmap_mode="r"), np.load(task["queries"]).astype(np.float16)

    def turn(_: Message) -> Message:
        clock = Clock()
        found = search(vectors, queries, task["top"], MetricKind.IP, exact=True, threads=task["threads"])
        best = merge(np.atleast_2d(found.keys), -np.atleast_2d(found.distances), task["top"])
        return {"seconds": clock.read(), "rows": [int(row) for row in best]}

    return {"version": usearch.__version__}, turn


if __name__ == "__main__":
    serve(prepare)
