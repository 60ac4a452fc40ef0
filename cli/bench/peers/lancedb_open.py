"""lancedb over a table of the same rows: vectors as float16, entries as JSON text, no index, so an exact scan."""

from __future__ import annotations

import json
from pathlib import Path

from cli.bench.peers.protocol import Clock, Message, Turn, own_memory, serve

_TABLE = "rows"


def prepare(task: Message) -> tuple[Message, Turn]:
    """With `build` in the task: write the table, and be done. Else open it; a turn finds the nearest rows."""
    return _build(task) if task.get("build") else _open(task)


def _build(task: Message) -> tuple[Message, Turn]:
    import lancedb
    import numpy as np
    import pyarrow as pa

    entries = json.loads(Path(task["entries"]).read_text(encoding="utf-8"))
    vectors = np.load(task["paths"]["vectors"])
    clock = Clock()
    columns = {
        "row": pa.array(range(len(entries)), pa.int64()),
        "identifier": [entry["urn"] for entry in entries],
        "entry": [json.dumps(entry) for entry in entries],
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]),
    }
    lancedb.connect(task["database"]).create_table(_TABLE, pa.table(columns))
    return {"version": lancedb.__version__, "build_s": clock.read()}, lambda _: {}


def _open(task: Message) -> tuple[Message, Turn]:
    clock = Clock()
    import lancedb

    import_s, before = clock.read(), own_memory()
    table = lancedb.connect(task["database"]).open_table(_TABLE)
    open_s = clock.read()

    def turn(message: Message) -> Message:
        own = Clock()
        search = table.search(message["query"], vector_column_name="vector").distance_type("dot").limit(task["top"])
        found = search.select(["row", "identifier", "entry", "_distance"]).to_list()
        return {
            "seconds": own.read(),
            "rows": [line["row"] for line in found],
            "identifiers": [line["identifier"] for line in found],
            "memory": {"before": before, "after": own_memory()},
        }

    return {"version": lancedb.__version__, "import_s": import_s, "open_s": open_s}, turn


if __name__ == "__main__":
    serve(prepare)
