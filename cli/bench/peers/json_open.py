"""The plain way: one JSON file of entries, parsed, and an `.npy` of vectors, read and widened to float32."""

from __future__ import annotations

import json
from pathlib import Path

from cli.bench.peers.protocol import Clock, Message, Turn, own_memory, serve


def prepare(task: Message) -> tuple[Message, Turn]:
    """Parse and read; a turn finds the nearest rows and takes their entries."""
    clock = Clock()
    import numpy as np

    from cli.bench.peers.best import best_of_maximum

    import_s, before = clock.read(), own_memory()
    entries = json.loads(Path(task["entries"]).read_text(encoding="utf-8"))
    vectors = np.load(task["paths"]["vectors"]).astype(np.float32)
    open_s = clock.read()

    def turn(message: Message) -> Message:
        query = np.array([message["query"]], dtype=np.float32)
        own = Clock()
        rows = best_of_maximum(query @ vectors.T, task["top"])
        found = [entries[row]["urn"] for row in rows]
        return {
            "seconds": own.read(),
            "rows": rows,
            "identifiers": found,
            "memory": {"before": before, "after": own_memory()},
        }

    return {"version": np.__version__, "import_s": import_s, "open_s": open_s}, turn


if __name__ == "__main__":
    serve(prepare)
