"""Askbucket's release opened from a local copy: vectors, postings and records mapped, their shapes checked."""

from __future__ import annotations

from pathlib import Path

from cli.bench.peers.protocol import Clock, Message, Turn, own_memory, serve


def prepare(task: Message) -> tuple[Message, Turn]:
    """Map the files; a turn finds the nearest rows and reads their records."""
    clock = Clock()
    import numpy as np

    from shared.index.lexical import Lexical
    from shared.index.records import Records
    from shared.index.scan import Scanner, Vectors, top

    import_s, before = clock.read(), own_memory()
    paths, rows = {role: Path(path) for role, path in task["paths"].items()}, task["rows"]
    vectors, records = Vectors(paths["vectors"]), Records(paths["records"])
    Lexical(paths, rows)
    records.check(rows)
    open_s = clock.read()

    def turn(message: Message) -> Message:
        query = np.array([message["query"]], dtype=np.float32)
        own = Clock()
        best = top(Scanner(task["threads"]).scan(vectors, query)[0], task["top"])
        found = records.leaves(best.tolist())
        return {
            "seconds": own.read(),
            "rows": best.tolist(),
            "identifiers": [found[row].urn for row in best.tolist()],
            "memory": {"before": before, "after": own_memory()},
        }

    return {"import_s": import_s, "open_s": open_s}, turn


if __name__ == "__main__":
    serve(prepare)
