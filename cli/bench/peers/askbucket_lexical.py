"""Askbucket's BM25F over mapped postings."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from cli.bench.peers.protocol import Clock, Message, Turn, own_memory, serve


def prepare(task: Message) -> tuple[Message, Turn]:
    """Map the postings; a turn asks every question."""
    clock = Clock()
    from shared.index.lexical import Lexical, Weights, idf
    from shared.index.scan import top

    import_s, before = clock.read(), own_memory()
    index = Lexical({role: Path(path) for role, path in task["paths"].items()}, task["rows"])
    open_s = clock.read()
    weights = Weights(tuple(task["weights"]), task["k1"], task["b"], task["scaled"], task["filled_only"])

    def ask(tokens: list[str]) -> tuple[float, list[int]]:
        own = Clock()
        scores = index.scores(weights, {token: n * idf(token, [index]) for token, n in Counter(tokens).items()})
        best = top(scores, task["top"])
        best = best[scores[best] > 0]
        return own.read(), best.tolist()

    def turn(message: Message) -> Message:
        answers = [ask(tokens) for tokens in message["questions"]]
        memory = {"before": before, "after": own_memory()}
        return {"seconds": [s for s, _ in answers], "rows": [rows for _, rows in answers], "memory": memory}

    return {"import_s": import_s, "open_s": open_s}, turn


if __name__ == "__main__":
    serve(prepare)
