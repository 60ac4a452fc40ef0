"""bm25s over its own mapped index of the same tokens, with the same k1 and b."""

from __future__ import annotations

import json
from pathlib import Path

from cli.bench.peers.protocol import Clock, Message, Turn, own_memory, serve


def prepare(task: Message) -> tuple[Message, Turn]:
    """With `build` in the task: index the documents and save. Else map the index; a turn asks every question."""
    return _build(task) if task.get("build") else _open(task)


def _build(task: Message) -> tuple[Message, Turn]:
    import bm25s

    lines = Path(task["documents"]).read_text(encoding="utf-8").splitlines()
    clock = Clock()
    index = bm25s.BM25(k1=task["k1"], b=task["b"], method="lucene")
    index.index([json.loads(line) for line in lines], show_progress=False)
    index.save(task["index"])
    return {"version": bm25s.__version__, "build_s": clock.read()}, lambda _: {}


def _open(task: Message) -> tuple[Message, Turn]:
    clock = Clock()
    import bm25s

    import_s, before = clock.read(), own_memory()
    index = bm25s.BM25.load(task["index"], mmap=True, show_progress=False)
    open_s = clock.read()
    k = min(task["top"], task["rows"])

    def ask(tokens: list[str]) -> tuple[float, list[int]]:
        own = Clock()
        rows, scores = index.retrieve([tokens], k=k, show_progress=False)
        best = rows[0][scores[0] > 0]
        return own.read(), best.tolist()

    def turn(message: Message) -> Message:
        answers = [ask(tokens) for tokens in message["questions"]]
        memory = {"before": before, "after": own_memory()}
        return {"seconds": [s for s, _ in answers], "rows": [rows for _, rows in answers], "memory": memory}

    return {"version": bm25s.__version__, "import_s": import_s, "open_s": open_s}, turn


if __name__ == "__main__":
    serve(prepare)
