"""faiss: IndexScalarQuantizer of float16 with the inner product, an exact scan over a copy of the vectors."""

from __future__ import annotations

from cli.bench.peers.protocol import Clock, Message, Turn, serve

_ROWS_PER_ADD = 8_192


def prepare(task: Message) -> tuple[Message, Turn]:
    """Fill the index; a turn searches it for every query and merges what they found."""
    import faiss
    import numpy as np

    from cli.bench.peers.best import merge

    vectors, queries = np.load(task["vectors"], mmap_mode="r"), np.load(task["queries"])
    faiss.omp_set_num_threads(task["threads"])
    index = faiss.IndexScalarQuantizer(vectors.shape[1], faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    for start in range(0, len(vectors), _ROWS_PER_ADD):
        index.add(vectors[start : start + _ROWS_PER_ADD].astype(np.float32))

    def turn(_: Message) -> Message:
        clock = Clock()
        scores, rows = index.search(queries, task["top"])
        best = merge(rows, scores, task["top"])
        return {"seconds": clock.read(), "rows": best}

    return {"version": faiss.__version__}, turn


if __name__ == "__main__":
    serve(prepare)
